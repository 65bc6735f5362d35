use std::rc::Rc;
use windlass::prelude::*;

fn main() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    let shared = Rc::new(1);
    pool.scope(|s| {
        s.spawn(|| *shared).unwrap();
    });
}

use windlass::prelude::*;

fn main() {
    let pool = executors::fixed_thread_pool(2).unwrap();
    let mut count = 0;
    pool.scope(|s| {
        s.spawn(|| count += 1).unwrap();
        s.spawn(|| count += 1).unwrap();
    });
}

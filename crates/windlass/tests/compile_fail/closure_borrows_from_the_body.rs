use windlass::prelude::*;

fn main() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    pool.scope(|s| {
        let text = String::from("gone before the closure runs");
        s.spawn(|| text.len()).unwrap();
    });
}

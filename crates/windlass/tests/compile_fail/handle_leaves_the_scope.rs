use windlass::prelude::*;

fn main() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    let text = String::from("borrowed");
    let handle = pool.scope(|s| s.spawn(|| text.len()).unwrap());
    handle.join().unwrap();
}

use windlass::prelude::*;

fn main() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    let rejected = pool.scope(|s| {
        let text = String::from("moved in");
        s.spawn(move || s.spawn(move || text.len()).is_ok()).unwrap_err()
    });
    rejected.into_closure()();
}

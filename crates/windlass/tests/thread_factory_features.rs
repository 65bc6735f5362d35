//! Priorities and cores of threads, behind their features.

#![cfg(all(feature = "priority", feature = "affinity"))]
#![expect(clippy::unwrap_used, reason = "tests")]

use windlass::pool::ThreadPoolExecutor;
use windlass::thread_factory::DefaultThreadFactory;
use windlass::{ExecutorService, Submit};

fn pool_of(factory: DefaultThreadFactory) -> ThreadPoolExecutor {
    let builder = ThreadPoolExecutor::builder().core_pool_size(2);
    builder.thread_factory(factory).build().unwrap()
}

#[test]
fn threads_run_whatever_priority_they_are_to_have() {
    for level in [0, 50, 99, u8::MAX] {
        let pool = pool_of(DefaultThreadFactory::new().priority(level));
        assert_eq!(pool.submit(move || level).unwrap().get().unwrap(), level);
        pool.close();
    }
}

#[test]
fn threads_run_whatever_cores_they_are_to_stay_on() {
    for cores in [vec![], vec![0], vec![0, 1], vec![9_999]] {
        let pool = pool_of(DefaultThreadFactory::new().affinity(cores));
        assert_eq!(pool.submit(|| 7).unwrap().get().unwrap(), 7);
        pool.close();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_thread_stays_on_the_core_that_it_was_given() {
    let allowed = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed_list:"));
        line.and_then(|line| line.split_whitespace().nth(1))
            .unwrap()
            .to_owned()
    };
    let pool = pool_of(DefaultThreadFactory::new().affinity([0]));
    assert_eq!(pool.submit(allowed).unwrap().get().unwrap(), "0");
    pool.close();
}

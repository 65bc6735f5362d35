//! Fork-join pools beside thread pools: the same figures, threads and recent tasks.

use std::sync::mpsc;
use std::time::Duration;

use windlass::monitor::{Ending, Monitor, Registry};
use windlass::pool::Times;
use windlass::prelude::*;
use windlass::testing::{Gate, PATIENCE, until};

/// WL-403
#[test]
fn a_fork_join_pool_shows_its_times_threads_and_recent_tasks() {
    let registry = Registry::new();
    let builder = ForkJoinPool::builder().name("search").parallelism(1);
    let pool = builder.times(Times::Every).build().unwrap();
    registry.register(&pool);
    let monitor = Monitor::builder().registry(&registry).manual(true);
    let monitor = monitor.start().unwrap();
    monitor.sample();
    let failing = pool.task().name("broken");
    let failing = failing.submit(|| panic!("no such index")).unwrap();
    failing.join().unwrap_err();
    pool.execute(|| panic!("nobody receives it")).unwrap();
    assert!(pool.await_quiescence(PATIENCE));
    let (started, ended) = (mpsc::channel(), mpsc::channel::<()>());
    let running = pool.task().name("deep").submit(move || {
        started.0.send(()).unwrap();
        ended.1.recv().unwrap();
    });
    started.1.recv_timeout(PATIENCE).unwrap();
    // A worker records a run after it has completed the handle.
    until("two timed runs", || pool.stats().run_times.count() == 2);
    monitor.sample();

    let view = monitor.pool("search").unwrap();
    assert_eq!(view.snapshot.run_times.count(), 2);
    assert!(view.snapshot.oldest_running.is_some());
    let threads = monitor.threads("search").unwrap();
    let names: Vec<_> = threads
        .iter()
        .map(|thread| thread.task.as_ref()?.name.clone())
        .collect();
    assert_eq!(names, [Some("deep".into())]);
    let failed = monitor.recent("search").unwrap().failed;
    let mut messages: Vec<_> = failed
        .iter()
        .map(|task| (task.ending, task.message.as_deref()))
        .collect();
    messages.sort_by_key(|(_, message)| *message);
    let expected = ["no such index", "nobody receives it"];
    assert_eq!(
        messages,
        expected.map(|message| (Ending::Panicked, Some(message)))
    );
    assert!(
        failed
            .iter()
            .any(|task| task.name.as_deref() == Some("broken"))
    );

    ended.0.send(()).unwrap();
    running.unwrap().join().unwrap();
    pool.close();
}

/// WL-403
#[test]
fn the_largest_size_of_a_fork_join_pool_is_known_when_its_workers_are_gone() {
    let registry = Registry::new();
    let builder = ForkJoinPool::builder().name("search").parallelism(2);
    let pool = builder.keep_alive(Duration::ZERO).build().unwrap();
    registry.register(&pool);
    let monitor = Monitor::builder().registry(&registry).manual(true);
    let monitor = monitor.start().unwrap();
    let gate = Gate::new();
    for _ in 0..2 {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(2);
    gate.open();
    until("the workers to leave", || pool.stats().pool_size == 0);
    monitor.sample();

    let threads = monitor.pool("search").unwrap().snapshot.threads;
    assert_eq!((threads.size, threads.largest), (0, 2));
    pool.close();
}

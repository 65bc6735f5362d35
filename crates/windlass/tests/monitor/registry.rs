//! Which executors are found, and for how long.

use std::sync::Arc;
use std::time::Duration;

use windlass::monitor::{Field, Kind, Monitored, Registry, Snapshot, Source};
use windlass::prelude::*;
use windlass::testing::until;

fn pool(name: &str) -> ThreadPoolExecutor {
    let builder = ThreadPoolExecutor::builder().name(name).core_pool_size(1);
    builder.build().unwrap()
}

/// WL-401
#[test]
fn all_kinds_of_pools_are_registered_in_one_line_also_through_pointers() {
    let registry = Registry::new();
    let web = Arc::new(pool("web"));
    let timers = ScheduledThreadPoolExecutor::builder()
        .name("timers")
        .build();
    let sums = ForkJoinPool::builder().name("sums").build().unwrap();
    let single = executors::single_thread_executor();
    registry.register(&web);
    registry.register(&&timers);
    registry.register(&sums);
    registry.register_as("single", &single);
    let kinds: Vec<_> = registry
        .pools()
        .iter()
        .map(|pool| (pool.name().to_string(), pool.snapshot().unwrap().kind))
        .collect();
    let expected = [
        ("single", Kind::ThreadPool),
        ("sums", Kind::ForkJoin),
        ("timers", Kind::Scheduled),
        ("web", Kind::ThreadPool),
    ];
    let expected = expected.map(|(name, kind)| (name.to_owned(), kind));
    assert_eq!(kinds, expected);
    // What cannot be changed in code cannot be changed here either.
    let single = registry.get("single").unwrap().snapshot().unwrap();
    assert_eq!(single.settings.tunable, []);
    let web = registry.get("web").unwrap().snapshot().unwrap();
    assert!(web.settings.is_tunable(Field::Core));
    assert!(!web.settings.is_tunable(Field::Capacity));
}

/// WL-401
#[test]
fn a_second_executor_of_a_name_gets_a_suffix_and_a_free_name_is_used_again() {
    let registry = Registry::new();
    let (first, second, third) = (pool("web"), pool("web"), pool("web"));
    assert_eq!(&*registry.register(&first), "web");
    assert_eq!(&*registry.register(&second), "web-2");
    assert!(registry.deregister("web") && !registry.deregister("web"));
    assert_eq!(&*registry.register(&third), "web");
    third.close();
    assert_eq!(&*registry.register(&pool("web")), "web");
}

/// WL-402
#[test]
fn the_registry_keeps_no_executor_alive_and_forgets_what_is_gone() {
    let registry = Registry::new();
    let (dropped, closed, sums) = (
        pool("dropped"),
        pool("closed"),
        ForkJoinPool::new(1).unwrap(),
    );
    registry.register(&dropped);
    registry.register(&closed);
    registry.register_as("sums", &sums);
    let task = dropped.submit(|| 1).unwrap();
    assert_eq!(registry.names().len(), 3);
    task.join().unwrap();
    drop((dropped, sums));
    closed.close();
    until("all to be gone", || registry.names().is_empty());
}

/// WL-402
#[test]
fn a_pool_that_is_looked_at_is_shut_down_when_its_owner_drops_it() {
    let registry = Registry::new();
    let web = pool("web");
    registry.register(&web);
    web.submit(|| ()).unwrap().join().unwrap();
    let seen = registry.get("web").unwrap();
    drop(web);
    until("the shutdown", || {
        seen.snapshot().unwrap().state == windlass::pool::PoolState::Terminated
    });
}

struct Broken;

impl Monitored for Broken {
    fn snapshot(&self) -> Snapshot {
        panic!("no figures today")
    }
}

/// WL-403
#[test]
fn an_executor_of_a_user_takes_part_and_its_panic_is_its_own() {
    use windlass::monitor::Monitor;
    let (registry, broken, web) = (Registry::new(), Arc::new(Broken), pool("web"));
    registry.register_as("broken", &Source::of(&broken));
    registry.register(&web);
    let monitor = Monitor::builder().registry(&registry).manual(true);
    let monitor = monitor.start().unwrap();
    monitor.sample();
    assert_eq!(monitor.panics(), 1);
    assert!(monitor.pool("broken").is_none());
    let names: Vec<_> = monitor.pools().into_iter().map(|pool| pool.name).collect();
    assert_eq!(names, [Arc::<str>::from("web")]);
    let refused = monitor.purge("broken", None).unwrap_err();
    assert_eq!(refused, windlass::monitor::ChangeError::Panicked);
}

/// WL-404
#[test]
fn a_snapshot_has_the_figures_of_the_pool() {
    let registry = Registry::new();
    let builder = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(1)
        .times(windlass::pool::Times::Every);
    let web = builder
        .work_queue(windlass::queue::LinkedBlockingQueue::with_capacity(1).unwrap())
        .build()
        .unwrap();
    registry.register(&web);
    let gate = windlass::testing::Gate::new();
    let inside = gate.clone();
    web.execute(move || inside.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let queued = web.submit(|| ()).unwrap();
    assert!(web.execute(|| ()).is_err());
    let seen = || registry.get("web").unwrap().snapshot().unwrap();
    let snapshot = seen();
    assert_eq!((snapshot.threads.size, snapshot.threads.active), (1, 1));
    assert_eq!((snapshot.queue.len, snapshot.queue.capacity), (1, Some(1)));
    assert!(snapshot.queue.oldest.is_some() && snapshot.queue.oldest_is_exact);
    assert!(snapshot.oldest_running.is_some());
    assert_eq!(snapshot.tasks.rejected.abort, 1);
    assert_eq!(snapshot.tasks.submitted, 3);
    assert_eq!(snapshot.settings.policy.as_deref(), Some("abort"));
    gate.open();
    web.close();
    drop(queued);
}

/// WL-404
#[test]
fn ends_of_threads_and_outcomes_of_tasks_are_told_apart() {
    let registry = Registry::new();
    let web = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(1)
        .maximum_pool_size(1)
        .keep_alive(Duration::from_secs(60))
        .build()
        .unwrap();
    registry.register(&web);
    let seen = registry.get("web").unwrap();
    let fails = web.submit_fallible(|| Err::<(), _>(std::io::Error::other("no")));
    assert!(fails.unwrap().join().is_err());
    let panics = web.submit(|| panic!("on purpose")).unwrap();
    assert!(panics.join().is_err());
    // A panic that no handle receives ends the thread.
    web.execute(|| panic!("on purpose")).unwrap();
    let gate = windlass::testing::Gate::new();
    let inside = gate.clone();
    web.execute(move || inside.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let cancelled = web.submit(|| ()).unwrap();
    cancelled.cancel();
    gate.open();
    web.close();
    let snapshot = seen.snapshot().unwrap();
    let tasks = &snapshot.tasks;
    assert_eq!((tasks.completed, tasks.failed, tasks.panicked), (5, 3, 2));
    assert_eq!((tasks.cancelled, tasks.succeeded()), (1, 1));
    assert_eq!(tasks.submitted, 5);
    let exits = snapshot.threads.exited.unwrap();
    assert_eq!((exits.panic, exits.shutdown, exits.total()), (1, 1, 2));
    assert_eq!(snapshot.threads.started, Some(2));
}

/// WL-404
#[test]
fn tasks_that_leave_the_queue_without_a_run_are_counted_by_reason() {
    let registry = Registry::new();
    let web = pool("web");
    registry.register(&web);
    let gate = windlass::testing::Gate::new();
    let inside = gate.clone();
    web.execute(move || inside.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let handles: Vec<_> = (0..5).map(|_| web.submit(|| ()).unwrap()).collect();
    handles[0].cancel();
    assert_eq!(web.purge(), 1);
    drop(web.remove(&handles[1]));
    let seen = registry.get("web").unwrap();
    drop(web.shutdown_now());
    gate.open();
    web.close();
    let snapshot = seen.snapshot().unwrap();
    let dropped = snapshot.tasks.dropped;
    assert_eq!((dropped.purged, dropped.shutdown_now), (2, 3));
    assert_eq!((dropped.total(), snapshot.tasks.submitted), (5, 6));
}

/// WL-491
#[test]
fn a_policy_that_is_replaced_may_use_the_registry_when_it_is_dropped() {
    use windlass::error::RejectedExecution;
    use windlass::pool::{DiscardPolicy, RejectedExecutionHandler, Saturated};

    struct Curious(Registry, std::sync::mpsc::Sender<usize>);
    impl RejectedExecutionHandler for Curious {
        fn rejected(
            &self,
            task: windlass::task::Task,
            pool: &dyn Saturated,
        ) -> Result<(), RejectedExecution> {
            DiscardPolicy.rejected(task, pool)
        }
    }
    impl Drop for Curious {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.policies().len());
        }
    }

    let registry = Registry::new();
    let (tell, told) = std::sync::mpsc::channel();
    registry.register_policy("mine", Curious(registry.clone(), tell));
    let theirs = registry.clone();
    std::thread::spawn(move || theirs.register_policy("mine", DiscardPolicy));
    let known = told.recv_timeout(windlass::testing::PATIENCE);
    assert_eq!(known, Ok(registry.policies().len()));
}

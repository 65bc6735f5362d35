//! Workers: room, drain, signs of life.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use crate::tasks::Once;
use std::collections::HashSet;
use std::time::{Duration, Instant};
use windlass_remote::engine::{Beat, Lease, MAX_BATCH, NewTask, Outcome, TaskState, WorkerRecord};
use windlass_remote::{
    FailureKind, Priority, RemoteFuture, StartError, TaskExecutorService, TaskId, TaskOptions,
};

pub(crate) fn a_worker_takes_no_more_than_it_has_room_for(engine: &UnderTest) {
    let executor = engine.executor();
    let gate = engine.key("room");
    let futures: Vec<_> = (0..10)
        .map(|_| executor.submit_task(Gated::new(&gate)).unwrap())
        .collect();
    let worker = engine.worker(3);
    eventually("three run", || BOARD.starts(&gate).len() == 3);
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!(
        (stats.running, stats.ready, worker.stats().running),
        (3, 7, 3)
    );
    BOARD.open(&gate);
    for future in futures {
        assert!(future.get_timeout(LONG).is_ok());
    }
}

pub(crate) fn a_worker_drains_on_shutdown(engine: &UnderTest) {
    let (executor, worker) = (engine.executor(), engine.worker(1));
    let gate = engine.key("drain");
    let running = executor.submit_task(Gated::new(&gate)).unwrap();
    let queued = executor.submit_task(Add(1, 1)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    std::thread::scope(|scope| {
        let shutdown = scope.spawn(|| worker.shutdown(LONG));
        eventually("it is told to end", || worker.is_shutdown());
        BOARD.open(&gate);
        assert!(shutdown.join().unwrap());
    });
    assert!(worker.is_terminated());
    assert_eq!(running.get_timeout(LONG), Ok(gate));
    assert!(
        !queued.is_done(),
        "what it had not started is left to others"
    );
    assert_eq!(engine.stats(&engine.queue).unwrap().ready, 1);
    assert!(engine.workers(&engine.queue).unwrap().is_empty());
}

pub(crate) fn a_worker_gives_back_what_still_runs(engine: &UnderTest) {
    let (executor, worker) = (engine.executor(), engine.worker(1));
    let gate = engine.key("give-back");
    let future = executor.submit_task(Gated::new(&gate)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    assert!(!worker.shutdown(Duration::from_millis(20)));
    eventually("it was told", || {
        BOARD.starts(&format!("stopped:{gate}")).len() == 1
    });
    assert_eq!(engine.stats(&engine.queue).unwrap().running, 0);
    BOARD.open(&gate);
    let _other = engine.worker(1);
    assert_eq!(future.get_timeout(LONG), Ok(gate));
    let record = executor.record(future.id()).unwrap().unwrap();
    assert_eq!(
        (record.worker_deaths, record.deliveries),
        (0, 2),
        "nobody vanished"
    );
}

/// A task that must not run a second time is not given back: it may have done half of its work.
pub(crate) fn a_worker_that_leaves_fails_what_may_run_once(engine: &UnderTest) {
    let (executor, worker) = (engine.executor(), engine.worker(2));
    let (once, again) = (engine.key("once"), engine.key("again"));
    let submit = |gate: &str, options: TaskOptions| {
        executor
            .submit_with(TaskId::random(), Gated::new(gate), options, Duration::ZERO)
            .unwrap()
    };
    let usual = TaskOptions::default();
    let futures = [submit(&once, usual.at_most_once()), submit(&again, usual)];
    eventually("both run", || {
        BOARD.starts(&once).len() + BOARD.starts(&again).len() == 2
    });
    assert!(!worker.shutdown(Duration::from_millis(20)));
    let error = futures[0].get_timeout(LONG).unwrap_err();
    assert_eq!(error.failure().unwrap().kind(), FailureKind::WorkerLost);
    BOARD.open(&once);
    BOARD.open(&again);
    let _other = engine.worker(2);
    assert_eq!(futures[1].get_timeout(LONG), Ok(again), "given back");
    assert_eq!(BOARD.starts(&once).len(), 1, "it did not run again");
    let record = executor.record(futures[0].id()).unwrap().unwrap();
    assert_eq!((record.state, record.deliveries), (TaskState::Failed, 1));
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!((stats.failed, stats.running, stats.ready), (1, 0, 0));
}

/// Takes tasks as a worker that beats once and is never heard of again.
fn vanish_with(engine: &UnderTest, count: usize) -> Vec<RemoteFuture<()>> {
    let tasks = (0..count).map(|_| Once).collect();
    let futures = engine.executor().submit_all(tasks).unwrap();
    let mut ghost = WorkerRecord::default();
    ghost.id = "ghost".into();
    let beat = Beat {
        worker: &ghost,
        leases: &[],
        lease: LONG,
    };
    engine.beat(&engine.queue, beat).unwrap();
    let mut taken = 0;
    while taken < count {
        let fetched = engine.fetch("ghost", MAX_BATCH).deliveries.len();
        assert!(fetched > 0, "{taken} of {count}");
        taken += fetched;
    }
    futures
}

/// As many as one transition could not handle at once.
const THOUSANDS: usize = 5_000;

/// Ten workers vanish with two hundred tasks of each priority.
pub(crate) fn thousands_of_lost_tasks_fail_and_their_client_hears_of_it(engine: &UnderTest) {
    let (queue, batch) = (&engine.queue, MAX_BATCH);
    let priorities = [Priority::High, Priority::Normal, Priority::Low];
    let mut open: HashSet<TaskId> = HashSet::new();
    for number in 0..10 {
        let ghost = format!("ghost{number}");
        let mut record = WorkerRecord::default();
        record.id = ghost.clone();
        let beat = Beat {
            worker: &record,
            leases: &[],
            lease: LONG,
        };
        engine.beat(queue, beat).unwrap();
        for priority in priorities {
            let options = TaskOptions::default().at_most_once().priority(priority);
            let task = |_| NewTask {
                reply_to: Some("client".into()),
                ..engine.new_task(TaskId::random().as_str(), &Once, options)
            };
            let tasks: Vec<_> = (0..batch).map(task).collect();
            engine.submit(queue, &tasks).unwrap();
            let mut taken = 0;
            while taken < batch {
                let fetched = engine.fetch(&ghost, batch - taken).deliveries;
                assert!(!fetched.is_empty(), "{taken} of {batch}");
                taken += fetched.len();
                open.extend(fetched.into_iter().map(|delivery| delivery.lease.id));
            }
        }
    }
    let count = open.len() as u64;
    assert_eq!(count, 6_000);
    let silence = Duration::from_millis(30);
    eventually("all are taken back", || {
        engine.tick(queue, LONG, silence).unwrap();
        engine.stats(queue).unwrap().failed == count
    });
    let mut feed = engine.replies(queue, "client").unwrap();
    eventually("the client hears of each", || {
        for reply in feed.next(silence).unwrap() {
            assert!(matches!(reply.outcome, Some(Outcome::Failed(_))));
            open.remove(&reply.id);
        }
        open.is_empty()
    });
    assert_eq!(engine.stats(queue).unwrap().running, 0);
    eventually("the dead are forgotten", || {
        engine.tick(queue, LONG, silence).unwrap();
        engine.workers(queue).unwrap().is_empty()
    });
}

pub(crate) fn a_worker_leaves_with_thousands_of_tasks(engine: &UnderTest) {
    let futures = vanish_with(engine, THOUSANDS);
    engine.leave(&engine.queue, "ghost").unwrap();
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!((stats.failed, stats.running), (THOUSANDS as u64, 0));
    assert!(engine.workers(&engine.queue).unwrap().is_empty());
    for future in &futures {
        let error = future.get_timeout(LONG).unwrap_err();
        assert_eq!(error.failure().unwrap().kind(), FailureKind::WorkerLost);
    }
}

pub(crate) fn two_workers_of_one_name_are_two(engine: &UnderTest) {
    let executor = engine.executor();
    let start = || {
        engine
            .bare_worker(1)
            .name("twin")
            .register::<Gated>()
            .start()
            .unwrap()
    };
    let (one, two) = (start(), start());
    assert_ne!(one.id(), two.id());
    let gate = engine.key("twin");
    let futures = [0, 1].map(|_| executor.submit_task(Gated::new(&gate)).unwrap());
    eventually("each runs one", || {
        [&one, &two]
            .iter()
            .all(|worker| worker.stats().running == 1)
    });
    BOARD.open(&gate);
    for future in futures {
        assert!(future.get_timeout(LONG).is_ok());
    }
}

pub(crate) fn workers_are_listed_with_what_they_know(engine: &UnderTest) {
    let worker = engine
        .bare_worker(2)
        .name("listed")
        .register::<Add>()
        .register::<Note>();
    let worker = worker.start().unwrap();
    eventually("it is listed", || {
        engine.workers(&engine.queue).unwrap().len() == 1
    });
    let record = engine.workers(&engine.queue).unwrap().pop().unwrap();
    assert_eq!((record.id.as_str(), record.slots), (worker.id(), 2));
    assert_eq!(record.tasks, ["test.add@1", "test.note@1"]);
    assert_eq!(record.pid, std::process::id());
    let twice = engine
        .bare_worker(1)
        .register::<Add>()
        .register::<Add>()
        .start();
    assert!(matches!(twice, Err(StartError::DuplicateTask("test.add"))));
}

pub(crate) fn a_vanished_worker_loses_its_tasks_before_their_lease_ends(engine: &UnderTest) {
    let executor = engine.executor();
    let future = executor.submit_task(Add(5, 6)).unwrap();
    let mut ghost = WorkerRecord::default();
    ghost.id = "ghost".into();
    let beat = Beat {
        worker: &ghost,
        leases: &[],
        lease: LONG,
    };
    engine.beat(&engine.queue, beat).unwrap();
    assert_eq!(engine.fetch("ghost", 1).deliveries.len(), 1);
    let silence = Duration::from_millis(30);
    eventually("the delivery is taken back", || {
        engine.tick(&engine.queue, LONG, silence).unwrap();
        engine.stats(&engine.queue).unwrap().ready == 1
    });
    let _worker = engine.worker(1);
    assert_eq!(future.get_timeout(LONG), Ok(11));
}

/// The tasks of those that are not back yet are not lost: nobody could hear them.
pub(crate) fn workers_have_time_to_come_back_after_an_outage(engine: &UnderTest) {
    let (queue, silence) = (&engine.queue, Duration::from_millis(1_000));
    let task = engine.new_task("t", &Add(1, 1), TaskOptions::default().at_most_once());
    engine.submit(queue, &[task]).unwrap();
    let beat = |id: &str, leases: &[Lease]| {
        let mut worker = WorkerRecord::default();
        worker.id = id.into();
        let beat = Beat {
            worker: &worker,
            leases,
            lease: LONG,
        };
        engine.beat(queue, beat).unwrap();
    };
    let tick = || engine.tick(queue, LONG, silence).unwrap();
    let running = || engine.stats(queue).unwrap().running;
    beat("late", &[]);
    let delivery = engine.fetch("late", 1).deliveries.pop().unwrap();
    let held = [delivery.lease];
    tick();
    let away = Instant::now();
    eventually("nobody reached the engine for a while", || {
        away.elapsed() > 2 * silence
    });
    beat("first", &[]);
    tick();
    assert_eq!(running(), 1, "the other worker may be on its way");
    beat("late", &held);
    let back = Instant::now();
    eventually("they work for a while", || {
        beat("first", &[]);
        beat("late", &held);
        tick();
        assert_eq!(running(), 1);
        back.elapsed() > 2 * silence
    });
    eventually("a worker that vanishes then is noticed", || {
        beat("first", &[]);
        tick();
        running() == 0
    });
}

//! Workers: room, drain, signs of life.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use std::time::Duration;
use windlass_remote::engine::{Beat, WorkerRecord};
use windlass_remote::{StartError, TaskExecutorService};

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

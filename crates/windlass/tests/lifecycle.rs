//! Shutdown and termination.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use recording::{Blocker, CountingFactory, Log, assert_terminated, finish, fixed};
use windlass::clock::TestClock;
use windlass::interrupt;
use windlass::pool::PoolState;
use windlass::queue::{Blocking, Discipline};
use windlass::task::{Cancellation, ExecutionError, Task};
use windlass::testing::{Gate, Latch, PATIENCE, until, within_patience};
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{CloseOnDrop, ExecutorService, Submit, executors};

/// TPE-150
#[test]
fn a_pool_is_shut_down_from_the_first_request_on() {
    for now in [false, true] {
        let pool = fixed(1).build().unwrap();
        assert!(!pool.is_shutdown());
        if now {
            pool.shutdown_now();
        } else {
            pool.shutdown();
        }
        assert!(pool.is_shutdown());
        finish(&pool);
        assert!(pool.is_shutdown());
    }
}

/// TPE-151
#[test]
fn shutdown_finishes_what_was_taken_and_lets_idle_workers_go() {
    let factory = CountingFactory::new();
    let pool = fixed(3).thread_factory(factory.clone()).build().unwrap();
    pool.prestart_all_core_threads();
    let (blocker, log) = (Blocker::new(), Log::new());
    let (body, theirs) = (blocker.body(), log.clone());
    pool.execute(move || {
        body();
        theirs.record(interrupt::is_interrupted());
    })
    .unwrap();
    blocker.await_held(1);
    pool.shutdown();
    factory.await_live(1);
    assert!(pool.execute(|| ()).is_err());
    assert!(log.entries().is_empty());
    blocker.release();
    finish(&pool);
    assert_eq!(log.entries(), [false]);
}

/// TPE-151
#[test]
fn shutdown_still_runs_what_is_queued() {
    let pool = fixed(2).build().unwrap();
    let blocker = Blocker::occupy(&pool, 2);
    let handles: Vec<_> = (0..50).map(|n| pool.submit(move || n).unwrap()).collect();
    pool.shutdown();
    assert!(handles.iter().all(|handle| !handle.is_done()));
    blocker.release();
    finish(&pool);
    for (n, mut handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.get().unwrap(), n);
    }
}

/// TPE-152, TPE-153
#[test]
fn a_pool_is_terminating_between_shutdown_and_the_end_of_its_last_task() {
    let pool = fixed(1).build().unwrap();
    let blocker = Blocker::new();
    let (mine, body) = (pool.clone(), blocker.body());
    let life = move |pool: &dyn ExecutorService| (pool.is_terminating(), pool.is_terminated());
    let mut inside = pool
        .submit(move || {
            let before = life(&mine);
            body();
            (before, life(&mine))
        })
        .unwrap();
    blocker.await_held(1);
    assert_eq!(life(&pool), (false, false));
    pool.shutdown();
    assert_eq!(life(&pool), (true, false));
    blocker.release();
    assert_eq!(inside.get().unwrap(), ((false, false), (true, false)));
    finish(&pool);
    assert_eq!(life(&pool), (false, true));
}

/// TPE-154
#[test]
fn await_termination_says_no_when_its_time_is_up_and_not_earlier() {
    let clock = TestClock::new();
    clock.enter(|| {
        let pool = fixed(1).build().unwrap();
        let blocker = Blocker::occupy(&pool, 1);
        assert_eq!(pool.await_termination(Duration::ZERO), Ok(false));
        let waiter = interrupt::spawn({
            let pool = pool.clone();
            move || pool.await_termination(Duration::from_secs(5))
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(Duration::from_millis(4_999));
        assert!(clock.await_sleepers(1, PATIENCE));
        assert!(!waiter.is_finished());
        clock.advance(Duration::from_millis(1));
        assert_eq!(waiter.join().unwrap().unwrap(), Ok(false));
        blocker.release();
        finish(&pool);
    });
}

/// TPE-155
#[test]
fn await_termination_sees_an_interrupt_only_where_it_waits() {
    let pool = fixed(1).build().unwrap();
    interrupt::current().interrupt();
    assert_eq!(pool.await_termination(Duration::ZERO), Ok(false));
    assert!(interrupt::is_interrupted());
    assert!(pool.await_termination(PATIENCE).is_err());
    assert!(!interrupt::is_interrupted());
    finish(&pool);
    interrupt::current().interrupt();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    assert!(interrupt::interrupted());
}

/// TPE-156
#[test]
fn shutdown_now_interrupts_what_runs_and_hands_back_what_never_started() {
    let pool = fixed(2).build().unwrap();
    let (gate, log) = (Gate::new(), Log::new());
    for _ in 0..5 {
        let (gate, log) = (gate.clone(), log.clone());
        pool.execute(move || log.record(gate.pass().is_err()))
            .unwrap();
    }
    gate.await_waiting(2);
    let unrun = pool.shutdown_now();
    assert_eq!((unrun.len(), pool.queue().len()), (3, 0));
    assert!(pool.execute(|| ()).is_err());
    finish(&pool);
    assert_eq!(log.entries(), [true, true]);
    assert_eq!(pool.completed_task_count(), 2);
}

/// TPE-157
#[test]
fn what_is_handed_back_is_in_order_and_still_pending() {
    let pool = fixed(1).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let mut handles: Vec<_> = (0..3).map(|n| pool.submit(move || n).unwrap()).collect();
    let mut unrun = pool.shutdown_now();
    let ids = |tasks: &[Task]| tasks.iter().map(Task::id).collect::<Vec<_>>();
    let expected: Vec<_> = handles.iter().map(|handle| handle.id()).collect();
    assert_eq!(ids(&unrun), expected);
    assert!(handles.iter().all(|handle| !handle.is_done()));
    unrun.remove(1).run();
    drop(unrun);
    assert_eq!(handles[1].get().unwrap(), 1);
    for at in [0, 2] {
        assert!(matches!(
            handles[at].get(),
            Err(ExecutionError::Cancelled(Cancellation::Drained))
        ));
    }
    blocker.release();
    finish(&pool);
}

/// TPE-158
#[test]
fn shutdown_calls_can_be_repeated_and_the_abrupt_one_escalates() {
    let pool = fixed(1).build().unwrap();
    let (gate, log) = (Gate::new(), Log::new());
    let (theirs, at) = (log.clone(), gate.clone());
    pool.execute(move || theirs.record(at.pass().is_err()))
        .unwrap();
    gate.await_waiting(1);
    pool.execute(|| ()).unwrap();
    pool.shutdown();
    pool.shutdown();
    assert_eq!(gate.waiting(), 1);
    assert_eq!(pool.shutdown_now().len(), 1);
    assert_eq!(pool.shutdown_now().len(), 0);
    pool.shutdown();
    finish(&pool);
    assert_eq!(log.entries(), [true]);
    pool.shutdown();
    assert_eq!(pool.shutdown_now().len(), 0);
    assert_terminated(&pool);
}

/// TPE-159
#[test]
fn a_task_may_shut_down_its_own_pool() {
    for now in [false, true] {
        let pool = fixed(2).build().unwrap();
        pool.prestart_all_core_threads();
        let mine = pool.clone();
        let body = move || {
            if now {
                drop(mine.shutdown_now());
            } else {
                mine.shutdown();
            }
            interrupt::interrupted()
        };
        let mut inside = pool.submit(body).unwrap();
        assert_eq!(inside.get().unwrap(), now);
        finish(&pool);
    }
}

/// A queue whose elements are not to leave before tomorrow.
#[derive(Default)]
struct Tomorrow(VecDeque<Task>);

impl Discipline for Tomorrow {
    type Item = Task;
    fn push(&mut self, task: Task) {
        self.0.push_back(task);
    }
    fn pop(&mut self) -> Option<Task> {
        self.0.pop_front()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn peek(&self) -> Option<&Task> {
        self.0.front()
    }
    fn iter(&self) -> Box<dyn Iterator<Item = &Task> + '_> {
        Box::new(self.0.iter())
    }
    fn remove(&mut self, at: usize) -> Task {
        self.0.remove(at).unwrap()
    }
    #[expect(clippy::disallowed_methods, reason = "a time of the machine's clock")]
    fn ready_at(&self) -> Option<Instant> {
        Some(Instant::now() + Duration::from_secs(86_400))
    }
}

/// TPE-160
#[test]
fn shutdown_now_hands_back_what_could_not_be_polled_yet() {
    let pool = fixed(1).work_queue(Blocking::new(Tomorrow::default()));
    let pool = pool.build().unwrap();
    pool.prestart_all_core_threads();
    let ids = [(); 4].map(|()| pool.execute(|| ()).unwrap());
    assert!(pool.queue().drain(usize::MAX).is_empty());
    let unrun = pool.shutdown_now();
    assert!(unrun.iter().map(Task::id).eq(ids));
    finish(&pool);
}

/// TPE-161
#[test]
fn the_state_only_moves_on() {
    for round in 0..200 {
        let pool = fixed(2).build().unwrap();
        pool.prestart_all_core_threads();
        let watched = pool.clone();
        let watcher = interrupt::spawn(move || {
            let mut last = PoolState::Running;
            while last != PoolState::Terminated {
                let now = watched.stats().state;
                assert!(now >= last, "{now:?} after {last:?}");
                last = now;
            }
        });
        for _ in 0..20 {
            pool.execute(|| ()).unwrap();
        }
        thread::scope(|scope| {
            scope.spawn(|| pool.shutdown());
            scope.spawn(|| (round % 2 == 0).then(|| pool.shutdown_now()));
        });
        finish(&pool);
        watcher.join().unwrap().unwrap();
    }
}

/// TPE-161
#[test]
fn a_pool_does_not_end_while_a_task_is_queued_or_runs() {
    let pool = fixed(1).build().unwrap();
    let (first, second) = (Blocker::occupy(&pool, 1), Blocker::new());
    pool.execute(second.body()).unwrap();
    pool.shutdown();
    assert!(!pool.is_terminated());
    first.release();
    second.await_held(1);
    assert!(!pool.is_terminated());
    assert!(pool.shutdown_now().is_empty());
    assert!(!pool.is_terminated());
    second.release();
    finish(&pool);
}

/// TPE-163
#[test]
fn the_end_reaches_everybody_who_waits_for_it() {
    let pool = fixed(1).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let waiters: Vec<_> = (0..8)
        .map(|_| {
            let pool = pool.clone();
            interrupt::spawn(move || pool.await_termination(PATIENCE))
        })
        .collect();
    pool.shutdown();
    blocker.release();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap().unwrap(), Ok(true));
    }
}

/// TPE-151, TPE-130: whatever is refused comes back, whatever is not refused runs.
#[test]
fn a_task_submitted_during_shutdown_is_run_or_handed_back() {
    for _ in 0..300 {
        let pool = fixed(2).build().unwrap();
        let (ran, start) = (Arc::new(AtomicUsize::new(0)), Latch::new(3));
        let submitter = || {
            let mut accepted = 0;
            start.count_down();
            for _ in 0..200 {
                let ran = Arc::clone(&ran);
                let body = move || {
                    ran.fetch_add(1, Ordering::SeqCst);
                };
                accepted += usize::from(pool.execute(body).is_ok());
            }
            accepted
        };
        let accepted = thread::scope(|scope| {
            let submitters = [scope.spawn(submitter), scope.spawn(submitter)];
            start.count_down();
            start.wait();
            pool.shutdown();
            submitters.map(|submitter| submitter.join().unwrap())
        });
        finish(&pool);
        let accepted = accepted.iter().sum::<usize>();
        assert_eq!(ran.load(Ordering::SeqCst), accepted);
    }
}

/// TPE-158
#[test]
fn idle_workers_end_promptly_however_the_pool_is_shut_down() {
    for round in 0..300 {
        let factory = CountingFactory::new();
        let pool = fixed(4).thread_factory(factory.clone()).build().unwrap();
        pool.prestart_all_core_threads();
        within_patience("the pool ends", move || {
            if round % 2 == 0 {
                pool.shutdown();
            } else {
                assert!(pool.shutdown_now().is_empty());
            }
            finish(&pool);
        });
        until("no thread is left", || factory.live() == 0);
    }
}

/// Says that there is a thread, and lets somebody else drop what it should run.
#[derive(Debug)]
struct Faithless(mpsc::Sender<ThreadBody>);

impl ThreadFactory for Faithless {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.0
            .send(body)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// TPE-114, TPE-152
#[test]
fn a_factory_that_breaks_its_promise_leaves_no_worker_behind() {
    let (promised, bodies) = mpsc::channel();
    let dropper = interrupt::spawn(move || bodies.into_iter().for_each(drop));
    let pool = fixed(8)
        .thread_factory(Faithless(promised))
        .build()
        .unwrap();
    let mut promises = 0;
    until("many promises", || {
        promises += usize::from(pool.prestart_core_thread());
        promises += pool.prestart_all_core_threads();
        promises > 8_000
    });
    until("all have gone", || pool.pool_size() == 0);
    finish(&pool);
    drop(pool);
    dropper.join().unwrap().unwrap();
}

#[test]
fn a_guard_closes_its_pool_when_it_is_dropped() {
    let (pool, runs) = (executors::fixed_thread_pool(2).unwrap(), Arc::default());
    {
        let guard = CloseOnDrop::new(pool.clone());
        for _ in 0..10 {
            let runs = Arc::clone(&runs);
            let count = move || {
                AtomicUsize::fetch_add(&runs, 1, Ordering::SeqCst);
            };
            guard.execute(count).unwrap();
        }
        assert!(!guard.is_shutdown());
    }
    assert!(pool.is_terminated());
    assert_eq!(runs.load(Ordering::SeqCst), 10);
}

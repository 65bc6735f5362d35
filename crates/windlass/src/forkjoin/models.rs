//! Models of the protocols between workers, run by std, loom and shuttle alike.

#![expect(unsafe_code, reason = "a model runs a job by hand")]

#[cfg(not(shuttle))]
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use super::deque::LocalOrder;
use super::help_quiesce::help_quiesce;
use super::job::{StackJob, Work};
use super::latch::{Latch, Registered};
use super::local::Local;
use super::shared::{Config, Shared};
use super::state::{Census, State};
use super::{blocking, join, scope, worker};
use crate::interrupt::{self, ThreadContext};
use crate::sync::{Deadline, Mutex, model, thread};
use crate::task::{Sources, Task, TaskHandle};
use crate::thread_factory::DefaultThreadFactory;
use crate::times::Times;

/// Creates a pool whose idle workers retire after `keep_alive`.
fn shared(parallelism: usize, keep_alive: Duration) -> Arc<Shared> {
    let config = Config {
        name: "model".into(),
        order: LocalOrder::Lifo,
        keep_alive,
        max_spares: 1,
        factory: Arc::new(DefaultThreadFactory::named("model")),
        uncaught: None,
        prepare: None,
        hooks: None,
        sources: Sources::default(),
        times: Times::Off,
        run_worker: worker::run,
    };
    Shared::new(config, parallelism)
}

fn submit(shared: &Arc<Shared>, body: impl FnOnce() -> u32 + Send + 'static) -> TaskHandle<u32> {
    let (task, handle) = Task::with_handle(body);
    assert!(shared.submit(Work::task(task)).is_ok());
    handle
}

fn end(shared: &Arc<Shared>) {
    shared.shutdown();
    assert_eq!(shared.termination.wait(Duration::MAX), Ok(true));
}

/// Pushes a job for another thread, and waits for it.
fn run_elsewhere(local: &Local, body: impl FnOnce() -> u32 + Send) -> u32 {
    let job = StackJob::new(body, None);
    local.push(Work::Job(job.share()));
    job.latch().wait(&local.context);
    job.into_outcome().unwrap()
}

#[test]
fn an_outcome_is_there_when_the_latch_is_set_and_the_job_may_go() {
    model(|| {
        let job = StackJob::new(|| 7, None);
        let theirs = Work::Job(job.share());
        let runner = thread::Builder::new().spawn(move || {
            if let Work::Job(job) = theirs {
                // SAFETY: the owner keeps the job until its latch is set, and does not run it.
                unsafe { job.run(None) };
            }
        });
        job.latch().wait(&ThreadContext::current());
        assert_eq!(job.into_outcome().unwrap(), 7);
        runner.unwrap().join().unwrap();
    });
}

#[test]
fn an_owner_that_waits_sees_the_thief_of_its_job() {
    model(|| {
        let seen = Arc::new(Latch::new());
        let theirs = Arc::clone(&seen);
        let job = StackJob::new(move || theirs.wait(&ThreadContext::current()), None);
        let stolen = Work::Job(job.share());
        let thief = thread::Builder::new().spawn(move || {
            // SAFETY: the owner keeps the job until its latch is set, and does not run it.
            stolen.into_job().map(|job| unsafe { job.run(Some(3)) })
        });
        let me = ThreadContext::current();
        while job.register(&me) == Registered::Awaited && job.thief().is_none() {
            let _ = me.park_uninterruptibly(Deadline::Never);
        }
        assert_eq!(job.thief(), Some(3));
        // SAFETY: it is alive.
        unsafe { Latch::set(&raw const *seen) };
        job.latch().wait(&me);
        thief.unwrap().join().unwrap();
    });
}

#[test]
fn a_leaning_tree_of_joins_ends() {
    fn leaning(shared: &Arc<Shared>, depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        let (rest, one) = join::join_in(shared, || leaning(shared, depth - 1), || 1);
        rest + one
    }
    model(|| {
        let shared = shared(1, Duration::MAX);
        assert_eq!(shared.as_helper(|_| leaning(&shared, 2)), 2);
        end(&shared);
    });
}

#[test]
fn no_work_lies_beside_a_sleeping_worker() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let sum = shared.as_helper(|local| run_elsewhere(local, || 1) + run_elsewhere(local, || 2));
        assert_eq!(sum, 3);
        end(&shared);
    });
}

#[test]
fn a_job_is_stolen_or_taken_back() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let both = shared.as_helper(|_| join::join_in(&shared, || 1, || 2));
        assert_eq!(both, (1, 2));
        end(&shared);
    });
}

#[test]
fn a_joiner_does_not_run_what_the_other_side_has_only_started() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let lock = Arc::new(Mutex::new(0));
        shared.as_helper(|_| {
            let held = lock.lock();
            let start = || {
                let theirs = Arc::clone(&lock);
                let task = Task::new(move || *theirs.lock() += 1);
                Local::with(|local| local.unwrap().push(Work::task(task)));
            };
            join::join_in(&shared, start, || ());
            drop(held);
        });
        end(&shared);
        assert_eq!(*lock.lock(), 1);
    });
}

#[test]
fn a_job_that_is_returned_is_its_owners() {
    model(|| {
        let job = StackJob::new(|| 7, None);
        let theirs = Work::Job(job.share());
        let thief = thread::Builder::new().spawn(move || {
            // SAFETY: the owner keeps the job until its latch is set.
            theirs
                .into_job()
                .map(|job| unsafe { job.return_to_owner() })
        });
        job.latch().wait(&ThreadContext::current());
        assert!(job.was_returned());
        assert_eq!(job.into_body()(), 7);
        thief.unwrap().join().unwrap();
    });
}

/// One thread only: shuttle has no schedule to choose.
#[cfg(not(shuttle))]
#[test]
fn a_join_job_of_a_runner_that_has_gone_on_is_returned() {
    model(|| {
        let shared = shared(0, Duration::MAX);
        shared.as_helper(|local| {
            let job = StackJob::new(|| 7, None);
            local.push(Work::Job(job.share()));
            let called = Cell::new(false);
            let runner = || (!called.replace(true)).then_some(local.worker.index);
            assert!(join::leapfrog(local, runner));
            assert!(job.latch().is_set() && job.was_returned());
        });
    });
}

/// One thread only: shuttle has no schedule to choose.
#[cfg(not(shuttle))]
#[test]
fn a_worker_with_older_jobs_is_no_victim_for_leapfrogging() {
    model(|| {
        let shared = shared(0, Duration::MAX);
        shared.as_helper(|local| {
            let (older, newer) = (StackJob::new(|| 1, None), StackJob::new(|| 2, None));
            local.push(Work::Job(older.share()));
            local.run(Work::Job(newer.share()));
            assert_eq!(newer.thief(), None);
            assert!(local.take_shared(older.waiter()).is_some());
            let (older, newer) = (StackJob::new(|| 1, None), StackJob::new(|| 2, None));
            local.keep_private(older.as_ref());
            local.run(Work::Job(newer.share()));
            assert_eq!(newer.thief(), None);
            assert!(local.take_private(older.as_ref()));
            let alone = StackJob::new(|| 3, None);
            local.run(Work::Job(alone.share()));
            assert_eq!(alone.thief(), Some(local.worker.index));
        });
    });
}

#[test]
fn a_scope_ends_with_what_it_has_spawned() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let count = Mutex::new(0);
        scope::scope(&shared, |scope| scope.spawn(|| *count.lock() += 1));
        assert_eq!(count.into_inner(), 1);
        end(&shared);
    });
}

#[test]
fn a_submission_is_refused_or_run_before_termination() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let theirs = Arc::clone(&shared);
        let submitter = thread::Builder::new().spawn(move || {
            let (task, handle) = Task::with_handle(|| 5);
            theirs.submit(Work::task(task)).is_ok().then_some(handle)
        });
        end(&shared);
        if let Some(mut accepted) = submitter.unwrap().join().unwrap() {
            assert!(accepted.try_get().is_some_and(|value| value.is_ok()));
        }
    });
}

#[test]
fn a_submission_that_meets_a_stop_is_run_or_handed_back() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let mut submitted = submit(&shared, || 1);
        let handed_back = shared.shutdown_now();
        assert_eq!(shared.termination.wait(Duration::MAX), Ok(true));
        assert_eq!(submitted.is_done(), handed_back.is_empty());
        handed_back.into_iter().for_each(Task::run);
        assert_eq!(submitted.get().unwrap(), 1);
    });
}

#[test]
fn a_submission_that_meets_a_leaving_worker_is_run() {
    model(|| {
        let shared = shared(1, Duration::ZERO);
        assert_eq!(submit(&shared, || 1).get().unwrap(), 1);
        assert_eq!(submit(&shared, || 2).get().unwrap(), 2);
        end(&shared);
    });
}

#[test]
fn a_worker_that_waits_makes_room_for_what_is_queued() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let (task, mut awaited) = Task::with_handle(|| 3);
        let mut waiting = submit(&shared, move || blocking(|| awaited.get().unwrap()));
        assert!(shared.submit(Work::task(task)).is_ok());
        assert_eq!(waiting.get().unwrap(), 3);
        end(&shared);
    });
}

/// Not for loom, which has too many schedules of two workers to try; see the model in `sleep`.
#[cfg(not(loom))]
#[test]
fn a_worker_whose_search_ends_wakes_the_next() {
    model(|| {
        let shared = shared(2, Duration::MAX);
        let (second, mut awaited) = Task::with_handle(|| 3);
        let mut first = submit(&shared, move || awaited.get().unwrap());
        assert!(shared.submit(Work::task(second)).is_ok());
        assert_eq!(first.get().unwrap(), 3);
        end(&shared);
    });
}

#[test]
fn a_pool_that_idles_can_be_ended() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        assert_eq!(submit(&shared, || 1).get().unwrap(), 1);
        end(&shared);
    });
}

#[test]
fn a_task_that_meets_a_stop_is_interrupted_or_handed_back() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let mut submitted = submit(&shared, || {
            // A stray token may end a park early.
            while interrupt::park().is_ok() {}
            1
        });
        let handed_back = shared.shutdown_now();
        assert_eq!(shared.termination.wait(Duration::MAX), Ok(true));
        assert_eq!(submitted.is_done(), handed_back.is_empty());
        drop(handed_back);
        assert_ne!(submitted.get().is_ok(), submitted.is_cancelled());
    });
}

/// Creates a pool of one worker that nobody replaces.
fn lone() -> Arc<Shared> {
    let mut shared = shared(1, Duration::MAX);
    if let Some(shared) = Arc::get_mut(&mut shared) {
        shared.config.max_spares = 0;
        shared.state = Mutex::new(State::new(Census::new(1, 0)));
    }
    shared
}

#[test]
fn waits_in_a_pool_without_a_spare_return() {
    model(|| {
        let shared = lone();
        let (task, mut awaited) = Task::with_handle(|| 3);
        let mut waiting = submit(&shared, move || awaited.get().unwrap());
        assert!(shared.submit(Work::task(task)).is_ok());
        assert_eq!(waiting.get().unwrap(), 3);
        end(&shared);
    });
}

#[test]
fn a_thread_that_quiesces_sees_the_end_of_the_others() {
    model(|| {
        let shared = shared(1, Duration::MAX);
        let other = submit(&shared, || 1);
        assert!(shared.as_helper(|local| help_quiesce(local, Deadline::Never)));
        assert!(other.is_done());
        end(&shared);
    });
}

//! Submissions that await room, racing with workers, with each other and with the end of the pool.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Ledger, Rendezvous, block_on, producers, spawn};
use crate::executor::ExecutorService;
use crate::pool::{Builder, ThreadPoolExecutor};
use crate::queue::{LinkedBlockingQueue, ResizableBlockingQueue, SynchronousQueue};
use crate::submit::Submit;
use crate::sync::clock::TestClock;
use crate::sync::{Parker, model};
use crate::task::CancelToken;

fn one_worker() -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(1)
}

fn narrow() -> Builder {
    one_worker().work_queue(LinkedBlockingQueue::with_capacity(1).unwrap())
}

fn handing_off() -> Builder {
    one_worker().work_queue(SynchronousQueue::new())
}

/// Awaits room for a task that does nothing; returns whether it was accepted.
fn submit(pool: &ThreadPoolExecutor, ledger: &Ledger) -> bool {
    match block_on(pool.submit_async(ledger.body(|| ()))) {
        Ok(handle) => {
            handle.wait().unwrap();
            true
        }
        Err(rejected) => {
            ledger.take_back([rejected.into_task()]);
            false
        }
    }
}

fn all_enter(build: fn() -> Builder) {
    model(move || {
        let (pool, ledger) = (build().build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        producers(3, move || assert!(submit(&theirs.0, &theirs.1)));
        let account = ledger.audit(&pool);
        assert_eq!((account.sent, account.ran), (3, 3));
    });
}

/// WL-152
#[test]
fn all_that_await_room_in_a_queue_enter() {
    all_enter(narrow);
}

/// WL-152
#[test]
fn all_that_await_an_idle_worker_get_one() {
    all_enter(handing_off);
}

/// The worker takes a task that ends only when the submission has found room.
///
/// WL-152
#[test]
fn a_place_is_filled_as_soon_as_its_task_was_taken() {
    model(|| {
        let (pool, ledger) = (narrow().build().unwrap(), Ledger::default());
        let rendezvous = Rendezvous::of(2);
        ledger.execute(&pool, || ());
        let theirs = (pool.clone(), ledger.clone(), Arc::clone(&rendezvous));
        let first = spawn(move || {
            while theirs
                .1
                .execute(&theirs.0, theirs.2.participant())
                .is_none()
            {
                crate::sync::thread::yield_now();
            }
        });
        let theirs = (pool.clone(), ledger.clone(), rendezvous);
        let second = spawn(move || {
            let body = theirs.1.body(|| ());
            let handle = block_on(theirs.0.submit_async(body)).unwrap();
            theirs.2.arrive();
            handle.wait().unwrap();
        });
        first.join().unwrap();
        second.join().unwrap();
        pool.close();
    });
}

/// The worker runs the task that it waits for in place, and that ends only when the submission has found
/// room.
///
/// WL-152
#[test]
fn a_place_is_filled_as_soon_as_its_task_is_run_in_place() {
    model(|| {
        let pool = narrow().build().unwrap();
        let (gate, theirs) = (Arc::new(Parker::new()), pool.clone());
        let inside = Arc::clone(&gate);
        let outer = pool.submit(move || {
            let inner = theirs.submit(move || inside.park());
            // Refused if the submission was first.
            if let Ok(inner) = inner {
                inner.join().unwrap();
            }
        });
        let submission = block_on(pool.submit_async(|| ())).unwrap();
        gate.unpark();
        submission.join().unwrap();
        outer.unwrap().join().unwrap();
        pool.close();
    });
}

/// The worker is held until the submission has found room.
///
/// WL-184
#[test]
fn a_task_that_expires_makes_room_for_a_submission_that_awaits_it() {
    model(|| {
        let clock = TestClock::new();
        let pool = clock.enter(|| narrow().build().unwrap());
        let gate = Arc::new(Parker::new());
        let inside = Arc::clone(&gate);
        pool.execute(move || inside.park()).unwrap();
        let limit = Duration::from_secs(1);
        pool.task().queue_limit(limit).execute(|| ()).unwrap();
        let theirs = pool.clone();
        let submitter = spawn(move || block_on(theirs.submit_async(|| ())).is_ok());
        clock.advance(limit);
        assert!(submitter.join().unwrap());
        gate.unpark();
        pool.close();
    });
}

/// The worker is held until the wait for room has ended.
///
/// WL-184
#[test]
fn a_submission_whose_task_is_cancelled_awaits_room_no_longer() {
    model(|| {
        let pool = narrow().build().unwrap();
        let gate = Arc::new(Parker::new());
        let inside = Arc::clone(&gate);
        pool.execute(move || inside.park()).unwrap();
        pool.execute(|| ()).unwrap();
        let token = CancelToken::new();
        let theirs = (pool.clone(), token.clone());
        let submitter = spawn(move || {
            let task = theirs.0.task().cancelled_by(&theirs.1);
            block_on(task.submit_async(|| ())).unwrap().is_cancelled()
        });
        token.cancel();
        assert!(submitter.join().unwrap());
        gate.unpark();
        pool.close();
    });
}

fn end(build: fn() -> Builder, stop: fn(&ThreadPoolExecutor, &Ledger)) {
    model(move || {
        let (pool, ledger) = (build().build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let stopper = spawn(move || stop(&theirs.0, &theirs.1));
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            let body = theirs.1.body(|| ());
            match block_on(theirs.0.submit_async(body)) {
                // Returned by the stop, perhaps: the ledger runs it.
                Ok(handle) => drop(handle),
                Err(rejected) => {
                    assert!(rejected.is_shutdown());
                    theirs.1.take_back([rejected.into_task()]);
                }
            }
        });
        stopper.join().unwrap();
        ledger.audit(&pool);
    });
}

/// WL-151
#[test]
fn a_shutdown_ends_every_wait_for_room() {
    end(narrow, |pool, _| pool.shutdown());
}

/// WL-151
#[test]
fn a_shutdown_ends_every_wait_for_an_idle_worker() {
    end(handing_off, |pool, _| pool.shutdown());
}

/// WL-151
#[test]
fn a_stop_ends_every_wait_for_room() {
    end(narrow, |pool, ledger| {
        ledger.take_back(pool.shutdown_now());
    });
}

fn give_up(build: fn() -> Builder) {
    model(move || {
        let (pool, ledger) = (build().build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let fickle = spawn(move || {
            for _ in 0..2 {
                let mut submission = Box::pin(theirs.0.submit_async(|| ()));
                let mut context = Context::from_waker(Waker::noop());
                if let Poll::Ready(entered) = Pin::new(&mut submission).poll(&mut context) {
                    entered.unwrap().wait().unwrap();
                }
            }
        });
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || assert!(submit(&theirs.0, &theirs.1)));
        fickle.join().unwrap();
        assert_eq!(ledger.audit(&pool).ran, 2);
    });
}

/// WL-152
#[test]
fn a_submission_that_is_given_up_holds_nobody_up() {
    give_up(narrow);
}

/// WL-152
#[test]
fn a_submission_that_is_given_up_at_a_hand_off_holds_nobody_up() {
    give_up(handing_off);
}

/// WL-152
#[test]
fn a_larger_queue_or_maximum_makes_room() {
    model(|| {
        let queue = ResizableBlockingQueue::with_capacity(1).unwrap();
        let pool = one_worker().work_queue(queue).build().unwrap();
        let (ledger, rendezvous) = (Ledger::default(), Rendezvous::of(4));
        ledger.execute(&pool, rendezvous.participant());
        ledger.execute(&pool, || ());
        let theirs = (pool.clone(), ledger.clone(), Arc::clone(&rendezvous));
        let submitters = spawn(move || {
            producers(2, move || {
                let body = theirs.1.body(|| ());
                let handle = block_on(theirs.0.submit_async(body)).unwrap();
                theirs.2.arrive();
                handle.wait().unwrap();
            });
        });
        pool.set_queue_capacity(2).unwrap();
        pool.set_maximum_pool_size(2).unwrap();
        rendezvous.arrive();
        submitters.join().unwrap();
        ledger.audit(&pool);
    });
}

//! What a thread times the tasks with that it runs in place, inside another one.
//!
//! Not the stopwatch of the worker: that is a variable of the run loop, which a wait inside a task does not reach, and
//! the run loop pays nothing for waits. A worker creates this one when it first runs a task in place and
//! keeps it until its end. A thread that is no worker of the pool creates one for each such task: a thread that a pool
//! does not own must not keep parts of it.

use std::cell::RefCell;
use std::rc::Rc;

use super::shared::Shared;
use super::waits::Membership;
use crate::sync::const_thread_local;
use crate::times::{SharedActivity, Stopwatch};

const_thread_local! {
    static OF_WORKER: RefCell<Option<Rc<Stopwatch>>> = RefCell::new(None);
}

/// Drops the stopwatch of the current worker at its end, before its thread-locals are.
pub(crate) struct EndOfWorker;

impl Drop for EndOfWorker {
    fn drop(&mut self) {
        let stopwatch = OF_WORKER.try_with(RefCell::take);
        drop(stopwatch);
    }
}

/// Returns the stopwatch for what the current thread runs in place for the pool.
pub(super) fn stopwatch(pool: &Shared, membership: Membership) -> Rc<Stopwatch> {
    let new = || {
        // What the worker does is the outer task, so nobody reads this.
        let unread = SharedActivity::default();
        Rc::new(Stopwatch::new(&pool.tracker, &unread, pool.clock()))
    };
    if membership == Membership::Guest {
        return new();
    }
    let kept = OF_WORKER.try_with(|kept| Rc::clone(kept.borrow_mut().get_or_insert_with(new)));
    kept.unwrap_or_else(|_| new())
}

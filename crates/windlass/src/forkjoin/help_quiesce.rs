//! The wait of a thread inside a task until all other work of the pool is done.
//!
//! The thread runs what is queued. When it finds nothing, it counts as asleep, so that it is woken for
//! new work like an idle worker. It returns when the others are asleep too, or wait inside a task: a
//! worker that waits, perhaps for this very task, would otherwise never be done.

use super::local::Local;
use super::state::State;
use crate::sync::atomic::{Ordering, fence};
use crate::sync::{Deadline, MutexGuard};

/// Runs queued work of the pool, and waits until all other work is done, but not beyond the deadline;
/// returns whether it is. Interrupts stay pending.
pub(super) fn help_quiesce(local: &Local, deadline: Deadline) -> bool {
    loop {
        run_queued(local, deadline);
        if let Some(is_quiet) = wait(local, deadline) {
            return is_quiet;
        }
    }
}

/// Runs the worker's own work, stolen work and submissions, until it finds none.
fn run_queued(local: &Local, deadline: Deadline) {
    while !deadline.has_passed() {
        match local.deque.pop().or_else(|| local.find_work()) {
            Some(work) => local.run(work),
            None => return,
        }
    }
}

/// Waits as long as nothing is queued; returns whether the other work is done, or `None` if there is
/// something to run.
fn wait(local: &Local, deadline: Deadline) -> Option<bool> {
    let shared = &local.shared;
    let mut state = shared.lock();
    enlist(local, &mut state);
    // As for a worker that falls asleep: work that is pushed from now on wakes this thread, and work
    // that was pushed before is seen below.
    fence(Ordering::SeqCst);
    shared.roster.snapshot().ask_all();
    let answer = loop {
        let is_queued = shared.roster.has_queued() || shared.has_submissions(&state);
        if !is_queued && state.is_quiet() {
            break Some(true);
        }
        if deadline.has_passed() {
            break Some(false);
        }
        if is_queued || local.is_worker() && !is_listed(local, &state) {
            break None;
        }
        // The others may have waited for this one.
        shared.signal_quiescers(&state);
        drop(state);
        let _ = local.context.park_uninterruptibly(deadline);
        state = shared.lock();
    };
    let was_woken = delist(local, &mut state);
    if answer == Some(true) {
        shared.signal_quiescers(&state);
    }
    drop(state);
    if was_woken {
        // It may take less than it was woken for.
        shared.notify_more();
    }
    answer
}

fn enlist(local: &Local, state: &mut MutexGuard<'_, State>) {
    state.add_quiescer(&local.context, local.is_worker());
    if local.is_worker() {
        local.shared.sleep.enlist(&mut state.census, &local.worker);
    }
}

fn is_listed(local: &Local, state: &State) -> bool {
    let mut sleeping = state.census.sleeping.iter();
    sleeping.any(|other| other.index == local.worker.index)
}

/// Undoes [`enlist`]; returns whether a thread has woken this one for queued work. It then counts as one
/// that searches no longer.
fn delist(local: &Local, state: &mut MutexGuard<'_, State>) -> bool {
    state.remove_quiescer(&local.context, local.is_worker());
    let was_woken = local.is_worker() && !is_listed(local, state);
    if was_woken {
        local.shared.sleep.end_search(&mut state.census);
    } else if local.is_worker() {
        local.shared.sleep.update(&mut state.census, |census| {
            census
                .sleeping
                .retain(|other| other.index != local.worker.index);
        });
    }
    was_woken
}

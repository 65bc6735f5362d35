//! The duty of a worker that watches tasks which a hand-off has accepted though no worker waited.

use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;
use crate::interrupt::ThreadContext;
use crate::queue::{Inspected, SynchronousQueue};
use crate::sync::nap;
use crate::task::Task;

/// How long a worker that watches sleeps between two looks: about as long as it takes to start a thread,
/// and the machine adds as much again.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// Watches until no more tasks are queued than workers wait, or there is a thread for each of them.
///
/// `start` starts so many workers without a task, and returns how many it could start. If that is less, this
/// worker takes tasks itself, and what is left is taken by workers that return.
pub(super) fn watch(
    pool: &Arc<Shared>,
    me: &Arc<ThreadContext>,
    queue: &SynchronousQueue<Task>,
    start: fn(&Arc<Shared>, u32) -> u32,
) {
    let Some(mut watch) = queue.watch() else {
        return;
    };
    loop {
        nap(BETWEEN_LOOKS);
        if pool.ctl.load().is_stopped() {
            // Who has submitted a task since the queue was drained removes it again.
            return queue.resign(&watch);
        }
        // During a pause nobody takes tasks, and no thread that is started would.
        if pool.settings.paused_until().is_some() {
            queue.suspend_lending();
            pool.sleep_while_paused(me);
            continue;
        }
        match queue.inspect(&mut watch) {
            Inspected::Watch => {}
            Inspected::Done => return,
            Inspected::Start(wanted) => {
                let started = start(pool, wanted);
                watch.record_started(started);
                if started < wanted {
                    return queue.resign(&watch);
                }
            }
        }
    }
}

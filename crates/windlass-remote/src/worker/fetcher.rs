//! Fetches as many tasks as there is room for.

use super::run;
use super::shared::{Shared, Stage};
use crate::engine::{EngineError, FetchRequest, MAX_BATCH, TaskFeed};
use crate::options::Priority;
use crate::pace::Backoff;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long one fetch waits; a worker that is shut down notices it after this time at the latest.
const WAIT: Duration = Duration::from_millis(500);

/// How long a worker with a backlog waits until a quarter of its places is free. One call for many tasks costs the engine less than many
/// calls, and with a backlog the places fill again whenever it is made.
const GATHER: Duration = Duration::from_micros(200);

/// The fetcher's thread.
pub(super) fn run(shared: &Arc<Shared>) {
    let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
    let mut feed: Option<Box<dyn TaskFeed>> = None;
    let mut turn = 0;
    let quarter = (shared.record.slots as usize / 4).max(1);
    let mut backlog = false;
    while shared.life.stage() == Stage::Working {
        let mut free = shared.room.wait_free(1, WAIT);
        if free == 0 {
            continue;
        }
        if backlog {
            free = shared.room.wait_free(quarter, GATHER);
        }
        turn += 1;
        match step(shared, &mut feed, free, turn) {
            Ok(more) => {
                backlog = more;
                backoff.reset();
            }
            Err(error) => {
                backlog = false;
                shared.counts.engine_failed(error);
                shared.life.wait_change(backoff.next_pause());
            }
        }
    }
    match feed.map(|mut feed| feed.close()) {
        Some(Ok(rest)) => rest
            .into_iter()
            .for_each(|delivery| run::give_back(shared, delivery)),
        Some(Err(error)) => shared.counts.engine_failed(error),
        None => {}
    }
    shared.fetching.store(false, Ordering::SeqCst);
    shared.life.nudge();
}

/// Returns whether there were as many tasks as there was room for, so that there are probably more.
fn step(
    shared: &Arc<Shared>,
    feed: &mut Option<Box<dyn TaskFeed>>,
    free: usize,
    turn: u64,
) -> Result<bool, EngineError> {
    let feed = match feed {
        Some(feed) => feed,
        None => feed.insert(shared.engine.tasks(&shared.queue, &shared.record.id)?),
    };
    let count = free.min(MAX_BATCH);
    let fetched = feed.fetch(&FetchRequest {
        count,
        wait: WAIT,
        lease: shared.times.lease,
        first: Priority::of_turn(turn),
    })?;
    let backlog = fetched.deliveries.len() >= count;
    for delivery in fetched.deliveries {
        if shared.life.stage() == Stage::Working {
            run::hand_over(shared, delivery);
        } else {
            run::give_back(shared, delivery);
        }
    }
    if fetched.paused {
        // The keeper ends this wait when the settings of the queue change.
        shared.life.wait_change(WAIT);
    }
    Ok(backlog)
}

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

/// The fetcher's thread.
pub(super) fn run(shared: &Arc<Shared>) {
    let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
    let mut feed = None;
    let mut turn = 0;
    while shared.life.stage() == Stage::Working {
        let free = shared.room.wait_free(WAIT);
        if free == 0 {
            continue;
        }
        turn += 1;
        match step(shared, &mut feed, free, turn) {
            Ok(()) => backoff.reset(),
            Err(error) => {
                shared.counts.engine_failed(error);
                shared.life.wait_change(backoff.next_pause());
            }
        }
    }
    shared.fetching.store(false, Ordering::SeqCst);
    shared.life.nudge();
}

fn step(
    shared: &Arc<Shared>,
    feed: &mut Option<Box<dyn TaskFeed>>,
    free: usize,
    turn: u64,
) -> Result<(), EngineError> {
    let feed = match feed {
        Some(feed) => feed,
        None => feed.insert(shared.engine.tasks(&shared.queue, &shared.record.id)?),
    };
    let fetched = feed.fetch(&FetchRequest {
        count: free.min(MAX_BATCH),
        wait: WAIT,
        lease: shared.times.lease,
        first: Priority::of_turn(turn),
    })?;
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
    Ok(())
}

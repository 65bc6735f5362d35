//! How many tasks a worker may still take.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts free places. Places are taken by the fetcher only, so what it has seen free stays free.
#[derive(Debug)]
pub(crate) struct Room {
    places: Mutex<Places>,
    freed: Condvar,
}

#[derive(Debug)]
struct Places {
    free: usize,
    /// How many free places the fetcher waits for.
    wanted: usize,
}

impl Room {
    pub(crate) const fn new(places: usize) -> Self {
        Self {
            places: Mutex::new(Places {
                free: places,
                wanted: 1,
            }),
            freed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `wanted` places are free, no longer than `limit`; returns how many are.
    pub(crate) fn wait_free(&self, wanted: usize, limit: Duration) -> usize {
        let mut places = self.lock();
        places.wanted = wanted;
        let waited = self
            .freed
            .wait_timeout_while(places, limit, |places| places.free < wanted);
        waited.unwrap_or_else(PoisonError::into_inner).0.free
    }

    pub(crate) fn take(&self) {
        let mut places = self.lock();
        places.free = places.free.saturating_sub(1);
    }

    pub(crate) fn give_back(&self) {
        let mut places = self.lock();
        places.free += 1;
        // The fetcher waits only while fewer are free than it wants.
        if places.free == places.wanted {
            drop(places);
            self.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Room;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn whoever_waits_for_places_wakes_up_when_so_many_are_free() {
        let room = Room::new(4);
        (0..4).for_each(|_| room.take());
        assert_eq!(room.wait_free(1, Duration::ZERO), 0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| room.wait_free(3, LONG));
            (0..3).for_each(|_| room.give_back());
            assert_eq!(waiter.join().unwrap(), 3);
        });
        assert_eq!(room.wait_free(4, Duration::ZERO), 3);
    }
}

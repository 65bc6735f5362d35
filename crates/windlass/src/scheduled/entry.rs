//! What the timer queue has to know of a queued timer.

use crate::task::{Place, TimedTask};

/// A queued timer: when it is due, its order among those that are due at the same time, and its position,
/// which the queue writes and reads.
pub(super) trait Entry {
    /// Returns the due time, which does not change while the timer is queued.
    fn due(&self) -> u64;

    /// Returns the sequence number, which is not zero while the timer is queued.
    fn sequence(&self) -> u64;

    /// Returns due time and sequence number.
    fn key(&self) -> (u64, u64) {
        (self.due(), self.sequence())
    }

    fn set_sequence(&self, sequence: u64);

    /// Sets the position in the list that the queue keeps the timer in.
    fn set_position(&self, position: usize);

    /// Sets sequence number and position.
    fn set_place(&self, sequence: u64, position: usize) {
        self.set_sequence(sequence);
        self.set_position(position);
    }
}

/// The number of positions that an entry can have.
pub(super) const POSITIONS: usize = Place::POSITIONS;

impl Entry for TimedTask {
    #[inline]
    fn due(&self) -> u64 {
        self.place().due()
    }

    #[inline]
    fn sequence(&self) -> u64 {
        self.place().sequence()
    }

    #[inline]
    fn key(&self) -> (u64, u64) {
        let place = self.place();
        (place.due(), place.sequence())
    }

    fn set_sequence(&self, sequence: u64) {
        self.place().set_sequence(sequence);
    }

    #[inline]
    fn set_position(&self, position: usize) {
        self.place().set_position(position);
    }

    #[inline]
    fn set_place(&self, sequence: u64, position: usize) {
        self.place().set(sequence, position);
    }
}

//! The last events, numbered, so that a client that was away can go on where it was.
//!
//! Every client reads the journal at its own pace and keeps the number of the last event that it has
//! read; nothing is queued per client. One that is too slow, or was away for too long, misses the
//! events that have left the journal, is told so, and starts again from a snapshot.
//!
//! The first number is the time of start in milliseconds. Events are far fewer than one a millisecond,
//! so a console that is started later has higher numbers, and a number of an earlier one is never taken
//! for one of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How many events are kept: a client may be away for about a minute.
const KEPT: usize = 64;

/// How many bytes of events are kept: less than [`KEPT`] events if there are very many pools.
const KEPT_BYTES: usize = 4 << 20;

/// The kind of an event, as its name in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Hello,
    Pools,
    Alert,
    Audit,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Pools => "pools",
            Self::Alert => "alert",
            Self::Audit => "audit",
        }
    }
}

/// One event. All clients share its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    pub(crate) data: Arc<str>,
}

/// What there is to read after a number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The next event.
    Next(Event),
    /// Nothing yet.
    UpToDate,
    /// The next event has left the journal, or the number is none of this console.
    Missed,
}

#[derive(Debug)]
pub(crate) struct Journal {
    kept: Mutex<Kept>,
    /// The number of the last event.
    last: watch::Sender<u64>,
}

#[derive(Debug)]
struct Kept {
    events: VecDeque<Event>,
    bytes: usize,
    last: u64,
}

impl Journal {
    pub(crate) fn new(started_ms: u64) -> Self {
        let kept = Kept {
            events: VecDeque::new(),
            bytes: 0,
            last: started_ms,
        };
        Self {
            kept: Mutex::new(kept),
            last: watch::Sender::new(started_ms),
        }
    }

    /// Appends an event and wakes the clients.
    pub(crate) fn append(&self, kind: Kind, data: String) {
        let last = self.kept().append(kind, data.into());
        self.last.send_replace(last);
    }

    /// Returns whether somebody waits for events.
    pub(crate) fn is_watched(&self) -> bool {
        self.last.receiver_count() > 0
    }

    /// Returns what follows the event of a number.
    pub(crate) fn after(&self, id: u64) -> Reading {
        self.kept().after(id)
    }

    /// Returns a receiver that changes with each event.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn append(&mut self, kind: Kind, data: Arc<str>) -> u64 {
        self.last += 1;
        self.bytes += data.len();
        self.events.push_back(Event {
            id: self.last,
            kind,
            data,
        });
        while self.events.len() > KEPT || (self.bytes > KEPT_BYTES && self.events.len() > 1) {
            if let Some(oldest) = self.events.pop_front() {
                self.bytes -= oldest.data.len();
            }
        }
        self.last
    }

    fn after(&self, id: u64) -> Reading {
        if id == self.last {
            return Reading::UpToDate;
        }
        let first = self.events.front().map_or(self.last + 1, |event| event.id);
        let position = id.checked_add(1).and_then(|next| next.checked_sub(first));
        position
            .and_then(|position| self.events.get(usize::try_from(position).ok()?))
            .map_or(Reading::Missed, |event| Reading::Next(event.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Journal, KEPT, KEPT_BYTES, Kind, Reading};

    fn ids_after(journal: &Journal, mut id: u64) -> Vec<u64> {
        let mut read = Vec::new();
        while let Reading::Next(event) = journal.after(id) {
            id = event.id;
            read.push(id);
        }
        read
    }

    #[test]
    fn a_reader_goes_on_after_the_event_that_it_names() {
        let journal = Journal::new(1000);
        for number in 0..5 {
            journal.append(Kind::Pools, number.to_string());
        }
        assert_eq!(ids_after(&journal, 1002), [1003, 1004, 1005]);
        assert_eq!(journal.after(1005), Reading::UpToDate);
    }

    #[test]
    fn a_number_of_an_earlier_or_no_console_is_missed() {
        let journal = Journal::new(1000);
        assert_eq!(journal.after(1000), Reading::UpToDate);
        journal.append(Kind::Pools, String::new());
        for id in [0, 1, 999, 1002, u64::MAX] {
            assert_eq!(journal.after(id), Reading::Missed, "{id}");
        }
    }

    #[test]
    fn a_reader_that_was_away_for_too_long_is_told() {
        let journal = Journal::new(0);
        for _ in 0..=KEPT {
            journal.append(Kind::Pools, String::new());
        }
        assert_eq!(journal.after(0), Reading::Missed);
        assert_eq!(ids_after(&journal, 1).len(), KEPT);
    }

    #[test]
    fn the_memory_for_events_is_bounded() {
        let journal = Journal::new(0);
        for _ in 0..5 {
            journal.append(Kind::Pools, " ".repeat(KEPT_BYTES / 2));
        }
        assert_eq!(ids_after(&journal, 3), [4, 5]);
        assert_eq!(journal.after(2), Reading::Missed);
        journal.append(Kind::Pools, " ".repeat(KEPT_BYTES + 1));
        assert_eq!(ids_after(&journal, 5), [6]);
    }
}

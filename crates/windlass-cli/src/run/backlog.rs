//! How many jobs wait in the pool, and when their submitter goes on once the queue was full.
//!
//! A submitter that waits for one free place is woken for each job, on a processor that a job could
//! use. So it waits until half of the queue is free; the other half keeps the threads busy meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::stop::Stop;

/// The lowest bit says that the submitter waits, the others count the jobs. In one word, a thread that takes
/// a job cannot miss a submitter that is about to wait for it.
#[derive(Debug)]
pub(super) struct Backlog {
    word: AtomicUsize,
    bound: usize,
}

const AWAITED: usize = 1;
const JOB: usize = 2;

impl Backlog {
    /// Creates the backlog of a pool whose submitter waits when so many jobs do.
    pub(super) const fn new(bound: usize) -> Self {
        Self {
            word: AtomicUsize::new(0),
            bound,
        }
    }

    /// Counts a job that is about to be submitted. If the queue is full, waits before that until half of it is
    /// free, or the run ends.
    pub(super) fn add(&self, stop: &Stop) {
        if self.word.load(Ordering::Relaxed) / JOB >= self.bound {
            // The stop's lock is held whenever the condition is looked at, and taken by whoever changes it.
            stop.wait_while(|| {
                let word = self.word.fetch_or(AWAITED, Ordering::Relaxed);
                !self.has_room(word)
            });
            self.word.fetch_and(!AWAITED, Ordering::Relaxed);
        }
        self.word.fetch_add(JOB, Ordering::Relaxed);
    }

    /// Counts a job that a thread has taken, and wakes the submitter if it was the one that it waits for.
    pub(super) fn take(&self, stop: &Stop) {
        let word = self.word.fetch_sub(JOB, Ordering::Relaxed) - JOB;
        if word & AWAITED != 0 && self.has_room(word) {
            stop.notify();
        }
    }

    const fn has_room(&self, word: usize) -> bool {
        word / JOB <= self.bound / 2
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{AWAITED, Backlog, Ordering, Stop};
    use crate::run::stop::{Reason, Stage};

    fn full(bound: usize) -> (Backlog, Stop) {
        let (backlog, stop) = (Backlog::new(bound), Stop::new().unwrap());
        for _ in 0..bound {
            backlog.add(&stop);
        }
        (backlog, stop)
    }

    #[test]
    fn a_submitter_goes_on_when_half_of_the_queue_is_free() {
        for bound in 1..10 {
            let shared = Arc::new(full(bound));
            let other = Arc::clone(&shared);
            let submitter = std::thread::spawn(move || other.0.add(&other.1));
            let (backlog, stop) = &*shared;
            while backlog.word.load(Ordering::Relaxed) & AWAITED == 0 {
                std::thread::yield_now();
            }
            for _ in 0..bound - bound / 2 {
                assert_ne!(backlog.word.load(Ordering::Relaxed) & AWAITED, 0);
                backlog.take(stop);
            }
            submitter.join().unwrap();
            let left = (bound / 2 + 1) * super::JOB;
            assert_eq!(backlog.word.load(Ordering::Relaxed), left);
        }
    }

    #[test]
    fn a_submitter_does_not_wait_when_the_run_has_ended() {
        let (backlog, stop) = full(1);
        stop.raise(Stage::Draining, Reason::Halt);
        backlog.add(&stop);
    }
}

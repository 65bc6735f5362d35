//! How the checks call a queue: by the numbers of elements, under an interrupt, against the clock.

use std::time::Duration;

use super::item::{Element, number};
use super::subject::{DynQueue, Queue, Subject, Time};
use crate::clock::TestClock;
use crate::interrupt::{self, Interrupted};
use crate::queue::PutError;
use crate::sync::clock;

/// Longer than any check takes.
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// Insertions in an order that is neither ascending nor descending.
pub(super) const MIXED: [u64; 6] = [3, 0, 5, 2, 4, 1];

/// A call and its name.
pub(super) type Call<T> = (&'static str, fn(&DynQueue<T>));

/// Returns the numbers that `for_each` shows, in its order.
pub(super) fn shown_elements<T: Element>(queue: &DynQueue<T>) -> Vec<u64> {
    let mut seen = Vec::new();
    queue.for_each(&mut |element| seen.push(number(element)));
    seen
}

pub(super) fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

/// Returns the number that `peek` shows.
pub(super) fn peeked<T: Element>(queue: &DynQueue<T>) -> Option<u64> {
    let mut seen = None;
    queue.peek(&mut |element| seen = Some(number(element)));
    seen
}

pub(super) fn poll<T: Element>(queue: &DynQueue<T>) -> Option<u64> {
    queue.poll().as_ref().map(number)
}

pub(super) fn poll_for<T: Element>(
    queue: &DynQueue<T>,
    timeout: Duration,
) -> Result<Option<u64>, Interrupted> {
    Ok(queue.poll_timeout(timeout)?.as_ref().map(number))
}

pub(super) fn take<T: Element>(queue: &DynQueue<T>) -> Result<u64, Interrupted> {
    Ok(number(&queue.take()?))
}

/// Polls until the queue returns nothing.
pub(super) fn poll_all<T: Element>(queue: &DynQueue<T>) -> Vec<u64> {
    std::iter::from_fn(|| poll(queue)).collect()
}

/// Returns the result of an insertion with the number of the element in place of the element.
pub(super) fn numbered<T: Element>(result: Result<(), PutError<T>>) -> Result<(), PutError<u64>> {
    result.map_err(|refused| match refused {
        PutError::Full(element) => PutError::Full(number(&element)),
        PutError::TimedOut(element) => PutError::TimedOut(number(&element)),
        PutError::Interrupted(element) => PutError::Interrupted(number(&element)),
        PutError::Refused(element) => PutError::Refused(number(&element)),
    })
}

/// Fails unless the queue holds these, in any order, and nobody waits in it.
#[track_caller]
pub(super) fn assert_holds<T: Element>(queue: &DynQueue<T>, held: &[u64]) {
    assert_eq!(
        sorted(shown_elements(queue)),
        sorted(held.to_vec()),
        "what is queued"
    );
    assert_eq!(queue.len(), held.len(), "the length");
    if let Some(waiting) = queue.waiting() {
        assert_eq!((waiting.takers, waiting.putters), (0, 0), "who waits");
    }
}

/// Fails unless these are the numbers below `count`, each once.
#[track_caller]
pub(super) fn assert_each_once(numbers: Vec<u64>, count: u64) {
    let got = sorted(numbers);
    let doubled: Vec<_> = got.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert_eq!(doubled.first(), None, "an element came twice");
    let lost = (0..count).find(|number| got.binary_search(number).is_err());
    assert_eq!(lost, None, "an element was lost");
    assert_eq!(got.len() as u64, count, "how many elements came");
}

/// Runs a call on a thread that is interrupted already and whose clock stands still. Returns also
/// whether the interrupt is still pending afterwards.
pub(super) fn while_interrupted<T: Element, R: Send + 'static>(
    subject: &Subject<T>,
    queue: &Queue<T>,
    call: impl FnOnce(&DynQueue<T>) -> R + Send + 'static,
) -> (R, bool) {
    let caller = TestClock::new().enter(|| {
        Subject::spawn(queue, move |queue| {
            interrupt::current().interrupt();
            let answer = call(queue);
            (answer, interrupt::interrupted())
        })
    });
    subject.join("a call with a pending interrupt", caller)
}

/// Runs a call on a thread whose clock stands still: fails if the call waits for a time-out.
pub(super) fn without_waiting<T: Element, R: Send + 'static>(
    subject: &Subject<T>,
    queue: &Queue<T>,
    call: impl FnOnce(&DynQueue<T>) -> R + Send + 'static,
) -> R {
    let caller = TestClock::new().enter(|| Subject::spawn(queue, call));
    subject.join("a call that need not wait", caller)
}

/// Runs a timed call that has to run out of time, and fails if it ends before, or later.
pub(super) fn until_timeout<T: Element, R: Send + 'static>(
    subject: &Subject<T>,
    queue: &Queue<T>,
    call: impl FnOnce(&DynQueue<T>, Duration) -> R + Send + 'static,
) -> R {
    match subject.time {
        Time::OfThread => until_timeout_on_a_test_clock(subject, queue, call),
        Time::Real => until_timeout_in_real_time(subject, queue, call),
    }
}

fn until_timeout_on_a_test_clock<T: Element, R: Send + 'static>(
    subject: &Subject<T>,
    queue: &Queue<T>,
    call: impl FnOnce(&DynQueue<T>, Duration) -> R + Send + 'static,
) -> R {
    let clock = TestClock::new();
    let theirs = clock.clone();
    let caller =
        clock.enter(|| Subject::spawn(queue, move |queue| (call(queue, HOUR), theirs.elapsed())));
    subject.until("a timed call to run out of time", || {
        // The clock advances only while the call sleeps on it, and only to its deadline.
        if let Some(left) = clock.next_wake_up() {
            clock.advance(left);
        }
        caller.is_finished()
    });
    let (answer, elapsed) = subject.join("a timed call to end", caller);
    assert_eq!(elapsed, HOUR, "how long the call waited");
    answer
}

fn until_timeout_in_real_time<T: Element, R: Send + 'static>(
    subject: &Subject<T>,
    queue: &Queue<T>,
    call: impl FnOnce(&DynQueue<T>, Duration) -> R + Send + 'static,
) -> R {
    const SHORT: Duration = Duration::from_millis(20);
    let caller = Subject::spawn(queue, |queue| {
        let start = clock::system_now();
        let answer = call(queue, SHORT);
        (answer, clock::system_now() - start)
    });
    let (answer, elapsed) = subject.join("a timed call to run out of time", caller);
    assert!(
        elapsed >= SHORT,
        "the call waited {elapsed:?}, not {SHORT:?}"
    );
    answer
}

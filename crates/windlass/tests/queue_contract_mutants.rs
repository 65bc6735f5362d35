//! That the contract suite can fail: queues with one fault each, and the check that finds it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use windlass::interrupt::{self, Interrupted};
use windlass::queue::{
    Blocking, BlockingQueue, BlockingQueueExt, CapacityError, Discipline, LinkedBlockingQueue,
    PutError, Waiting,
};
use windlass::testing::queue_contract::{Item, Subject};

/// What is wrong with a [`Mutant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    OfferDropsTheElementWhenFull,
    OfferWaitsForRoom,
    PutWakesNobody,
    PutLeavesTheElementBehindWhenInterrupted,
    TimedOfferGivesUpAtOnce,
    PollClearsTheInterrupt,
    PollTakesFromTheMiddle,
    TimedPollGivesUpAtOnce,
    TimedPollNeverGivesUp,
    TimedPollPrefersTheTimeOut,
    TakeIgnoresAPendingInterrupt,
    DrainReverses,
    DrainIgnoresItsLimit,
    RemoveFirstLeavesTheElement,
    RemoveFirstTakesTheLastMatch,
    RetainLosesAnElement,
    RetainDropsWhatAPanicLeft,
    PeekTakes,
    VisitShowsTheFirstTwice,
    LenIsOffByOneWhenFull,
    RoomIsOneShortWhenEmpty,
    DropLeaksWhatIsLeft,
}

/// A linked queue with a fault.
struct Mutant {
    inner: ManuallyDrop<LinkedBlockingQueue<Item>>,
    /// Where a put that wakes nobody stores its element.
    aside: LinkedBlockingQueue<Item>,
    fault: Fault,
    capacity: usize,
}

impl Mutant {
    fn new(fault: Fault, capacity: usize) -> Result<Self, CapacityError> {
        Ok(Self {
            inner: ManuallyDrop::new(LinkedBlockingQueue::with_capacity(capacity)?),
            aside: LinkedBlockingQueue::new(),
            fault,
            capacity,
        })
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn fetch_aside(&self) {
        for item in self.aside.drain_all() {
            self.inner.offer(item).unwrap();
        }
    }
}

impl Drop for Mutant {
    fn drop(&mut self) {
        if !self.has(Fault::DropLeaksWhatIsLeft) {
            self.inner.clear();
        }
    }
}

impl BlockingQueue<Item> for Mutant {
    fn offer(&self, item: Item) -> Result<(), PutError<Item>> {
        match self.fault {
            Fault::OfferDropsTheElementWhenFull => self.inner.offer(item).or(Ok(())),
            Fault::OfferWaitsForRoom => self.inner.put(item),
            _ => self.inner.offer(item),
        }
    }

    fn offer_timeout(&self, item: Item, timeout: Duration) -> Result<(), PutError<Item>> {
        if self.has(Fault::TimedOfferGivesUpAtOnce) {
            return self.inner.offer_timeout(item, Duration::ZERO);
        }
        self.inner.offer_timeout(item, timeout)
    }

    fn put(&self, item: Item) -> Result<(), PutError<Item>> {
        match self.fault {
            Fault::PutWakesNobody => self.aside.put(item),
            Fault::PutLeavesTheElementBehindWhenInterrupted => {
                let number = item.number();
                let put = self.inner.put(item);
                if put.is_err() {
                    self.inner.drain(1);
                    self.inner.offer(Item::new(number)).unwrap();
                }
                put
            }
            _ => self.inner.put(item),
        }
    }

    fn poll(&self) -> Option<Item> {
        self.fetch_aside();
        if self.has(Fault::PollClearsTheInterrupt) {
            let _ = interrupt::interrupted();
        }
        if self.has(Fault::PollTakesFromTheMiddle) && self.inner.len() > 2 {
            let mut place = 0;
            return self.inner.remove_first(&mut |_| {
                place += 1;
                place == 2
            });
        }
        self.inner.poll()
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<Item>, Interrupted> {
        self.fetch_aside();
        match self.fault {
            Fault::TimedPollGivesUpAtOnce => self.inner.poll_timeout(Duration::ZERO),
            Fault::TimedPollNeverGivesUp => self.inner.take().map(Some),
            Fault::TimedPollPrefersTheTimeOut => {
                Ok(self.inner.poll_timeout(timeout).unwrap_or(None))
            }
            _ => self.inner.poll_timeout(timeout),
        }
    }

    fn take(&self) -> Result<Item, Interrupted> {
        self.fetch_aside();
        if self.has(Fault::TakeIgnoresAPendingInterrupt) {
            if let Some(item) = self.inner.poll() {
                return Ok(item);
            }
        }
        self.inner.take()
    }

    fn drain(&self, max: usize) -> Vec<Item> {
        let max = match self.fault {
            Fault::DrainIgnoresItsLimit => usize::MAX,
            _ => max,
        };
        let mut drained = self.inner.drain(max);
        if self.has(Fault::DrainReverses) {
            drained.reverse();
        }
        drained
    }

    fn drain_all(&self) -> Vec<Item> {
        self.inner.drain_all()
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&Item) -> bool) -> Option<Item> {
        match self.fault {
            Fault::RemoveFirstLeavesTheElement => {
                let mut found = None;
                self.inner.for_each(&mut |item| {
                    if found.is_none() && wanted(item) {
                        found = Some(Item::new(item.number()));
                    }
                });
                found
            }
            Fault::RemoveFirstTakesTheLastMatch => {
                let mut last = None;
                self.inner.for_each(&mut |item| {
                    if wanted(item) {
                        last = Some(item.number());
                    }
                });
                self.inner
                    .remove_first(&mut |item| Some(item.number()) == last)
            }
            _ => self.inner.remove_first(wanted),
        }
    }

    fn retain(&self, keep: &mut dyn FnMut(&Item) -> bool) -> Vec<Item> {
        match self.fault {
            Fault::RetainLosesAnElement => {
                let mut removed = self.inner.retain(keep);
                removed.pop();
                removed
            }
            Fault::RetainDropsWhatAPanicLeft => {
                let (kept, removed): (Vec<_>, _) =
                    self.inner.drain_all().into_iter().partition(keep);
                self.inner.offer_all(kept).unwrap();
                removed
            }
            _ => self.inner.retain(keep),
        }
    }

    fn for_each(&self, f: &mut dyn FnMut(&Item)) {
        if self.has(Fault::VisitShowsTheFirstTwice) {
            self.inner.peek(f);
        }
        self.inner.for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&Item)) {
        if self.has(Fault::PeekTakes) {
            self.inner.poll().iter().for_each(f);
            return;
        }
        self.inner.peek(f);
    }

    fn len(&self) -> usize {
        let len = self.inner.len();
        len - usize::from(self.has(Fault::LenIsOffByOneWhenFull) && len == self.capacity)
    }

    fn remaining_capacity(&self) -> Option<usize> {
        if self.has(Fault::RoomIsOneShortWhenEmpty) && self.inner.is_empty() {
            return Some(self.capacity - 1);
        }
        self.inner.remaining_capacity()
    }

    fn waiting(&self) -> Option<Waiting> {
        self.inner.waiting()
    }
}

/// A first-in-first-out discipline that hides the room which a removal frees until the next
/// insertion: so no removal wakes a putter.
struct Shy {
    items: VecDeque<Item>,
    capacity: usize,
    hides: Cell<bool>,
}

impl Shy {
    fn queue(capacity: usize) -> Result<Blocking<Self>, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        Ok(Blocking::new(Self {
            items: VecDeque::new(),
            capacity,
            hides: Cell::new(false),
        }))
    }
}

impl Discipline for Shy {
    type Item = Item;

    fn push(&mut self, item: Item) {
        self.items.push_back(item);
    }

    fn pop(&mut self) -> Option<Item> {
        self.hides.set(true);
        self.items.pop_front()
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn peek(&self) -> Option<&Item> {
        self.items.front()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        Box::new(self.items.iter())
    }

    fn remove(&mut self, at: usize) -> Item {
        self.hides.set(true);
        self.items.remove(at).unwrap()
    }

    fn capacity(&self) -> Option<usize> {
        let hidden = self.hides.get().then_some(self.items.len());
        hidden.or(Some(self.capacity))
    }

    fn admits(&self, _item: &Item) -> bool {
        self.hides.set(false);
        true
    }
}

#[test]
fn a_removal_that_wakes_nobody_is_found() {
    let subject = Subject::bounded(Shy::queue);
    for check in [
        "removing_one_element_lets_in_one_putter",
        "removing_many_elements_lets_in_as_many_putters",
        "a_drain_lets_a_waiting_put_in",
        "a_waiting_put_gets_in_when_an_element_is_taken",
    ] {
        let complaint = complaint(&subject, check).expect(check);
        assert!(complaint.starts_with(check), "{complaint}");
    }
}

/// Runs the check on the queue. Returns its message if it failed.
fn complaint(subject: &Subject, check: &str) -> Option<String> {
    let subject = subject.clone().patient_for(Duration::from_millis(300));
    let failed = catch_unwind(AssertUnwindSafe(|| subject.check(check))).err()?;
    Some(*failed.downcast::<String>().unwrap())
}

fn mutant(fault: Fault) -> Subject {
    Subject::bounded(move |capacity| Mutant::new(fault, capacity))
}

/// One test for each fault: the named check finds it, and its message has the name.
macro_rules! found_by {
    ($($test:ident: $fault:ident, $check:ident;)+) => {
        $(#[test]
        fn $test() {
            let complaint = complaint(&mutant(Fault::$fault), stringify!($check));
            let complaint = complaint.expect("the check did not find the fault");
            assert!(complaint.starts_with(stringify!($check)), "{complaint}");
        })+
    };
}

found_by! {
    an_offer_that_drops_is_found: OfferDropsTheElementWhenFull,
        offer_gives_the_element_back_when_full;
    an_offer_that_waits_is_found: OfferWaitsForRoom, offer_gives_the_element_back_when_full;
    a_put_that_wakes_nobody_is_found: PutWakesNobody, a_waiting_take_receives_what_is_inserted;
    a_put_that_leaves_its_element_behind_is_found: PutLeavesTheElementBehindWhenInterrupted,
        an_interrupt_ends_a_waiting_put;
    a_timed_offer_that_gives_up_at_once_is_found: TimedOfferGivesUpAtOnce,
        a_timed_offer_that_runs_out_gives_the_element_back;
    a_poll_that_clears_the_interrupt_is_found: PollClearsTheInterrupt,
        calls_that_never_wait_ignore_a_pending_interrupt;
    a_poll_out_of_turn_is_found: PollTakesFromTheMiddle,
        poll_gives_elements_in_queue_order_and_then_nothing;
    a_timed_poll_that_gives_up_at_once_is_found: TimedPollGivesUpAtOnce,
        a_timed_poll_waits_its_time_and_no_longer;
    a_timed_poll_that_never_gives_up_is_found: TimedPollNeverGivesUp,
        a_timed_poll_waits_its_time_and_no_longer;
    a_timed_poll_that_hides_the_interrupt_is_found: TimedPollPrefersTheTimeOut,
        an_interrupt_ends_a_waiting_timed_poll;
    a_take_that_ignores_the_interrupt_is_found: TakeIgnoresAPendingInterrupt,
        take_meets_a_pending_interrupt_as_promised;
    a_drain_that_reverses_is_found: DrainReverses, drain_gives_everything_in_queue_order;
    a_drain_without_a_limit_is_found: DrainIgnoresItsLimit,
        a_limited_drain_gives_at_most_that_many;
    a_removal_that_leaves_the_element_is_found: RemoveFirstLeavesTheElement,
        remove_first_takes_one_match_from_anywhere;
    an_element_that_is_given_out_twice_is_found: RemoveFirstLeavesTheElement,
        an_element_that_two_want_goes_to_one;
    a_removal_of_the_last_match_is_found: RemoveFirstTakesTheLastMatch,
        remove_first_takes_the_first_match_that_for_each_shows;
    a_retain_that_loses_an_element_is_found: RetainLosesAnElement,
        retain_keeps_matches_in_order_and_gives_the_others_back;
    a_retain_that_panics_halfway_is_found: RetainDropsWhatAPanicLeft,
        a_predicate_that_panics_changes_nothing;
    a_peek_that_takes_is_found: PeekTakes, peek_shows_what_poll_would_give;
    a_visit_that_shows_one_twice_is_found: VisitShowsTheFirstTwice,
        a_snapshot_holds_every_element_once;
    a_length_that_is_off_by_one_is_found: LenIsOffByOneWhenFull,
        length_and_room_add_up_after_every_step;
    room_that_is_one_short_is_found: RoomIsOneShortWhenEmpty,
        a_bounded_queue_reports_its_room;
    elements_that_are_never_dropped_are_found: DropLeaksWhatIsLeft,
        the_queue_owns_each_element_once;
}

#[test]
fn without_a_fault_nothing_is_found() {
    mutant(Fault::None).check_all();
}

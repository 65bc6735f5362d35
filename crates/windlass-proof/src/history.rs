//! What several threads did to one queue, and whether there is an order that explains it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};
use windlass::queue::BlockingQueue;

/// An operation on a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Place this element, if there is room.
    Offer(u32),
    /// Take an element, if there is one.
    Poll,
    /// Remove every element.
    Drain,
}

/// What an operation returns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Whether the element was placed.
    Placed(bool),
    /// What was taken.
    Taken(Option<u32>),
    /// The elements that were removed.
    Drained(Vec<u32>),
}

/// The order in which a queue returns its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// First in, first out.
    Fifo,
    /// Least first.
    Least,
}

/// The sequential specification of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Which element is next.
    pub order: Order,
    /// How many there is room for.
    pub capacity: usize,
    /// What is queued, the next first.
    pub items: Vec<u32>,
}

impl Reference {
    /// An empty queue.
    #[must_use]
    pub const fn new(order: Order, capacity: usize) -> Self {
        Self {
            order,
            capacity,
            items: Vec::new(),
        }
    }
}

impl SequentialSpec for Reference {
    type Op = Call;
    type Ret = Answer;

    fn invoke(&mut self, call: &Call) -> Answer {
        match *call {
            Call::Offer(_) if self.items.len() >= self.capacity => Answer::Placed(false),
            Call::Offer(item) => {
                let at = match self.order {
                    Order::Fifo => self.items.len(),
                    Order::Least => self.items.partition_point(|&other| other <= item),
                };
                self.items.insert(at, item);
                Answer::Placed(true)
            }
            Call::Poll if self.items.is_empty() => Answer::Taken(None),
            Call::Poll => Answer::Taken(Some(self.items.remove(0))),
            Call::Drain => Answer::Drained(std::mem::take(&mut self.items)),
        }
    }
}

/// A call with its answer, and when both happened, by a counter that all threads share.
#[derive(Debug, Clone)]
pub struct Event {
    /// Which thread called.
    pub thread: usize,
    /// The call.
    pub call: Call,
    /// Its answer.
    pub answer: Answer,
    /// Before the call.
    pub from: u64,
    /// After the answer.
    pub to: u64,
}

impl Event {
    /// Returns whether the calls overlap in time.
    const fn overlaps(&self, other: &Self) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// Calls that several threads made at the same time.
#[derive(Clone, Default)]
pub struct History(Vec<Event>);

impl History {
    /// Runs each list of calls on a thread of its own, all at once, and records them.
    ///
    /// # Panics
    ///
    /// If one of the threads does.
    pub fn record(queue: &dyn BlockingQueue<u32>, scripts: &[Vec<Call>]) -> Self {
        Self::record_by(scripts, |call| answer(queue, call))
    }

    /// The same, with calls as the caller makes them.
    ///
    /// # Panics
    ///
    /// If one of the threads does.
    pub fn record_by(scripts: &[Vec<Call>], perform: impl Fn(Call) -> Answer + Sync) -> Self {
        let (time, start) = (AtomicU64::new(0), Barrier::new(scripts.len()));
        let tick = || time.fetch_add(1, Ordering::SeqCst);
        let (tick, start, perform) = (&tick, &start, &perform);
        let events = thread::scope(|scope| {
            let threads = scripts.iter().enumerate().map(|(thread, calls)| {
                scope.spawn(move || {
                    start.wait();
                    let event = |&call| {
                        let from = tick();
                        let answer = perform(call);
                        Event {
                            thread,
                            call,
                            answer,
                            from,
                            to: tick(),
                        }
                    };
                    calls.iter().map(event).collect::<Vec<_>>()
                })
            });
            let threads: Vec<_> = threads.collect();
            let logs = threads.into_iter().map(|thread| thread.join());
            logs.flat_map(|log| log.expect("a thread of the history panicked"))
                .collect()
        });
        Self(events)
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether calls of different threads overlap.
    #[must_use]
    pub fn is_concurrent(&self) -> bool {
        let pairs = self
            .0
            .iter()
            .flat_map(|a| self.0.iter().map(move |b| (a, b)));
        pairs
            .into_iter()
            .any(|(a, b)| a.thread < b.thread && a.overlaps(b))
    }

    /// Returns whether the history is linearizable.
    ///
    /// # Panics
    ///
    /// If the history is none: a thread that calls before it has its last answer.
    #[must_use]
    pub fn is_linearizable(&self, reference: Reference) -> bool {
        let mut moments = BTreeMap::new();
        for event in &self.0 {
            moments.insert(event.from, (event, true));
            moments.insert(event.to, (event, false));
        }
        let mut tester = LinearizabilityTester::new(reference);
        for (event, begins) in moments.into_values() {
            let noted = if begins {
                tester.on_invoke(event.thread, event.call)
            } else {
                tester.on_return(event.thread, event.answer.clone())
            };
            noted.expect("a history in which each thread does one thing at a time");
        }
        tester.is_consistent()
    }

    /// Whether each element that was given was received once, while it was given.
    ///
    /// A hand-off is one point in time of two calls. So a linearization exists exactly if the two
    /// calls of each pair overlap.
    #[must_use]
    pub fn is_handed_over(&self) -> bool {
        let pairs = self.pairs();
        pairs.is_some_and(|pairs| pairs.iter().all(|(giver, taker)| giver.overlaps(taker)))
    }

    /// Whether each element that was given was received once, and was given only while somebody
    /// was there for it: one taker for each element that is on its way, whoever gets it in the end.
    #[must_use]
    pub fn is_promised(&self) -> bool {
        let Some(pairs) = self.pairs() else {
            return false;
        };
        let polls = || self.0.iter().filter(|event| event.call == Call::Poll);
        pairs.iter().all(|(giver, _)| {
            let takers = polls().filter(|poll| poll.overlaps(giver)).count();
            // Given before for certain, and for certain not received before this one was given.
            let on_their_way = pairs
                .iter()
                .filter(|(other, taker)| other.to < giver.from && giver.to < taker.from);
            on_their_way.count() < takers
        })
    }

    /// Who gave and who received, for each element; `None` if that does not come out even.
    fn pairs(&self) -> Option<Vec<(&Event, &Event)>> {
        let given = |event: &&Event| event.answer == Answer::Placed(true);
        let mut givers: Vec<_> = self.0.iter().filter(given).collect();
        let mut pairs = Vec::new();
        for taker in &self.0 {
            if let Answer::Taken(Some(item)) = taker.answer {
                let wanted = Call::Offer(item);
                let at = givers.iter().position(|giver| giver.call == wanted)?;
                pairs.push((givers.swap_remove(at), taker));
            }
        }
        givers.is_empty().then_some(pairs)
    }
}

/// One line a call, in the order of their beginning.
impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut events: Vec<_> = self.0.iter().collect();
        events.sort_by_key(|event| event.from);
        for event in events {
            writeln!(
                f,
                "{:>3}..{:<3} thread {}: {:?} -> {:?}",
                event.from, event.to, event.thread, event.call, event.answer
            )?;
        }
        Ok(())
    }
}

fn answer(queue: &dyn BlockingQueue<u32>, call: Call) -> Answer {
    match call {
        Call::Offer(item) => Answer::Placed(queue.offer(item).is_ok()),
        Call::Poll => Answer::Taken(queue.poll()),
        Call::Drain => Answer::Drained(queue.drain(usize::MAX)),
    }
}

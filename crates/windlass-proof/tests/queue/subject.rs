//! A real queue, with real threads that wait on it.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use windlass::clock::TestClock;
use windlass::error::PutError;
use windlass::interrupt::{self, JoinHandle};
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, BlockingQueueExt, DelayQueue, Delayed, LinkedBlockingDeque,
    LinkedBlockingQueue, LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue,
    SynchronousQueue,
};
use windlass::testing::{PATIENCE, until};
use windlass_proof::seeded::{Bug, SeededQueue};

use super::model::{Answer, Item, Kind, Model, Step};

const TICK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Queued {
    item: Item,
    due: Instant,
}

impl Delayed for Queued {
    fn deadline(&self) -> Instant {
        self.due
    }
}

type Queue = Arc<dyn BlockingQueue<Queued>>;

/// What only some queues can do.
enum Special {
    None,
    Deque(Arc<LinkedBlockingDeque<Queued>>),
    Transfer(Arc<LinkedTransferQueue<Queued>>),
}

pub(crate) struct Subject {
    queue: Queue,
    special: Special,
    clock: TestClock,
    epoch: Instant,
    takers: Vec<JoinHandle<()>>,
    putters: Vec<JoinHandle<()>>,
    received: (Sender<Item>, Receiver<Item>),
}

fn make(kind: Kind) -> (Queue, Special) {
    let queue: Queue = match kind {
        Kind::Linked(None) => Arc::new(LinkedBlockingQueue::new()),
        Kind::Linked(Some(n)) => Arc::new(LinkedBlockingQueue::with_capacity(n).unwrap()),
        Kind::Resizable(None) => Arc::new(ResizableBlockingQueue::new()),
        Kind::Resizable(Some(n)) => Arc::new(ResizableBlockingQueue::with_capacity(n).unwrap()),
        Kind::Array(n, fairness) => {
            Arc::new(ArrayBlockingQueue::with_fairness(n, fairness).unwrap())
        }
        Kind::Priority => Arc::new(PriorityBlockingQueue::by_key(|queued: &Queued| {
            queued.item.key
        })),
        Kind::Delay => Arc::new(DelayQueue::new()),
        Kind::Synchronous(fairness) => Arc::new(SynchronousQueue::with_fairness(fairness)),
        Kind::Seeded => Arc::new(SeededQueue::new(Bug::Lifo)),
        Kind::Deque(capacity) => {
            let deque = Arc::new(match capacity {
                None => LinkedBlockingDeque::new(),
                Some(n) => LinkedBlockingDeque::with_capacity(n).unwrap(),
            });
            return (Arc::clone(&deque) as Queue, Special::Deque(deque));
        }
        Kind::Transfer => {
            let queue = Arc::new(LinkedTransferQueue::new());
            return (Arc::clone(&queue) as Queue, Special::Transfer(queue));
        }
    };
    (queue, Special::None)
}

impl Subject {
    pub(crate) fn new(kind: Kind) -> Self {
        let (queue, special) = make(kind);
        let clock = TestClock::new();
        Self {
            queue,
            special,
            epoch: clock.now(),
            clock,
            takers: Vec::new(),
            putters: Vec::new(),
            received: mpsc::channel(),
        }
    }

    fn queued(&self, item: Item) -> Queued {
        let due = self.epoch + TICK * item.key;
        Queued { item, due }
    }

    /// `model` is as it is after the step.
    pub(crate) fn apply(&mut self, model: &Model, step: Step) {
        let answer = self.clock.clone().enter(|| self.call(model, step));
        let sorted = |answer: Answer| match answer {
            // Heaps show and give back in any order, except where they are asked for the next.
            Answer::Items(mut items)
                if model.kind.is_heap()
                    && matches!(step, Step::Visit | Step::Retain(_) | Step::DrainAll) =>
            {
                items.sort();
                Answer::Items(items)
            }
            answer => answer,
        };
        assert_eq!(sorted(answer), sorted(model.answer.clone()), "{step:?}");
        self.await_quiescence(model);
    }

    fn call(&mut self, model: &Model, step: Step) -> Answer {
        let queue = &*self.queue;
        // Each step that makes an element makes one.
        let made = |key: u32| {
            let key = if model.kind == Kind::Delay {
                model.now + key
            } else {
                key
            };
            let number = model.made - 1;
            self.queued(Item { key, number })
        };
        match step {
            Step::Offer(key) => placed(queue.offer(made(key))),
            Step::OfferInNoTime(key) => placed(queue.offer_timeout(made(key), Duration::ZERO)),
            Step::Put(key) => placed(queue.put(made(key))),
            Step::Poll => items(queue.poll()),
            Step::PollInNoTime => items(queue.poll_timeout(Duration::ZERO).unwrap()),
            Step::Take => items(queue.take().ok()),
            Step::Drain(max) => items(queue.drain(max)),
            Step::DrainAll => items(queue.drain_all()),
            Step::Remove(n) => {
                items(queue.remove_first(&mut |queued| model.is_meant(n, queued.item)))
            }
            Step::Retain(key) => items(queue.retain(&mut |queued| queued.item.key % 3 != key % 3)),
            Step::Peek => items(queue.peek_cloned()),
            Step::Visit => items(queue.snapshot()),
            Step::SetCapacity(capacity) => Answer::Capacity(queue.set_capacity(capacity)),
            Step::Advance(ticks) => {
                self.clock.advance(TICK * ticks);
                Answer::Nothing
            }
            Step::OfferFirst(key) => placed(self.deque().offer_first(made(key))),
            Step::PollLast => items(self.deque().poll_last()),
            Step::TryTransfer(key) => placed(self.transfer().try_transfer(made(key))),
            Step::TakerComes => self.taker_comes(),
            Step::PutterComes(key) => self.putter_comes(made(key)),
            Step::TakerIsInterrupted => interrupt_last(&self.takers),
            Step::PutterIsInterrupted => interrupt_last(&self.putters),
        }
    }

    fn deque(&self) -> &LinkedBlockingDeque<Queued> {
        match &self.special {
            Special::Deque(deque) => deque,
            _ => panic!("not a deque"),
        }
    }

    fn transfer(&self) -> &Arc<LinkedTransferQueue<Queued>> {
        match &self.special {
            Special::Transfer(queue) => queue,
            _ => panic!("not a transfer queue"),
        }
    }

    fn taker_comes(&mut self) -> Answer {
        let (queue, received) = (Arc::clone(&self.queue), self.received.0.clone());
        self.takers.push(interrupt::spawn(move || {
            if let Ok(queued) = queue.take() {
                let _ = received.send(queued.item);
            }
        }));
        Answer::Nothing
    }

    fn putter_comes(&mut self, queued: Queued) -> Answer {
        let queue = Arc::clone(&self.queue);
        let transfer = match &self.special {
            Special::Transfer(queue) => Some(Arc::clone(queue)),
            _ => None,
        };
        self.putters.push(interrupt::spawn(move || {
            let put = match transfer {
                Some(transfer) => transfer.transfer(queued),
                None => queue.put(queued),
            };
            if let Err(refused) = put {
                assert!(refused.is_interrupted());
                assert_eq!(refused.into_inner().item, queued.item);
            }
        }));
        Answer::Nothing
    }

    /// Waits until the threads that the model has released have ended, and checks what they took.
    fn await_quiescence(&mut self, model: &Model) {
        let receive = |_| self.received.1.recv_timeout(PATIENCE).unwrap();
        let mut received: Vec<_> = (0..model.handed.len()).map(receive).collect();
        let mut handed = model.handed.clone();
        received.sort();
        handed.sort();
        assert_eq!(received, handed, "received by threads that waited");
        let (takers, putters) = (model.takers, usize::from(model.putter.is_some()));
        let left = |threads: &[JoinHandle<()>]| threads.iter().filter(|t| !t.is_finished()).count();
        until("the threads that wait", || {
            let waiting = self.queue.waiting().unwrap();
            (waiting.takers, waiting.putters) == (takers, putters)
                && (left(&self.takers), left(&self.putters)) == (takers, putters)
        });
        self.takers.retain(|thread| !thread.is_finished());
        self.putters.retain(|thread| !thread.is_finished());
        assert!(self.received.1.try_recv().is_err(), "one taker too many");
    }

    pub(crate) fn check(&self, model: &Model) {
        assert_eq!(self.queue.len(), model.items.len());
        assert_eq!(self.queue.is_empty(), model.items.is_empty());
        assert_eq!(self.queue.remaining_capacity(), model.remaining());
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        for thread in self.takers.iter().chain(&self.putters) {
            thread.interrupt();
        }
    }
}

/// The last to come is the last to be served, so it still waits.
fn interrupt_last(threads: &[JoinHandle<()>]) -> Answer {
    threads.last().unwrap().interrupt();
    Answer::Nothing
}

fn placed(result: Result<(), PutError<Queued>>) -> Answer {
    match result {
        Ok(()) => Answer::Placed,
        Err(refused) => {
            assert!(refused.is_full());
            Answer::NoRoom(refused.into_inner().item)
        }
    }
}

fn items(queued: impl IntoIterator<Item = Queued>) -> Answer {
    Answer::Items(queued.into_iter().map(|queued| queued.item).collect())
}

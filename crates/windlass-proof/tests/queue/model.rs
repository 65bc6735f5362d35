//! A queue as a plain list with a bound, and the threads that wait on it as two numbers.

use windlass::error::CapacityError;
use windlass::queue::Fairness;

/// Which queue the model stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Linked(Option<usize>),
    Resizable(Option<usize>),
    Array(usize, Fairness),
    Deque(Option<usize>),
    Priority,
    Delay,
    Synchronous(Fairness),
    Transfer,
    /// Claims to be a linked queue.
    Seeded,
}

impl Kind {
    pub(crate) const fn capacity(self) -> Option<usize> {
        match self {
            Self::Linked(capacity) | Self::Resizable(capacity) | Self::Deque(capacity) => capacity,
            Self::Array(capacity, _) => Some(capacity),
            Self::Synchronous(_) => Some(0),
            Self::Priority | Self::Delay | Self::Transfer | Self::Seeded => None,
        }
    }

    pub(crate) const fn is_heap(self) -> bool {
        matches!(self, Self::Priority | Self::Delay)
    }

    pub(crate) const fn is_hand_off(self) -> bool {
        matches!(self, Self::Synchronous(_))
    }
}

/// What is queued: by its key where the queue sorts, else by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    /// Its priority, or the tick from which on it may be had.
    pub(crate) key: u32,
    pub(crate) number: u32,
}

/// A call, or a thread that comes to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Offer(u32),
    OfferInNoTime(u32),
    /// Where there is room.
    Put(u32),
    OfferFirst(u32),
    TryTransfer(u32),
    Poll,
    PollInNoTime,
    PollLast,
    /// Where there is something to take.
    Take,
    Remove(u32),
    Retain(u32),
    Drain(usize),
    DrainAll,
    Peek,
    Visit,
    SetCapacity(usize),
    Advance(u32),
    TakerComes,
    TakerIsInterrupted,
    PutterComes(u32),
    PutterIsInterrupted,
}

/// What a call returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Placed,
    NoRoom(Item),
    Items(Vec<Item>),
    Capacity(Result<Option<usize>, CapacityError>),
    Nothing,
}

/// The queue, and what the last step brought about.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) kind: Kind,
    pub(crate) items: Vec<Item>,
    pub(crate) capacity: Option<usize>,
    pub(crate) now: u32,
    pub(crate) takers: usize,
    /// What a thread waits to get rid of.
    pub(crate) putter: Option<Item>,
    pub(crate) made: u32,
    pub(crate) answer: Answer,
    /// What threads have received that waited.
    pub(crate) handed: Vec<Item>,
}

impl Model {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            items: Vec::new(),
            capacity: kind.capacity(),
            now: 0,
            takers: 0,
            putter: None,
            made: 0,
            answer: Answer::Nothing,
            handed: Vec::new(),
        }
    }

    /// The element that a step makes.
    pub(crate) fn item(&self, key: u32) -> Item {
        let key = if self.kind == Kind::Delay {
            self.now + key
        } else {
            key
        };
        Item {
            key,
            number: self.made,
        }
    }

    /// Whether `Remove(n)` means this one. Heaps have no order in which to look for the first.
    pub(crate) fn is_meant(&self, n: u32, item: Item) -> bool {
        if self.kind.is_heap() {
            item.number + 1 + n == self.made
        } else {
            item.key == n
        }
    }

    pub(crate) fn remaining(&self) -> Option<usize> {
        let capacity = self.capacity?;
        Some(capacity.saturating_sub(self.items.len()))
    }

    pub(crate) fn has_room(&self) -> bool {
        match self.kind {
            Kind::Synchronous(_) => self.takers > 0,
            _ => self.remaining() != Some(0),
        }
    }

    fn is_due(&self, item: Item) -> bool {
        self.kind != Kind::Delay || item.key <= self.now
    }

    pub(crate) fn has_next(&self) -> bool {
        match self.kind {
            Kind::Synchronous(_) => self.putter.is_some(),
            _ => self.items.first().is_some_and(|&item| self.is_due(item)),
        }
    }

    fn insert(&mut self, item: Item) {
        let at = if self.kind.is_heap() {
            self.items.partition_point(|other| other.key <= item.key)
        } else {
            self.items.len()
        };
        self.items.insert(at, item);
    }

    fn offer(&mut self, key: u32, room: bool, first: bool) -> Answer {
        let item = self.item(key);
        self.made += 1;
        if !room {
            return Answer::NoRoom(item);
        }
        if first {
            self.items.insert(0, item);
        } else {
            self.insert(item);
        }
        Answer::Placed
    }

    fn take(&mut self, max: usize) -> Vec<Item> {
        let mut taken = Vec::new();
        while taken.len() < max && self.has_next() {
            taken.push(match self.kind {
                Kind::Synchronous(_) => self.putter.take().expect("there is a next"),
                _ => self.items.remove(0),
            });
        }
        taken
    }

    fn remove_if(&mut self, mut unwanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let (removed, kept) = self.items.drain(..).partition(|item| unwanted(item));
        self.items = kept;
        removed
    }

    fn set_capacity(&mut self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        match self.kind {
            Kind::Resizable(_) if capacity == 0 => Err(CapacityError::Zero),
            Kind::Resizable(_) => Ok(self.capacity.replace(capacity)),
            _ => Err(CapacityError::NotResizable),
        }
    }

    /// Releases the threads that need not wait any more.
    fn run_to_quiescence(&mut self) {
        loop {
            let before = (self.takers, self.putter);
            if self.takers > 0
                && (self.has_next() || !self.items.is_empty() && self.kind.is_hand_off())
            {
                self.takers -= 1;
                self.handed.push(self.items.remove(0));
            }
            match (self.kind, self.putter) {
                (Kind::Transfer, Some(item)) if !self.items.contains(&item) => self.putter = None,
                (Kind::Transfer | Kind::Synchronous(_), _) | (_, None) => {}
                (_, Some(item)) if self.has_room() => {
                    self.insert(item);
                    self.putter = None;
                }
                (_, Some(_)) => {}
            }
            if before == (self.takers, self.putter) {
                return;
            }
        }
    }

    pub(crate) fn apply(&mut self, step: Step) {
        self.handed.clear();
        self.answer = self.call(step);
        self.run_to_quiescence();
    }

    fn call(&mut self, step: Step) -> Answer {
        let room = self.has_room();
        match step {
            Step::Offer(key) | Step::OfferInNoTime(key) | Step::Put(key) => {
                self.offer(key, room, false)
            }
            Step::OfferFirst(key) => self.offer(key, room, true),
            Step::TryTransfer(key) => self.offer(key, self.takers > 0, false),
            Step::Poll | Step::PollInNoTime | Step::Take => Answer::Items(self.take(1)),
            Step::PollLast => Answer::Items(self.items.pop().into_iter().collect()),
            Step::Drain(max) => Answer::Items(self.take(max)),
            Step::DrainAll if self.kind.is_hand_off() => Answer::Items(self.take(usize::MAX)),
            Step::DrainAll => Answer::Items(self.remove_if(|_| true)),
            Step::Remove(n) => {
                let at = (0..self.items.len()).find(|&at| self.is_meant(n, self.items[at]));
                Answer::Items(at.map(|at| self.items.remove(at)).into_iter().collect())
            }
            Step::Retain(key) => Answer::Items(self.remove_if(|item| item.key % 3 == key % 3)),
            Step::Peek => Answer::Items(self.items.first().copied().into_iter().collect()),
            Step::Visit => Answer::Items(self.items.clone()),
            Step::SetCapacity(capacity) => Answer::Capacity(self.set_capacity(capacity)),
            Step::Advance(ticks) => {
                self.now += ticks;
                Answer::Nothing
            }
            step => {
                self.come_or_go(step);
                Answer::Nothing
            }
        }
    }

    fn come_or_go(&mut self, step: Step) {
        match step {
            Step::TakerComes => self.takers += 1,
            Step::TakerIsInterrupted => self.takers -= 1,
            Step::PutterComes(key) => {
                let item = self.item(key);
                self.made += 1;
                self.putter = Some(item);
                if self.kind == Kind::Transfer {
                    self.insert(item);
                }
            }
            _ => {
                let item = self.putter.take();
                self.items.retain(|&other| Some(other) != item);
            }
        }
    }

    /// Whether the step makes sense here: the calls would not block forever, the threads would.
    pub(crate) fn allows(&self, step: Step) -> bool {
        match step {
            Step::Put(_) => self.has_room(),
            Step::OfferFirst(_) | Step::PollLast => matches!(self.kind, Kind::Deque(_)),
            Step::TryTransfer(_) => self.kind == Kind::Transfer,
            Step::Take => self.has_next(),
            Step::Advance(_) => self.kind == Kind::Delay,
            Step::TakerComes => self.takers < 3 && !self.has_next(),
            Step::TakerIsInterrupted => self.takers > 0,
            Step::PutterComes(_) if self.kind == Kind::Transfer => {
                self.putter.is_none() && self.takers == 0
            }
            Step::PutterComes(_) => self.putter.is_none() && !self.has_room(),
            Step::PutterIsInterrupted => self.putter.is_some(),
            _ => true,
        }
    }
}

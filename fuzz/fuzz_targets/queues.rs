//! Text to operations on a queue, one a line, each checked against a plain list.
//!
//! The first line names the queue: `linked`, `linked 4`, `array 3`, `fair 3`, `resizable 2`,
//! `priority`, `transfer`, `deque 2`, `sync`. Each further line is an operation, see
//! [`Play::apply`]; a line that says nothing known is skipped. One thread does it all, so nothing
//! here may wait: operations that could are called only where they need not.
//! Elements are boxed: a lost or doubled one is an error for the address sanitizer as well.

#![no_main]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, BlockingQueueExt, Fairness, LinkedBlockingDeque,
    LinkedBlockingQueue, LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue,
    SynchronousQueue,
};

/// What is sorted by, and a number that no other element of the play has.
type Item = Box<(u8, u32)>;

/// More operations than this show nothing new.
const OPERATIONS: usize = 256;

enum Subject {
    Deque(LinkedBlockingDeque<Item>),
    Other(Box<dyn BlockingQueue<Item>>),
}

impl Subject {
    fn queue(&self) -> &dyn BlockingQueue<Item> {
        match self {
            Subject::Deque(deque) => deque,
            Subject::Other(queue) => queue.as_ref(),
        }
    }
}

struct Play {
    subject: Subject,
    /// In the order of polling.
    model: Vec<Item>,
    bound: Option<usize>,
    resizable: bool,
    by_priority: bool,
    next: u32,
}

fn number(word: Option<&str>) -> usize {
    word.and_then(|word| word.parse().ok()).unwrap_or(0) % 40
}

/// The first line as a queue; `None` where the capacity is one that no queue takes.
fn build(line: &str) -> Option<Play> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or("");
    let given = words.next();
    let room = number(given);
    let some = given.is_some();
    let (subject, bound): (Subject, Option<usize>) = match name {
        "array" | "fair" => {
            let fairness = if name == "fair" {
                Fairness::Fair
            } else {
                Fairness::Unfair
            };
            let queue = ArrayBlockingQueue::with_fairness(room, fairness);
            assert_eq!(queue.is_err(), room == 0);
            (Subject::Other(Box::new(queue.ok()?)), Some(room))
        }
        "resizable" if some => {
            let queue = ResizableBlockingQueue::with_capacity(room);
            assert_eq!(queue.is_err(), room == 0);
            (Subject::Other(Box::new(queue.ok()?)), Some(room))
        }
        "resizable" => (
            Subject::Other(Box::new(ResizableBlockingQueue::new())),
            None,
        ),
        "deque" if some => {
            let queue = LinkedBlockingDeque::with_capacity(room);
            assert_eq!(queue.is_err(), room == 0);
            (Subject::Deque(queue.ok()?), Some(room))
        }
        "deque" => (Subject::Deque(LinkedBlockingDeque::new()), None),
        "priority" => {
            let queue = PriorityBlockingQueue::by_key(|item: &Item| item.0);
            (Subject::Other(Box::new(queue)), None)
        }
        "transfer" => (Subject::Other(Box::new(LinkedTransferQueue::new())), None),
        "sync" => (Subject::Other(Box::new(SynchronousQueue::new())), Some(0)),
        _ if some => {
            let queue = LinkedBlockingQueue::with_capacity(room);
            assert_eq!(queue.is_err(), room == 0);
            (Subject::Other(Box::new(queue.ok()?)), Some(room))
        }
        _ => (Subject::Other(Box::new(LinkedBlockingQueue::new())), None),
    };
    Some(Play {
        subject,
        model: Vec::new(),
        bound,
        resizable: name == "resizable",
        by_priority: name == "priority",
        next: 0,
    })
}

impl Play {
    fn has_room(&self) -> bool {
        self.bound.is_none_or(|bound| self.model.len() < bound)
    }

    fn item(&mut self, key: usize) -> Item {
        self.next += 1;
        Box::new((u8::try_from(key).unwrap_or(0), self.next))
    }

    /// Inserts by `insert`, which must place the item where there is room and else hand it back.
    fn insert(
        &mut self,
        key: usize,
        at_front: bool,
        insert: impl FnOnce(&Subject, Item) -> Option<Item>,
    ) {
        let item = self.item(key);
        let back = insert(&self.subject, item.clone());
        if !self.has_room() {
            assert_eq!(back, Some(item), "what is refused is handed back");
            return;
        }
        assert_eq!(back, None, "there was room");
        let at = match (at_front, self.by_priority) {
            (true, _) => 0,
            (false, true) => self.model.partition_point(|other| other.0 <= item.0),
            (false, false) => self.model.len(),
        };
        self.model.insert(at, item);
    }

    fn first(&mut self) -> Option<Item> {
        (!self.model.is_empty()).then(|| self.model.remove(0))
    }

    /// Equal, in this order where the queue has one, else as sets.
    fn same(&self, mut got: Vec<Item>, mut wanted: Vec<Item>) {
        if self.by_priority {
            got.sort();
            wanted.sort();
        }
        assert_eq!(got, wanted);
    }

    fn apply(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or("");
        let n = number(words.next());
        let key = u8::try_from(n).unwrap_or(0);
        match verb {
            "offer" => self.insert(n, false, |s, item| {
                s.queue().offer(item).err().map(|e| e.into_inner())
            }),
            "offer_now" => self.insert(n, false, |s, item| {
                let refused = s.queue().offer_timeout(item, Duration::ZERO);
                refused.err().map(|e| e.into_inner())
            }),
            "put" if self.has_room() => self.insert(n, false, |s, item| {
                s.queue().put(item).err().map(|e| e.into_inner())
            }),
            "poll" => assert_eq!(self.subject.queue().poll(), self.first()),
            "poll_now" => {
                let got = self.subject.queue().poll_timeout(Duration::ZERO);
                assert_eq!(got.expect("nobody interrupts"), self.first());
            }
            "take" if !self.model.is_empty() => {
                let got = self.subject.queue().take().expect("nobody interrupts");
                assert_eq!(Some(got), self.first());
            }
            "drain" => {
                let wanted: Vec<Item> = self.model.drain(..n.min(self.model.len())).collect();
                assert_eq!(self.subject.queue().drain(n), wanted);
            }
            "drain_all" => {
                let wanted = std::mem::take(&mut self.model);
                self.same(self.subject.queue().drain_all(), wanted);
            }
            "remove" => {
                let got = self.subject.queue().remove_first(&mut |item| item.0 == key);
                let at = match &got {
                    // Which of several goes first is the queue's choice, where it has no order.
                    Some(item) if self.by_priority => self.model.iter().position(|m| m == item),
                    _ => self.model.iter().position(|m| m.0 == key),
                };
                assert_eq!(got.map(|item| item.0), at.map(|_| key));
                if let Some(at) = at {
                    self.model.remove(at);
                }
            }
            "retain" => {
                let kept = |item: &Item| n == 0 || usize::from(item.0) % n != 0;
                let got = self.subject.queue().retain(&mut |item| kept(item));
                let (model, gone) = std::mem::take(&mut self.model).into_iter().partition(kept);
                self.model = model;
                self.same(got, gone);
            }
            // A predicate that panics leaves everything as it was.
            "burst" => {
                let mut looks = 0;
                let mut burst = |_: &Item| {
                    looks += 1;
                    if looks > n {
                        resume_unwind(Box::new("as the play wants it"))
                    } else {
                        true
                    }
                };
                let queue = self.subject.queue();
                let ended = catch_unwind(AssertUnwindSafe(|| queue.retain(&mut burst)));
                assert_eq!(ended.is_err(), self.model.len() > n);
            }
            "resize" => {
                let was = self.subject.queue().set_capacity(n);
                if self.resizable && n > 0 {
                    assert_eq!(was.ok(), Some(self.bound));
                    self.bound = Some(n);
                } else {
                    assert!(was.is_err());
                }
            }
            _ => self.apply_to_ends(verb, n),
        }
    }

    /// The operations that only a deque has.
    fn apply_to_ends(&mut self, verb: &str, n: usize) {
        let Subject::Deque(deque) = &self.subject else {
            return;
        };
        let key = u8::try_from(n).unwrap_or(0);
        match verb {
            "poll_last" => assert_eq!(deque.poll_last(), self.model.pop()),
            "remove_last" => {
                let got = deque.remove_last(&mut |item| item.0 == key);
                let at = self.model.iter().rposition(|item| item.0 == key);
                assert_eq!(got, at.map(|at| self.model.remove(at)));
            }
            "offer_first" => self.insert(n, true, |s, item| match s {
                Subject::Deque(deque) => deque.offer_first(item).err().map(|e| e.into_inner()),
                Subject::Other(_) => Some(item),
            }),
            _ => {}
        }
    }

    /// Looks at everything that can be seen without changing it.
    fn check(&self) {
        let queue = self.subject.queue();
        assert_eq!(queue.len(), self.model.len());
        assert_eq!(queue.is_empty(), self.model.is_empty());
        let room = self
            .bound
            .map(|bound| bound.saturating_sub(self.model.len()));
        assert_eq!(queue.remaining_capacity(), room);
        assert_eq!(queue.peek_cloned().as_ref(), self.model.first());
        self.same(queue.snapshot(), self.model.clone());
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines();
    let Some(mut play) = build(lines.next().unwrap_or("")) else {
        return;
    };
    for line in lines.take(OPERATIONS) {
        play.apply(line);
        play.check();
    }
});

//! The elements that the contract suite puts into queues.

use std::cmp::Ordering;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::queue::Delayed;
use crate::sync::clock;
use crate::task::Task;
use crate::testing::drop_counter::{DropCounter, DropToken};

/// An element with a number, of which some checks count the drops.
///
/// It is ordered by its number, so it fits a priority queue. As [`Delayed`] its deadline has passed
/// already, for small numbers earlier than for large ones, so it fits a delay queue.
#[derive(Debug)]
pub struct Item {
    number: u64,
    _token: Option<DropToken>,
}

impl Item {
    /// Creates an item with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self {
            number,
            _token: None,
        }
    }

    /// Creates an item whose drop is counted.
    pub(super) fn counted(number: u64, drops: &DropCounter) -> Self {
        Self {
            number,
            _token: Some(drops.token()),
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Item {}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number.cmp(&other.number)
    }
}

impl Delayed for Item {
    fn deadline(&self) -> Instant {
        static BASE: OnceLock<Instant> = OnceLock::new();
        let base = BASE.get_or_init(|| {
            let now = clock::system_now();
            now.checked_sub(Duration::from_secs(1)).unwrap_or(now)
        });
        *base + Duration::from_nanos(self.number)
    }
}

/// An element of a queue under test: an [`Item`], or something around one.
///
/// For a queue that takes any type, test it with [`Item`] itself. For a queue of a type of your
/// own, implement this for it, or for a stand-in that has the traits which the queue asks for.
pub trait Element: Send + 'static {
    /// Creates an element around this item.
    fn from_item(item: Item) -> Self;

    /// Returns the item inside.
    fn item(&self) -> &Item;
}

impl Element for Item {
    fn from_item(item: Item) -> Self {
        item
    }

    fn item(&self) -> &Item {
        self
    }
}

/// For queues of tasks: the item is attached to the task.
impl Element for Task {
    fn from_item(item: Item) -> Self {
        Self::builder().attach(item).build(|| ())
    }

    fn item(&self) -> &Item {
        self.attachment()
            .expect("tasks of the suite have an item attached")
    }
}

pub(super) fn element<T: Element>(number: u64) -> T {
    T::from_item(Item::new(number))
}

pub(super) fn number<T: Element>(element: &T) -> u64 {
    element.item().number()
}

pub(super) fn numbers<T: Element>(elements: Vec<T>) -> Vec<u64> {
    elements.iter().map(number).collect()
}

//! The contract of [`BlockingQueue`](crate::queue::BlockingQueue), as a suite that runs on any
//! queue.
//!
//! A [`Subject`] describes how to create the queue and what it promises: whether it has a bound, in
//! which order elements leave, which calls a pending interrupt ends. The suite has about seventy
//! checks, each named after the promise that it tests; those that do not concern the subject are
//! skipped. Windlass runs it on all its queues. For one of your own:
//!
//! ```
//! use std::collections::VecDeque;
//! use windlass::queue::{Blocking, CapacityError, Discipline};
//! use windlass::testing::queue_contract::{Item, Order, Subject};
//!
//! /// The newest first, and no more than `capacity`.
//! struct Stack<T> {
//!     items: VecDeque<T>,
//!     capacity: usize,
//! }
//!
//! impl<T: Send> Discipline for Stack<T> {
//!     type Item = T;
//!     fn push(&mut self, item: T) {
//!         self.items.push_front(item);
//!     }
//!     fn pop(&mut self) -> Option<T> {
//!         self.items.pop_front()
//!     }
//!     fn len(&self) -> usize {
//!         self.items.len()
//!     }
//!     fn peek(&self) -> Option<&T> {
//!         self.items.front()
//!     }
//!     fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
//!         Box::new(self.items.iter())
//!     }
//!     fn remove(&mut self, at: usize) -> T {
//!         self.items.remove(at).unwrap()
//!     }
//!     fn capacity(&self) -> Option<usize> {
//!         Some(self.capacity)
//!     }
//! }
//!
//! fn stack(capacity: usize) -> Result<Blocking<Stack<Item>>, CapacityError> {
//!     if capacity == 0 {
//!         return Err(CapacityError::Zero);
//!     }
//!     Ok(Blocking::new(Stack { items: VecDeque::new(), capacity }))
//! }
//!
//! Subject::bounded(stack).ordered(Order::Lifo).check_all();
//! ```
//!
//! The suite never sleeps: it calls [`waiting`](crate::queue::BlockingQueue::waiting) to see how
//! many threads wait, and drives the clock of the threads whose calls are to run out of time. The
//! checks that need it are skipped for a queue that does not count waiting threads, or whose waits
//! an interrupt does not end. For a queue with a clock of its own there is
//! [`Subject::on_real_time`].

mod calls;
mod capacity;
mod check;
mod concurrency;
mod inserting;
mod interrupts;
mod item;
mod removal;
mod subject;
mod suite;
mod taking;
mod wakeups;

pub use check::Check;
pub use item::{Element, Item};
pub use subject::{Order, Precedence, Service, Subject};
pub use suite::checks;

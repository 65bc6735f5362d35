//! Work queues: the places where the tasks of a pool wait.
//!
//! A pool uses its queue through [`BlockingQueue`] only, so any of the queues below, or one of your
//! own, decides which task is next and how many may wait.
//!
//! | queue | order | bound |
//! |---|---|---|
//! | [`LinkedBlockingQueue`] | first in, first out | none, or fixed |
//! | [`ResizableBlockingQueue`] | first in, first out | changeable while in use |
//! | [`ArrayBlockingQueue`] | first in, first out; optionally fair | fixed, memory allocated once |
//! | [`SynchronousQueue`] | hand-off, holds nothing; optionally fair | zero |
//! | [`PriorityBlockingQueue`] | least first, equals in order of arrival | none |
//! | [`DelayQueue`] | earliest deadline first, not before it | none |
//! | [`AgingQueue`] | by priority, which grows while an element waits | none |
//! | [`FairShareQueue`] | shares between tenants, by weight | none, or for each tenant |
//! | [`KeyLimitQueue`] | first in, first out, of the keys that do not run enough tasks already | none |
//! | [`LinkedTransferQueue`] | first in, first out; producers may wait for receipt | none |
//! | [`LinkedBlockingDeque`] | both ends | none, or fixed |
//!
//! There are two ways to write your own. For another *order* or *admission rule*, implement
//! [`Discipline`]: plain `&mut self` methods without locks and without waiting; [`Blocking`] makes
//! a queue of it. For a foreign structure, implement [`BlockingQueue`] itself. Either way the suite
//! in `windlass::testing::queue_contract` (feature `testing`) checks whether it keeps the contract.
//!
//! # User code and locks
//!
//! Predicates, other closures and comparisons run while the queue is locked. They may call `len`,
//! `is_empty` and `remaining_capacity` of the queue; any other call on the same queue from inside
//! them panics instead of deadlocking. If a predicate or a comparison panics, the queue is as it was
//! before the call, and threads that wait are served all the same; [`Discipline`] says what holds
//! for its other methods.
//!
//! # Implementation
//!
//! Each queue has a file of its own; their building blocks are in `parts`.
//!
//! | queue | built from |
//! |---|---|
//! | [`LinkedBlockingQueue`], [`ResizableBlockingQueue`] | `parts/two_lock` (a lock at each end) around `parts/block_list` |
//! | [`ArrayBlockingQueue`] | `parts/two_lock` around two rings; fair: `parts/fair_ring` |
//! | [`LinkedBlockingDeque`] | `parts/blocking` (one lock) around `parts/deque_discipline` |
//! | [`PriorityBlockingQueue`], [`AgingQueue`], [`DelayQueue`] | `parts/blocking` around `parts/stable_heap` |
//! | [`FairShareQueue`], [`KeyLimitQueue`] | `parts/blocking` around `parts/lanes` |
//! | [`SynchronousQueue`] | `parts/handoff`: direct, or buffered for interchangeable takers |
//! | [`LinkedTransferQueue`] | a lock around `parts/block_list`, and `parts/handoff/exchange` |
//! | [`Blocking`] | `parts/blocking` around your own [`Discipline`] |

mod aging;
mod array;
mod blocking_queue;
mod blocking_queue_ext;
mod delay;
mod deque;
mod discipline;
mod error;
mod fair_share;
mod fairness;
mod key_limit;
mod linked;
mod parts;
mod priority;
mod resizable;
mod synchronous;
mod transfer;

pub use aging::AgingQueue;
pub use array::ArrayBlockingQueue;
pub use blocking_queue::{BlockingQueue, Waiting};
pub use blocking_queue_ext::BlockingQueueExt;
pub use delay::{DelayQueue, Delayed};
pub use deque::LinkedBlockingDeque;
pub use discipline::Discipline;
pub use error::{CapacityError, PutError, Unplaced};
pub use fair_share::FairShareQueue;
pub use fairness::Fairness;
pub use key_limit::KeyLimitQueue;
pub use linked::LinkedBlockingQueue;
pub(crate) use parts::block_list::BlockList;
pub use parts::blocking::Blocking;
pub(crate) use parts::handoff::{Inspected, Received};
pub(crate) use parts::interrupt_precedence::InterruptPrecedence;
pub(crate) use parts::sequence::Sequence;
pub(crate) use parts::shrink::Shrink;
pub use priority::PriorityBlockingQueue;
pub use resizable::ResizableBlockingQueue;
pub use synchronous::SynchronousQueue;
pub use transfer::LinkedTransferQueue;

//! A first-in-first-out queue with a lock at each end.
//!
//! Producers push to the *tail* under the tail lock. Consumers pop from the *head* under the head
//! lock. Each end has a sequence of its own; a consumer that finds the head empty takes the tail
//! lock too and swaps the two sequences. So both locks are held once for a whole batch, and
//! producers and consumers hardly ever wait for each other. The order is exact: everything in the
//! head is older than everything in the tail.
//!
//! Lock order: head, then tail.
//!
//! # Waiting
//!
//! - `takers` are kept with the tail. A taker enqueues itself under the tail lock, having seen both
//!   sequences empty under both locks; a producer pushes and signals under the tail lock.
//! - `putters` are kept with the head. A putter enqueues itself under the head lock, having seen
//!   the queue full under both locks; places become free under the head lock only.
//!
//! So each wait is decided and announced under the lock that its signal needs. No signal is lost
//! between the decision and the wait, and no two atomics have to be ordered with each other.
//!
//! # Wake-ups
//!
//! Waking a thread costs a hundred times what an element costs, so not every element wakes one. A
//! signalled taker is *waking* until it has locked the queue again. While takers are waking,
//! further elements signal more of them only as the backlog grows: one, and one more each time that
//! the backlog quadruples. A taker that has woken applies the same rule to what it leaves behind.
//! The invariant: while there is an element and a parked taker, some taker is waking or spinning.
//! The same holds for putters and places, one at a time.
//!
//! A taker may be [recruitable](Taker): then a producer can signal it for another duty. It is waking until it
//! has locked the queue, and signals the next one for what it leaves behind, as one that takes does.
//!
//! # Spinning and yielding
//!
//! A swap moves the cache lines of the tail from the producer's core to the consumer's, and the
//! producer's next element moves them back. For a batch of three that costs more than all the rest.
//! So a consumer that has used up a small batch spins for some microseconds before it locks the
//! tail again ([`BatchSpin`](batch_spin::BatchSpin)): a fast producer has dozens of elements there
//! by then, and one that is about to push need not wake anybody. While it spins it counts as a
//! taker that is waking. If it finds the head refilled afterwards, the consumer that refilled it
//! has signalled a taker for what was left, and that one locks the tail.
//!
//! A taker that finds nothing yields once before it parks. A producer is often ready on the same
//! core, since schedulers tend to wake a thread on the core of its waker; it then pushes without
//! having to wake anybody. A putter that finds no room does the same: on one core its takers then
//! empty the whole queue, where each of the places would wake a putter. Who yields is not counted
//! as waking: parked takers and putters are signalled as usual.
//!
//! All of it is skipped while it does not pay; see [`AdaptiveSpin`](crate::sync::AdaptiveSpin) and
//! [`Yielding`](yielding::Yielding).

mod batch_spin;
mod ends;
#[cfg(test)]
mod models;
mod operations;
mod put;
mod queue;
mod take;
mod yielding;

pub(crate) use ends::Taker;
pub(crate) use queue::{CapacityMode, TwoLockQueue};

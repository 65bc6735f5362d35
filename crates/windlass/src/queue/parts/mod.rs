//! The building blocks of the queues. [The module above](super) lists which queue uses which.
//!
//! - Whole queues: [`two_lock`] with a lock at each end, [`blocking`] with one lock around a
//!   [`Discipline`](super::Discipline), [`fair_ring`] that serves in order of arrival, [`handoff`]
//!   without storage.
//! - Containers without concurrency: [`block`], [`block_list`], [`sequence`], [`deque_discipline`],
//!   [`stable_heap`], [`lanes`]; [`shrink`], by which they give back memory.
//! - Shared rules: [`queue_lock`] (user code under a lock), [`wait_limit`] and
//!   [`interrupt_precedence`] (when a call stops waiting), [`delegate`] and [`describe`] (a queue
//!   that wraps another).

pub(crate) mod block;
pub(crate) mod block_list;
pub(crate) mod blocking;
pub(crate) mod delegate;
pub(crate) mod deque_discipline;
pub(crate) mod describe;
pub(crate) mod fair_ring;
pub(crate) mod handoff;
pub(crate) mod interrupt_precedence;
pub(crate) mod lanes;
pub(crate) mod queue_lock;
#[cfg(test)]
pub(crate) mod scenarios;
pub(crate) mod sequence;
pub(crate) mod shrink;
pub(crate) mod stable_heap;
pub(crate) mod two_lock;
pub(crate) mod wait_limit;

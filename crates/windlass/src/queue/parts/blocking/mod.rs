//! One lock around a discipline: waiting, time-outs, interrupts and exact wake-ups.
//!
//! The rule of wake-ups: whoever puts an element in signals one taker, whoever frees `n` places
//! signals `n` putters, in order of arrival and only as far as there is room. A signalled thread
//! leaves the wait queue under the lock and always tries again, so no signal is lost with a
//! thread that gives up.
//!
//! In a fair queue a signal is also a *grant*: the element or the place is reserved for the
//! signalled thread, and newcomers count what is granted as gone. One grant of each kind is out at
//! a time, and whoever has used it signals the next in line: so threads that could proceed together
//! do not overtake each other.
//!
//! Where the next element is not ready yet
//! ([`Discipline::ready_at`](crate::queue::Discipline::ready_at)), one of the takers, the *leader*,
//! parks until that time; where the discipline knows what comes after the head (`ready_next_at`), a
//! second one parks until that. The others park without a deadline. The invariant of these *timed
//! takers*: while takers wait for a head that is not ready, one of them wakes in time for it, or is
//! waking already. Whoever puts in a new head or leaves, for any reason, signals a taker if there
//! is none. A taker that parks for an element which has been removed counts like any other:
//! it checks the queue again when it wakes. With a second timed taker the leader leaves with its
//! element and need not wake anybody.

mod extract;
mod insert;
mod monitor;
mod operations;
mod state;
mod timed_takers;

pub use monitor::Blocking;

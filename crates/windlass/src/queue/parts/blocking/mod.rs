//! One lock around a discipline: waiting, time-outs, interrupts and exact wake-ups.
//!
//! The rule of wake-ups: an insertion signals one taker; a removal that frees `n` places signals up
//! to `n` putters, in order of arrival and no more than there is room for. A signalled thread
//! leaves the wait queue under the lock and always tries again, even if it has timed out or was
//! interrupted meanwhile, so no signal is lost.
//!
//! In a fair queue a signal is also a *grant*: the element or the place is reserved for the
//! signalled thread, and newcomers count what is granted as gone. At most one grant of each kind
//! exists at a time, and the thread that has used it signals the next in line: so threads that
//! could proceed together do not overtake each other.
//!
//! Where the next element is not ready yet
//! ([`Discipline::ready_at`](crate::queue::Discipline::ready_at)), one of the takers, the *leader*,
//! parks until that time; if the discipline knows when the element after the head is ready
//! (`ready_next_at`), a second one parks until then. The others park without a deadline. The
//! invariant of these *timed takers*: while takers wait for a head that is not ready, one of them
//! wakes in time for it, or is waking already. To keep it, an insertion of a new head, and a taker
//! that leaves for any reason, signal a taker if none wakes in time. A taker that parks for an
//! element which has been removed counts like any other: it checks the queue again when it wakes.
//! With a second timed taker the leader leaves with its element and need not wake anybody.
//!
//! All methods of a discipline are user code, and may panic. A call ends its grant before it runs
//! any of them. If one panics, what the call had removed is [kept](items), the length is published
//! anew, and as many waiting threads as there are elements and places check the queue for
//! themselves, since the caller may have been signalled for one of these
//! ([`CriticalSection`](critical_section::CriticalSection)).

mod changes;
mod critical_section;
mod extract;
mod insert;
mod items;
#[cfg(test)]
mod models;
mod monitor;
mod operations;
mod removal;
mod state;
mod timed_takers;

pub use monitor::Blocking;

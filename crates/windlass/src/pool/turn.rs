//! Whose turn it is to change the settings of a pool: one thread at a time, which may do so again inside.
//!
//! A change of several settings sets the capacity of the queue too. The queue may be the user's, whose code
//! then runs in the turn: so nobody who submits or runs tasks waits for it, and that code may change the
//! settings itself.

use crate::interrupt::ThreadContext;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Turn {
    taken: Mutex<()>,
    /// The address of the context of the thread whose turn it is; zero for none. Relaxed: a thread looks for
    /// its own address, which only it writes.
    owner: AtomicUsize,
}

impl Turn {
    /// Runs `f` while no other thread has the turn.
    pub(crate) fn take<R>(&self, f: impl FnOnce() -> R) -> R {
        struct GiveBack<'a>(&'a AtomicUsize);
        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                self.0.store(0, Ordering::Relaxed);
            }
        }
        let me = ThreadContext::with_current(|me| std::ptr::from_ref(me).addr());
        if self.owner.load(Ordering::Relaxed) == me {
            return f();
        }
        let _taken = self.taken.lock();
        self.owner.store(me, Ordering::Relaxed);
        // Dropped before the lock.
        let _give_back = GiveBack(&self.owner);
        f()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::Turn;
    use crate::unwind::catch;

    #[test]
    fn a_turn_can_be_taken_inside_itself_and_ends_with_a_panic() {
        let turn = Turn::default();
        assert_eq!(turn.take(|| turn.take(|| 1)), 1);
        assert!(catch(|| turn.take(|| panic!("it fails"))).is_err());
        std::thread::scope(|s| {
            let other = s.spawn(|| turn.take(|| 2));
            assert_eq!(other.join().unwrap(), 2);
        });
    }
}

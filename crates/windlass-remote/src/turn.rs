//! Whose turn it is to read outcomes: the listener's, or that of a thread that waits for one.
//!
//! An outcome that the listener reads costs whoever waits for it a second thread to be woken. So when a thread has waited for the only task
//! without an outcome, and not for long, the listener *lends* the feed and sleeps; the next thread that waits *borrows* it and reads its
//! outcome itself. The listener takes the feed back when it is [demanded](Turn::demand), which is whenever something else needs an
//! outcome, and when nobody has borrowed it for a moment. So nothing is left unread for longer than that.

use crate::engine::ReplyFeed;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Feed = Box<dyn ReplyFeed>;

const MOMENT: Duration = Duration::from_millis(10);

pub(crate) struct Turn {
    /// How long the listener leaves a feed that nobody borrows.
    moment: Duration,
    /// Whether the feed is lent. Written under the lock, read without it by those who may need the listener.
    lent: AtomicBool,
    state: Mutex<State>,
    /// Notified when the listener is demanded and the feed is here.
    demanded: Condvar,
}

#[derive(Default)]
struct State {
    /// The feed, while it is lent and nobody has borrowed it.
    feed: Option<Feed>,
    demanded: bool,
    /// Whether it was borrowed since the listener has last looked.
    used: bool,
    /// Whether reading has failed since it was lent.
    troubled: bool,
}

impl Default for Turn {
    fn default() -> Self {
        Self::with_moment(MOMENT)
    }
}

impl Turn {
    pub(crate) fn with_moment(moment: Duration) -> Self {
        Self {
            moment,
            lent: AtomicBool::default(),
            state: Mutex::default(),
            demanded: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn is_lent(&self) -> bool {
        self.lent.load(Ordering::SeqCst)
    }

    /// Lends the feed, then looks whether the listener is needed all the same: who came before did not see that it is lent.
    pub(crate) fn lend(&self, feed: Feed, is_needed: impl FnOnce() -> bool) {
        let mut state = self.lock();
        *state = State {
            feed: Some(feed),
            ..State::default()
        };
        self.lent.store(true, Ordering::SeqCst);
        drop(state);
        if is_needed() {
            self.demand();
        }
    }

    /// Waits until the listener has to read again; returns the feed, and whether reading it has failed.
    pub(crate) fn take_back(&self) -> (Feed, bool) {
        let mut state = self.lock();
        loop {
            state.used = false;
            let waited = self
                .demanded
                .wait_timeout_while(state, self.moment, |state| {
                    !(state.demanded && state.feed.is_some())
                });
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let is_due = state.demanded || !state.used;
            if let Some(feed) = state.feed.take_if(|_| is_due) {
                self.lent.store(false, Ordering::SeqCst);
                return (feed, state.troubled);
            }
        }
    }

    /// Has the listener read. Called after what it is needed for can be seen, and cheap while the listener reads anyway.
    pub(crate) fn demand(&self) {
        if !self.lent.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.lock();
        state.demanded = true;
        self.notify(state);
    }

    /// Borrows the feed, if it is lent and nobody else has it, and the listener is not waited for.
    pub(crate) fn borrow(&self) -> Option<Borrowed<'_>> {
        if !self.lent.load(Ordering::SeqCst) {
            return None;
        }
        let mut state = self.lock();
        let demanded = state.demanded;
        let feed = state.feed.take_if(|_| !demanded)?;
        state.used = true;
        Some(Borrowed {
            turn: self,
            feed: Some(feed),
            works: false,
        })
    }

    fn notify(&self, state: MutexGuard<'_, State>) {
        let ready = state.demanded && state.feed.is_some();
        drop(state);
        if ready {
            self.demanded.notify_one();
        }
    }
}

/// A feed that somebody has borrowed. It goes back however its use ends; the listener is demanded unless that was [well](Self::give_back).
pub(crate) struct Borrowed<'a> {
    turn: &'a Turn,
    feed: Option<Feed>,
    works: bool,
}

impl Borrowed<'_> {
    pub(crate) fn feed(&mut self) -> Option<&mut Feed> {
        self.feed.as_mut()
    }

    /// Gives back a feed that works.
    pub(crate) fn give_back(mut self) {
        self.works = true;
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut state = self.turn.lock();
        state.feed = self.feed.take();
        if !self.works {
            (state.troubled, state.demanded) = (true, true);
        }
        self.turn.notify(state);
    }
}

#[cfg(test)]
mod tests {
    use super::{Feed, Turn};
    use crate::engine::{EngineError, Reply, ReplyFeed};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    const LONG: Duration = Duration::from_secs(30);
    const FOREVER: Duration = Duration::from_secs(3600);

    struct Silent;

    impl ReplyFeed for Silent {
        fn next(&mut self, _: Duration) -> Result<Vec<Reply>, EngineError> {
            Ok(Vec::new())
        }
    }

    fn feed() -> Feed {
        Box::new(Silent)
    }

    /// Returns what the listener hears, within a limit, if `act` is done while it sleeps.
    fn taken_back(turn: &Turn, act: impl FnOnce()) -> bool {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            turn.lock().used = true;
            scope.spawn(move || sender.send(turn.take_back().1));
            // It clears this under the lock, which it leaves by sleeping.
            let until = Instant::now() + LONG;
            while turn.lock().used {
                assert!(Instant::now() < until, "the listener sleeps");
                std::thread::yield_now();
            }
            act();
            let heard = receiver.recv_timeout(LONG);
            // A listener that sleeps would keep the scope from ending.
            turn.demand();
            heard.unwrap()
        })
    }

    #[test]
    fn one_thread_at_a_time_borrows_what_is_lent() {
        let turn = Turn::with_moment(FOREVER);
        assert!(turn.borrow().is_none());
        turn.lend(feed(), || false);
        let mut borrowed = turn.borrow().unwrap();
        assert!(borrowed.feed().is_some() && turn.borrow().is_none());
        borrowed.give_back();
        assert!(turn.borrow().is_some());
    }

    #[test]
    fn the_listener_has_the_feed_back_when_it_is_demanded() {
        let turn = Turn::with_moment(FOREVER);
        turn.lend(feed(), || false);
        assert!(!taken_back(&turn, || turn.demand()));
        assert!(turn.borrow().is_none());
        turn.lend(feed(), || false);
        let borrowed = turn.borrow().unwrap();
        assert!(!taken_back(&turn, || {
            turn.demand();
            borrowed.give_back();
        }));
    }

    #[test]
    fn who_came_before_the_feed_was_lent_has_the_listener() {
        let turn = Turn::with_moment(FOREVER);
        turn.lend(feed(), || turn.is_lent());
        assert!(turn.borrow().is_none());
        assert!(!taken_back(&turn, || {}));
    }

    #[test]
    fn a_demand_is_not_overtaken() {
        let turn = Turn::with_moment(FOREVER);
        turn.lend(feed(), || false);
        turn.demand();
        assert!(turn.borrow().is_none());
        assert!(!taken_back(&turn, || {}));
    }

    #[test]
    fn the_listener_hears_of_a_read_that_failed() {
        let turn = Turn::with_moment(FOREVER);
        turn.lend(feed(), || false);
        let borrowed = turn.borrow();
        assert!(taken_back(&turn, || drop(borrowed)));
        turn.lend(feed(), || false);
        assert!(
            !taken_back(&turn, || turn.demand()),
            "that was the last one"
        );
    }

    #[test]
    fn a_feed_that_nobody_borrows_is_taken_back() {
        let turn = Turn::with_moment(Duration::from_millis(1));
        turn.lend(feed(), || false);
        assert!(!taken_back(&turn, || {}));
    }
}

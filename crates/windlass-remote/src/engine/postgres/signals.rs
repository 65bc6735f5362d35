//! Who in this process waits for which notice.
//!
//! A notice is a topic: `t` and a queue (it has ready tasks), `r` and a client (it has outcomes), or `m`, a queue, a colon and a
//! message for its workers. It may get lost, and then whoever waits looks again after a while; so a notice only ever saves
//! time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Instant;

/// A worker that does not read loses its oldest messages and finds out when it renews.
const MAX_MESSAGES: usize = 1_024;

#[derive(Default)]
pub(super) struct Signals(Mutex<Vec<Weak<Subscription>>>);

/// One feed's interest in a topic.
pub(super) struct Subscription {
    topic: String,
    inbox: Mutex<Inbox>,
    changed: Condvar,
}

#[derive(Default)]
struct Inbox {
    /// Counts the notices.
    version: u64,
    messages: VecDeque<String>,
}

impl Signals {
    pub(super) fn subscribe(&self, kind: char, name: &str) -> Arc<Subscription> {
        let subscription = Arc::new(Subscription {
            topic: format!("{kind}{name}"),
            inbox: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&subscription));
        subscription
    }

    fn each(&self, act: impl Fn(&Subscription)) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter()
            .filter_map(Weak::upgrade)
            .for_each(|subscription| act(&subscription));
    }

    pub(super) fn deliver(&self, notice: &str) {
        let (topic, message) = match notice.split_once(':') {
            Some((topic, message)) => (topic, Some(message)),
            None => (notice, None),
        };
        self.each(|subscription| {
            if subscription.topic == topic {
                subscription.notice(message);
            }
        });
    }

    /// Has everybody look again: notices may have been lost.
    pub(super) fn deliver_all(&self) {
        self.each(|subscription| subscription.notice(Some("!")));
    }
}

impl Subscription {
    fn notice(&self, message: Option<&str>) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.version += 1;
        if let (Some(message), true) = (message, self.topic.starts_with('m')) {
            inbox.messages.push_back(message.into());
            if inbox.messages.len() > MAX_MESSAGES {
                inbox.messages.pop_front();
            }
        }
        drop(inbox);
        self.changed.notify_all();
    }

    pub(super) fn version(&self) -> u64 {
        self.inbox
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .version
    }

    /// Waits for a notice after the `seen`th, no longer than `until`; returns whether there is one.
    pub(super) fn wait(&self, seen: u64, until: Instant) -> bool {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        let waited = self
            .changed
            .wait_timeout_while(inbox, left, |inbox| inbox.version == seen);
        waited.unwrap_or_else(PoisonError::into_inner).0.version != seen
    }

    /// Waits for messages, no longer than `until`, and takes them.
    pub(super) fn messages(&self, until: Instant) -> Vec<String> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        let waited = self
            .changed
            .wait_timeout_while(inbox, left, |inbox| inbox.messages.is_empty());
        let mut inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        inbox.messages.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Signals;
    use std::time::{Duration, Instant};

    #[test]
    fn a_notice_reaches_its_topic_and_no_other() {
        let signals = Signals::default();
        let (tasks, messages) = (signals.subscribe('t', "q"), signals.subscribe('m', "q"));
        signals.deliver("mq:c17");
        signals.deliver("tother");
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(messages.messages(soon), ["c17"]);
        assert!(!tasks.wait(0, soon));
        signals.deliver("tq");
        assert!(tasks.wait(0, Instant::now() + Duration::from_secs(30)));
    }
}

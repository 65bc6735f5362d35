//! The data of one queue in the memory engine, and how an entry moves between its lists.

use super::super::{
    Backlog, Control, Outcome, QueueStats, QueueStatus, Reply, TaskState, WorkerRecord,
};
use super::clock::millis;
use super::entry::{AfterOutcome, Entry};
use super::limits::TypeState;
use super::schedules::Schedules;
use crate::id::TaskId;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A client that does not read loses its oldest outcomes and looks them up.
const MAX_REPLIES: usize = 8_192;
/// How long outcomes are kept for a client that does not read, in milliseconds; as long as on a server.
const REPLIES_KEPT: u64 = 900_000;
/// A worker that does not read loses its oldest messages and finds out when it renews.
const MAX_MESSAGES: usize = 1_024;
/// The oldest dead letter gives way to a new one.
const MAX_DEAD: usize = 10_000;
/// How many cancelled tasks may be before the first that is still ready, for it to be found.
const LOOKED_AT: usize = 100;

/// One queue. Every id in `ready`, `due`, `dead` and in the parked lists may be outdated: what counts is the entry.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) entries: HashMap<TaskId, Entry>,
    pub(super) ready: [VecDeque<TaskId>; 3],
    pub(super) due: BTreeSet<(u64, u64, TaskId)>,
    pub(super) expiry: BTreeSet<(u64, TaskId)>,
    pub(super) dead: BTreeMap<u64, TaskId>,
    pub(super) workers: HashMap<String, (WorkerRecord, u64)>,
    pub(super) types: HashMap<Arc<str>, TypeState>,
    pub(super) schedules: Schedules,
    pub(super) replies: HashMap<Arc<str>, Replies>,
    pub(super) messages: VecDeque<Control>,
    /// How many messages were dropped from the front of `messages`.
    pub(super) messages_gone: u64,
    pub(super) stats: QueueStats,
    pub(super) status: QueueStatus,
    /// When the last tick was.
    pub(super) ticked: Option<u64>,
    /// Until then no worker counts as vanished.
    pub(super) spared_until: u64,
    sequence: u64,
}

/// Outcomes that a client has not read yet.
#[derive(Debug, Default)]
pub(super) struct Replies {
    pub(super) unread: VecDeque<Reply>,
    /// When the last one came.
    at: u64,
}

impl Queue {
    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(super) fn tell(&mut self, message: Control) {
        self.messages.push_back(message);
        if self.messages.len() > MAX_MESSAGES {
            self.messages.pop_front();
            self.messages_gone += 1;
        }
    }

    /// Changes the state of an entry and the counts that follow from it. Does not touch the lists.
    pub(super) fn set_state(&mut self, id: &TaskId, new: TaskState, now: u64) {
        let Some(entry) = self.entries.get_mut(id) else {
            return;
        };
        let old = std::mem::replace(&mut entry.state, new);
        let name = entry.task.name.clone();
        if let Some(count) = count_of(&mut self.stats, old) {
            *count -= 1;
        }
        if let Some(count) = count_of(&mut self.stats, new) {
            *count += 1;
        }
        if old == TaskState::Running {
            let Some(state) = self.types.get_mut(&name) else {
                return;
            };
            state.running = state.running.saturating_sub(1);
            self.unpark(&name, now);
        }
        if new == TaskState::Running {
            self.types.entry(name).or_default().running += 1;
        }
    }

    /// Gives parked tasks of a type another try, as many as may run. One that was cancelled or has waited too long will not run, and takes
    /// nobody's place.
    fn unpark(&mut self, name: &Arc<str>, now: u64) {
        let Some(state) = self.types.get_mut(name) else {
            return;
        };
        let (mut room, mut freed) = (state.room(), Vec::new());
        while room > 0
            && let Some(id) = state.parked.pop_front()
        {
            let entry = self.entries.get(&id);
            if let Some(entry) = entry.filter(|entry| entry.state == TaskState::Ready) {
                room -= usize::from(!entry.waited_too_long(now));
                freed.push(id);
            }
        }
        for id in freed {
            self.push_ready(id);
        }
    }

    /// Gives parked tasks of all types that have room another try.
    pub(super) fn unpark_all(&mut self, now: u64) {
        let parked = self
            .types
            .iter()
            .filter(|(_, state)| !state.parked.is_empty());
        let names: Vec<Arc<str>> = parked.map(|(name, _)| Arc::clone(name)).collect();
        for name in names {
            self.unpark(&name, now);
        }
    }

    /// Adds an outcome to those that a client has not read.
    fn reply(&mut self, client: Arc<str>, reply: Reply, now: u64) {
        let list = self.replies.entry(client).or_default();
        list.unread.push_back(reply);
        list.at = now;
        if list.unread.len() > MAX_REPLIES {
            list.unread.pop_front();
        }
    }

    /// Forgets outcomes of clients that are gone: nobody has read them for long.
    pub(super) fn forget_replies(&mut self, now: u64) {
        self.replies
            .retain(|_, list| now.saturating_sub(list.at) < REPLIES_KEPT);
    }

    pub(super) fn push_ready(&mut self, id: TaskId) {
        if let Some(entry) = self.entries.get(&id) {
            self.ready[entry.task.options.priority.level()].push_back(id);
        }
    }

    /// Returns what waits at each priority.
    pub(super) fn backlog(&self, now: u64) -> Vec<Backlog> {
        let level = |ids: &VecDeque<TaskId>| {
            let entries = ids.iter().take(LOOKED_AT);
            let mut entries = entries.filter_map(|id| self.entries.get(id));
            let first = entries.find(|entry| entry.state == TaskState::Ready);
            Backlog {
                ready: ids.len() as u64,
                oldest: first
                    .map(|entry| Duration::from_millis(now.saturating_sub(entry.ready_since))),
            }
        };
        self.ready.iter().map(level).collect()
    }

    /// Makes an entry ready now, or at a time.
    pub(super) fn enqueue(&mut self, id: &TaskId, at: u64, now: u64) {
        if at <= now {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.ready_since = now;
            }
            self.set_state(id, TaskState::Ready, now);
            self.push_ready(id.clone());
        } else {
            self.set_state(id, TaskState::Scheduled, now);
            let sequence = self.next_sequence();
            let soonest = self.due.first().is_none_or(|(first, ..)| at < *first);
            self.due.insert((at, sequence, id.clone()));
            if soonest {
                self.tell(Control::Changed);
            }
        }
    }

    /// Gives an entry its outcome, and tells everybody who waits for it.
    pub(super) fn finish(&mut self, id: &TaskId, state: TaskState, outcome: Outcome, now: u64) {
        self.set_state(id, state, now);
        let sequence = self.next_sequence();
        let Some(entry) = self.entries.get_mut(id) else {
            return;
        };
        entry.worker = None;
        entry.outcome = Some(outcome.clone());
        let watchers = std::mem::take(&mut entry.watchers);
        let after = entry.after_outcome.take();
        if state == TaskState::Dead {
            self.dead.insert(sequence, id.clone());
        } else {
            entry.task.payload = Vec::new();
            entry.checkpoint = None;
            let until = now + millis(entry.task.options.retention);
            self.expiry.insert((until, id.clone()));
        }
        for watcher in watchers {
            let reply = Reply {
                id: id.clone(),
                outcome: Some(outcome.clone()),
            };
            self.reply(watcher, reply, now);
        }
        if let Some((schedule, after)) = after {
            self.go_on_after(&schedule, after, now);
        }
        if self.dead.len() > MAX_DEAD
            && let Some((_, oldest)) = self.dead.pop_first()
        {
            self.forget_dead(&oldest);
        }
    }

    /// Does what a schedule waits for the outcome of its task for.
    fn go_on_after(&mut self, schedule: &str, after: AfterOutcome, now: u64) {
        match after {
            AfterOutcome::SubmitWaiting => self.submit_waiting(schedule, now),
            AfterOutcome::Rearm(delay) => {
                let is_there = self.schedules.rearm(schedule, now + delay);
                if is_there {
                    self.tell(Control::Changed);
                }
            }
        }
    }

    fn forget_dead(&mut self, id: &TaskId) {
        if self
            .entries
            .get(id)
            .is_some_and(|entry| entry.state == TaskState::Dead)
        {
            self.entries.remove(id);
        }
    }
}

/// Returns the count that a state stands for. Final states only ever add to theirs.
fn count_of(stats: &mut QueueStats, state: TaskState) -> Option<&mut u64> {
    match state {
        TaskState::Scheduled => Some(&mut stats.scheduled),
        TaskState::Ready => Some(&mut stats.ready),
        TaskState::Running => Some(&mut stats.running),
        TaskState::Done | TaskState::Failed | TaskState::Cancelled | TaskState::Dead => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Queue, REPLIES_KEPT, Reply};

    #[test]
    fn outcomes_for_a_client_that_is_gone_are_forgotten() {
        let mut queue = Queue::default();
        let reply = Reply {
            id: "a".parse().unwrap(),
            outcome: None,
        };
        queue.reply("gone".into(), reply.clone(), 0);
        queue.reply("late".into(), reply, 1);
        queue.forget_replies(REPLIES_KEPT - 1);
        assert_eq!(queue.replies.len(), 2);
        queue.forget_replies(REPLIES_KEPT);
        assert!(queue.replies.contains_key("late") && queue.replies.len() == 1);
    }
}

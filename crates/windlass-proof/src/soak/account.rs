//! What became of every task that was made.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Finished,
    Failed,
    /// It never ran: cancelled, or dropped by a policy.
    Cancelled,
    Rejected,
    HandedBack,
}

const FATES: usize = 5;

/// The tasks of one pool, or of all.
#[derive(Debug, Default)]
pub(crate) struct Account {
    submitted: AtomicU64,
    ended: [AtomicU64; FATES],
}

impl Account {
    /// The entry of a new task.
    pub(crate) fn open(self: &Arc<Self>) -> Entry {
        self.submitted.fetch_add(1, Ordering::SeqCst);
        Entry {
            account: Arc::clone(self),
            fate: None,
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        let ended = std::array::from_fn(|at| self.ended[at].load(Ordering::SeqCst));
        let submitted = self.submitted.load(Ordering::SeqCst);
        Figures { submitted, ended }
    }
}

/// An account at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    submitted: u64,
    ended: [u64; FATES],
}

impl Figures {
    pub(crate) fn of(&self, fate: Fate) -> u64 {
        self.ended[fate as usize]
    }

    /// Whether every task has had one end.
    pub(crate) fn balances(&self) -> bool {
        self.submitted == self.ended.iter().sum::<u64>()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.submitted += other.submitted;
        for (sum, more) in self.ended.iter_mut().zip(other.ended) {
            *sum += more;
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} submitted = {} finished + {} failed + {} cancelled + {} rejected + {} handed back",
            self.submitted,
            self.of(Fate::Finished),
            self.of(Fate::Failed),
            self.of(Fate::Cancelled),
            self.of(Fate::Rejected),
            self.of(Fate::HandedBack)
        )
    }
}

/// What a task's closure carries; written off when it is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    account: Arc<Account>,
    fate: Option<Fate>,
}

impl Entry {
    /// The task has begun, and will end like this.
    pub(crate) fn runs(&mut self, fate: Fate) {
        self.fate = Some(fate);
    }
}

thread_local! {
    /// Why tasks are dropped on this thread right now without having run.
    static DROPPED_AS: Cell<Fate> = const { Cell::new(Fate::Cancelled) };
}

/// Drops tasks, for a reason.
pub(crate) fn drop_as<T>(fate: Fate, tasks: T) {
    let former = DROPPED_AS.replace(fate);
    drop(tasks);
    DROPPED_AS.set(former);
}

impl Drop for Entry {
    fn drop(&mut self) {
        let fate = self.fate.unwrap_or_else(|| DROPPED_AS.get());
        self.account.ended[fate as usize].fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Account, Fate, drop_as};

    #[test]
    fn each_entry_is_written_off_once_and_a_lost_one_is_missed() {
        let account = Arc::new(Account::default());
        let mut ran = account.open();
        ran.runs(Fate::Failed);
        drop_as(Fate::Rejected, account.open());
        drop((ran, account.open()));
        let figures = account.figures();
        let fates = [Fate::Failed, Fate::Rejected, Fate::Cancelled];
        assert_eq!(fates.map(|fate| figures.of(fate)), [1, 1, 1]);
        assert!(figures.balances());
        std::mem::forget(account.open());
        assert!(!account.figures().balances());
    }
}

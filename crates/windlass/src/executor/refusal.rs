//! Threads that could not be created: how many, and the error of each for all who are told of it.

use std::io;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::task::Failure;

/// Counts the threads that could not be created, and keeps the kind of the last error.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    count: AtomicU64,
    last: Mutex<Option<io::ErrorKind>>,
}

impl Refusals {
    /// Counts a thread that was not created. Returns its error, which the rejection of a task, the
    /// uncaught handler and others can share; without an error, the factory has dropped the body of
    /// the thread.
    pub(crate) fn record(&self, error: Option<io::Error>) -> Failure {
        let error =
            error.unwrap_or_else(|| io::Error::other("the thread factory created no thread"));
        self.record_kind(error.kind());
        Failure::from_error(error)
    }

    /// Counts a thread that was not created because the factory panicked.
    pub(crate) fn record_panic(&self) {
        self.record_kind(io::ErrorKind::Other);
    }

    fn record_kind(&self, kind: io::ErrorKind) {
        // The kind first: a reader that sees a count above zero finds a kind.
        *self.last.lock() = Some(kind);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Returns how many threads could not be created.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns the kind of the last error.
    pub(crate) fn last(&self) -> Option<io::ErrorKind> {
        *self.last.lock()
    }
}

/// Returns the error of a thread that was not created as an `io::Error` of its own.
///
/// An error of the system is copied; another one wraps the failure, which displays as the error does.
pub(crate) fn to_io_error(refusal: &Failure) -> io::Error {
    let Some(error) = refusal.error().and_then(|e| e.downcast_ref::<io::Error>()) else {
        return io::Error::other(refusal.clone());
    };
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), refusal.clone()),
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::io;

    use super::{Refusals, to_io_error};

    #[test]
    fn every_refusal_is_counted_and_the_last_kind_is_kept() {
        let refusals = Refusals::default();
        assert_eq!((refusals.count(), refusals.last()), (0, None));
        refusals.record(Some(io::ErrorKind::WouldBlock.into()));
        assert_eq!(refusals.last(), Some(io::ErrorKind::WouldBlock));
        refusals.record(None);
        refusals.record_panic();
        assert_eq!(
            (refusals.count(), refusals.last()),
            (3, Some(io::ErrorKind::Other))
        );
    }

    #[test]
    fn a_copy_of_the_error_says_the_same() {
        let refusals = Refusals::default();
        for make in [
            || io::Error::from_raw_os_error(11),
            || io::Error::new(io::ErrorKind::QuotaExceeded, "too many"),
        ] {
            let copy = to_io_error(&refusals.record(Some(make())));
            assert_eq!(copy.to_string(), make().to_string());
            assert_eq!(copy.kind(), make().kind());
            assert_eq!(copy.raw_os_error(), make().raw_os_error());
        }
    }
}

//! Waits for a future on a thread that is no runtime's.
//!
//! The futures of a client need no runtime where they are polled: the connection behind them is driven by the engine's own. So a
//! call works on any thread, also on one of a runtime of the user, where `Runtime::block_on` would panic.

use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

#[derive(Default)]
struct Alarm {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

/// Polls a future until it is ready; `None` if it is not by `until`.
pub(super) fn wait_for<F: Future>(future: F, until: Instant) -> Option<F::Output> {
    let mut future = pin!(future);
    let alarm = Arc::<Alarm>::default();
    let waker = Waker::from(Arc::clone(&alarm));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        let woken = alarm.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        let waited = alarm
            .changed
            .wait_timeout_while(woken, left, |woken| !*woken);
        let mut woken = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !std::mem::take(&mut *woken) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::wait_for;
    use std::time::{Duration, Instant};

    #[test]
    fn a_future_that_is_woken_from_another_thread_is_ready() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || sender.send(5));
            let until = Instant::now() + Duration::from_secs(30);
            assert_eq!(wait_for(receiver, until), Some(Ok(5)));
        });
    }

    #[test]
    fn a_wait_ends_in_time() {
        let until = Instant::now() + Duration::from_millis(5);
        assert_eq!(wait_for(std::future::pending::<()>(), until), None);
    }
}

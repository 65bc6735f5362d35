//! Requests to end by ctrl-c and SIGTERM.
//!
//! A handler of a signal may do next to nothing, so it only writes to a pipe (`signal-hook` does). A
//! thread reads from there, and a second one runs the plan, so that the first can still escalate.

use std::fmt;
use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::iterator::backend::Handle;

use super::escalation::{Escalation, Request};
use super::plan::ShutdownPlan;
use super::report::ShutdownReport;
use crate::sync::clock::Clock;
use crate::sync::{Mutex, thread};

impl ShutdownPlan<'static> {
    /// Runs the plan when the process gets SIGINT (ctrl-c) or SIGTERM, on a thread of its own
    /// (feature `signals`, on Unix).
    ///
    /// A second signal makes the plan hurry, as an interrupt of its thread does: it no longer drains and
    /// interrupts the tasks at once. A third ends the process, with the status 128 plus the number of the
    /// signal, as a shell reports a process that a signal has ended; so does a signal after the plan has ended.
    ///
    /// # Errors
    ///
    /// That of the system, if the handler or the thread cannot be created.
    pub fn on_signals(self) -> io::Result<SignalledShutdown> {
        let signals = Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let shared = Arc::new(Shared {
            escalation: Arc::new(Escalation::default()),
            plan: Mutex::new(Some(self)),
            clock: Clock::current(),
        });
        let theirs = Arc::clone(&shared);
        let listener = thread::Builder::new().name(String::from("windlass-signals"));
        let listener = listener.spawn(move || theirs.listen(signals));
        if let Err(refused) = listener {
            handle.close();
            return Err(refused);
        }
        Ok(SignalledShutdown { shared, handle })
    }
}

/// A [`ShutdownPlan`] that runs at a signal.
///
/// If it is dropped, signals run the plan all the same.
///
/// ```no_run
/// use std::time::Duration;
/// use windlass::prelude::*;
/// use windlass::shutdown::ShutdownPlan;
///
/// # fn main() -> std::io::Result<()> {
/// let pool = executors::fixed_thread_pool(4).unwrap();
/// let end = ShutdownPlan::new()
///     .pool("requests", pool.clone())
///     .drain_for(Duration::from_secs(20))
///     .on_signals()?;
/// // … the program submits tasks …
/// let report = end.wait();
/// eprintln!("{report}");
/// # Ok(())
/// # }
/// ```
pub struct SignalledShutdown {
    shared: Arc<Shared>,
    handle: Handle,
}

struct Shared {
    escalation: Arc<Escalation>,
    plan: Mutex<Option<ShutdownPlan<'static>>>,
    clock: Clock,
}

impl SignalledShutdown {
    /// Does what a signal does, without one: starts the plan, makes it hurry. A third call has no effect.
    pub fn request(&self) {
        if self.shared.escalation.request() == Request::Start {
            self.shared.start();
        }
    }

    /// Returns whether the plan was started.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.shared.escalation.is_requested()
    }

    /// Waits until the plan was started and has ended, and returns its report. An interrupt of the waiting
    /// thread stays pending. From then on a signal ends the process.
    #[must_use]
    pub fn wait(self) -> ShutdownReport {
        let report = self.shared.escalation.wait();
        report.expect("the report is taken once")
    }
}

impl fmt::Debug for SignalledShutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalledShutdown")
            .field("is_requested", &self.is_requested())
            .field("is_closed", &self.handle.is_closed())
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, mut signals: Signals) {
        for signal in signals.forever() {
            match self.escalation.request() {
                Request::Start => self.start(),
                Request::Hurried => {}
                Request::Exit => std::process::exit(128 + signal),
            }
        }
    }

    /// Runs the plan on a thread of its own; on this one if there is none to be had.
    fn start(self: &Arc<Self>) {
        let theirs = Arc::clone(self);
        let runner = thread::Builder::new().name(String::from("windlass-shutdown"));
        if runner.spawn(move || theirs.run()).is_err() {
            self.run();
        }
    }

    fn run(&self) {
        self.clock.adopt();
        let plan = self.plan.lock().take();
        if let Some(plan) = plan {
            self.escalation.run(|| plan.run());
        }
    }
}

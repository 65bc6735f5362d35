//! A worker from its options to its end.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use windlass::executors;
use windlass::prelude::*;
use windlass_remote::{RemoteWorker, StartError};

use super::allow::AllowList;
use super::options::WorkerOptions;
use super::runner::Runner;
use crate::count::counted;
use crate::engine::{CommandRunner, CommandTask, EngineAddress, OpenEngine, read_key, trouble};
use crate::exit::{self, Failure, complain};
use crate::run::control::Control;
use crate::run::guard::Guard;
use crate::run::signals::not_ignored;
use crate::run::stop::{Reason, Stage};

/// How long a call to the engine may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the worker sees whether the engine is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Longer than anybody waits.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// What the main thread waits for.
enum Event {
    Signal(i32),
    Ended,
}

/// Runs a worker until it is told to end.
///
/// # Errors
///
/// What keeps it from starting. An engine that cannot be reached does not.
pub fn execute(options: &WorkerOptions) -> Result<ExitCode, Failure> {
    let address = EngineAddress::given_or_env(options.engine.as_ref())?;
    let open = address.open(PATIENCE)?;
    let allowed = AllowList::read(&options.allow)?;
    let (send, events) = channel();
    listen(send.clone())?;
    let interpreters = allowed.interpreters();
    if !interpreters.is_empty() {
        complain(format_args!(
            "the allow-list has {} with any arguments: who can write to the queue can run anything here",
            interpreters.join(", ")
        ));
    }
    let names = allowed.names().join(", ");
    let runner = runner(options, allowed)?;
    let worker = start(options, &open, &runner)?;
    if !options.quiet {
        complain(format_args!(
            "{} serves the queue {} at {} with {}; allowed: {names}",
            worker.id(),
            options.queue,
            open.place,
            counted(threads(options), "slot")
        ));
    }
    let watch = Watch::begin(&open);
    let signal = serve(&worker, watch, &events);
    Ok(ExitCode::from(end(
        &worker,
        &runner,
        signal,
        (send, &events),
    )))
}

fn threads(options: &WorkerOptions) -> usize {
    let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    options.threads.map_or_else(processors, NonZeroUsize::get)
}

fn runner(options: &WorkerOptions, allowed: AllowList) -> Result<Arc<Runner>, Failure> {
    let run_id = format!("{}-{:016x}", std::process::id(), fastrand::u64(..));
    let guard = Guard::start(&run_id)
        .inspect_err(|error| complain(format_args!("no guard for the case of a KILL: {error}")))
        .ok();
    let control = Control::new(guard, options.max_grace)
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let host = rustix::system::uname();
    Ok(Arc::new(Runner {
        allowed,
        control: Arc::new(control),
        waiters: executors::cached_thread_pool(),
        run_id,
        host: host.nodename().to_string_lossy().into_owned(),
        max_output: options.max_output,
        max_grace: options.max_grace,
    }))
}

fn start(
    options: &WorkerOptions,
    open: &OpenEngine,
    runner: &Arc<Runner>,
) -> Result<RemoteWorker, Failure> {
    let pool = executors::fixed_thread_pool(threads(options)).map_err(|error| {
        Failure::usage(format!("these threads make no pool: {error}"))
            .hint("try a smaller number for --threads")
    })?;
    let mut builder = RemoteWorker::builder(Arc::clone(&open.engine))
        .queue(&options.queue)
        .name(&options.name)
        .pool(pool)
        .register::<CommandTask>()
        .state(CommandRunner(Arc::clone(runner) as _))
        // What is written may be a third longer on its way, see `Bytes`; the rest of a report is short.
        .max_result(options.max_output * 3 / 2 + (64 << 10));
    if let Some(key) = read_key(options.key_file.as_deref())? {
        builder = builder.signing_key(key);
    }
    builder.start().map_err(|error| match error {
        StartError::Name(error) => Failure::usage(error.to_string()),
        error => Failure::new(format!("the worker cannot start: {error}")),
    })
}

/// Sends every signal that asks for the end.
fn listen(events: Sender<Event>) -> Result<(), Failure> {
    let trouble = |error| Failure::new(format!("cannot receive signals: {error}"));
    let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP])).map_err(trouble)?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                if events.send(Event::Signal(signal)).is_err() {
                    break;
                }
            }
        })
        .map(drop)
        .map_err(trouble)
}

/// Waits for the first signal, and says when the engine goes and comes back.
fn serve(worker: &RemoteWorker, mut watch: Watch<'_>, events: &Receiver<Event>) -> i32 {
    loop {
        match events.recv_timeout(LOOK_EVERY) {
            Ok(Event::Signal(signal)) => return signal,
            Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => return SIGTERM,
            Err(RecvTimeoutError::Timeout) => watch.look(worker),
        }
    }
}

/// Drains the worker. A second signal gives what runs back to the queue, a third one kills it.
fn end(
    worker: &RemoteWorker,
    runner: &Runner,
    signal: i32,
    (send, events): (Sender<Event>, &Receiver<Event>),
) -> u8 {
    complain(format_args!(
        "no more commands are fetched; waiting for {} that run (again: stop now)",
        worker.stats().running
    ));
    let mut told = 1;
    let mut last = signal;
    thread::scope(|scope| {
        scope.spawn(|| {
            worker.shutdown(FOREVER);
            while worker.pool().await_termination(FOREVER) != Ok(true) {}
            // Nobody is left to hear it only if the main thread has panicked.
            let _ = send.send(Event::Ended);
        });
        while let Ok(Event::Signal(signal)) = events.recv() {
            told += 1;
            last = signal;
            if told == 2 {
                complain(format_args!(
                    "tasks are given back, and commands told to terminate (again: KILL)"
                ));
                scope.spawn(|| worker.shutdown(Duration::ZERO));
            } else {
                let reason = Reason::Signal(signal);
                runner.control.advance(Stage::Killing, reason);
            }
        }
    });
    if told == 1 {
        exit::OK
    } else {
        exit::of_signal(last)
    }
}

/// Whether the engine is there, as far as has been said.
struct Watch<'a> {
    open: &'a OpenEngine,
    errors: u64,
    is_away: bool,
}

impl<'a> Watch<'a> {
    fn begin(open: &'a OpenEngine) -> Self {
        let checked = open.check();
        for warning in checked.iter().flatten() {
            complain(format_args!("{}: {warning}", open.place));
        }
        if let Err(error) = &checked {
            complain(format_args!(
                "{}; trying until it can be used",
                trouble(error, &open.place)
            ));
        }
        Self {
            open,
            errors: 0,
            is_away: checked.is_err(),
        }
    }

    fn look(&mut self, worker: &RemoteWorker) {
        let stats = worker.stats();
        let has_failed = stats.engine_errors > self.errors;
        self.errors = stats.engine_errors;
        match (self.is_away, stats.last_engine_error) {
            (false, Some(error)) if has_failed => {
                self.is_away = true;
                complain(format_args!(
                    "{}; commands run on, trying again",
                    trouble(&error, &self.open.place)
                ));
            }
            (true, _) if !has_failed && self.open.engine.now().is_ok() => {
                self.is_away = false;
                complain(format_args!("{}: the engine is back", self.open.place));
            }
            _ => {}
        }
    }
}

//! A run from its options to its exit code.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass::pool::{
    AbortPolicy, BlockPolicy, Builder, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, Times,
};
use windlass::prelude::*;
use windlass::queue::LinkedBlockingQueue;

use super::backlog::Backlog;
use super::capture::Storage;
use super::control::Control;
use super::descriptors::allowed_threads;
use super::guard::Guard;
use super::input::Inputs;
use super::job::{Job, Place, Policy, Shared};
use super::journal::{Done, Journal, Known};
use super::options::{RunOptions, When, WhenFull};
use super::patient::Patient;
use super::process::Launch;
use super::progress::Progress;
use super::remote::{Remote, Rules};
use super::signals::Receiver;
use super::sink::Sink;
use super::spawn::Spawner;
use super::stop::{Reason, Stage};
use super::summary::{End, Summary};
use super::tally::{Counts, Tally};
use super::template::{ProgramError, Template, find_program};
use crate::engine::{EngineAddress, read_key};
use crate::exit::{self, Failure, complain};

/// How long a call to the engine may take.
const ENGINE_PATIENCE: Duration = Duration::from_secs(5);

/// Runs the command for each input.
///
/// # Errors
///
/// What keeps the run from starting. Whatever goes wrong later is in the exit code.
pub fn execute(options: &RunOptions) -> Result<ExitCode, Failure> {
    options.check()?;
    let (command, arguments) = options.command_and_inputs();
    let template =
        Template::new(command, options.replace.as_deref(), &options.shell).map_err(|error| {
            Failure::usage(format!("cannot understand the command: {error}")).hint(error.hint())
        })?;
    let run_id = format!("{}-{:016x}", std::process::id(), fastrand::u64(..));
    let place = place(options, &template, run_id.clone())?;
    let guard = match place {
        Place::Here(_) if !options.dry_run => start_guard(&run_id),
        _ => None,
    };
    let control = Control::new(guard, options.grace)
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let control = Arc::new(control);
    let inputs = inputs(options, arguments, command.is_empty(), &control)?;
    let (journal, done) = match &options.journal {
        Some(path) => {
            let resume = options.resume || options.resume_failed;
            let signature = template.signature();
            if options.dry_run {
                (None, Journal::read(path, &signature, resume)?)
            } else {
                let (journal, done) = Journal::open(path, &signature, resume)?;
                (Some(journal), done)
            }
        }
        None => (None, Done::default()),
    };
    let progress = progress(options, &inputs);
    let sink = Sink::new(Arc::clone(&control), progress, options.keep_order, journal)
        .map_err(|error| Failure::new(format!("cannot use the outputs: {error}")))?;
    let shared = Arc::new(Shared {
        template,
        place,
        backlog: (options.when_full == WhenFull::Block)
            .then(|| Backlog::new(options.queue_bound())),
        control,
        sink,
        tally: Tally::default(),
        storage: Arc::new(Storage::default()),
        policy: policy(options),
    });
    run(options, &shared, inputs, &done)
}

fn run(
    options: &RunOptions,
    shared: &Arc<Shared>,
    mut inputs: Inputs,
    done: &Done,
) -> Result<ExitCode, Failure> {
    let summary_file = summary_file(options)?;
    let started = Instant::now();
    let pool = Arc::new(pool(options)?);
    shared.control.watch(&pool);
    let canceller = canceller(shared)?;
    let signals = Receiver::start(Arc::clone(shared))
        .map_err(|error| Failure::new(format!("cannot receive signals: {error}")))?;
    if let Err(failure) = submit_all(&pool, shared, &mut inputs, (done, options.resume_failed)) {
        shared
            .control
            .end(Stage::Draining, Reason::Trouble(failure));
    }
    if !shared.control.stop.is_running() {
        shared.control.take_waiting();
        shared.tally.not_run(inputs.len().unwrap_or(0));
    }
    // Whoever writes the inputs learns that no more are read.
    drop(inputs);
    pool.shutdown();
    while pool.await_termination(Duration::MAX) != Ok(true) {}
    shared.control.drop_taken();
    drop(canceller);
    shared.sink.progress.clear();
    let reason = shared.control.stop.reason();
    let counts = shared.tally.counts();
    let exit_code = exit_code(reason.as_ref(), &counts);
    let end = End {
        elapsed: started.elapsed(),
        ended_by: reason.as_ref().map(describe),
        exit_code,
        queue: options.queue_bound(),
    };
    let is_quiet = reason == Some(Reason::BrokenPipe);
    let summary = Summary::new(counts, &pool.stats(), end);
    let is_shown = is_summary_shown(options, exit_code) && !is_quiet;
    // Signals are received until the end: they end the wait for whoever reads the summary.
    write_summary(options, &summary, summary_file, is_shown, &shared.control)?;
    drop(signals);
    if let Some(Reason::Trouble(failure)) = reason {
        return Ok(failure.report());
    }
    Ok(ExitCode::from(exit_code))
}

/// Reads the inputs and submits a job for each, until there is no more or the run is ended.
fn submit_all(
    pool: &ThreadPoolExecutor,
    shared: &Arc<Shared>,
    inputs: &mut Inputs,
    (done, reruns_failed): (&Done, bool),
) -> Result<(), Failure> {
    let mut seq = 0;
    while let Some(input) = inputs.next()? {
        seq += 1;
        let known = done.about(seq, &input);
        if known == Known::Different {
            let text = format!("input {seq} is not the one that the journal records");
            return Err(Failure::new(text).hint("give the same inputs, or name another journal"));
        }
        if known == Known::Succeeded || (known == Known::Failed && !reruns_failed) {
            if known == Known::Succeeded {
                shared.tally.resumed();
            } else {
                shared.tally.failed_before();
            }
            shared.sink.skip(seq);
            shared.sink.progress.skip();
            continue;
        }
        shared.sink.await_turn(seq);
        if let Some(backlog) = &shared.backlog {
            backlog.add(&shared.control.stop);
        }
        let job = Job::new(seq, input, Arc::clone(shared));
        // A rejected job counts itself when it is dropped.
        if let Err(rejected) = pool.execute(move || job.run())
            && rejected.is_no_thread()
        {
            return Err(Failure::new("the system gives the pool no thread")
                .hint("use fewer with --threads, or raise the limit: ulimit -u"));
        }
        if !shared.control.stop.is_running() {
            break;
        }
    }
    Ok(())
}

fn pool(options: &RunOptions) -> Result<ThreadPoolExecutor, Failure> {
    let threads = threads(options);
    let refused = |error: String| {
        Failure::usage(format!(
            "these threads and this queue make no pool: {error}"
        ))
        .hint("try a smaller number for --threads or --queue")
    };
    let queue = LinkedBlockingQueue::with_capacity(options.queue_bound())
        .map_err(|error| refused(error.to_string()))?;
    let builder = ThreadPoolExecutor::builder()
        .name("run")
        .core_pool_size(threads)
        .maximum_pool_size(threads)
        .work_queue(queue)
        .times(Times::Every);
    with_policy(builder, options.when_full)
        .build()
        .map_err(|error| refused(error.to_string()))
}

/// Returns the number of threads, fewer than asked for if the limit of open files says so.
fn threads(options: &RunOptions) -> usize {
    let wanted = options.thread_count();
    if options.dry_run || options.engine.is_some() {
        return wanted;
    }
    let allowed = allowed_threads(wanted);
    if allowed < wanted {
        complain(format_args!(
            "{allowed} threads instead of {wanted}: the limit of open files allows no more (ulimit -n)"
        ));
    }
    allowed
}

fn with_policy(builder: Builder, when_full: WhenFull) -> Builder {
    match when_full {
        WhenFull::Block => builder.rejection_handler(BlockPolicy::new()),
        WhenFull::CallerRuns => builder.rejection_handler(CallerRunsPolicy),
        WhenFull::Abort => builder.rejection_handler(AbortPolicy),
        WhenFull::Discard => builder.rejection_handler(DiscardPolicy),
        WhenFull::DiscardOldest => builder.rejection_handler(DiscardOldestPolicy),
    }
}

fn policy(options: &RunOptions) -> Policy {
    Policy {
        attempts: options.attempts(),
        retry_delay: options.retry_delay,
        retry_max_delay: options.retry_max_delay,
        halt: options.halt,
        max_failures: options.max_failures.get(),
        output: options.output_mode(),
        dry_run: options.dry_run,
    }
}

fn inputs(
    options: &RunOptions,
    arguments: Option<&[std::ffi::OsString]>,
    has_no_command: bool,
    control: &Control,
) -> Result<Inputs, Failure> {
    let separator = if options.null { 0 } else { b'\n' };
    match (arguments, &options.arg_file) {
        (Some(_), Some(_)) => Err(
            Failure::usage("inputs are given twice: after ::: and with -a").hint("use one of them"),
        ),
        (Some(arguments), None) => {
            let arguments: Vec<_> = arguments.into();
            Ok(Inputs::Arguments(arguments.into_iter()))
        }
        (None, file) => {
            let file = file.as_deref().unwrap_or_else(|| Path::new("-"));
            if file == Path::new("-") && std::io::stdin().is_terminal() {
                if has_no_command {
                    return Err(Failure::usage("there is nothing to run").hint(
                        "windlass run 'gzip -k {}' ::: *.log   or   windlass run < commands.txt",
                    ));
                }
                complain(format_args!(
                    "reading inputs from the terminal; ctrl-d ends them"
                ));
            }
            Inputs::from_file(file, separator, Arc::clone(&control.stop))
        }
    }
}

/// Says where the jobs run. A run that only prints them needs no engine.
fn place(options: &RunOptions, template: &Template, run_id: String) -> Result<Place, Failure> {
    let Some(engine) = options.engine.as_ref().filter(|_| !options.dry_run) else {
        return Ok(Place::Here(launch(options, template, &run_id)?));
    };
    let open = EngineAddress::given_or_env(Some(engine))?.open(ENGINE_PATIENCE)?;
    let key = read_key(options.key_file.as_deref())?;
    let rules = Rules {
        time_limit: options.timeout,
        grace: options.grace,
        at_most_once: options.at_most_once,
    };
    let remote = Remote::new(&open, options.queue_name()?, key, run_id, rules)?;
    Ok(Place::OnWorkers(remote))
}

/// The thread that cancels tasks on workers when the run ends; it ends when this is dropped.
struct Canceller(Arc<Shared>, Option<JoinHandle<()>>);

impl Drop for Canceller {
    fn drop(&mut self) {
        if let Place::OnWorkers(remote) = &self.0.place {
            remote.finish(&self.0.control.stop);
        }
        if let Some(thread) = self.1.take() {
            let _ = thread.join();
        }
    }
}

fn canceller(shared: &Arc<Shared>) -> Result<Option<Canceller>, Failure> {
    let Place::OnWorkers(_) = &shared.place else {
        return Ok(None);
    };
    let follower = Arc::clone(shared);
    let follow = move || {
        if let Place::OnWorkers(remote) = &follower.place {
            remote.follow(&follower.control.stop);
        }
    };
    let thread = thread::Builder::new().name("cancel".to_owned());
    let thread = thread
        .spawn(follow)
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    Ok(Some(Canceller(Arc::clone(shared), Some(thread))))
}

/// Finds the program that all jobs run, if there is one.
fn launch(options: &RunOptions, template: &Template, run_id: &str) -> Result<Launch, Failure> {
    let path = std::env::var_os("PATH");
    let program = match template.program() {
        Some(name) if !options.dry_run => {
            Some(find_program(name, path.as_deref()).map_err(|error| {
                let name = name.display();
                match error {
                    ProgramError::NotFound => Failure::new(format!("{name}: command not found"))
                        .code(exit::NOT_FOUND)
                        .hint("is it installed, and is its folder in PATH?"),
                    ProgramError::NotExecutable => Failure::new(format!("{name}: not executable"))
                        .code(exit::NOT_EXECUTABLE)
                        .hint("chmod +x makes a script executable"),
                }
            })?)
        }
        _ => None,
    };
    let spawner = Spawner::new(run_id, None)
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    Ok(Launch {
        program,
        spawner,
        time_limit: options.timeout,
        grace: options.grace,
    })
}

/// Starts the guard. A run without one is still a run.
fn start_guard(run_id: &str) -> Option<Guard> {
    Guard::start(run_id)
        .inspect_err(|error| complain(format_args!("no guard for the case of a KILL: {error}")))
        .ok()
}

fn progress(options: &RunOptions, inputs: &Inputs) -> Progress {
    let is_shown = match options.progress {
        When::Auto => Progress::is_possible() && !options.dry_run && !options.ungroup,
        When::Always => true,
        When::Never => false,
    };
    if !is_shown || options.quiet {
        return Progress::hidden();
    }
    let of_file = || {
        let separator = if options.null { 0 } else { b'\n' };
        super::input::count(options.arg_file.as_deref()?, separator)
    };
    Progress::shown(inputs.len().or_else(of_file))
}

fn exit_code(reason: Option<&Reason>, counts: &Counts) -> u8 {
    match reason {
        Some(Reason::Signal(signal)) => exit::of_signal(*signal),
        Some(Reason::BrokenPipe) => exit::BROKEN_PIPE,
        Some(Reason::Trouble(_)) => exit::TROUBLE,
        Some(Reason::Halt) | None => {
            let not_done = counts.failed + counts.failed_before + counts.not_run + counts.rejected;
            if not_done > 0 {
                exit::COMMAND_FAILED
            } else {
                exit::OK
            }
        }
    }
}

fn describe(reason: &Reason) -> String {
    match reason {
        Reason::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
            Some(name) => format!("by {name}"),
            None => format!("by signal {signal}"),
        },
        Reason::Halt => "at a failure, as --halt says".to_owned(),
        Reason::BrokenPipe => "because nobody reads the output".to_owned(),
        Reason::Trouble(failure) => failure.to_string(),
    }
}

fn is_summary_shown(options: &RunOptions, exit_code: u8) -> bool {
    let is_wanted = match options.summary {
        When::Auto => {
            let on_terminal = std::io::stderr().is_terminal() && !options.dry_run;
            options.json || on_terminal || exit_code != exit::OK
        }
        When::Always => true,
        When::Never => false,
    };
    is_wanted && !options.quiet && options.summary_file.is_none()
}

/// Opens the file of the summary, before there is anything to lose.
fn summary_file(options: &RunOptions) -> Result<Option<File>, Failure> {
    let Some(path) = &options.summary_file else {
        return Ok(None);
    };
    let file = File::create(path).map_err(|error| {
        let text = format!("cannot write the summary to {}: {error}", path.display());
        Failure::new(text).hint("is its folder there, and may you write to it?")
    })?;
    Ok(Some(file))
}

fn write_summary(
    options: &RunOptions,
    summary: &Summary,
    file: Option<File>,
    is_shown: bool,
    control: &Control,
) -> Result<(), Failure> {
    let text = if options.json {
        summary.json()
    } else {
        summary.text()
    };
    let plain = || anstream::adapter::strip_str(&text).to_string();
    let written = match file {
        Some(mut file) => file.write_all(plain().as_bytes()),
        None if !is_shown => Ok(()),
        None => {
            let stderr = std::io::stderr();
            let is_plain = anstream::AutoStream::choice(&stderr) == anstream::ColorChoice::Never;
            let text = if is_plain { plain() } else { text.clone() };
            Patient::new(stderr, Arc::clone(&control.stop))
                .and_then(|mut stderr| stderr.write_all(text.as_bytes()))
        }
    };
    match written {
        // Whoever was told to end at once does not wait for a reader that stands still.
        Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Ok(()),
        written => {
            written.map_err(|error| Failure::new(format!("cannot write the summary: {error}")))
        }
    }
}

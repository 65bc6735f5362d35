//! Reads scenarios from text.

use super::error::{ParseError, Problem};
use super::pool::{KeepAlive, Policy, PoolSpec, QueueKind, ScheduledSpec, ThreadPoolSpec};
use super::scenario::{Expected, Line, Scenario, StepLine};
use super::step::{Ending, Setting, Step, TaskSpec};
use super::words::{Words, millis, plain};

/// Reads all scenarios of a file. A block of comments without steps is kept as a scenario of none.
///
/// # Errors
///
/// The first line that cannot be read.
pub fn parse(text: &str) -> Result<Vec<Scenario>, ParseError> {
    let mut scenarios = Vec::new();
    let mut open = Scenario::default();
    // All returns at the end of a line, where `lines` takes one: a print would be read differently.
    let lines = text.lines().map(|line| line.trim_end_matches('\r'));
    let mut lines = lines.zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let wrong = |problem| ParseError {
            line: number,
            problem,
        };
        if line.trim().is_empty() {
            close(&mut open, &mut scenarios);
        } else if line.starts_with('#') {
            open.lines.push(Line::Comment(line.to_owned()));
        } else if line.starts_with('>') {
            return Err(wrong(Problem::ResultWithoutStep));
        } else if line.starts_with('=') {
            return Err(wrong(Problem::StateWithoutResult));
        } else {
            let step = parse_step(line).map_err(wrong)?;
            let mut expected = None;
            if let Some((result, number)) = lines.next_if(|(line, _)| line.starts_with('>')) {
                let state = lines.next_if(|(line, _)| line.starts_with('='));
                let problem = Problem::ResultWithoutState;
                let (state, _) = state.ok_or(ParseError {
                    line: number,
                    problem,
                })?;
                expected = Some(Expected {
                    result: payload(result),
                    state: payload(state),
                });
            }
            open.lines.push(Line::Step(StepLine {
                number,
                step,
                expected,
            }));
        }
    }
    close(&mut open, &mut scenarios);
    Ok(scenarios)
}

/// The text of an expectation line without its mark and the one space after that.
fn payload(line: &str) -> String {
    let text = &line[1..];
    text.strip_prefix(' ').unwrap_or(text).to_owned()
}

fn close(open: &mut Scenario, scenarios: &mut Vec<Scenario>) {
    if !open.lines.is_empty() {
        scenarios.push(std::mem::take(open));
    }
}

/// Reads one step.
///
/// # Errors
///
/// What is wrong with it.
pub fn parse_step(line: &str) -> Result<Step, Problem> {
    let mut words = Words::of(line);
    let step = match words.verb() {
        "pool" => Step::Pool(pool(&mut words)?),
        "execute" => Step::Execute(task(&mut words)?),
        "submit" => Step::Submit(task(&mut words)?),
        "schedule" => Step::Schedule {
            task: task(&mut words)?,
            delay: words.required("delay", millis)?,
        },
        "fixed_rate" => Step::FixedRate {
            task: task(&mut words)?,
            initial: words.required("initial", millis)?,
            period: words.required("period", millis)?,
        },
        "fixed_delay" => Step::FixedDelay {
            task: task(&mut words)?,
            initial: words.required("initial", millis)?,
            delay: words.required("delay", millis)?,
        },
        "finish" => Step::Finish(words.task()?),
        "fail" => Step::Fail(words.task()?),
        "cancel" => Step::Cancel {
            id: words.task()?,
            interrupt: words.flag("interrupt"),
        },
        "get" => Step::Get {
            id: words.task()?,
            timeout: words.required("timeout", millis)?,
        },
        "future" => Step::Future(words.task()?),
        "set" => Step::Set(setting(&mut words)?),
        "prestart" if words.flag("all") => Step::PrestartAll,
        "prestart" => Step::Prestart,
        "remove" => Step::Remove(words.task()?),
        "purge" => Step::Purge,
        "shutdown" => Step::Shutdown,
        "shutdown_now" => Step::ShutdownNow,
        "await" => Step::Await {
            timeout: words.required("timeout", millis)?,
        },
        other => return Err(Problem::UnknownStep(other.to_owned())),
    };
    words.end()?;
    Ok(step)
}

fn task(words: &mut Words<'_>) -> Result<TaskSpec, Problem> {
    let id = words.task()?;
    let priority = words.optional("priority", plain)?;
    let instant = words.flag("instant");
    let ending = match words.flag("failing") {
        true => Ending::Failing,
        false if instant => Ending::Instant,
        false => Ending::Held,
    };
    Ok(TaskSpec {
        id,
        priority,
        ending,
    })
}

fn pool(words: &mut Words<'_>) -> Result<PoolSpec, Problem> {
    let kind = words.text("kind");
    let core = words.required("core", plain)?;
    let policy = words.required("policy", Policy::from_word)?;
    match kind {
        None | Some("pool") => Ok(PoolSpec::ThreadPool(ThreadPoolSpec {
            core,
            max: words.required("max", plain)?,
            keep_alive: words.required("keep_alive", keep_alive)?,
            queue: words.required("queue", QueueKind::from_word)?,
            policy,
            core_timeout: words.optional("core_timeout", plain)?,
            factory_limit: words.optional("factory_limit", plain)?,
        })),
        Some("scheduled") => Ok(PoolSpec::Scheduled(ScheduledSpec {
            core,
            policy,
            remove_on_cancel: words.optional("remove_on_cancel", plain)?,
            periodic_after_shutdown: words.optional("periodic_after_shutdown", plain)?,
            delayed_after_shutdown: words.optional("delayed_after_shutdown", plain)?,
        })),
        Some(other) => Err(Problem::BadValue {
            option: "kind",
            value: other.to_owned(),
        }),
    }
}

fn keep_alive(text: &str) -> Option<KeepAlive> {
    if text == "never" {
        Some(KeepAlive::Never)
    } else {
        millis(text).map(KeepAlive::After)
    }
}

fn setting(words: &mut Words<'_>) -> Result<Setting, Problem> {
    let choices = [
        words.optional("core", plain)?.map(Setting::Core),
        words.optional("max", plain)?.map(Setting::Max),
        words
            .optional("keep_alive", millis)?
            .map(Setting::KeepAlive),
        words
            .optional("core_timeout", plain)?
            .map(Setting::CoreTimeout),
        words
            .optional("policy", Policy::from_word)?
            .map(Setting::Policy),
        words
            .optional("remove_on_cancel", plain)?
            .map(Setting::RemoveOnCancel),
        words
            .optional("periodic_after_shutdown", plain)?
            .map(Setting::PeriodicAfterShutdown),
        words
            .optional("delayed_after_shutdown", plain)?
            .map(Setting::DelayedAfterShutdown),
    ];
    // One setting a step: what is left over of several must not be lost in silence.
    let mut chosen = choices.into_iter().flatten();
    match (chosen.next(), chosen.next()) {
        (Some(setting), None) => Ok(setting),
        (_, Some(second)) => Err(Problem::UnexpectedWord(second.to_string())),
        (None, None) => Err(Problem::MissingSetting),
    }
}

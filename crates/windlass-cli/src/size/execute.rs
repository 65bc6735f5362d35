//! `windlass size` from its options to its answer.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::time::Duration;

use anstyle::Reset;

use super::figures::Figures;
use super::formula::{Formula, Times};
use super::load::{Arrivals, Load, Service};
use super::measure::measure;
use super::model::{OnSaturation, PoolModel};
use super::options::{MAX_THREADS, SizeOptions};
use super::simulation::simulate;
use super::theory::{Theory, erlang_c, mmck};
use super::{plot, svg};
use crate::count::counted;
use crate::duration::Short;
use crate::exit::{self, Failure};
use crate::style;

/// How many threads `--target` tries beyond those that are busy all the time.
const MAX_TRIED: usize = 512;

/// Answers how large a pool should be, and what it does.
///
/// # Errors
///
/// When figures are missing, the command to measure fails, or the output cannot be written.
pub fn execute(options: &SizeOptions) -> Result<(), Failure> {
    let formula = formula(options)?;
    let load = load(options, formula.as_ref())?;
    let mut text = String::new();
    if let (Some(formula), false) = (&formula, options.json) {
        text.push_str(&formula.explain());
    }
    match load {
        None if options.json => text.push_str(&formula_json(formula.as_ref())),
        None => {}
        Some(load) => {
            let pool = pool(options, formula.as_ref(), &load)?;
            let figures = simulate(&pool, &load, options.tasks.get(), options.seed);
            if options.json {
                text.push_str(&json(&pool, &load, &figures));
            } else {
                describe(&mut text, &pool, &load, &figures);
                text.push_str(&plot::plot(&figures, width()));
            }
            if let Some(path) = &options.svg {
                std::fs::write(path, svg::svg(&figures, &question(&pool, &load))).map_err(
                    |error| Failure::new(format!("cannot write {}: {error}", path.display())),
                )?;
            }
        }
    }
    exit::print(text.as_bytes())
}

fn formula(options: &SizeOptions) -> Result<Option<Formula>, Failure> {
    let times = match (&options.measure, options.compute) {
        (Some(command), _) => measure(command, options.runs.get())?,
        (None, Some(compute)) => Times {
            wait: options.wait.unwrap_or_default(),
            compute,
        },
        (None, None) if options.rate.is_some() => return Ok(None),
        (None, None) => {
            return Err(Failure::usage("there is nothing to size").hint(
                "give --wait and --compute, a command to --measure, or a --rate and a --service time \
                 to simulate",
            ));
        }
    };
    let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Ok(Some(Formula {
        cores: options.cores.map_or_else(processors, NonZeroUsize::get),
        utilisation: options.utilisation,
        times,
    }))
}

fn load(options: &SizeOptions, formula: Option<&Formula>) -> Result<Option<Load>, Failure> {
    let Some(per_second) = options.rate else {
        return Ok(None);
    };
    let measured = formula.map(|formula| formula.times.wait + formula.times.compute);
    let service = options.service.or(measured).ok_or_else(|| {
        Failure::usage("a simulation needs to know how long a task takes")
            .hint("give --service, or --wait and --compute, or --measure")
    })?;
    Ok(Some(Load {
        per_second,
        arrivals: options.arrivals,
        mean_seconds: service.as_secs_f64(),
        service: options.distribution,
        variation: options.variation,
    }))
}

fn pool(
    options: &SizeOptions,
    formula: Option<&Formula>,
    load: &Load,
) -> Result<PoolModel, Failure> {
    let of_size = |core: usize| PoolModel {
        core,
        max: options.max_threads.map_or(core, NonZeroUsize::get),
        queue: options.queue,
        policy: options.when_full,
        keep_alive: options.keep_alive.as_secs_f64(),
    };
    if let Some(target) = options.target {
        // A load that is no number of threads at all is the largest one.
        let fewest = (load.offered().floor() as usize).saturating_add(1);
        refuse_beyond_bound(fewest)?;
        let tried = (fewest..fewest + MAX_TRIED).map(of_size).find(|pool| {
            let figures = simulate(pool, load, options.tasks.get(), options.seed);
            figures.wait.p99 <= target.as_secs_f64() && figures.rejected == 0
        });
        return tried.ok_or_else(|| {
            Failure::new(format!(
                "no pool of up to {} threads does it",
                fewest + MAX_TRIED - 1
            ))
            .hint("allow a longer wait with --target, or a longer queue with --queue")
        });
    }
    let threads = options.threads.map(NonZeroUsize::get);
    let threads = threads
        .or_else(|| formula.map(Formula::threads))
        .ok_or_else(|| {
            Failure::usage("a simulation needs to know the number of threads")
                .hint("give --threads, or --target to find it")
        })?;
    let pool = of_size(threads);
    refuse_beyond_bound(pool.max)?;
    if pool.max < pool.core {
        return Err(Failure::usage("--max-threads is less than --threads"));
    }
    Ok(pool)
}

/// The width of the terminal; elsewhere that of an old one.
fn width() -> usize {
    if !std::io::stdout().is_terminal() {
        return 80;
    }
    ratatui::crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns))
}

fn refuse_beyond_bound(threads: usize) -> Result<(), Failure> {
    if threads <= MAX_THREADS {
        return Ok(());
    }
    let text = format!("this load asks for more than {MAX_THREADS} threads");
    Err(Failure::usage(text)
        .hint("is the rate that of one machine, and the time that of one task?"))
}

/// A time in seconds; what no clock can show is shown as the longest time.
fn short(seconds: f64) -> Short {
    let beyond = if seconds > 0.0 {
        Duration::MAX
    } else {
        Duration::ZERO
    };
    Short(Duration::try_from_secs_f64(seconds).unwrap_or(beyond))
}

fn question(pool: &PoolModel, load: &Load) -> String {
    let threads = if pool.max > pool.core {
        format!("{} to {} threads", pool.core, pool.max)
    } else {
        counted(pool.core, "thread")
    };
    let queue = match pool.queue {
        Some(bound) => format!("a queue of {bound}"),
        None => "an unbounded queue".to_owned(),
    };
    let service = short(load.mean_seconds);
    format!(
        "{threads} and {queue} at {} tasks a second of {service}",
        load.per_second
    )
}

fn describe(text: &mut String, pool: &PoolModel, load: &Load, figures: &Figures) {
    let (title, warn, reset) = (style::TITLE, style::WARN, Reset);
    let wait = &figures.wait;
    let _ = writeln!(text, "{title}{}{reset}", question(pool, load));
    let _ = writeln!(
        text,
        "load      {:.2} threads are busy on average if nothing is rejected",
        load.offered()
    );
    if load.offered() >= pool.max as f64 {
        let _ = writeln!(
            text,
            "{warn}          that is more than the pool has: the rest waits ever longer or is rejected{reset}"
        );
    }
    let _ = writeln!(
        text,
        "wait      p50 {}   p90 {}   p99 {}   p99.9 {}   max {}   mean {}",
        short(wait.p50),
        short(wait.p90),
        short(wait.p99),
        short(wait.p999),
        short(wait.max),
        short(wait.mean)
    );
    let _ = writeln!(
        text,
        "tasks     {:.1} % have to wait, {:.3} % are rejected ({} of {})",
        figures.delayed * 100.0,
        figures.rejection() * 100.0,
        figures.rejected,
        figures.arrived
    );
    let _ = writeln!(
        text,
        "threads   {:.1} % used, {} at most; {:.1} tasks wait on average",
        figures.utilisation * 100.0,
        figures.largest_size,
        figures.mean_waiting
    );
    if let Some(theory) = theory(pool, load) {
        let _ = writeln!(
            text,
            "theory    mean wait {}, {:.1} % have to wait, {:.3} % are rejected",
            short(theory.mean_wait),
            theory.delayed * 100.0,
            theory.rejection * 100.0
        );
    }
}

/// What queueing theory says about this pool, if it says something.
fn theory(pool: &PoolModel, load: &Load) -> Option<Theory> {
    let is_markov = load.arrivals == Arrivals::Poisson && load.service == Service::Exponential;
    if !is_markov || pool.core != pool.max {
        return None;
    }
    match (pool.queue, pool.policy) {
        (Some(queue), OnSaturation::Abort | OnSaturation::Discard) => {
            Some(mmck(load.per_second, load.mean_seconds, pool.max, queue))
        }
        // With `block`, what does not fit in the queue waits in front of it.
        (None, _) | (Some(_), OnSaturation::Block) => {
            erlang_c(load.per_second, load.mean_seconds, pool.max)
        }
        _ => None,
    }
}

fn json(pool: &PoolModel, load: &Load, figures: &Figures) -> String {
    let theory = theory(pool, load).map(|theory| {
        serde_json::json!({
            "mean_wait": theory.mean_wait,
            "delayed": theory.delayed,
            "rejection": theory.rejection,
        })
    });
    let value = serde_json::json!({
        "core": pool.core,
        "max": pool.max,
        "queue": pool.queue,
        "rate": load.per_second,
        "service": load.mean_seconds,
        "offered": load.offered(),
        "rejection": figures.rejection(),
        "figures": figures,
        "theory": theory,
    });
    format!("{value}\n")
}

fn formula_json(formula: Option<&Formula>) -> String {
    let Some(formula) = formula else {
        return String::new();
    };
    let value = serde_json::json!({
        "threads": formula.threads(),
        "cores": formula.cores,
        "utilisation": formula.utilisation,
        "wait": formula.times.wait.as_secs_f64(),
        "compute": formula.times.compute.as_secs_f64(),
    });
    format!("{value}\n")
}

//! `windlass demo` from its options to its report.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use clap::Args;
use windlass::monitor::{Monitor, Registry, TuneLimits};
use windlass::shutdown::{ShutdownPlan, ShutdownReport, SignalledShutdown};
use windlass_console::Console;

use super::display::table;
use super::load::requests_per_second;
use super::service::Service;
use crate::duration::{Short, parse_positive};
use crate::exit::Failure;

/// How often requests are made; as many at a time as the load asks for.
const STEP: Duration = Duration::from_millis(10);
/// How often figures are printed where they cannot be drawn over each other.
const PRINT_EVERY: Duration = Duration::from_secs(5);

/// The options of `windlass demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoOptions {
    /// End after this time, not only at ctrl-c
    #[arg(long = "for", value_name = "TIME", value_parser = parse_positive)]
    pub time: Option<Duration>,

    /// Port of the console; if it is taken, or 0, any free one
    #[arg(long, value_name = "PORT", default_value_t = 7171)]
    pub port: u16,

    /// No figures in the terminal, only the address and the report
    #[arg(long, short)]
    pub quiet: bool,
}

/// Runs the service until ctrl-c or the end of its time, and prints what became of its tasks.
///
/// # Errors
///
/// When the service or its console cannot be started.
pub fn demo(options: &DemoOptions) -> Result<(), Failure> {
    run(options).map_err(|error| match error.downcast_ref::<std::io::Error>() {
        Some(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Failure::of_output(error),
        _ => Failure::new(format!("the demo cannot run: {error}")),
    })
}

fn run(options: &DemoOptions) -> Result<(), Box<dyn Error>> {
    let service = Service::new()?;
    let registry = Registry::new();
    registry.register(&service.web);
    registry.register(&service.thumbnails);
    registry.register(&service.housekeeping);
    registry.register(&service.search);
    registry.limit("web", TuneLimits::new().core(1..=32).max(1..=64));
    let monitor = Monitor::start(&registry)?;
    let console = console(&monitor, options.port)?;
    service.start_housekeeping()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "console   {}", console.url())?;
    writeln!(stdout, "token     {}", console.token())?;
    writeln!(
        stdout,
        "terminal  WINDLASS_TOKEN={} windlass top -A {}",
        console.token(),
        console.local_addr()
    )?;
    writeln!(stdout, "ctrl-c ends the service, with a report\n")?;
    stdout.flush()?;

    let shutdown = plan(&service).on_signals()?;
    serve(&service, &monitor, options, &shutdown);
    // Ctrl-c has requested it already, and a second request means to hurry.
    if !shutdown.is_requested() {
        shutdown.request();
    }
    let report = shutdown.wait();
    console.shutdown();
    describe(&report, &service)
}

fn console(monitor: &Monitor, port: u16) -> Result<Console, Box<dyn Error>> {
    let start = |port: u16| {
        Console::builder()
            .bind(format!("127.0.0.1:{port}"))
            .monitor(monitor)
            .announce(false)
            .start()
    };
    // Somebody else has the port: another demo, perhaps.
    Ok(start(port).or_else(|_| start(0))?)
}

/// Requests end first, then what they use.
fn plan(service: &Service) -> ShutdownPlan<'static> {
    ShutdownPlan::new()
        .pool("web", service.web.clone())
        .pool("thumbnails", service.thumbnails.clone())
        .pool("search", service.search.clone())
        .pool("housekeeping", service.housekeeping.clone())
        .drain_for(Duration::from_secs(3))
        .wait_for(Duration::from_millis(500))
        .total(Duration::from_secs(10))
}

/// Makes requests until the end, and shows what the pools do.
fn serve(
    service: &Service,
    monitor: &Monitor,
    options: &DemoOptions,
    shutdown: &SignalledShutdown,
) {
    let started = Instant::now();
    let is_terminal = std::io::stdout().is_terminal();
    let mut due = 0.0;
    let mut samples = 0;
    let mut printed = Duration::ZERO;
    let mut drawn = 0;
    let mut before = Duration::ZERO;
    while !shutdown.is_requested() {
        let elapsed = started.elapsed();
        if options.time.is_some_and(|time| elapsed >= time) {
            return;
        }
        due += requests_per_second(elapsed) * (elapsed - before).as_secs_f64();
        before = elapsed;
        while due >= 1.0 && !shutdown.is_requested() {
            service.request();
            due -= 1.0;
        }
        let is_new = monitor.samples() != samples;
        if !options.quiet && is_new && (is_terminal || elapsed >= printed + PRINT_EVERY) {
            samples = monitor.samples();
            printed = elapsed;
            drawn = show(&table(monitor), if is_terminal { drawn } else { 0 });
        }
        std::thread::sleep(STEP);
    }
}

/// Prints a table over the one before, and returns how many lines it has.
fn show(table: &str, drawn: usize) -> usize {
    let up = if drawn > 0 {
        format!("\x1b[{drawn}A\x1b[J")
    } else {
        String::new()
    };
    // Whoever does not look at the figures may still look at the console.
    let mut stdout = anstream::stdout().lock();
    let _ = write!(stdout, "{up}{table}").and_then(|()| stdout.flush());
    table.lines().count()
}

fn describe(report: &ShutdownReport, service: &Service) -> Result<(), Box<dyn Error>> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "\nthe service has ended in {}", Short(report.took))?;
    for pool in &report.pools {
        let finished = match pool.name.as_str() {
            "web" => service.web.completed_task_count(),
            "thumbnails" => service.thumbnails.completed_task_count(),
            "housekeeping" => service.housekeeping.completed_task_count(),
            _ => service.search.stats().completed_task_count,
        };
        writeln!(
            stdout,
            "{:<14} {}: {finished} tasks finished in all, {} handed back, {} cancelled, {} still running",
            pool.name,
            pool.end,
            pool.handed_back.len(),
            pool.cancelled.unwrap_or_default(),
            pool.still_running.len()
        )?;
    }
    stdout.flush()?;
    Ok(())
}

//! What signals do, each in a process of its own that gets real signals.
#![cfg(all(feature = "signals", target_os = "linux"))]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking, as tests do; the child answers on its output"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;
use windlass::shutdown::ShutdownPlan;
use windlass::testing::{Gate, within_patience};

/// Set for the child: which of the programs below it runs.
const ROLE: &str = "WINDLASS_SIGNALS_CHILD";

/// The program of the child. Without a role it is a test that does nothing.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let pool = executors::fixed_thread_pool(1).unwrap();
    let plan = ShutdownPlan::new().pool("work", pool.clone());
    let hour = Duration::from_secs(3600);
    let end = plan.drain_for(hour).wait_for(hour).on_signals().unwrap();
    let gate = Gate::new();
    let inside = gate.clone();
    match role.as_str() {
        "drains" => {
            let theirs = pool.clone();
            pool.execute(move || {
                // Ends in the drain: after the signal has stopped the intake.
                inside.open();
                windlass::testing::until("the signal", || theirs.is_shutdown());
                println!("child: finished");
            })
        }
        "sleeps" => pool.execute(move || {
            inside.open();
            let ended = interrupt::sleep(Duration::from_secs(3600));
            println!("child: interrupted {}", ended.is_err());
        }),
        _ => pool.execute(move || {
            inside.open();
            loop {
                // Ignores interrupts.
                let _ = interrupt::sleep(Duration::from_secs(3600));
                println!("child: ignored");
            }
        }),
    }
    .unwrap();
    gate.pass().unwrap();
    if role == "requests" {
        end.request();
        end.request();
    }
    println!("child: ready");
    let report = end.wait();
    println!("child: {report}");
    if role == "sleeps" {
        // The plan has ended, and the program goes on: a signal still ends it.
        println!("child: after");
        let _ = interrupt::sleep(Duration::from_secs(3600));
    }
    std::process::exit(0);
}

/// A child, and what it prints.
struct Program {
    child: Child,
    lines: Box<dyn Iterator<Item = String> + Send>,
}

impl Program {
    fn start(role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "child", "--nocapture"])
            .env(ROLE, role);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let lines = output.lines().map_while(Result::ok);
        // The harness prints the name of the test before the first line.
        let lines = lines.filter_map(|line| Some(line.split_once("child: ")?.1.to_owned()));
        let mut program = Self {
            child,
            lines: Box::new(lines),
        };
        assert_eq!(program.next().as_deref(), Some("ready"));
        program
    }

    fn next(&mut self) -> Option<String> {
        self.lines.next()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    fn status(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// WL-237
#[test]
fn a_first_signal_runs_the_plan_to_its_end() {
    for signal in ["-TERM", "-INT"] {
        within_patience("the child", move || {
            let mut program = Program::start("drains");
            program.signal(signal);
            assert_eq!(program.next().as_deref(), Some("finished"));
            let report = program.next().unwrap();
            assert!(report.starts_with("work: drained after"), "{report}");
            assert!(report.ends_with("1 finished, 0 handed back"), "{report}");
            assert_eq!(program.status(), Some(0));
        });
    }
}

/// WL-238
#[test]
fn a_second_signal_interrupts_at_once_and_one_after_the_end_ends_the_process() {
    within_patience("the child", || {
        let mut program = Program::start("sleeps");
        program.signal("-TERM");
        // Signals of one kind that are pending at the same time are one signal.
        program.signal("-INT");
        assert_eq!(program.next().as_deref(), Some("interrupted true"));
        let report = program.next().unwrap();
        assert!(report.starts_with("work: interrupted after"), "{report}");
        assert_eq!(program.next().as_deref(), Some("after"));
        program.signal("-TERM");
        assert_eq!(program.status(), Some(128 + 15));
    });
}

/// WL-238
#[test]
fn a_third_signal_ends_the_process_with_its_number() {
    within_patience("the child", || {
        let mut program = Program::start("ignores");
        program.signal("-TERM");
        program.signal("-INT");
        // The plan has hurried: the task was interrupted, and ignores it.
        assert_eq!(program.next().as_deref(), Some("ignored"));
        program.signal("-INT");
        assert_eq!(program.status(), Some(128 + 2));
    });
}

/// WL-238
#[test]
fn a_request_of_the_program_counts_as_a_signal() {
    within_patience("the child", || {
        let mut program = Program::start("requests");
        assert_eq!(program.next().as_deref(), Some("ignored"));
        program.signal("-TERM");
        assert_eq!(program.status(), Some(128 + 15));
    });
}

//! The command line: the soak.

use std::process::ExitCode;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};
use windlass_proof::soak::{Plan, run};

const USAGE: &str = "usage: windlass-proof soak [--seconds N] [--seed N]

Uses everything at once for N seconds (default 600), prints a line every ten, and exits with 0 if
every task has one outcome and threads and memory are released, with 1 if not.";

fn main() -> ExitCode {
    let plan = match read() {
        Ok(Some(plan)) => plan,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    println!("seed {}", plan.seed);
    match run(&plan, |line| println!("{line}")) {
        Ok(()) => {
            println!("every task has one outcome");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("VIOLATION: {violation}");
            ExitCode::FAILURE
        }
    }
}

fn read() -> Result<Option<Plan>, lexopt::Error> {
    let mut plan = Plan {
        time: Duration::from_secs(600),
        round: Duration::from_secs(10),
        seed: fastrand::u64(..),
        lose_a_task: false,
    };
    let mut wanted = false;
    let mut arguments = Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Value(command) if command == "soak" => wanted = true,
            Arg::Long("seconds") => plan.time = Duration::from_secs(arguments.value()?.parse()?),
            Arg::Long("seed") => plan.seed = arguments.value()?.parse()?,
            // Not for users: shows that a violation is noticed.
            Arg::Long("lose-a-task") => plan.lose_a_task = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    Ok(wanted.then_some(plan))
}

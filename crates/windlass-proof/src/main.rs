//! The command line: the soak and the attacks.

use std::process::ExitCode;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};
use windlass_proof::{attack, soak};

const USAGE: &str = "usage: windlass-proof soak [--seconds N] [--seed N]
       windlass-proof attack [NAME...]

soak uses everything at once for N seconds (default 600), prints a line every ten, and exits with 0 if
every task has one outcome and threads and memory are released, with 1 if not.

attack runs the programs with these names, or all of them, one after the other, prints what each has
seen, and exits with 1 if a claim does not hold.";

/// What the command line asks for.
enum Command {
    Help,
    Soak(soak::Plan),
    Attack(Vec<String>),
}

fn main() -> ExitCode {
    match read() {
        Ok(Command::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Command::Soak(plan)) => run_soak(&plan),
        Ok(Command::Attack(names)) => run_attacks(&names),
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run_soak(plan: &soak::Plan) -> ExitCode {
    println!("seed {}", plan.seed);
    match soak::run(plan, |line| println!("{line}")) {
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

fn run_attacks(names: &[String]) -> ExitCode {
    let attacks = attack::all();
    let is_known = |name: &&String| attacks.iter().any(|attack| attack.name == name.as_str());
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known: Vec<_> = attacks.iter().map(|attack| attack.name).collect();
        eprintln!(
            "no attack is called {unknown}; there are: {}",
            known.join(", ")
        );
        return ExitCode::from(2);
    }
    let mut failed = 0;
    for attack in &attacks {
        if !names.is_empty() && !names.iter().any(|name| name == attack.name) {
            continue;
        }
        let verdict = attack.run();
        let word = if verdict.holds { "holds" } else { "FAILS" };
        println!(
            "{word}  {}: {}\n       {}",
            attack.name, attack.claim, verdict.seen
        );
        failed += usize::from(!verdict.holds);
    }
    println!("{failed} claims do not hold");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn read() -> Result<Command, lexopt::Error> {
    let mut arguments = Parser::from_env();
    match arguments.next()? {
        Some(Arg::Value(command)) if command == "soak" => read_soak(arguments),
        Some(Arg::Value(command)) if command == "attack" => read_attack(arguments),
        None | Some(Arg::Long("help") | Arg::Short('h')) => Ok(Command::Help),
        Some(other) => Err(other.unexpected()),
    }
}

fn read_soak(mut arguments: Parser) -> Result<Command, lexopt::Error> {
    let mut plan = soak::Plan {
        time: Duration::from_secs(600),
        round: Duration::from_secs(10),
        seed: fastrand::u64(..),
        lose_a_task: false,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("seconds") => plan.time = Duration::from_secs(arguments.value()?.parse()?),
            Arg::Long("seed") => plan.seed = arguments.value()?.parse()?,
            // Not for users: shows that a violation is noticed.
            Arg::Long("lose-a-task") => plan.lose_a_task = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Soak(plan))
}

fn read_attack(mut arguments: Parser) -> Result<Command, lexopt::Error> {
    let mut names = Vec::new();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Value(name) => names.push(name.string()?),
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Attack(names))
}

//! Measures Windlass beside its peers, all in one run.
//!
//! `harness` takes samples and gathers them, `workloads` says what a sample is, `peers` says how
//! each peer does it, `instruments` is what they measure with, `report` writes the document.

mod cli;
mod harness;
mod instruments;
mod peers;
mod report;
mod workloads;

use std::process::ExitCode;

use cli::Command;
use harness::point::Point;
use harness::workload::Size;

fn main() -> ExitCode {
    let outcome = match cli::parse() {
        Ok(Command::Run(options)) => harness::run::run(&options),
        Ok(Command::Report { from, to }) => report::write(&from, &to),
        Ok(Command::List) => {
            list();
            Ok(())
        }
        Ok(Command::Sample {
            workload,
            point,
            peer,
        }) => sample(&workload, &Point::parse(&point), &peer),
        Ok(Command::Help) => {
            print!("{}", cli::HELP);
            Ok(())
        }
        Err(error) => Err(format!("{error}\n\n{}", cli::HELP)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Takes one sample and ends the process at once: what is left of the peer is not waited for.
fn sample(workload: &str, point: &Point, peer: &str) -> Result<(), String> {
    let all = workloads::all();
    let found = all.iter().find(|one| one.id == workload);
    let found = found.ok_or_else(|| format!("there is no workload {workload}"))?;
    let participants = (found.participants)(point);
    let participant = participants.iter().find(|one| one.name == peer);
    let participant =
        participant.ok_or_else(|| format!("{peer} takes no part in {workload} {point}"))?;
    harness::surroundings::make(point);
    for figure in (participant.run)(point) {
        println!("{}", figure.to_line());
    }
    std::process::exit(0)
}

fn list() {
    for workload in workloads::all() {
        println!("{} {}", workload.id, workload.title);
        for point in (workload.points)(Size::Full) {
            let here = (workload.participants)(&point)
                .into_iter()
                .map(|one| one.name);
            let java = (workload.jdk)(&point).into_iter().map(str::to_owned);
            let names: Vec<_> = here.chain(java).collect();
            println!("  {point}: {}", names.join(" "));
        }
    }
}

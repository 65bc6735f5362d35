//! The command line: replay transcripts, make scenarios, record them on a JDK.

mod cli;

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use windlass_conformance::driver;
use windlass_conformance::format::{Scenario, parse};
use windlass_conformance::generate;
use windlass_conformance::oracle::Jdk;
use windlass_conformance::replay::{Case, replay};

use cli::{Batch, Command, Input};

fn main() -> ExitCode {
    match cli::read().map_err(Into::into).and_then(run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}", chain(error.as_ref()));
            ExitCode::from(2)
        }
    }
}

/// An error and what caused it, in one line; a cause that its error already names is not repeated.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

fn run(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Help => print(cli::USAGE)?,
        Command::Replay { files, jobs } => {
            let mut cases = Vec::new();
            for file in files {
                cases.extend(cases_of(&file, read(&file)?)?);
            }
            return check(cases, jobs);
        }
        Command::Generate(batch) => print(&text(made(batch)))?,
        Command::Record { input, out, jobs } => {
            let scenarios = match input {
                Input::File(file) => read(&file)?,
                Input::Batch(batch) => made(batch).collect(),
            };
            fs::write(&out, text(Jdk::find()?.record(scenarios, jobs)?))
                .map_err(|error| format!("{out}: {error}"))?;
        }
        Command::Fresh { batch, jobs } => {
            let recorded = text(Jdk::find()?.record(made(batch), jobs)?);
            // Read back, so that a difference can name the line.
            return check(cases_of("recorded", parse(&recorded)?)?, jobs);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn made(batch: Batch) -> impl Iterator<Item = Scenario> {
    generate::scenarios(batch.kind, batch.seed, batch.count)
}

fn text(scenarios: impl IntoIterator<Item = Scenario>) -> String {
    scenarios
        .into_iter()
        .map(|scenario| scenario.to_string())
        .collect()
}

fn read(file: &str) -> Result<Vec<Scenario>, Box<dyn Error>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    Ok(parse(&text).map_err(|error| format!("{file}: {error}"))?)
}

/// The scenarios of one file as cases; none at all would pass without showing anything.
fn cases_of(file: &str, scenarios: Vec<Scenario>) -> Result<Vec<Case>, Box<dyn Error>> {
    if !scenarios.iter().any(Scenario::has_steps) {
        return Err(format!("{file}: no scenarios").into());
    }
    let file: Arc<str> = file.into();
    Ok(scenarios
        .into_iter()
        .map(|scenario| Case {
            file: file.clone(),
            scenario,
        })
        .collect())
}

fn check(cases: Vec<Case>, jobs: usize) -> Result<ExitCode, Box<dyn Error>> {
    let report = replay(cases, jobs, Arc::new(|_| Ok(driver::subject())));
    print(&format!("{report}\n"))?;
    Ok(if report.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Writes to standard output; a reader that has heard enough is no error.
fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

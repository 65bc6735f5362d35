//! The command line.

use std::path::PathBuf;

use lexopt::prelude::{Long, Short, Value, ValueExt};

use crate::harness::run::{self, Options};
use crate::harness::workload::Size;

pub(crate) const HELP: &str = "\
Measures Windlass beside its peers.

  windlass-bench run [--only W1,W3] [--quick | --tiny] [--json FILE]
                     [--peers windlass,rayon] [--rounds N] [--no-jdk]
  windlass-bench report [--from FILE] [--to docs/performance.md]
  windlass-bench list

run     takes the samples, prints tables and JSON lines, and records them in
        FILE, by default target/windlass-bench/last.jsonl
report  writes docs/performance.md and its plots from a record, by default
        docs/performance/record.jsonl, which is the published one
list    names the workloads and who takes part
sample WORKLOAD POINT PEER
        takes one sample in this process and prints its figures
";

/// What the user wants.
#[derive(Debug)]
pub(crate) enum Command {
    Run(Options),
    Report {
        from: PathBuf,
        to: PathBuf,
    },
    List,
    /// One sample, for the parent process.
    Sample {
        workload: String,
        point: String,
        peer: String,
    },
    Help,
}

/// Reads the arguments of this process.
///
/// # Errors
///
/// Names the argument that is wrong.
pub(crate) fn parse() -> Result<Command, lexopt::Error> {
    let mut parser = lexopt::Parser::from_env();
    let Some(Value(verb)) = parser.next()? else {
        return Ok(Command::Help);
    };
    match verb.to_string_lossy().as_ref() {
        "run" => parse_run(&mut parser),
        "report" => parse_report(&mut parser),
        "list" => Ok(Command::List),
        "sample" => Ok(Command::Sample {
            workload: parser.value()?.string()?,
            point: parser.value()?.string()?,
            peer: parser.value()?.string()?,
        }),
        other => Err(format!("there is no command {other}").into()),
    }
}

fn parse_run(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut options = Options {
        only: Vec::new(),
        peers: Vec::new(),
        size: Size::Full,
        rounds: None,
        jdk: true,
        json: None,
        command: format!(
            "cargo run --release -p windlass-bench -- {}",
            arguments.join(" ")
        ),
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("only") => options.only = list(parser)?,
            Long("peers") => options.peers = list(parser)?,
            Long("quick") => options.size = Size::Quick,
            Long("tiny") => options.size = Size::Tiny,
            Long("rounds") => options.rounds = Some(parser.value()?.parse()?),
            Long("no-jdk") => options.jdk = false,
            Long("json") => options.json = Some(parser.value()?.into()),
            Long("help") | Short('h') => return Ok(Command::Help),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Command::Run(options))
}

fn parse_report(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut from = run::published_record();
    let mut to = PathBuf::from("docs/performance.md");
    while let Some(argument) = parser.next()? {
        match argument {
            Long("from") => from = parser.value()?.into(),
            Long("to") => to = parser.value()?.into(),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Command::Report { from, to })
}

fn list(parser: &mut lexopt::Parser) -> Result<Vec<String>, lexopt::Error> {
    let text = parser.value()?.string()?;
    Ok(text.split(',').map(str::to_owned).collect())
}

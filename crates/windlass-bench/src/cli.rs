//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::{Long, Short, Value, ValueExt};

use crate::harness::run::{self, Options, Rounding};
use crate::harness::workload::Size;

pub(crate) const HELP: &str = "\
Measures Windlass beside its peers.

  windlass-bench run [--only W1,W3] [--quick | --tiny] [--json FILE | --into FILE]
                     [--budget MINUTES] [--rounds N] [--most N]
                     [--peers windlass,rayon] [--no-jdk]
  windlass-bench report [--from FILE] [--to docs/performance.md]
  windlass-bench list

run     takes the samples, prints tables and JSON lines, and records them in
        FILE, by default target/windlass-bench/last.jsonl; with --into the
        workloads of FILE that are not measured now stay in it. Every point
        has 7 rounds; those whose medians are not steady get more, up to 21.
        A run with a budget has 3 rounds and spends the rest of its time on
        medians that are not steady. --rounds N alone takes N and no more.
report  writes docs/performance.md and its plots from a record, by default
        docs/performance/record.jsonl, which is the published one
list    names the workloads and who takes part
sample WORKLOAD POINT PEER
        takes one sample in this process and prints its figures
";

/// The rounds after which a median counts as a range, if nothing else was asked for.
const MOST: usize = 21;

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
    let mut asked = Asked::default();
    let mut options = Options {
        only: Vec::new(),
        peers: Vec::new(),
        size: Size::Full,
        rounds: asked.rounding(Size::Full),
        jdk: true,
        json: None,
        merges: false,
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
            Long("rounds") => asked.rounds = Some(parser.value()?.parse()?),
            Long("most") => asked.most = Some(parser.value()?.parse()?),
            Long("budget") => asked.minutes = Some(parser.value()?.parse()?),
            Long("no-jdk") => options.jdk = false,
            Long("json") => options.json = Some(parser.value()?.into()),
            Long("into") => {
                options.json = Some(parser.value()?.into());
                options.merges = true;
            }
            Long("help") | Short('h') => return Ok(Command::Help),
            _ => return Err(argument.unexpected()),
        }
    }
    options.rounds = asked.rounding(options.size);
    Ok(Command::Run(options))
}

/// How often to take samples, as far as the user said it.
#[derive(Default)]
struct Asked {
    rounds: Option<usize>,
    most: Option<usize>,
    minutes: Option<f64>,
}

impl Asked {
    fn rounding(&self, size: Size) -> Rounding {
        let budget = self.minutes.map(|minutes| {
            // What is no time, such as a negative one, ends the run after the planned rounds.
            Duration::try_from_secs_f64(60.0 * minutes).unwrap_or_default()
        });
        let full = if budget.is_some() { 3 } else { 7 };
        let planned = self.rounds.unwrap_or(size.pick(1, 3, full));
        let is_open = budget.is_some() || (self.rounds.is_none() && size == Size::Full);
        let most = if is_open { MOST } else { planned };
        Rounding {
            planned,
            most: self.most.unwrap_or(most).max(planned),
            budget,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::{Asked, MOST};
    use crate::harness::workload::Size;

    #[test]
    fn rounds_are_repeated_unless_their_number_was_asked_for() {
        let of = |asked: Asked, size| {
            let rounding = asked.rounding(size);
            (rounding.planned, rounding.most)
        };
        let nothing = Asked::default;
        assert_eq!(of(nothing(), Size::Full), (7, MOST));
        assert_eq!(of(nothing(), Size::Quick), (3, 3));
        let rounds = |rounds| Asked {
            rounds: Some(rounds),
            ..nothing()
        };
        assert_eq!(of(rounds(5), Size::Full), (5, 5));
        assert_eq!(of(rounds(30), Size::Full), (30, 30));
        let most = Asked {
            most: Some(9),
            ..rounds(5)
        };
        assert_eq!(of(most, Size::Full), (5, 9));
        let budget = Asked {
            minutes: Some(0.5),
            ..nothing()
        };
        assert_eq!(of(budget, Size::Full), (3, MOST));
    }
}

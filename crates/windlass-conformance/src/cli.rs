//! What the command line asks for.

use lexopt::{Arg, Parser, ValueExt};

use windlass_conformance::generate::Kind;
use windlass_conformance::replay::default_jobs;

pub(crate) const USAGE: &str = "\
windlass-conformance: what a JDK did, replayed on a Windlass pool

  replay FILE... [--jobs N]                   replay transcripts; the last line is `N passed, M failed`
  generate --seed S --count N [--kind K]      write random scenarios to standard output
  record FILE --out FILE [--jobs N]           record scenarios on a JDK
  record --seed S --count N [--kind K] --out FILE [--jobs N]
                                              make scenarios and record them
  fresh --seed S --count N [--kind K] [--jobs N]
                                              make, record and replay in one go

  --jobs N    scenarios that run side by side (they mostly wait; default: 16 for each core)
  --kind K    thread_pool, scheduled or any (default)

exit code: 0 all well, 1 a scenario failed, 2 nothing could be run
";

/// One call of the program.
pub(crate) enum Command {
    Help,
    Replay {
        files: Vec<String>,
        jobs: usize,
    },
    Generate(Batch),
    Record {
        input: Input,
        out: String,
        jobs: usize,
    },
    Fresh {
        batch: Batch,
        jobs: usize,
    },
}

/// Where the scenarios to record come from.
pub(crate) enum Input {
    File(String),
    Batch(Batch),
}

/// Scenarios to be made.
pub(crate) struct Batch {
    pub(crate) kind: Kind,
    pub(crate) seed: u64,
    pub(crate) count: u64,
}

/// Everything that can stand on the line, before it is known whether it belongs there.
#[derive(Default)]
struct Given {
    words: Vec<String>,
    jobs: Option<usize>,
    seed: Option<u64>,
    count: Option<u64>,
    kind: Option<Kind>,
    out: Option<String>,
    help: bool,
}

/// Reads the command line of this process.
pub(crate) fn read() -> Result<Command, lexopt::Error> {
    interpret(gather(Parser::from_env())?)
}

fn gather(mut parser: Parser) -> Result<Given, lexopt::Error> {
    let mut given = Given::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("jobs") => given.jobs = Some(parser.value()?.parse()?),
            Arg::Long("seed") => given.seed = Some(parser.value()?.parse()?),
            Arg::Long("count") => given.count = Some(parser.value()?.parse()?),
            Arg::Long("kind") => given.kind = Some(parser.value()?.parse_with(kind)?),
            Arg::Long("out") => given.out = Some(parser.value()?.string()?),
            Arg::Long("help") | Arg::Short('h') => given.help = true,
            Arg::Value(word) => given.words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    Ok(given)
}

fn kind(word: &str) -> Result<Kind, &'static str> {
    match word {
        "thread_pool" => Ok(Kind::ThreadPool),
        "scheduled" => Ok(Kind::Scheduled),
        "any" => Ok(Kind::Any),
        _ => Err("it is thread_pool, scheduled or any"),
    }
}

fn interpret(mut given: Given) -> Result<Command, lexopt::Error> {
    if given.help || given.words.is_empty() {
        return Ok(Command::Help);
    }
    let verb = given.words.remove(0);
    let jobs = given.jobs.take().unwrap_or_else(default_jobs).max(1);
    let command = match verb.as_str() {
        "replay" => Command::Replay {
            files: take_files(&mut given)?,
            jobs,
        },
        "generate" => Command::Generate(take_batch(&mut given)?),
        "record" => Command::Record {
            input: match given.words.pop() {
                Some(file) => Input::File(file),
                None => Input::Batch(take_batch(&mut given)?),
            },
            out: given.out.take().ok_or("record needs --out FILE")?,
            jobs,
        },
        "fresh" => Command::Fresh {
            batch: take_batch(&mut given)?,
            jobs,
        },
        other => return Err(format!("no such command: {other}; see --help").into()),
    };
    match given.left_over() {
        Some(word) => Err(format!("{verb} does not take {word}").into()),
        None => Ok(command),
    }
}

fn take_files(given: &mut Given) -> Result<Vec<String>, lexopt::Error> {
    match std::mem::take(&mut given.words) {
        files if files.is_empty() => Err("replay needs a FILE".into()),
        files => Ok(files),
    }
}

fn take_batch(given: &mut Given) -> Result<Batch, lexopt::Error> {
    Ok(Batch {
        kind: given.kind.take().unwrap_or(Kind::Any),
        seed: given.seed.take().ok_or("a --seed is needed")?,
        count: given.count.take().ok_or("a --count is needed")?,
    })
}

impl Given {
    /// What no command has taken: a wish that is ignored in silence reads like one fulfilled.
    fn left_over(&self) -> Option<String> {
        let option = |given: bool, name: &str| given.then(|| name.to_owned());
        (self.words.first().cloned())
            .or_else(|| option(self.seed.is_some(), "--seed"))
            .or_else(|| option(self.count.is_some(), "--count"))
            .or_else(|| option(self.kind.is_some(), "--kind"))
            .or_else(|| option(self.out.is_some(), "--out"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interpreted(line: &str) -> Result<Command, String> {
        let parser = Parser::from_iter(std::iter::once("program").chain(line.split_whitespace()));
        gather(parser)
            .and_then(interpret)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_commands_are_understood() {
        let replay = interpreted("replay a.txt b.txt --jobs 3");
        assert!(matches!(replay, Ok(Command::Replay { files, jobs: 3 }) if files.len() == 2));
        let generate = interpreted("generate --seed 7 --count 2 --kind scheduled");
        let wanted =
            |batch: &Batch| batch.seed == 7 && batch.count == 2 && batch.kind == Kind::Scheduled;
        assert!(matches!(generate, Ok(Command::Generate(batch)) if wanted(&batch)));
        let record = interpreted("record a.txt --out b.txt");
        assert!(matches!(
            record,
            Ok(Command::Record {
                input: Input::File(_),
                ..
            })
        ));
        let record = interpreted("record --seed 1 --count 2 --out b.txt");
        assert!(matches!(
            record,
            Ok(Command::Record {
                input: Input::Batch(_),
                ..
            })
        ));
        assert!(matches!(
            interpreted("fresh --seed 1 --count 2"),
            Ok(Command::Fresh { .. })
        ));
        assert!(matches!(interpreted(""), Ok(Command::Help)));
    }

    #[test]
    fn what_a_command_does_not_take_is_refused() {
        let refused = |line| interpreted(line).err();
        assert_eq!(refused("replay").as_deref(), Some("replay needs a FILE"));
        assert_eq!(
            refused("replay a --out b").as_deref(),
            Some("replay does not take --out")
        );
        assert_eq!(
            refused("generate --seed 1").as_deref(),
            Some("a --count is needed")
        );
        assert_eq!(
            refused("record a --seed 1 --out b").as_deref(),
            Some("record does not take --seed")
        );
        assert!(refused("dance").is_some());
    }
}

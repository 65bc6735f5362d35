//! The journal of a run: what has ended and how, so that an interrupted run can go on.
//!
//! A text file. Its first line names the format and the command; each other line is a job that has
//! ended, with tabs between the fields (here spaces):
//!
//! ```text
//! windlass-journal 1 8c3f2e0b5a7d9c11
//! 1 ok 1 0.002031 cbf29ce484222325 a.log
//! 3 exit:2 3 1.200455 af63dc4c8601ec8c c.log
//! ```
//!
//! number of the input, outcome, attempts, seconds of the last one, hash of the input, the input. A
//! line is appended by one write after the output of its job was written. A crash can leave half a line
//! at the end, which is dropped; its job is run again.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::outcome::Outcome;
use crate::exit::Failure;

const FORMAT: &str = "windlass-journal 1";

/// A job that has ended.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) seq: u64,
    pub(super) outcome: Outcome,
    pub(super) attempts: u32,
    pub(super) ran_for: Duration,
    pub(super) input: Vec<u8>,
}

/// A journal that is written.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
}

/// What a journal says about the jobs of an earlier run.
#[derive(Debug, Default)]
pub struct Done {
    /// By the number of the input: its hash, and whether its job succeeded.
    entries: Vec<(u64, u64, bool)>,
}

/// What the journal says about an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Nothing: it was not run to its end.
    Nothing,
    /// Its job succeeded.
    Succeeded,
    /// Its job failed.
    Failed,
    /// It had another input in its place.
    Different,
}

impl Done {
    /// Returns what is known about an input.
    #[must_use]
    pub fn about(&self, seq: u64, input: &[u8]) -> Known {
        let Ok(at) = self.entries.binary_search_by_key(&seq, |entry| entry.0) else {
            return Known::Nothing;
        };
        match self.entries[at] {
            (_, known, _) if known != hash(input) => Known::Different,
            (_, _, true) => Known::Succeeded,
            (_, _, false) => Known::Failed,
        }
    }

    /// Returns how many jobs are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether no job is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Why a text is not a journal of this run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalError {
    /// The first line is not that of a journal.
    NoJournal,
    /// It belongs to another command.
    OtherCommand,
    /// This line cannot be read.
    Line(u64),
}

/// Parses a journal, and returns what it says and the length of its whole lines.
///
/// # Errors
///
/// [`JournalError`], when it is not the journal of a run with this signature; or that of the reader, as
/// the outer result.
pub fn parse_journal(
    mut reader: impl BufRead,
    signature: &str,
) -> io::Result<Result<(Done, u64), JournalError>> {
    let mut line = Vec::new();
    let mut whole = reader.read_until(b'\n', &mut line)? as u64;
    let Some(header) = line.strip_suffix(b"\n") else {
        // A crash came before the end of the first line, or this is something else.
        let begun = header(signature).as_bytes().starts_with(&line);
        return Ok(if begun {
            Ok((Done::default(), 0))
        } else {
            Err(JournalError::NoJournal)
        });
    };
    if !header.starts_with(FORMAT.as_bytes()) {
        return Ok(Err(JournalError::NoJournal));
    }
    if header != self::header(signature).as_bytes() {
        return Ok(Err(JournalError::OtherCommand));
    }
    let mut entries = Vec::new();
    let mut number = 1;
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        let Some(text) = line.strip_suffix(b"\n") else {
            break;
        };
        number += 1;
        match parse_line(text) {
            Some(entry) => entries.push(entry),
            None => return Ok(Err(JournalError::Line(number))),
        }
        whole += read as u64;
    }
    // A job that was run again stands there twice; the later line counts.
    entries.sort_by_key(|entry| entry.0);
    entries.reverse();
    entries.dedup_by_key(|entry| entry.0);
    entries.reverse();
    Ok(Ok((Done { entries }, whole)))
}

fn parse_line(line: &[u8]) -> Option<(u64, u64, bool)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = text.splitn(6, '\t');
    let seq = fields.next()?.parse().ok()?;
    let outcome: Outcome = fields.next()?.parse().ok()?;
    let _attempts: u32 = fields.next()?.parse().ok()?;
    let _seconds: f64 = fields.next()?.parse().ok()?;
    let hash = u64::from_str_radix(fields.next()?, 16).ok()?;
    fields.next()?;
    Some((seq, hash, outcome.is_success()))
}

fn header(signature: &str) -> String {
    format!("{FORMAT} {:016x}", hash(signature.as_bytes()))
}

/// FNV-1a: it has to tell a changed list of inputs from the same one, not to resist an attacker.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Journal {
    /// Opens the journal of a run. An old one is continued only if that is asked for.
    pub(super) fn open(
        path: &Path,
        signature: &str,
        resume: bool,
    ) -> Result<(Self, Done), Failure> {
        let trouble = |error: io::Error| cannot_use(path, &error);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(trouble)?;
        if file.try_lock().is_err() {
            let message = format!("another run writes to the journal {}", path.display());
            return Err(Failure::new(message).hint("wait for its end, or name another journal"));
        }
        // A device or a pipe has no earlier run in it, and cannot be cut.
        let is_file = file.metadata().map_err(trouble)?.is_file();
        let is_new = !is_file || file.read(&mut [0]).map_err(trouble)? == 0;
        if !is_new && !resume {
            return Err(of_an_earlier_run(path));
        }
        if is_file {
            file.seek(SeekFrom::Start(0)).map_err(trouble)?;
        }
        let (done, whole) = if is_new {
            (Done::default(), 0)
        } else {
            parse_journal(BufReader::new(&file), signature)
                .map_err(trouble)?
                .map_err(|error| unusable(&error, path))?
        };
        if is_file {
            file.set_len(whole).map_err(trouble)?;
        }
        if whole == 0 {
            let line = format!("{}\n", header(signature));
            file.write_all(line.as_bytes()).map_err(trouble)?;
        }
        let path = path.to_owned();
        Ok((Self { file, path }, done))
    }

    /// Reads what the journal says, for a run that records nothing. What [`open`](Self::open) refuses, this
    /// refuses.
    pub(super) fn read(path: &Path, signature: &str, resume: bool) -> Result<Done, Failure> {
        let trouble = |error: io::Error| cannot_use(path, &error);
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Done::default()),
            file => file.map_err(trouble)?,
        };
        let metadata = file.metadata().map_err(trouble)?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(Done::default());
        }
        if !resume {
            return Err(of_an_earlier_run(path));
        }
        let parsed = parse_journal(BufReader::new(file), signature).map_err(trouble)?;
        let (done, _) = parsed.map_err(|error| unusable(&error, path))?;
        Ok(done)
    }

    /// Appends a job that has ended.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), Failure> {
        let line = format!(
            "{}\t{}\t{}\t{:.6}\t{:016x}\t{}\n",
            record.seq,
            record.outcome,
            record.attempts,
            record.ran_for.as_secs_f64(),
            hash(&record.input),
            record.input.escape_ascii(),
        );
        self.file.write_all(line.as_bytes()).map_err(|error| {
            let message = format!("cannot write the journal {}: {error}", self.path.display());
            Failure::new(message).hint("is the disk full? --resume goes on where the run stopped")
        })
    }
}

fn cannot_use(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot use the journal {}: {error}", path.display());
    Failure::new(message).hint("is its folder there, and may you write to it?")
}

fn of_an_earlier_run(path: &Path) -> Failure {
    let message = format!("the journal {} is that of an earlier run", path.display());
    Failure::new(message).hint("--resume goes on where it stopped; remove the file to begin anew")
}

fn unusable(error: &JournalError, path: &Path) -> Failure {
    let path = path.display();
    let (message, hint) = match error {
        JournalError::NoJournal => (
            format!("{path} is not a journal of windlass"),
            "name another file with --journal; this one is left as it is",
        ),
        JournalError::OtherCommand => (
            format!("the journal {path} belongs to another command"),
            "give the same command as before, or name another journal",
        ),
        JournalError::Line(number) => (
            format!("line {number} of the journal {path} cannot be read"),
            "remove the line; its job is run again",
        ),
    };
    Failure::new(message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::{Done, Duration, Journal, JournalError, Known, Outcome, Record, parse_journal};

    fn record(seq: u64, outcome: Outcome, input: &[u8]) -> Record {
        Record {
            seq,
            outcome,
            attempts: 1,
            ran_for: Duration::from_millis(3),
            input: input.to_vec(),
        }
    }

    fn written(records: &[Record]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let (mut journal, _) = Journal::open(&path, "x", false).unwrap();
        for record in records {
            journal.append(record).unwrap();
        }
        std::fs::read(path).unwrap()
    }

    fn parse(text: &[u8]) -> Result<(Done, u64), JournalError> {
        parse_journal(text, "x").unwrap()
    }

    #[test]
    fn what_was_written_is_known_again() {
        let text = written(&[
            record(2, Outcome::Exit(3), b"b\tb\xff"),
            record(1, Outcome::Success, b"a"),
            record(3, Outcome::TimedOut, b"c"),
            record(2, Outcome::Success, b"b\tb\xff"),
        ]);
        let (done, whole) = parse(&text).unwrap();
        assert_eq!((done.len(), whole), (3, text.len() as u64));
        assert_eq!(done.about(1, b"a"), Known::Succeeded);
        assert_eq!(done.about(2, b"b\tb\xff"), Known::Succeeded);
        assert_eq!(done.about(3, b"c"), Known::Failed);
        assert_eq!(done.about(3, b"d"), Known::Different);
        assert_eq!(done.about(4, b"d"), Known::Nothing);
    }

    #[test]
    fn wherever_a_crash_cuts_it_the_whole_lines_count() {
        let text = written(&[
            record(1, Outcome::Success, b"a"),
            record(2, Outcome::Signal(9), b"b"),
        ]);
        for cut in 0..=text.len() {
            let (done, whole) = parse(&text[..cut]).unwrap();
            let lines = text[..cut].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(done.len(), lines.saturating_sub(1));
            assert!(whole <= cut as u64);
        }
    }

    #[test]
    fn another_file_is_not_taken_for_a_journal() {
        assert_eq!(parse(b"hello\n").unwrap_err(), JournalError::NoJournal);
        assert_eq!(parse(b"hello").unwrap_err(), JournalError::NoJournal);
        let text = written(&[]);
        let other = parse_journal(text.as_slice(), "y").unwrap();
        assert_eq!(other.unwrap_err(), JournalError::OtherCommand);
        let mut text = written(&[]);
        text.extend_from_slice(b"1\tfine\n");
        assert_eq!(parse(&text).unwrap_err(), JournalError::Line(2));
    }
}

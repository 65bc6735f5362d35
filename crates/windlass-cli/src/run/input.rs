//! The inputs of a run, one after the other: from arguments, a file or standard input.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};

use super::stop::Stop;
use crate::exit::Failure;

/// No argument of a command may be longer on Linux by far, so a longer input has the wrong separator.
const MAX_INPUT: u64 = 2 << 20;

/// Where inputs come from.
#[derive(Debug)]
pub(super) enum Inputs {
    Arguments(std::vec::IntoIter<OsString>),
    Reader {
        reader: BufReader<Stoppable>,
        separator: u8,
        count: u64,
    },
}

impl Inputs {
    /// Reads inputs from a file, `-` for standard input, that end with the separator.
    pub(super) fn from_file(path: &Path, separator: u8, stop: Arc<Stop>) -> Result<Self, Failure> {
        let file = if path == Path::new("-") {
            io::stdin().as_fd().try_clone_to_owned().map(File::from)
        } else {
            File::open(path)
        };
        let file = file.map_err(|error| {
            Failure::new(format!("cannot read {}: {error}", path.display()))
                .hint("-a names a file with one input in each line; - is standard input")
        })?;
        Ok(Self::Reader {
            reader: BufReader::with_capacity(1 << 16, Stoppable { file, stop }),
            separator,
            count: 0,
        })
    }

    /// Returns how many inputs are left, if that is known without reading them.
    pub(super) fn len(&self) -> Option<u64> {
        match self {
            Self::Arguments(arguments) => Some(arguments.len() as u64),
            Self::Reader { .. } => None,
        }
    }

    /// Returns the next input. Empty lines are no inputs, unless the separator is NUL.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Arguments(arguments) => Ok(arguments.next().map(OsString::into_vec)),
            Self::Reader {
                reader,
                separator,
                count,
            } => loop {
                let Some(input) = read_one(reader, *separator, *count)? else {
                    return Ok(None);
                };
                if *separator == 0 || !input.is_empty() {
                    *count += 1;
                    return Ok(Some(input));
                }
            },
        }
    }
}

fn read_one(
    reader: &mut BufReader<Stoppable>,
    separator: u8,
    count: u64,
) -> Result<Option<Vec<u8>>, Failure> {
    let mut input = Vec::new();
    let read = reader
        .by_ref()
        .take(MAX_INPUT)
        .read_until(separator, &mut input)
        .map_err(|error| Failure::new(format!("cannot read the inputs: {error}")))?;
    if read == 0 || reader.get_ref().is_stopped() {
        return Ok(None);
    }
    if input.last() == Some(&separator) {
        input.pop();
    } else if read as u64 == MAX_INPUT {
        let message = format!("input {} is longer than 2 MiB", count + 1);
        return Err(Failure::new(message).hint(
            "inputs end with a newline; with -0 they end with a NUL, as `find -print0` writes",
        ));
    }
    Ok(Some(input))
}

/// Counts the inputs of a file, if it is one that can be read twice.
pub(super) fn count(path: &Path, separator: u8) -> Option<u64> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).ok()?);
    let (mut count, mut is_in_input) = (0, false);
    loop {
        let bytes = reader.fill_buf().ok()?;
        if bytes.is_empty() {
            return Some(count + u64::from(is_in_input));
        }
        for byte in bytes {
            // As in `next`, empty lines are no inputs.
            let ends = *byte == separator;
            count += u64::from(ends && (is_in_input || separator == 0));
            is_in_input = !ends;
        }
        let length = bytes.len();
        reader.consume(length);
    }
}

/// A file whose reads end, as at its end, as soon as the run drains.
#[derive(Debug)]
pub(super) struct Stoppable {
    file: File,
    stop: Arc<Stop>,
}

impl Stoppable {
    fn is_stopped(&self) -> bool {
        !self.stop.is_running()
    }
}

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut both = [
                PollFd::new(&self.file, PollFlags::IN),
                PollFd::from_borrowed_fd(self.stop.wake(), PollFlags::IN),
            ];
            match poll(&mut both, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            if !both[1].revents().is_empty() {
                return Ok(0);
            }
            if !both[0].revents().is_empty() {
                return self.file.read(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::stop::{Reason, Stage};
    use super::{Arc, Inputs, Stop};

    fn all(bytes: &[u8], separator: u8) -> Vec<Vec<u8>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let stop = Arc::new(Stop::new().unwrap());
        let mut inputs = Inputs::from_file(file.path(), separator, stop).unwrap();
        std::iter::from_fn(|| inputs.next().unwrap()).collect()
    }

    #[test]
    fn lines_are_inputs_and_empty_ones_are_none() {
        assert_eq!(
            all(b"a b\n\nc\xff\n\nd", b'\n'),
            [b"a b".to_vec(), b"c\xff".to_vec(), b"d".to_vec()]
        );
    }

    #[test]
    fn with_nul_as_separator_a_newline_is_part_of_an_input() {
        assert_eq!(
            all(b"a\nb\0\0c", 0),
            [b"a\nb".to_vec(), b"".to_vec(), b"c".to_vec()]
        );
    }

    #[test]
    fn inputs_are_counted_as_they_are_read() {
        for (text, separator) in [
            ("a\n\nb\n\nc", b'\n'),
            ("", b'\n'),
            ("a\0\0b", 0),
            ("a\n", b'\n'),
        ] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let read = all(text.as_bytes(), separator).len() as u64;
            assert_eq!(super::count(file.path(), separator), Some(read), "{text:?}");
        }
    }

    #[test]
    fn an_endless_line_is_an_error_and_not_a_full_memory() {
        let stop = Arc::new(Stop::new().unwrap());
        let mut inputs = Inputs::from_file("/dev/zero".as_ref(), b'\n', stop).unwrap();
        assert!(
            inputs
                .next()
                .unwrap_err()
                .to_string()
                .contains("longer than 2 MiB")
        );
    }

    #[test]
    fn a_run_that_drains_reads_no_more() {
        let stop = Arc::new(Stop::new().unwrap());
        let mut inputs = Inputs::from_file("/dev/zero".as_ref(), b'\n', Arc::clone(&stop)).unwrap();
        stop.raise(Stage::Draining, Reason::Halt);
        assert_eq!(inputs.next().unwrap(), None);
    }
}

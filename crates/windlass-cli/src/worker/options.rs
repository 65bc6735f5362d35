//! The options of `windlass worker`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::count::at_least_one;
use crate::duration::parse;
use crate::engine::EngineAddress;

/// The options of `windlass worker`.
#[derive(Debug, Clone, Args)]
pub struct WorkerOptions {
    /// Address of the engine; without it, or if it is `env`, the variable WINDLASS_ENGINE, which keeps a
    /// password out of the list of processes
    #[arg(long, value_name = "URL")]
    pub engine: Option<EngineAddress>,

    /// The queue to serve
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub queue: String,

    /// File with the commands that may run; all others are refused. See below
    #[arg(long, value_name = "FILE")]
    pub allow: PathBuf,

    /// How many commands run at a time [default: one for each processor]
    #[arg(short = 'j', long, visible_alias = "slots", value_name = "N", value_parser = at_least_one)]
    pub threads: Option<NonZeroUsize>,

    /// Name of this worker, to which something random is added
    #[arg(long, value_name = "NAME", default_value = "worker")]
    pub name: String,

    /// How much of the output of a command is sent back; a command that writes more fails
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "1M")]
    pub max_output: usize,

    /// The longest time between TERM and KILL that a task may ask for
    #[arg(long, value_name = "TIME", value_parser = parse, default_value = "60s")]
    pub max_grace: Duration,

    /// File with the key that tasks must be signed with: windlass run has the same one
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Say nothing unless something is wrong
    #[arg(long)]
    pub quiet: bool,
}

/// Parses a number of bytes, with `k`, `M` or `G` for powers of 1024.
fn parse_size(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is no number of bytes; write 65536, 64k or 1M");
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: usize = number.parse().map_err(|_| wrong())?;
    let size = number.checked_mul(factor).ok_or_else(wrong)?;
    // A value of Redis has 512 MB at most, and every byte is in the memory of three processes.
    if size > 128 << 20 {
        return Err("more than 128M is too much for a queue; write to files instead".to_owned());
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_have_suffixes_and_a_bound() {
        assert_eq!(parse_size("65536"), Ok(65536));
        assert_eq!(parse_size("64k"), Ok(65536));
        assert_eq!(parse_size("2M"), Ok(2 << 20));
        for wrong in ["", "k", "1T", "-1", "1G", "99999999999999999999G"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}

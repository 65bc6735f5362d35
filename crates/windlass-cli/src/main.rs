//! The command `windlass`.

use std::process::ExitCode;

use clap::Parser;
use windlass_cli::cli::Cli;

fn main() -> ExitCode {
    Cli::parse().run()
}

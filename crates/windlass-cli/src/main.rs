//! The command `windlass`.

use std::process::ExitCode;

use windlass_cli::cli::Cli;

fn main() -> ExitCode {
    Cli::main()
}

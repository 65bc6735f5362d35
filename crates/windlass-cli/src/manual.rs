//! Shell completions and manual pages, from the definitions of the command line.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::exit::Failure;

/// Writes the completions of a shell to standard output.
///
/// # Errors
///
/// When the output cannot be written.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "windlass", &mut text);
    write_out(&text)
}

/// Writes the manual page of the program to standard output, or one page for it and for each of its
/// commands into a folder.
///
/// # Errors
///
/// When a page cannot be written.
pub fn man(folder: Option<&Path>) -> Result<(), Failure> {
    let program = Cli::command();
    let Some(folder) = folder else {
        return write_out(&page(program, "windlass").map_err(|error| unwritable("page", &error))?);
    };
    // Built as a whole: the options of a command are those of its parts too, which may name them.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    collect_pages("windlass", &program, &mut pages);
    for (name, command) in pages {
        let path = folder.join(format!("{name}.1"));
        page(command, &name)
            .and_then(|text| std::fs::write(&path, text))
            .map_err(|error| unwritable(path.as_os_str(), &error))?;
    }
    Ok(())
}

/// Adds the page of a command, and those of its commands: `windlass-queue-dead-retry`.
fn collect_pages(name: &str, command: &Command, pages: &mut Vec<(String, Command)>) {
    pages.push((name.to_owned(), command.clone()));
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        collect_pages(&format!("{name}-{}", part.get_name()), part, pages);
    }
}

fn page(command: Command, name: &str) -> io::Result<Vec<u8>> {
    // A static name is what clap wants; there are a handful of pages in the life of a process.
    let command = command
        .name(name.to_owned())
        .version(env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    Ok(keep_lines(&String::from_utf8_lossy(&text)).into_bytes())
}

/// Keeps the lines of examples and tables, which a manual page would fill to paragraphs.
fn keep_lines(page: &str) -> String {
    let mut kept = String::new();
    let mut is_kept = false;
    for line in page.lines() {
        if let Some(section) = line.strip_prefix(".SH ")
            && std::mem::replace(&mut is_kept, section == "EXTRA" || section == "DESCRIPTION")
        {
            kept.push_str(".fi\n");
        }
        kept.push_str(line);
        kept.push('\n');
        if is_kept && line.starts_with(".SH ") {
            kept.push_str(".nf\n");
        }
    }
    kept
}

fn write_out(text: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::of_output(&error))
}

fn unwritable(what: impl AsRef<OsStr>, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", what.as_ref().display()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{Cli, keep_lines, page};

    #[test]
    fn examples_keep_their_lines() {
        let kept = keep_lines(".SH OPTIONS\na\n.SH EXTRA\nb\nc\n.SH VERSION\nd\n");
        assert_eq!(
            kept,
            ".SH OPTIONS\na\n.SH EXTRA\n.nf\nb\nc\n.fi\n.SH VERSION\nd\n"
        );
        let text = String::from_utf8(page(Cli::command(), "windlass").unwrap()).unwrap();
        assert!(text.contains(".SH DESCRIPTION\n.nf\n"), "{text}");
        assert!(text.contains(".SH EXTRA\n.nf\n"), "{text}");
    }

    #[test]
    fn the_help_of_size_fits_an_old_terminal() {
        for line in include_str!("size/help.txt").lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

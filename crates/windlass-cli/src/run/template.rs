//! The command of a run, and the commands that it becomes with an input.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::command_line::{CommandLine, CommandLineError, Part, Word};
use super::fields::Field;
use super::line_parser::{parse_command_line, parse_literal_command_line, parse_word};

/// What is run for each input.
///
/// ```
/// use std::ffi::OsString;
/// use windlass_cli::run::Template;
///
/// let template = Template::new(&[OsString::from("gzip -k {}")], None, "sh".as_ref()).unwrap();
/// let argv = template.render(b"a b.log", 1, 1).unwrap();
/// assert_eq!(argv, ["gzip", "-k", "a b.log"]);
/// ```
#[derive(Debug, Clone)]
pub struct Template {
    command: Command,
    shell: OsString,
}

#[derive(Debug, Clone)]
enum Command {
    /// Each input is a command of its own.
    Input,
    Line(CommandLine),
}

impl Template {
    /// Parses the command: one argument is a command line, several are its words, none means that each
    /// input is a command line. Without a placeholder, the input is added at the end.
    ///
    /// # Errors
    ///
    /// [`CommandLineError`], when a quote is not closed or there is nothing to run.
    pub fn new(
        arguments: &[OsString],
        replace: Option<&OsStr>,
        shell: &OsStr,
    ) -> Result<Self, CommandLineError> {
        let replace = replace.map(OsStrExt::as_bytes);
        let command = match arguments {
            [] => Command::Input,
            [line] => Command::Line(parse_command_line(line.as_bytes(), replace)?),
            words => Command::Line(CommandLine::Words(
                words
                    .iter()
                    .map(|word| parse_word(word.as_bytes(), replace))
                    .collect(),
            )),
        };
        Ok(Self {
            command: with_placeholder(command),
            shell: shell.to_owned(),
        })
    }

    /// Returns the words to execute for an input.
    ///
    /// # Errors
    ///
    /// [`CommandLineError`], when the input is itself the command and cannot be parsed.
    pub fn render(
        &self,
        input: &[u8],
        seq: u64,
        slot: usize,
    ) -> Result<Vec<OsString>, CommandLineError> {
        match &self.command {
            Command::Input => {
                let line = parse_literal_command_line(input)?;
                Ok(self.argv(&line, |_| OsString::new()))
            }
            Command::Line(line) => Ok(self.argv(line, |field| {
                OsString::from_vec(field.of(input, seq, slot).into_owned())
            })),
        }
    }

    fn argv(&self, line: &CommandLine, value: impl Fn(Field) -> OsString) -> Vec<OsString> {
        match line {
            CommandLine::Words(words) => words.iter().map(|word| join(word, &value)).collect(),
            CommandLine::Shell { script, fields } => {
                let script = OsString::from_vec(script.clone());
                [self.shell.clone(), "-c".into(), script, self.shell.clone()]
                    .into_iter()
                    .chain(fields.iter().map(|field| value(*field)))
                    .collect()
            }
        }
    }

    /// Returns the program, if every input runs the same one.
    #[must_use]
    pub fn program(&self) -> Option<&OsStr> {
        match &self.command {
            Command::Input => None,
            Command::Line(CommandLine::Shell { .. }) => Some(&self.shell),
            Command::Line(CommandLine::Words(words)) => match words.first()?.as_slice() {
                [Part::Text(text)] => Some(OsStr::from_bytes(text)),
                _ => None,
            },
        }
    }

    /// Returns what tells this command from another, for the journal.
    #[must_use]
    pub fn signature(&self) -> String {
        format!("{:?}", self.command)
    }
}

fn with_placeholder(command: Command) -> Command {
    match command {
        Command::Line(CommandLine::Words(mut words)) => {
            let has_value = |word: &Word| word.iter().any(|part| matches!(part, Part::Value(_)));
            if !words.iter().any(has_value) {
                words.push(vec![Part::Value(Field::Whole)]);
            }
            Command::Line(CommandLine::Words(words))
        }
        Command::Line(CommandLine::Shell { mut script, fields }) if fields.is_empty() => {
            script.extend_from_slice(b" \"${1}\"");
            let fields = vec![Field::Whole];
            Command::Line(CommandLine::Shell { script, fields })
        }
        command => command,
    }
}

fn join(word: &Word, value: impl Fn(Field) -> OsString) -> OsString {
    let mut joined = OsString::new();
    for part in word {
        match part {
            Part::Text(text) => joined.push(OsStr::from_bytes(text)),
            Part::Value(field) => joined.push(value(*field)),
        }
    }
    joined
}

/// Why a program cannot be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramError {
    /// No folder of the path has it.
    NotFound,
    /// It is there, but it is not executable.
    NotExecutable,
}

/// Finds the file of a program as a shell would, once, so that not every job has to search for it.
///
/// # Errors
///
/// [`ProgramError`], when there is none that can be executed.
pub fn find_program(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    if program.as_bytes().contains(&b'/') {
        return check(Path::new(program));
    }
    let path = path.unwrap_or_else(|| OsStr::new("/usr/bin:/bin"));
    let mut found = Err(ProgramError::NotFound);
    for folder in std::env::split_paths(path) {
        match check(&folder.join(program)) {
            Ok(file) => return Ok(file),
            Err(ProgramError::NotExecutable) => found = Err(ProgramError::NotExecutable),
            Err(ProgramError::NotFound) => {}
        }
    }
    found
}

fn check(file: &Path) -> Result<PathBuf, ProgramError> {
    use std::os::unix::fs::PermissionsExt as _;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => {
            Ok(file.to_owned())
        }
        Ok(_) => Err(ProgramError::NotExecutable),
        Err(_) => Err(ProgramError::NotFound),
    }
}

/// Returns the words as a line that a shell reads as the same words.
#[must_use]
pub fn quote(argv: &[OsString]) -> Vec<u8> {
    let mut line = Vec::new();
    for word in argv {
        if !line.is_empty() {
            line.push(b' ');
        }
        quote_word(word.as_bytes(), &mut line);
    }
    line
}

fn quote_word(word: &[u8], line: &mut Vec<u8>) {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"@%+:,./-_".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        line.extend_from_slice(word);
        return;
    }
    line.push(b'\'');
    for byte in word {
        if *byte == b'\'' {
            line.extend_from_slice(b"'\\''");
        } else {
            line.push(*byte);
        }
    }
    line.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::{OsString, ProgramError, Template, find_program, quote};

    fn template(arguments: &[&str]) -> Template {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Template::new(&arguments, None, "sh".as_ref()).unwrap()
    }

    #[test]
    fn the_input_is_added_where_no_placeholder_stands() {
        assert_eq!(
            template(&["gzip -k"]).render(b"a b", 1, 1).unwrap(),
            ["gzip", "-k", "a b"]
        );
        assert_eq!(
            template(&["gzip", "-k"]).render(b"a", 1, 1).unwrap(),
            ["gzip", "-k", "a"]
        );
        let argv = template(&["a | b"]).render(b"x", 1, 1).unwrap();
        assert_eq!(argv, ["sh", "-c", "a | b \"${1}\"", "sh", "x"]);
    }

    #[test]
    fn several_arguments_are_words_and_never_shell_code() {
        let argv = template(&["echo", "$HOME; {}", "*"])
            .render(b"`x`", 1, 1)
            .unwrap();
        assert_eq!(argv, ["echo", "$HOME; `x`", "*"]);
    }

    #[test]
    fn without_a_command_each_input_is_one() {
        let all = template(&[]);
        assert_eq!(
            all.render(b"echo '{}' b", 1, 1).unwrap(),
            ["echo", "{}", "b"]
        );
        assert_eq!(
            all.render(b"a && b", 1, 1).unwrap(),
            ["sh", "-c", "a && b", "sh"]
        );
        assert!(all.render(b"a 'b", 1, 1).is_err());
    }

    #[test]
    fn a_program_is_found_once_for_all_jobs() {
        let path = std::env::var_os("PATH");
        assert!(find_program("sh".as_ref(), path.as_deref()).is_ok());
        assert_eq!(
            find_program("no-such-program".as_ref(), path.as_deref()),
            Err(ProgramError::NotFound)
        );
        assert_eq!(
            find_program("/etc/passwd".as_ref(), None),
            Err(ProgramError::NotExecutable)
        );
    }

    #[test]
    fn a_quoted_line_is_read_as_the_same_words() {
        let line = quote(&["a".into(), "b c".into(), "it's".into(), "".into()]);
        assert_eq!(line, br"a 'b c' 'it'\''s' ''");
    }
}

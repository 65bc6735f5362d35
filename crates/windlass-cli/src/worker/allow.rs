//! The commands that a worker may run; all others it does not.
//!
//! ```text
//! # A program, with any arguments; by its name or by its path.
//! gzip
//! /opt/import/run.sh
//! # A name, with exactly two arguments; with any; with none.
//! store   = cp -- {1} {2}
//! archive = tar -czf /backup/latest.tar.gz -- {@}
//! refresh = systemctl restart web
//! # A script of a shell, whose parameters are the arguments.
//! count   = sh: wc -l < "$1"
//! ```
//!
//! A command line is split into words and never read by a shell, unless it begins with `sh:`. Programs are
//! found when the list is read, so that a changed `PATH` or a missing program is noticed at once.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::allow_entry::{Allowed, Denied, Entry, MARK, arguments_of};
use crate::exit::Failure;
use crate::run::{
    CommandLine, CommandLineError, Part, ProgramError, find_program, parse_literal_command_line,
};

/// Programs that run what their arguments say: to allow them is to allow everything.
const INTERPRETERS: [&str; 16] = [
    "awk", "bash", "busybox", "dash", "env", "find", "ksh", "node", "perl", "python", "python3",
    "ruby", "sh", "ssh", "xargs", "zsh",
];

/// Programs that take a script as an argument, and the letters of the options that it follows.
const TAKES_SCRIPT: [(&str, &[u8]); 10] = [
    ("bash", b"c"),
    ("dash", b"c"),
    ("ksh", b"c"),
    ("sh", b"c"),
    ("zsh", b"c"),
    ("node", b"ep"),
    ("perl", b"eE"),
    ("python", b"c"),
    ("python3", b"c"),
    ("ruby", b"e"),
];

/// The commands that a worker may run.
///
/// ```
/// use std::ffi::OsString;
/// use windlass_cli::worker::AllowList;
///
/// let list = AllowList::parse(b"hello = echo hello {1}\n", None).unwrap();
/// let allowed = list.command(&["hello".into(), "$(reboot)".into()]).unwrap();
/// assert_eq!(allowed.argv, ["echo", "hello", "$(reboot)"]);
/// assert!(list.command(&["echo".into(), "hello".into()]).is_err());
/// ```
#[derive(Debug, Clone)]
pub struct AllowList(BTreeMap<Vec<u8>, Entry>);

/// Why a text is no allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllowError {
    /// It allows nothing.
    Empty,
    /// This line cannot be used, and why.
    Line(usize, String),
}

impl fmt::Display for AllowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it allows nothing"),
            Self::Line(number, why) => write!(f, "line {number}: {why}"),
        }
    }
}

impl std::error::Error for AllowError {}

impl AllowList {
    /// Reads the list from a file that not everybody can write to.
    ///
    /// # Errors
    ///
    /// If it cannot be read, everybody can write to it, or it is no allow-list.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let unreadable = |error| {
            Failure::usage(format!("cannot read the allow-list {shown}: {error}"))
                .hint("--allow names a file; is the path right?")
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let mode = file.metadata().map_err(unreadable)?.permissions().mode();
        if mode & 0o002 != 0 {
            let message = format!("everybody can write to the allow-list {shown}");
            return Err(Failure::usage(message).hint(format!("chmod o-w {shown}")));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(unreadable)?;
        Self::parse(&text, std::env::var_os("PATH").as_deref()).map_err(|error| {
            Failure::usage(format!("the allow-list {shown} cannot be used: {error}"))
                .hint("a line is a program, or NAME = COMMAND; windlass worker --help has examples")
        })
    }

    /// Parses a list and finds its programs.
    ///
    /// # Errors
    ///
    /// [`AllowError`], with the first line that cannot be used.
    pub fn parse(text: &[u8], path: Option<&OsStr>) -> Result<Self, AllowError> {
        let mut entries = BTreeMap::new();
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line[0] == b'#' {
                continue;
            }
            let wrong = |why: String| AllowError::Line(index + 1, why);
            let (name, entry) = parse_line(line, path).map_err(wrong)?;
            if entries.insert(name.clone(), entry).is_some() {
                let name = name.escape_ascii();
                return Err(wrong(format!("{name} stands there twice")));
            }
        }
        if entries.is_empty() {
            return Err(AllowError::Empty);
        }
        Ok(Self(entries))
    }

    /// Returns what is executed for a command.
    ///
    /// # Errors
    ///
    /// [`Denied`], if the list does not allow it.
    pub fn command(&self, argv: &[OsString]) -> Result<Allowed, Denied> {
        let (name, arguments) = argv.split_first().ok_or(Denied::Empty)?;
        match self.0.get(name.as_bytes()) {
            Some(entry) => entry.apply(name.clone(), arguments),
            None => Err(Denied::Name(name.clone())),
        }
    }

    /// Returns the names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let names = self.0.keys().map(|name| name.escape_ascii().to_string());
        names.collect()
    }

    /// Returns the programs that are allowed with any arguments, and run what their arguments say.
    #[must_use]
    pub fn interpreters(&self) -> Vec<String> {
        let any = |entry: &Entry| match entry {
            Entry::Program(_) => true,
            Entry::Words { words, .. } => arguments_of(words).is_none(),
            Entry::Script { .. } => false,
        };
        let file = |entry: &Entry| match entry {
            Entry::Program(file) | Entry::Words { file, .. } => file.clone(),
            Entry::Script { shell, .. } => shell.clone(),
        };
        let names: BTreeSet<String> = self
            .0
            .values()
            .filter(|entry| any(entry))
            .filter_map(|entry| Some(file(entry).file_name()?.to_str()?.to_owned()))
            .filter(|name| INTERPRETERS.contains(&name.as_str()))
            .collect();
        names.into_iter().collect()
    }
}

fn parse_line(line: &[u8], path: Option<&OsStr>) -> Result<(Vec<u8>, Entry), String> {
    if line.contains(&MARK) {
        return Err("it has a control character".to_owned());
    }
    let Some(at) = line.iter().position(|byte| *byte == b'=') else {
        if line.iter().any(u8::is_ascii_whitespace) {
            return Err(
                "a program is one word; NAME = COMMAND allows one with arguments".to_owned(),
            );
        }
        return Ok((line.to_vec(), Entry::Program(program(line, path)?)));
    };
    let (name, command) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._+-".contains(byte);
    if name.is_empty() || !name.iter().all(is_name) {
        return Err("a name has letters, digits, '.', '_', '+' and '-'".to_owned());
    }
    let entry = match command.strip_prefix(b"sh:") {
        Some(script) => Entry::Script {
            shell: program(b"sh", path)?,
            script: script.trim_ascii().to_vec(),
        },
        None => words(command, path)?,
    };
    Ok((name.to_vec(), entry))
}

fn program(name: &[u8], path: Option<&OsStr>) -> Result<PathBuf, String> {
    let shown = name.escape_ascii();
    find_program(OsStr::from_bytes(name), path).map_err(|error| match error {
        ProgramError::NotFound => format!("{shown}: command not found"),
        ProgramError::NotExecutable => format!("{shown}: not executable"),
    })
}

/// Splits a command with `{1}` and `{@}` in it.
fn words(command: &[u8], path: Option<&OsStr>) -> Result<Entry, String> {
    let line = parse_literal_command_line(&mark(command)).map_err(|error| match error {
        CommandLineError::Empty => "there is no command after the =".to_owned(),
        _ => error.to_string(),
    })?;
    let CommandLine::Words(words) = line else {
        return Err(
            "it needs a shell: quote what is meant as it stands, or write = sh: …".to_owned(),
        );
    };
    let text = |part: Part| match part {
        Part::Text(text) => text,
        Part::Value(_) => Vec::new(),
    };
    let words: Vec<Vec<u8>> = words
        .into_iter()
        .map(|word| word.into_iter().flat_map(text).collect())
        .collect();
    let is_all = |pair: &[u8]| pair == [MARK, b'@'];
    if words
        .iter()
        .any(|w| w.len() > 2 && w.windows(2).any(is_all))
    {
        return Err("{@} stands for several words, so it is a word of its own".to_owned());
    }
    let first = words.first().map_or(&[][..], Vec::as_slice);
    if first.contains(&MARK) {
        return Err("the program cannot be an argument".to_owned());
    }
    let file = program(first, path)?;
    let name = file.file_name().unwrap_or_default();
    let takes_script = TAKES_SCRIPT.iter().find(|(program, _)| name == *program);
    if takes_script.is_some_and(|(_, letters)| has_argument_as_script(&words, letters)) {
        return Err("an argument in a script would be code: write = sh: … with \"$1\"".to_owned());
    }
    Ok(Entry::Words { file, words })
}

/// Whether an argument of the client stands where a script does: after an option with one of the letters, as
/// `-c` and `-ec`, or in the same word.
fn has_argument_as_script(words: &[Vec<u8>], letters: &[u8]) -> bool {
    let is_option = |word: &[u8]| {
        let letters_of = word.strip_prefix(b"-").unwrap_or_default();
        let own = letters_of.split(|byte| *byte == MARK).next();
        letters_of.first() != Some(&b'-')
            && own.is_some_and(|own| own.iter().any(|byte| letters.contains(byte)))
    };
    let has_argument = |word: &[u8]| word.contains(&MARK);
    let after = |pair: &[Vec<u8>]| is_option(&pair[0]) && has_argument(&pair[1]);
    words.windows(2).any(after)
        || words
            .iter()
            .any(|word| is_option(word) && has_argument(word))
}

/// Puts a mark in place of `{1}` to `{9}` and `{@}`.
fn mark(command: &[u8]) -> Vec<u8> {
    let mut marked = Vec::with_capacity(command.len());
    let mut rest = command;
    while let [first, after @ ..] = rest {
        match rest {
            [b'{', which @ (b'1'..=b'9' | b'@'), b'}', after @ ..] => {
                marked.extend([MARK, *which]);
                rest = after;
            }
            _ => {
                marked.push(*first);
                rest = after;
            }
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::{AllowError, AllowList, Denied, OsString};

    fn list(text: &str) -> AllowList {
        AllowList::parse(text.as_bytes(), None).unwrap()
    }

    fn run(list: &AllowList, words: &[&str]) -> Result<Vec<OsString>, Denied> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        list.command(&words).map(|allowed| allowed.argv)
    }

    #[test]
    fn what_is_not_on_the_list_does_not_run() {
        let list = list("# greetings\n\n  echo  \n");
        assert_eq!(
            run(&list, &["echo", "a", "; b"]).unwrap(),
            ["echo", "a", "; b"]
        );
        for denied in ["sh", "/bin/echo", "Echo", "echo ", ""] {
            assert_eq!(run(&list, &[denied]), Err(Denied::Name(denied.into())));
        }
        assert_eq!(run(&list, &[]), Err(Denied::Empty));
    }

    #[test]
    fn a_name_takes_the_arguments_that_its_command_has_places_for() {
        let list = list(
            "none = echo fixed\ntwo = echo '{2}' --to={1}x\nrest = echo {1} -- {@}\nquoted = echo 'a b' \"c\"",
        );
        assert_eq!(run(&list, &["none"]).unwrap(), ["echo", "fixed"]);
        assert_eq!(
            run(&list, &["two", "a b", "$(c)"]).unwrap(),
            ["echo", "$(c)", "--to=a bx"]
        );
        assert_eq!(
            run(&list, &["rest", "a", "b"]).unwrap(),
            ["echo", "a", "--", "a", "b"]
        );
        assert_eq!(run(&list, &["quoted"]).unwrap(), ["echo", "a b", "c"]);
        let denied = Denied::Arguments {
            name: "none".into(),
            takes: 0,
            given: 1,
        };
        assert_eq!(run(&list, &["none", "more"]), Err(denied));
        assert!(
            run(&list, &["two", "one"]).is_err() && run(&list, &["two", "a", "b", "c"]).is_err()
        );
    }

    #[test]
    fn a_shell_reads_a_script_only_where_the_list_says_so() {
        let list = list("count = sh: wc -l < \"$1\"");
        assert_eq!(
            run(&list, &["count", "$(x)"]).unwrap(),
            ["sh", "-c", "wc -l < \"$1\"", "count", "$(x)"]
        );
        for line in [
            "count = wc -l < {1}",
            "x = echo $HOME",
            "x = a | b",
            "x = echo *",
        ] {
            let error = AllowList::parse(line.as_bytes(), None).unwrap_err();
            assert!(
                error.to_string().contains("needs a shell"),
                "{line}: {error}"
            );
        }
    }

    #[test]
    fn a_line_that_cannot_be_used_is_named() {
        assert_eq!(
            AllowList::parse(b"# only\n", None).unwrap_err(),
            AllowError::Empty
        );
        for (line, why) in [
            ("no-such-program", "not found"),
            ("/etc/passwd", "not executable"),
            ("echo hello", "one word"),
            ("a b = echo", "a name has"),
            ("= echo", "a name has"),
            ("x =", "no command"),
            ("x = echo 'a", "never closed"),
            ("x = {1} a", "cannot be an argument"),
            ("x = echo a{@}", "word of its own"),
            ("x = no-such-program {@}", "not found"),
            ("x = sh -c 'echo {1}'", "would be code"),
            ("echo\necho", "twice"),
        ] {
            let text = format!("true\n{line}\n");
            let error = AllowList::parse(text.as_bytes(), None).unwrap_err();
            assert!(error.to_string().contains(why), "{line}: {error}");
        }
    }

    #[test]
    fn an_argument_is_no_script_of_any_interpreter() {
        for line in [
            "a = sh -ec {1}",
            "a = sh -c{1}",
            "a = sh -c 'echo {1}'",
            "a = sh -e -c {1} x",
        ] {
            let error = AllowList::parse(line.as_bytes(), None).expect_err(line);
            assert!(
                error.to_string().contains("would be code"),
                "{line}: {error}"
            );
        }
        for line in ["a = sh -e {1}", "a = sh script {1}", "a = sh -- {1}"] {
            let _ = list(line);
        }
    }

    #[test]
    fn interpreters_with_any_arguments_are_noticed() {
        let list = list("sh\nenv\necho\nhello = sh greet.sh {1}\nany = sh {@}");
        assert_eq!(list.interpreters(), ["env", "sh"]);
    }
}

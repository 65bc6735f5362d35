//! Splits a command line as a shell would, and finds out whether it needs a shell at all.
//!
//! A command line of plain and quoted words is executed directly. Anything else goes to a shell, and a
//! placeholder in it becomes a positional parameter, quoted for the place where it stands: `{}` becomes
//! `"${1}"`, and `'a {}'` becomes `'a '"${1}"''`. So an input is never read as shell code, whatever
//! it contains.

use super::command_line::{CommandLine, CommandLineError, Part, Word};
use super::fields::Field;

/// Words that only a shell understands at the start of a command.
const SHELL_WORDS: [&[u8]; 40] = [
    b"!",
    b".",
    b":",
    b"alias",
    b"bg",
    b"break",
    b"case",
    b"cd",
    b"command",
    b"continue",
    b"declare",
    b"eval",
    b"exec",
    b"exit",
    b"export",
    b"fg",
    b"for",
    b"function",
    b"getopts",
    b"hash",
    b"if",
    b"jobs",
    b"let",
    b"local",
    b"read",
    b"readonly",
    b"return",
    b"set",
    b"shift",
    b"source",
    b"times",
    b"trap",
    b"type",
    b"ulimit",
    b"umask",
    b"unalias",
    b"unset",
    b"until",
    b"wait",
    b"while",
];

/// Where the parser stands; contexts nest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Single,
    Double,
    /// `$( … )` or `( … )`.
    Parentheses,
    /// `$(( … ))`.
    Arithmetic,
    Backticks,
}

impl Context {
    const fn name(self) -> &'static str {
        match self {
            Self::Single => "a quote '",
            Self::Double => "a quote \"",
            Self::Parentheses => "a parenthesis (",
            Self::Arithmetic => "an arithmetic expansion $((",
            Self::Backticks => "a quote `",
        }
    }
}

/// Parses a command line. `replace` is the string of `-I`, which takes the place of `{}`; `None` as
/// `fields` means that the text has no placeholders.
///
/// ```
/// use windlass_cli::run::{CommandLine, parse_command_line};
///
/// let plain = parse_command_line(b"gzip -k '{}'", None).unwrap();
/// assert!(matches!(plain, CommandLine::Words(words) if words.len() == 3));
///
/// let CommandLine::Shell { script, .. } = parse_command_line(b"wc < {}", None).unwrap() else {
///     panic!("a redirection needs a shell");
/// };
/// assert_eq!(script, b"wc < \"${1}\"");
/// ```
///
/// # Errors
///
/// [`CommandLineError`], when a quote is not closed or there is nothing to run.
pub fn parse_command_line(
    text: &[u8],
    replace: Option<&[u8]>,
) -> Result<CommandLine, CommandLineError> {
    let mut parser = Parser::new(text, Placeholders::Of(replace));
    parser.run()?;
    parser.finish()
}

/// Parses a command line that has no placeholders: an input that is itself a command.
///
/// # Errors
///
/// [`CommandLineError`], when a quote is not closed or there is nothing to run.
pub fn parse_literal_command_line(text: &[u8]) -> Result<CommandLine, CommandLineError> {
    let mut parser = Parser::new(text, Placeholders::None);
    parser.run()?;
    parser.finish()
}

/// Splits a text into text and placeholders, without any quoting: a word that is given as such.
#[must_use]
pub fn parse_word(text: &[u8], replace: Option<&[u8]>) -> Word {
    let mut word = WordBuilder::default();
    let mut at = 0;
    while at < text.len() {
        if let Some((field, length)) = Field::at_start_of(&text[at..], replace) {
            word.value(field);
            at += length;
        } else {
            word.byte(text[at]);
            at += 1;
        }
    }
    word.parts
}

#[derive(Debug, Clone, Copy)]
enum Placeholders<'a> {
    None,
    Of(Option<&'a [u8]>),
}

#[derive(Debug, Default)]
struct WordBuilder {
    parts: Word,
    /// Whether the word exists though it may be empty: `''`.
    begun: bool,
}

impl WordBuilder {
    fn byte(&mut self, byte: u8) {
        self.begun = true;
        if let Some(Part::Text(text)) = self.parts.last_mut() {
            text.push(byte);
        } else {
            self.parts.push(Part::Text(vec![byte]));
        }
    }

    fn value(&mut self, field: Field) {
        self.begun = true;
        self.parts.push(Part::Value(field));
    }
}

#[derive(Debug)]
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    placeholders: Placeholders<'a>,
    contexts: Vec<Context>,
    words: Vec<Word>,
    word: WordBuilder,
    needs_shell: bool,
    script: Vec<u8>,
    fields: Vec<Field>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], placeholders: Placeholders<'a>) -> Self {
        Self {
            text: text.trim_ascii(),
            at: 0,
            placeholders,
            contexts: Vec::new(),
            words: Vec::new(),
            word: WordBuilder::default(),
            needs_shell: false,
            script: Vec::new(),
            fields: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<(), CommandLineError> {
        while self.at < self.text.len() {
            if let Some((field, length)) = self.placeholder() {
                self.put_field(field);
                self.at += length;
                continue;
            }
            match self.contexts.last() {
                Some(Context::Single) => self.in_single_quotes(),
                Some(Context::Double) => self.in_double_quotes(),
                Some(Context::Arithmetic) => self.in_arithmetic(),
                Some(Context::Parentheses | Context::Backticks) | None => self.in_plain_text(),
            }
        }
        match self.contexts.last() {
            Some(open) => Err(CommandLineError::Unclosed(open.name())),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Result<CommandLine, CommandLineError> {
        self.end_word();
        let starts_like_shell = match self.words.first().map(Vec::as_slice) {
            Some([Part::Text(first)]) => {
                SHELL_WORDS.contains(&first.as_slice()) || first.contains(&b'=')
            }
            Some([Part::Text(first), ..]) => first.contains(&b'='),
            _ => false,
        };
        if self.needs_shell || starts_like_shell {
            return Ok(CommandLine::Shell {
                script: self.script,
                fields: self.fields,
            });
        }
        if self.words.is_empty() {
            return Err(CommandLineError::Empty);
        }
        Ok(CommandLine::Words(self.words))
    }

    fn placeholder(&self) -> Option<(Field, usize)> {
        match self.placeholders {
            Placeholders::None => None,
            Placeholders::Of(replace) => Field::at_start_of(&self.text[self.at..], replace),
        }
    }

    /// Writes the placeholder as a parameter that is quoted for where it stands.
    fn put_field(&mut self, field: Field) {
        self.word.value(field);
        let known = self.fields.iter().position(|known| *known == field);
        let index = known.unwrap_or_else(|| {
            self.fields.push(field);
            self.fields.len() - 1
        });
        let (before, after): (&str, &str) = match self.contexts.last() {
            Some(Context::Single) => ("'\"", "\"'"),
            Some(Context::Double | Context::Arithmetic) => ("", ""),
            Some(Context::Parentheses | Context::Backticks) | None => ("\"", "\""),
        };
        let parameter = format!("{before}${{{}}}{after}", index + 1);
        self.script.extend_from_slice(parameter.as_bytes());
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.begun {
            self.words.push(word.parts);
        }
    }

    /// Takes the next byte into the script.
    fn take(&mut self) -> u8 {
        let byte = self.text[self.at];
        self.script.push(byte);
        self.at += 1;
        byte
    }

    fn next_is(&self, bytes: &[u8]) -> bool {
        self.text[self.at..].starts_with(bytes)
    }

    fn open(&mut self, context: Context) {
        self.contexts.push(context);
        self.word.begun = true;
    }

    fn in_single_quotes(&mut self) {
        match self.take() {
            b'\'' => drop(self.contexts.pop()),
            byte => self.word.byte(byte),
        }
    }

    fn in_double_quotes(&mut self) {
        match self.take() {
            b'"' => drop(self.contexts.pop()),
            b'\\' if self.at < self.text.len() => {
                let byte = self.take();
                if !matches!(byte, b'$' | b'`' | b'"' | b'\\' | b'\n') {
                    self.word.byte(b'\\');
                }
                if byte != b'\n' {
                    self.word.byte(byte);
                }
            }
            b'$' => self.after_dollar(),
            b'`' => self.open_backticks(),
            byte => self.word.byte(byte),
        }
    }

    fn in_arithmetic(&mut self) {
        if self.next_is(b"))") {
            self.take();
            self.take();
            self.contexts.pop();
            return;
        }
        match self.take() {
            b'$' => self.after_dollar(),
            b'`' => self.open_backticks(),
            _ => {}
        }
    }

    fn in_plain_text(&mut self) {
        match self.take() {
            b' ' | b'\t' => self.end_word(),
            b'\'' => self.open(Context::Single),
            b'"' => self.open(Context::Double),
            b'\\' => self.after_backslash(),
            b'$' => self.after_dollar(),
            b'`' => self.open_backticks(),
            b'(' => {
                self.needs_shell = true;
                self.open(Context::Parentheses);
            }
            b')' => {
                self.needs_shell = true;
                if self.contexts.last() == Some(&Context::Parentheses) {
                    self.contexts.pop();
                }
            }
            b'#' if !self.word.begun => self.skip_comment(),
            b'\n' | b'|' | b'&' | b';' | b'<' | b'>' => {
                self.needs_shell = true;
                self.end_word();
            }
            byte => {
                // A tilde is expanded at the start of a word only; braces are words of the shell.
                if matches!(byte, b'*' | b'?' | b'[')
                    || (!self.word.begun && matches!(byte, b'~' | b'{' | b'}'))
                {
                    self.needs_shell = true;
                }
                self.word.byte(byte);
            }
        }
    }

    fn after_backslash(&mut self) {
        if self.at == self.text.len() {
            self.word.byte(b'\\');
            return;
        }
        match self.take() {
            // A line that goes on.
            b'\n' => {}
            byte => self.word.byte(byte),
        }
    }

    fn after_dollar(&mut self) {
        self.needs_shell = true;
        self.word.begun = true;
        if self.next_is(b"((") {
            self.take();
            self.take();
            self.contexts.push(Context::Arithmetic);
        } else if self.next_is(b"(") {
            self.take();
            self.contexts.push(Context::Parentheses);
        }
    }

    /// A backtick closes the innermost open one: there is no nesting without backslashes.
    fn open_backticks(&mut self) {
        self.needs_shell = true;
        if self.contexts.last() == Some(&Context::Backticks) {
            self.contexts.pop();
        } else {
            self.open(Context::Backticks);
        }
    }

    fn skip_comment(&mut self) {
        self.needs_shell = true;
        while self.at < self.text.len() && self.text[self.at] != b'\n' {
            self.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, CommandLineError, Field, Part, parse_command_line};

    fn text(bytes: &str) -> Part {
        Part::Text(bytes.as_bytes().to_vec())
    }

    fn script(line: &str) -> String {
        match parse_command_line(line.as_bytes(), None).unwrap() {
            CommandLine::Shell { script, .. } => String::from_utf8(script).unwrap(),
            CommandLine::Words(words) => panic!("{line} needs no shell: {words:?}"),
        }
    }

    #[test]
    fn plain_and_quoted_words_need_no_shell() {
        let line = parse_command_line(br#"cp -- '{}' "out dir/"{/.}.bak \$x """#, None).unwrap();
        assert_eq!(
            line,
            CommandLine::Words(vec![
                vec![text("cp")],
                vec![text("--")],
                vec![Part::Value(Field::Whole)],
                vec![text("out dir/"), Part::Value(Field::BaseStem), text(".bak")],
                vec![text("$x")],
                vec![],
            ])
        );
    }

    #[test]
    fn a_placeholder_is_quoted_for_the_place_where_it_stands() {
        assert_eq!(script("cat {} | wc"), r#"cat "${1}" | wc"#);
        assert_eq!(script(r#"echo "a {} b" >x"#), r#"echo "a ${1} b" >x"#);
        assert_eq!(script("echo 'a {} b' >x"), r#"echo 'a '"${1}"' b' >x"#);
        assert_eq!(script(r#"echo "$(cat {})""#), r#"echo "$(cat "${1}")""#);
        assert_eq!(script("echo $(( {#} + 1 ))"), "echo $(( ${1} + 1 ))");
        assert_eq!(
            script("cp {} {.}.b; rm {}"),
            r#"cp "${1}" "${2}".b; rm "${1}""#
        );
    }

    #[test]
    fn whatever_only_a_shell_understands_goes_to_a_shell() {
        let lines = [
            "a | b", "a & b", "a; b", "a > b", "a $b", "a `b`", "a *.c", "a ?", "a [b]", "~/a",
            "X=1 a", "cd a", "a # b", "(a)", "{ a; }", "a\nb", "\"$a\"", "! a", ": {}",
        ];
        for line in lines {
            let _ = script(line);
        }
    }

    #[test]
    fn an_unclosed_quote_is_an_error() {
        for line in ["a 'b", "a \"b", "a $(b", "a `b", "a $((1"] {
            let error = parse_command_line(line.as_bytes(), None).unwrap_err();
            assert!(matches!(error, CommandLineError::Unclosed(_)), "{line}");
        }
    }

    #[test]
    fn an_empty_command_line_is_an_error() {
        assert_eq!(
            parse_command_line(b" \n", None),
            Err(CommandLineError::Empty)
        );
    }

    #[test]
    fn an_apostrophe_in_a_comment_opens_no_quote() {
        assert_eq!(script("a # don't\nb"), "a # don't\nb");
    }
}

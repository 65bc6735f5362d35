//! Splits a command line as a shell would, and finds out whether it needs a shell at all.
//!
//! A command line of plain and quoted words is executed directly. Anything else goes to a shell, and a
//! placeholder in it becomes a positional parameter, quoted for the place where it stands: `{}` becomes
//! `"${1}"`, and `'a {}'` becomes `'a '"${1}"''`. So the shell reads an input as one word and not as a
//! part of the script. Where it would not, a placeholder is refused: in arithmetic, which some shells
//! evaluate again, and in here-documents. What a script does with the word is its own affair: `eval {}`.

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
    /// `$'…'`, in which a backslash escapes.
    Escaped,
    /// `${ … }`, in which some places are arithmetic.
    Parameter,
    /// `$( … )`.
    Parentheses,
    /// `( … )`.
    Group,
    /// `$(( … ))` or `(( … ))`.
    Arithmetic,
    Backticks,
}

impl Context {
    const fn name(self) -> &'static str {
        match self {
            Self::Single => "a quote '",
            Self::Double => "a quote \"",
            Self::Escaped => "a quote $'",
            Self::Parameter => "an expansion ${",
            Self::Parentheses | Self::Group => "a parenthesis (",
            Self::Arithmetic => "an arithmetic expression ((",
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
    /// Where a `[[` of bash has begun.
    test_from: Option<usize>,
    /// The here-documents that begin with the next line: what ends them, and whether tabs may stand before
    /// that.
    here_documents: Vec<(Vec<u8>, bool)>,
    /// Whether a comment, a here-document or a group is the last thing there.
    ends_open: bool,
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
            test_from: None,
            here_documents: Vec::new(),
            ends_open: false,
        }
    }

    fn run(&mut self) -> Result<(), CommandLineError> {
        while self.at < self.text.len() {
            if let Some((field, length)) = self.placeholder() {
                self.refuse_where_it_is_code(field)?;
                self.put_field(field);
                self.at += length;
                continue;
            }
            match self.contexts.last() {
                Some(Context::Single) => self.in_single_quotes(),
                Some(Context::Double) => self.in_double_quotes(),
                Some(Context::Escaped) => self.in_escaped_quotes(),
                Some(Context::Parameter) => self.in_parameter(),
                Some(Context::Arithmetic) => self.in_arithmetic(),
                Some(Context::Parentheses | Context::Group | Context::Backticks) | None => {
                    self.in_plain_text()?;
                }
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
            let takes_input = matches!(self.placeholders, Placeholders::Of(_));
            if takes_input && self.fields.is_empty() && !self.takes_a_word_at_its_end() {
                return Err(CommandLineError::NoPlaceAtEnd);
            }
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

    /// Whether a word after the script is a word of its last command.
    fn takes_a_word_at_its_end(&self) -> bool {
        let last = self.script.last().copied().unwrap_or_default();
        let opens_or_closes = |word: &Word| {
            let words: [&[u8]; 9] = [
                b"!", b"{", b"}", b"do", b"done", b"else", b"esac", b"fi", b"then",
            ];
            matches!(word.as_slice(), [Part::Text(text)] if words.contains(&text.as_slice()))
        };
        !(self.ends_open
            || b";&|".contains(&last)
            || !self.here_documents.is_empty()
            || self.words.last().is_some_and(opens_or_closes))
    }

    /// Numbers are harmless everywhere but where nothing is expanded.
    fn refuse_where_it_is_code(&self, field: Field) -> Result<(), CommandLineError> {
        let is_number = matches!(field, Field::Seq | Field::Slot);
        let place = match self.contexts.last() {
            Some(Context::Escaped) => Some("a quote $'"),
            Some(Context::Arithmetic) if !is_number => Some("an arithmetic expression"),
            Some(Context::Parameter) if !is_number => Some("an expansion ${"),
            _ if !is_number && self.is_in_arithmetic_test() => {
                Some("a test [[ that compares numbers")
            }
            _ => None,
        };
        place.map_or(Ok(()), |place| Err(CommandLineError::NoPlaceIn(place)))
    }

    /// Whether this is in a `[[ … ]]` with an operator that evaluates its operands.
    fn is_in_arithmetic_test(&self) -> bool {
        let Some(from) = self.test_from else {
            return false;
        };
        let operators: [&[u8]; 8] = [b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge", b"-v", b"-R"];
        self.text[from..]
            .split(u8::is_ascii_whitespace)
            .take_while(|word| *word != b"]]")
            .any(|word| operators.contains(&word))
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
            Some(Context::Double | Context::Arithmetic | Context::Parameter | Context::Escaped) => {
                ("", "")
            }
            Some(Context::Parentheses | Context::Group | Context::Backticks) | None => ("\"", "\""),
        };
        let parameter = format!("{before}${{{}}}{after}", index + 1);
        self.script.extend_from_slice(parameter.as_bytes());
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !word.begun {
            return;
        }
        self.ends_open = false;
        match word.parts.as_slice() {
            [Part::Text(text)] if text == b"[[" => self.test_from = Some(self.at),
            [Part::Text(text)] if text == b"]]" => self.test_from = None,
            _ => {}
        }
        self.words.push(word.parts);
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

    fn in_escaped_quotes(&mut self) {
        match self.take() {
            b'\'' => drop(self.contexts.pop()),
            b'\\' if self.at < self.text.len() => drop(self.take()),
            _ => {}
        }
    }

    fn in_parameter(&mut self) {
        let is_quoted = self.contexts.contains(&Context::Double);
        match self.take() {
            b'}' => drop(self.contexts.pop()),
            b'\'' if !is_quoted => self.open(Context::Single),
            b'"' => self.open(Context::Double),
            b'\\' if self.at < self.text.len() => drop(self.take()),
            b'$' => self.after_dollar(),
            b'`' => self.open_backticks(),
            _ => {}
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

    fn in_plain_text(&mut self) -> Result<(), CommandLineError> {
        match self.take() {
            b' ' | b'\t' => self.end_word(),
            b'\'' => self.open(Context::Single),
            b'"' => self.open(Context::Double),
            b'\\' => self.after_backslash(),
            b'$' => self.after_dollar(),
            b'`' => self.open_backticks(),
            b'(' if self.next_is(b"(") && !self.word.begun => {
                self.needs_shell = true;
                self.take();
                self.open(Context::Arithmetic);
            }
            b'(' => {
                self.needs_shell = true;
                self.open(Context::Group);
            }
            b')' => {
                self.needs_shell = true;
                match self.contexts.last() {
                    Some(Context::Parentheses) => drop(self.contexts.pop()),
                    Some(Context::Group) => {
                        self.contexts.pop();
                        self.end_word();
                        self.ends_open = true;
                    }
                    _ => {}
                }
            }
            b'#' if !self.word.begun => self.skip_comment(),
            b'\n' => {
                self.needs_shell = true;
                self.end_word();
                self.skip_here_documents()?;
            }
            b'<' if self.next_is(b"<") => {
                self.needs_shell = true;
                self.end_word();
                self.take();
                if self.next_is(b"<") {
                    self.take();
                } else {
                    self.begin_here_document();
                }
            }
            b'|' | b'&' | b';' | b'<' | b'>' => {
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
        Ok(())
    }

    /// Reads the word after `<<`, which ends the document.
    fn begin_here_document(&mut self) {
        let may_be_indented = self.next_is(b"-");
        if may_be_indented {
            self.take();
        }
        while self.next_is(b" ") || self.next_is(b"\t") {
            self.take();
        }
        let mut end = Vec::new();
        while self.at < self.text.len() && !b" \t\n;&|<>()".contains(&self.text[self.at]) {
            let byte = self.take();
            if !b"'\"\\".contains(&byte) {
                end.push(byte);
            }
        }
        self.here_documents.push((end, may_be_indented));
    }

    /// Takes the here-documents that begin with this line as they are. A shell replaces what is in them by its
    /// own rules, so there is no place for a value that is right in all of them.
    fn skip_here_documents(&mut self) -> Result<(), CommandLineError> {
        for (end, may_be_indented) in std::mem::take(&mut self.here_documents) {
            self.ends_open = true;
            loop {
                let line_from = self.at;
                while self.at < self.text.len() && self.text[self.at] != b'\n' {
                    if self.placeholder().is_some() {
                        return Err(CommandLineError::NoPlaceIn("a here-document"));
                    }
                    self.take();
                }
                let line = &self.text[line_from..self.at];
                let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
                let line = &line[if may_be_indented { tabs } else { 0 }..];
                let is_end = line == end.as_slice();
                if self.at == self.text.len() {
                    return Ok(());
                }
                self.take();
                if is_end {
                    break;
                }
            }
        }
        Ok(())
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
        } else if self.next_is(b"{") {
            self.take();
            self.contexts.push(Context::Parameter);
        } else if self.next_is(b"'") && self.contexts.last() != Some(&Context::Double) {
            self.take();
            self.contexts.push(Context::Escaped);
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
        self.ends_open = true;
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
            "a | b",
            "a & b",
            "a; b",
            "a > b",
            "a $b",
            "a `b`",
            "a *.c",
            "a ?",
            "a [b]",
            "~/a",
            "X=1 a",
            "cd a",
            "a {} # b",
            "(a {})",
            "{ a {}; }",
            "a\nb",
            "\"$a\"",
            "! a",
            ": {}",
        ];
        for line in lines {
            let _ = script(line);
        }
    }

    #[test]
    fn an_unclosed_quote_is_an_error() {
        for line in [
            "a 'b", "a \"b", "a $(b", "a `b", "a $((1", "a $'b", "a ${b", "a $'b\\'",
        ] {
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

    fn error_of(line: &str) -> CommandLineError {
        parse_command_line(line.as_bytes(), None).expect_err(line)
    }

    #[test]
    fn a_placeholder_is_refused_where_a_shell_evaluates_it_or_takes_it_as_it_is() {
        for line in [
            "echo $(( {} + 1 ))",
            "echo \"$(( {} ))\"",
            "(( {} > 1 )) && echo",
            "[[ {} -eq 1 ]] && echo",
            "[[ 1 -lt {.} ]]",
            "echo ${x:{}}",
            "echo ${x[{}]}",
            "echo $'a {}'",
            "cat <<END\n{}\nEND",
            "cat <<-'END' | wc\n\tit's {}\n\tEND",
        ] {
            let error = error_of(line);
            assert!(matches!(error, CommandLineError::NoPlaceIn(_)), "{line}");
        }
        for line in [
            "echo $(( {#} + {%} ))",
            "[[ {} == *.log ]] && echo {}",
            "[[ 1 -eq 1 ]] && echo {}",
            "cat {} <<END\nit's\nEND",
            "cat <<END\nx\nEND\necho {}",
            "cat <<< {}",
            "echo $'it\\'s' {}",
            "echo ${x} {}",
            "echo \"${x:-'}\" {}",
        ] {
            let _ = script(line);
        }
    }

    #[test]
    fn an_input_is_added_only_where_it_is_a_word_of_the_last_command() {
        for line in [
            "true;",
            "true &",
            "true |",
            "true &&",
            "echo hi # note",
            "(true)",
            "{ true; }",
            "if x; then y; fi",
            "true; !",
            "cat <<END\nx\nEND",
        ] {
            assert_eq!(error_of(line), CommandLineError::NoPlaceAtEnd, "{line}");
        }
        for line in [
            "a | b", "wc -l <", "cd x; ls", "a # b\nc", "X=1 a", "a $b", "a $(b)", "a ${b}",
        ] {
            let _ = script(line);
        }
    }

    #[test]
    fn an_apostrophe_in_a_comment_opens_no_quote() {
        assert_eq!(script("a # don't\nb"), "a # don't\nb");
    }
}

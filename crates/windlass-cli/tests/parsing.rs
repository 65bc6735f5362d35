//! What the program parses, on random input.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::Command;

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy;
use windlass_cli::run::{JournalError, Template, parse_journal, quote};
use windlass_cli::{attach, duration};

/// Pieces that mean something to the parser, in any order.
fn command_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[a-z ]{0,4}".prop_map(String::into_bytes),
        r#"[{}./#%'"\\$()`|&;<>*?~=\n]{1,3}"#.prop_map(String::into_bytes),
        vec(any::<u8>(), 0..3),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_command_line_makes_the_parser_panic(text in command_text(), input in vec(any::<u8>(), 0..20)) {
        if let Ok(template) = Template::new(&[OsString::from_vec(text)], None, "sh".as_ref()) {
            let argv = template.render(&input, 1, 1).unwrap();
            prop_assert!(!argv.is_empty());
        }
    }

    #[test]
    fn no_replacement_string_makes_the_parser_panic_or_run_forever(
        text in command_text(),
        replace in vec(any::<u8>(), 0..3),
    ) {
        let replace = OsString::from_vec(replace);
        for words in [vec![OsString::from_vec(text.clone())], vec!["echo".into(), OsString::from_vec(text)]] {
            if let Ok(template) = Template::new(&words, Some(replace.as_os_str()), "sh".as_ref()) {
                prop_assert!(!template.render(b"x", 1, 1).unwrap().is_empty());
            }
        }
    }

    #[test]
    fn a_quoted_word_is_parsed_as_itself(words in vec(vec(1_u8.., 0..12), 1..5)) {
        let mut words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
        words[0] = "echo".into();
        let line = quote(&words);
        // Other placeholders than `{}` are still placeholders, so such words are left out.
        let is_placeholder = |pair: &[u8]| pair == b"@@" || pair[0] == b'{' && b"./#%".contains(&pair[1]);
        if !line.windows(2).any(is_placeholder) {
            let template = Template::new(&[OsString::from_vec(line)], Some("@@".as_ref()), "sh".as_ref());
            let argv = template.unwrap().render(b"", 1, 1).unwrap();
            prop_assert_eq!(&argv[..words.len()], &words[..]);
        }
    }

    #[test]
    fn no_journal_makes_the_parser_panic(text in vec(any::<u8>(), 0..200)) {
        let _ = parse_journal(text.as_slice(), "x").unwrap();
        let mut begun = b"windlass-journal 1 af63f54c86021707\n".to_vec();
        begun.extend(&text);
        let parsed = parse_journal(begun.as_slice(), "x").unwrap();
        prop_assert!(parsed.err() != Some(JournalError::OtherCommand));
    }

    #[test]
    fn no_setting_or_time_makes_the_parser_panic(text in ".{0,12}") {
        let _ = text.parse::<attach::Assignment>();
        let _ = duration::parse(&text);
    }
}

#[test]
fn a_shell_reads_a_placeholder_as_one_word_wherever_it_stands() {
    let values: [&[u8]; 6] = [b"a b", b"$(id)", b"`id`", b"it's \"x\"", b"*", b"a\nb;\\"];
    for place in [
        "{} | cat",
        "\"{}\" | cat",
        "'{}' | cat",
        "\"$(printf %s {})\" | cat",
    ] {
        let command = OsString::from(format!("printf %s {place}"));
        let template = Template::new(&[command], None, "sh".as_ref()).unwrap();
        for value in values {
            let argv = template.render(value, 1, 1).unwrap();
            let output = Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
            let shown = argv[2].as_bytes().escape_ascii().to_string();
            assert_eq!(output.stdout, value, "{shown}");
        }
    }
}

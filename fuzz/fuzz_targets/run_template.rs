//! Any bytes as a command of `windlass run`, as its input and as the string of `-I`: a value is one word of
//! what is executed, or a parameter of the shell, and never a part of the script. The same bytes as the other
//! texts that the program reads.

#![no_main]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use libfuzzer_sys::fuzz_target;
use windlass_cli::run::{CommandLine, Template, parse_command_line, parse_journal};
use windlass_cli::{attach, duration, engine, worker};

fuzz_target!(|bytes: &[u8]| {
    let _ = parse_journal(bytes, "x");
    if let Ok(list) = worker::AllowList::parse(bytes, Some(OsStr::new("/bin"))) {
        let _ = list.command(&["sh".into(), OsString::from_vec(bytes.to_vec())]);
        let _ = list.interpreters();
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = duration::parse(text);
        let _ = text.parse::<attach::Assignment>();
        let _ = text.parse::<engine::EngineAddress>();
    }
    // The command, then a NUL and the input, then a NUL and the string of `-I`, which may be empty.
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let command = parts.next().unwrap_or_default();
    let input = parts.next().unwrap_or_default();
    let replace = parts.next();
    check(command, input, replace);
});

fn check(command: &[u8], input: &[u8], replace: Option<&[u8]>) {
    let Ok(line) = parse_command_line(command, replace) else {
        return;
    };
    let command = OsString::from_vec(command.to_vec());
    let replace = replace.map(OsStr::from_bytes);
    let template = Template::new(&[command], replace, "sh".as_ref()).expect("it was parsed before");
    let argv = template
        .render(input, 1, 1)
        .expect("a command with a template is parsed once");
    let other = template
        .render(b"\x01other\x01", 1, 1)
        .expect("so it is for another input");
    assert_eq!(
        argv.len(),
        other.len(),
        "the number of words depends on the input"
    );
    if matches!(line, CommandLine::Shell { .. }) {
        assert_eq!(
            argv[2].as_bytes(),
            other[2].as_bytes(),
            "the script depends on the input"
        );
    }
}

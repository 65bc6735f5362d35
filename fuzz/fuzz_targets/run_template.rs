//! Any bytes as a command of `windlass run` and as its input: a value is one word of what is executed,
//! or a parameter of the shell, and never a part of the script.

#![no_main]

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use libfuzzer_sys::fuzz_target;
use windlass_cli::run::{CommandLine, Template, parse_command_line, parse_journal};

fuzz_target!(|bytes: &[u8]| {
    let _ = parse_journal(bytes, "x");
    let cut = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    let (command, input) = bytes.split_at(cut);
    let input = input.strip_prefix(&[0]).unwrap_or(input);
    let Ok(line) = parse_command_line(command, None) else {
        return;
    };
    let command = OsString::from_vec(command.to_vec());
    let template = Template::new(&[command], None, "sh".as_ref()).expect("it was parsed before");
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
});

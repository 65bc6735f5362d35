//! `windlass run`: what jobs write, and where it goes.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::fs::File;
use std::process::{Command, Stdio};

use support::{
    processes_with, run, run_with_input, sorted_lines, stderr, stdout, wait_for_end, wait_until,
    windlass,
};

#[test]
fn outputs_are_kept_in_order_though_the_first_job_ends_last() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    let command = format!(
        "if test {{}} = 1; then while ! test -e {0}; do sleep 0.01; done; fi; echo {{}}; \
         if test {{}} = 10; then touch {0}; fi",
        file.display()
    );
    let inputs = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
    let output = run_with_input(["-j", "2", "-k", &command], inputs.as_bytes());
    assert_eq!(stdout(&output), inputs);
    std::fs::remove_file(&file).unwrap();
    let output = run_with_input(["-j", "2", &command], inputs.as_bytes());
    // Which of the first and the last job ends first is open: both have only to end.
    let text = stdout(&output);
    let last = text.strip_prefix("2\n3\n4\n5\n6\n7\n8\n9\n");
    assert!(matches!(last, Some("1\n10\n" | "10\n1\n")), "{text}");
}

/// Each job prints fifty lines of its number in pieces.
const PIECES: &str =
    "for i in 1 2 3 4 5 6 7 8 9 10; do printf {}; printf {}; echo .{}; echo {}{} >&2; done";

#[test]
fn the_output_of_a_job_is_never_mixed_with_that_of_another() {
    let inputs: String = (100..180).map(|n| format!("{n}\n")).collect();
    let output = run_with_input(["-j", "8", PIECES], inputs.as_bytes());
    let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 800);
    for block in lines.chunks(10) {
        let number = &block[0][..3];
        let expected = format!("{number}{number}.{number}");
        assert!(block.iter().all(|line| *line == expected), "{block:?}");
    }
}

#[test]
fn with_line_buffer_no_line_is_mixed() {
    let inputs: String = (100..180).map(|n| format!("{n}\n")).collect();
    let output = run_with_input(["-j", "8", "--line-buffer", PIECES], inputs.as_bytes());
    for (text, count) in [(stdout(&output), 3), (stderr(&output), 2)] {
        assert_eq!(text.lines().count(), 800);
        for line in text.lines() {
            assert_eq!(line.replace('.', ""), line[..3].repeat(count), "{line}");
        }
    }
}

#[test]
fn with_line_buffer_a_line_is_there_before_its_job_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (out, gate) = (folder.path().join("out"), folder.path().join("gate"));
    let command = format!(
        "echo a; while ! test -e {}; do sleep 0.01; done; printf {{}}",
        gate.display()
    );
    let child = windlass()
        .args(["run", "--line-buffer", &command, ":::", "b"])
        .stdout(File::create(&out).unwrap())
        .spawn()
        .unwrap();
    wait_until("the line is written", || {
        std::fs::read(&out).unwrap() == b"a\n"
    });
    std::fs::write(gate, "").unwrap();
    wait_for_end(child);
    assert_eq!(std::fs::read(&out).unwrap(), b"a\nb");
}

#[test]
fn jobs_without_a_newline_do_not_share_a_line() {
    let output = run(["-k", "printf %s", ":::", "a", "b"]);
    assert_eq!(stdout(&output), "a\nb");
}

#[test]
fn what_does_not_fit_in_memory_is_written_whole_and_in_order() {
    // Four megabytes a job, more than what is kept in memory for each.
    let command = "head -c 4000000 /dev/zero | tr '\\0' {}; echo";
    let output = run(["-j", "4", "-k", command, ":::", "a", "b", "c", "d", "e"]);
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 5);
    for (line, letter) in text.lines().zip(["a", "b", "c", "d", "e"]) {
        assert!(line.len() == 4_000_000 && line.trim_matches(|c| letter.starts_with(c)).is_empty());
    }
}

#[test]
fn both_outputs_of_a_job_stay_what_they_are() {
    let output = run(["echo out{}; echo err{} >&2", ":::", "1"]);
    assert_eq!(
        (stdout(&output), stderr(&output)),
        ("out1\n".into(), "err1\n".into())
    );
}

#[test]
fn ungrouped_jobs_write_themselves() {
    let output = run(["-u", "echo", ":::", "1", "2"]);
    assert_eq!(sorted_lines(&output), ["1", "2"]);
}

#[test]
fn when_nobody_reads_the_output_the_run_ends_quietly() {
    let script = format!(
        "yes | {} run -j 2 'echo {{}}; exec 9>&-; sleep 0.01' | head -n 1; echo ${{PIPESTATUS[1]}}",
        env!("CARGO_BIN_EXE_windlass")
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(
        (stdout(&output), stderr(&output)),
        ("y\n141\n".into(), String::new())
    );
}

#[test]
fn jobs_do_not_outlive_the_reader_of_their_output() {
    // The second job would sleep for a week, with a number of its own to be found by.
    let marker = format!("604{}", std::process::id());
    let command = format!("if test {{}} = 1; then echo 1; else exec sleep {marker}; fi");
    let mut child = windlass()
        .args(["run", "-j", "2", &command, ":::", "2", "1", "1", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(processes_with(&marker), [0_u32; 0]);
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    let output = windlass()
        .args(["run", "echo", ":::", "1"])
        .stdout(File::options().write(true).open("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("\nended: cannot write the output: No space left"),
        "{}",
        stderr(&output)
    );

    let output = run([
        "--summary-file",
        "/dev/full",
        "--summary",
        "always",
        "true",
        ":::",
        "1",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot write the summary"));

    for arguments in [&["completions", "bash"][..], &["--help"], &["--version"]] {
        let output = windlass()
            .args(arguments)
            .stdout(File::options().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains("No space left"), "{arguments:?}");
    }
}

#[test]
fn output_that_cannot_be_kept_is_no_command_that_did_not_start() {
    let output = windlass()
        .args(["run", "head -c 4000000", ":::", "/dev/zero"])
        .env("TMPDIR", "/no such folder")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(
        told.contains("/dev/zero: lost: cannot keep the output of job 1"),
        "{told}"
    );
    assert!(
        told.contains("TMPDIR") && !told.contains("not started"),
        "{told}"
    );
}

#[test]
fn there_are_no_colours_off_a_terminal() {
    let output = run(["false", ":::", "1"]);
    assert!(stderr(&output).contains("failed") && !stderr(&output).contains('\x1b'));
    let output = run(["no-such-program", ":::", "1"]);
    assert!(stderr(&output).contains("hint:") && !stderr(&output).contains('\x1b'));
}

/// Prints the commands of this many inputs, and returns the peak of the memory, in kilobytes.
fn peak_of(inputs: u64, order: &[&str]) -> u64 {
    let mut numbers = Command::new("seq")
        .arg(inputs.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = windlass()
        .args(["run", "-n", "-j", "4"])
        .args(order)
        .arg("echo")
        .stdin(numbers.stdout.take().unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let pause = std::time::Duration::from_millis(1);
    support::wait_until_every(pause, "the run has ended", || {
        let path = format!("/proc/{}/status", child.id());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        child.try_wait().unwrap().is_some()
    });
    assert!(numbers.wait().unwrap().success() && peak > 0);
    peak
}

#[test]
fn the_memory_of_a_run_does_not_grow_with_its_inputs() {
    let (few, many) = (peak_of(10_000, &["-k"]), peak_of(100_000, &["-k"]));
    assert!(
        many < few + 4_000,
        "{few} kB for 10,000 inputs, {many} kB for 100,000"
    );
}

/// `WINDLASS_INPUTS=1000000` takes half a minute in release.
#[test]
fn many_inputs_take_no_more_than_32_megabytes() {
    let inputs = std::env::var("WINDLASS_INPUTS").map_or(50_000, |inputs| inputs.parse().unwrap());
    for order in [&[][..], &["-k"]] {
        let peak = peak_of(inputs, order);
        assert!(peak < 32_000, "{peak} kB");
    }
}

//! `windlass run`: commands, inputs, exit codes.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use support::{
    run, run_with_input, sorted_lines, stderr, stdout, summary, wait_for_end, wait_until, windlass,
};

#[test]
fn every_placeholder_is_replaced() {
    let output = run(["echo {} {.} {/} {//} {/.} {#} {%}", ":::", "a/b c.d"]);
    assert_eq!(stdout(&output), "a/b c.d a/b c b c.d a b c 1 1\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn inputs_come_from_arguments_a_file_or_standard_input() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "1\n2\n\n3").unwrap();
    let path = file.path().to_str().unwrap();
    let expected = ["1", "2", "3"];
    assert_eq!(sorted_lines(&run(["echo", ":::", "1", "2", "3"])), expected);
    assert_eq!(sorted_lines(&run(["-a", path, "echo"])), expected);
    assert_eq!(
        sorted_lines(&run_with_input(["echo"], b"1\n2\n\n3")),
        expected
    );
    assert_eq!(
        sorted_lines(&run_with_input(["-a", "-", "echo"], b"1\n2\n3\n")),
        expected
    );
}

#[test]
fn with_nul_as_separator_an_input_may_contain_newlines() {
    let output = run_with_input(["-0k", "printf '<%s>'"], b"a\nb\0c\0");
    assert_eq!(stdout(&output), "<a\nb>\n<c>");
}

#[test]
fn a_name_that_is_not_utf8_reaches_the_command_as_it_is() {
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    let output = run([OsStr::new("printf %s {.}"), OsStr::new(":::"), name]);
    assert_eq!(output.stdout, b"caf\xe9");
    let output = run_with_input(["-k", "printf '%s\\n' {} | cat"], b"\xff\xfe\nb\n");
    assert_eq!(output.stdout, b"\xff\xfe\nb\n");
    let output = run([
        OsStr::new("--json"),
        OsStr::new("false"),
        OsStr::new(":::"),
        name,
    ]);
    assert_eq!(summary(&output)["failures"][0]["input"], "caf\u{fffd}.txt");
}

#[test]
fn an_input_is_never_shell_code() {
    let evil = "$(echo no) `echo no` \"; echo no; ' | & > x * \\";
    for command in [
        "echo {}",
        "echo {} | cat",
        "echo \"{}\" | cat",
        "echo '{}' | cat",
    ] {
        let output = run([command, ":::", evil]);
        assert_eq!(stdout(&output), format!("{evil}\n"), "{command}");
    }
}

#[test]
fn without_a_command_each_input_is_one() {
    let output = run_with_input(["-k"], b"echo a b\necho c | tr c d\necho '{}'\n");
    assert_eq!(stdout(&output), "a b\nd\n{}\n");
}

#[test]
fn another_string_can_take_the_place_of_braces() {
    let output = run(["-I", "@", "echo @ {} {#}", ":::", "x"]);
    assert_eq!(stdout(&output), "x {} 1\n");
}

#[test]
fn an_empty_input_runs_nothing_and_is_no_failure() {
    for output in [
        run(["false", ":::"]),
        run_with_input(["false"], b""),
        run_with_input(["false"], b"\n\n"),
    ] {
        assert_eq!(output.status.code(), Some(0));
        assert!(
            output.stdout.is_empty() && output.stderr.is_empty(),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn a_wrong_command_line_is_explained() {
    let cases: [(&[&str], i32, &str); 9] = [
        (&["echo 'a", ":::", "1"], 2, "never closed"),
        (&["-j", "0", "echo"], 2, "--threads"),
        (&["--timeout", "soon", "echo"], 2, "is not a time"),
        (&["--no-such-option"], 2, "unexpected argument"),
        (&["--resume", "echo"], 2, "--journal"),
        (&["-k", "--line-buffer", "echo"], 2, "cannot be used with"),
        (&["-a", "/no/such/file", "echo"], 1, "hint: -a names a file"),
        (&["-a", "x", "echo", ":::", "1"], 2, "given twice"),
        (&["no-such-program", ":::", "1"], 127, "in PATH?"),
    ];
    for (arguments, code, text) in cases {
        let output = run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains(text),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
    let output = run(["/etc/passwd", ":::", "1"]);
    assert_eq!(output.status.code(), Some(126));
}

#[test]
fn a_failure_is_in_the_exit_code_and_the_other_jobs_run() {
    let output = run(["-k", "echo {}; test {} != 2", ":::", "1", "2", "3"]);
    assert_eq!(stdout(&output), "1\n2\n3\n");
    assert_eq!(output.status.code(), Some(123));
    assert!(
        stderr(&output).contains("2 2: exit status 1"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_command_that_is_not_there_fails_its_job_only() {
    let output = run_with_input(["--json", "-k"], b"no-such-program\necho ok\n");
    assert_eq!(stdout(&output), "ok\n");
    assert_eq!(output.status.code(), Some(123));
    let summary = summary(&output);
    assert_eq!(summary["failures"][0]["outcome"], "unstarted:127");
    assert_eq!(summary["succeeded"], 1);
}

#[test]
fn halt_starts_nothing_after_a_failure() {
    for halt in ["soon", "now"] {
        let inputs = (1..=500).map(|n| format!("{n}\n")).collect::<String>();
        let arguments = [
            "-j",
            "1",
            "-k",
            "--json",
            "--halt",
            halt,
            "echo {}; test {} -lt 3",
        ];
        let output = run_with_input(arguments, inputs.as_bytes());
        assert_eq!(stdout(&output), "1\n2\n3\n", "{halt}");
        assert_eq!(output.status.code(), Some(123));
        let summary = summary(&output);
        assert_eq!(
            (&summary["succeeded"], &summary["failed"]),
            (&2.into(), &1.into())
        );
    }
}

#[test]
fn halt_now_ends_the_jobs_that_run() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let command = format!(
        "if test {{}} = 1; then touch {0}; sleep 1000; else while ! test -e {0}; do sleep 0.01; done; false; fi",
        ready.display()
    );
    let output = run([
        "-j", "2", "--halt", "now", "--json", &command, ":::", "1", "2",
    ]);
    let summary = summary(&output);
    assert_eq!(summary["failed"], 2, "{summary}");
    assert_eq!(output.status.code(), Some(123));
}

#[test]
fn halt_acts_after_the_given_number_of_failures() {
    let arguments = [
        "-j",
        "1",
        "--halt",
        "soon",
        "--max-failures",
        "3",
        "--json",
        "false",
    ];
    let output = run_with_input(arguments, "x\n".repeat(100).as_bytes());
    assert_eq!(summary(&output)["failed"], 3);
}

#[test]
fn a_failed_job_is_tried_again_and_the_last_attempt_counts() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let command = format!(
        ": {{}}; echo x >> {0}; n=$(wc -l < {0}); echo attempt $n; test $n -eq 3",
        log.display()
    );
    let output = run([
        "--retries",
        "5",
        "--retry-delay",
        "1ms",
        "--json",
        &command,
        ":::",
        "1",
    ]);
    assert_eq!(stdout(&output), "attempt 3\n");
    assert_eq!(output.status.code(), Some(0));
    let summary = summary(&output);
    assert_eq!(
        (&summary["succeeded"], &summary["retries"]),
        (&1.into(), &2.into())
    );
}

#[test]
fn a_job_fails_when_its_attempts_are_used_up() {
    let output = run([
        "--retries",
        "2",
        "--retry-delay",
        "0",
        "--json",
        "false",
        ":::",
        "1",
    ]);
    assert_eq!(summary(&output)["failures"][0]["attempts"], 3);
}

#[test]
fn no_more_jobs_run_at_a_time_than_there_are_threads() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let command = format!(
        "echo + >> {0}; sleep 0.02; echo - >> {0}; echo {{%}}",
        log.display()
    );
    let output = run_with_input(["-j", "3", &command], "x\n".repeat(30).as_bytes());
    let (mut now, mut most) = (0_i32, 0);
    for line in std::fs::read_to_string(log).unwrap().lines() {
        now += if line == "+" { 1 } else { -1 };
        most = most.max(now);
    }
    assert_eq!((now, most), (0, 3));
    let mut slots = sorted_lines(&output);
    slots.dedup();
    assert_eq!(slots, ["1", "2", "3"]);
}

/// Runs five jobs on one thread with a queue of one, which end when the intake has ended (or at once, if
/// the policy keeps every input). Returns how many succeeded and were rejected, and the outputs.
fn fill_the_queue(policy: &str, keeps_all: bool) -> (u64, u64, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (gate, fifo) = (folder.path().join("gate"), folder.path().join("fifo"));
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let wait = format!(
        "while ! test -e {}; do sleep 0.01; done; echo {{}}",
        gate.display()
    );
    let child = windlass()
        .args([
            "run",
            "-j",
            "1",
            "-q",
            "1",
            "--json",
            "--when-full",
            policy,
            "-a",
        ])
        .args([fifo.as_os_str(), OsStr::new(&wait)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::write(&fifo, "1\n2\n3\n4\n5\n").unwrap();
    if !keeps_all {
        wait_until("nobody reads the inputs any more", || {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            rustix::fs::open(&fifo, flags, Mode::empty()).is_err()
        });
    }
    std::fs::write(&gate, "").unwrap();
    let output = wait_for_end(child);
    let summary = summary(&output);
    let number = |name: &str| summary[name].as_u64().unwrap();
    (
        number("succeeded"),
        number("rejected"),
        sorted_lines(&output),
    )
}

#[test]
fn a_full_queue_does_what_its_policy_says() {
    for policy in ["block", "caller-runs"] {
        let all = ["1", "2", "3", "4", "5"].map(str::to_owned).to_vec();
        assert_eq!(fill_the_queue(policy, true), (5, 0, all), "{policy}");
    }
    for policy in ["abort", "discard"] {
        let expected = (2, 3, vec!["1".to_owned(), "2".to_owned()]);
        assert_eq!(fill_the_queue(policy, false), expected, "{policy}");
    }
    let expected = (2, 3, vec!["1".to_owned(), "5".to_owned()]);
    assert_eq!(fill_the_queue("discard-oldest", false), expected);
}

#[test]
fn a_dry_run_prints_what_a_shell_would_run_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    let command = format!("touch {}", file.display());
    let output = run(["-n", &command, ":::", "a b"]);
    assert_eq!(stdout(&output), format!("touch {} 'a b'\n", file.display()));
    assert!(!file.exists());
    let output = run(["-n", "wc < {}", ":::", "it's"]);
    assert_eq!(stdout(&output), "sh -c 'wc < \"${1}\"' sh 'it'\\''s'\n");
}

#[test]
fn the_summary_accounts_for_every_input() {
    let inputs = (1..=200).map(|n| format!("{n}\n")).collect::<String>();
    let output = run_with_input(
        ["-j", "4", "--json", "test $(( {#} % 10 )) != 0"],
        inputs.as_bytes(),
    );
    let summary = summary(&output);
    assert_eq!(summary["inputs"], 200);
    assert_eq!(
        (&summary["succeeded"], &summary["failed"]),
        (&180.into(), &20.into())
    );
    assert_eq!(summary["failures"].as_array().unwrap().len(), 20);
    let (p50, p99) = (
        summary["run"]["p50"].as_f64(),
        summary["run"]["p99"].as_f64(),
    );
    assert!(p50 > Some(0.0) && p50 <= p99);
    let used = summary["utilisation"].as_f64().unwrap();
    assert!(used > 0.0 && used <= 1.0);
}

#[test]
fn the_summary_can_go_to_a_file_and_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("summary.json");
    let output = run([
        "--json",
        "--summary-file",
        file.to_str().unwrap(),
        "true",
        ":::",
        "1",
    ]);
    assert!(output.stderr.is_empty());
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["succeeded"],
        1
    );
    let output = run(["--quiet", "false", ":::", "1"]);
    assert!(output.stderr.is_empty());
    assert_eq!(output.status.code(), Some(123));
}

#[test]
fn jobs_know_their_number_and_read_nothing() {
    let output = run([
        "-k",
        "echo $WINDLASS_SEQ $WINDLASS_SLOT; cat",
        ":::",
        "/dev/null",
    ]);
    assert_eq!(stdout(&output), "1 1\n");
    let output = run_with_input(["-k", "sh -c 'cat; echo {}'"], b"1\n2\n");
    assert_eq!(stdout(&output), "1\n2\n");
}

#[test]
fn completions_and_manual_pages_come_from_the_same_definitions() {
    for shell in ["bash", "zsh", "fish"] {
        let output = windlass().args(["completions", shell]).output().unwrap();
        assert!(stdout(&output).contains("keep-order"), "{shell}");
    }
    let output = windlass().arg("man").output().unwrap();
    assert!(stdout(&output).starts_with(".ie") || stdout(&output).contains(".TH windlass"));
    let folder = tempfile::tempdir().unwrap();
    let status = windlass()
        .arg("man")
        .arg("--folder")
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    let page = std::fs::read_to_string(folder.path().join("windlass-run.1")).unwrap();
    assert!(page.contains("keep") && page.contains("Examples"));
    let page = folder.path().join("windlass-queue-dead-retry.1");
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .contains("ready again")
    );
}

#[test]
fn help_explains_placeholders_and_exit_codes() {
    let output = windlass().args(["run", "--help"]).output().unwrap();
    for text in [
        "{//}",
        "Examples:",
        "Exit codes:",
        "--when-full",
        "discard-oldest",
    ] {
        assert!(stdout(&output).contains(text), "{text}");
    }
    let output = windlass().args(["worker", "--help"]).output().unwrap();
    for text in [
        "sh: wc -l",
        "WINDLASS_ENGINE",
        "gives the tasks back",
        "Exit codes:",
    ] {
        assert!(stdout(&output).contains(text), "{text}");
    }
}

/// Fails unless the arguments are refused as a wrong command line, with this text and a hint.
fn refused(arguments: &[&str], text: &str) {
    let child = windlass()
        .arg("run")
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = support::wait_for_end(child);
    let shown = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {shown}");
    assert!(shown.contains(text), "{arguments:?}: {shown}");
    assert!(shown.contains("hint:"), "{arguments:?}: {shown}");
}

#[test]
fn an_empty_string_takes_the_place_of_nothing() {
    refused(&["-I", "", "echo x", ":::", "a"], "-I");
    refused(&["-I", "", "echo", "x", ":::", "a"], "-I");
}

#[test]
fn a_second_list_of_inputs_is_refused() {
    refused(&["echo", ":::", "a", ":::", "b"], ":::");
    refused(&["echo", "::::", "file"], "::::");
    refused(&["echo", ":::", "a", "::::", "file"], "::::");
    refused(&["echo", ":::", "a", ":::+", "b"], ":::+");
}

#[test]
fn an_endless_wait_for_another_attempt_ends_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let child = windlass()
        .args(["run", "-j", "1", "-k", "--json", "-r", "1"])
        .args(["--retry-delay", "200000000000000d"])
        .args(["--retry-max-delay", "200000000000000d"])
        .arg(format!("touch {}; false {{}}", ran.display()))
        .args([":::", "a", "b"])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    support::wait_for_file(&ran);
    // Whether the job waits for its second attempt already or not: it has failed.
    support::kill(&child, "INT");
    let output = support::wait_for_end(child);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let summary = summary(&output);
    assert_eq!(
        (&summary["failed"], &summary["not_run"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_number_of_threads_that_makes_no_sense_is_explained() {
    for number in ["0", "-1", "two"] {
        let output = run([format!("-j={number}").as_str(), "true", ":::", "1"]);
        assert_eq!(output.status.code(), Some(2), "{number}");
        let told = stderr(&output);
        assert!(told.contains("from 1; without this option"), "{told}");
    }
}

#[test]
fn the_summary_file_is_written_whatever_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["--quiet"][..], &["--summary", "never"]] {
        let path = folder.path().join(options.concat());
        let file = path.to_str().unwrap();
        let output = run([
            options,
            &["--summary-file", file, "--json", "true", ":::", "1"],
        ]
        .concat());
        assert_eq!(stderr(&output), "", "{options:?}");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text.contains("\"succeeded\":1"), "{options:?}: {text:?}");
    }
}

#[test]
fn a_summary_file_that_cannot_be_written_is_noticed_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (file, touched) = (folder.path().join("no/such"), folder.path().join("ran"));
    let command = format!("touch {}", touched.display());
    let output = run([
        "--summary-file",
        file.to_str().unwrap(),
        &command,
        ":::",
        "",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!touched.exists(), "a job was run");
}

#[test]
fn bash_runs_no_input() {
    let folder = tempfile::tempdir().unwrap();
    let pwned = folder.path().join("pwned");
    let evil = format!("a[$(touch {})]", pwned.display());
    for command in [
        "echo $(( {} + 1 ))",
        "[[ {} -eq 1 ]] && echo",
        "(( {} )) && echo",
        "echo ${HOME:{}}",
    ] {
        refused(
            &["--shell", "bash", command, ":::", &evil],
            "a placeholder stands in",
        );
    }
    for command in [
        "[[ {} == x ]] || echo {}",
        "cat <<< {}",
        "echo $'it\\'s:' {} | cut -d: -f2-",
    ] {
        let output = run(["--shell", "bash", command, ":::", &evil]);
        assert_eq!(
            stdout(&output).trim(),
            evil,
            "{command}: {}",
            stderr(&output)
        );
    }
    assert!(!pwned.exists(), "the input was run");
}

#[test]
fn an_input_is_not_added_where_it_would_be_a_command() {
    for command in [
        "true;",
        "true &",
        "true |",
        "true &&",
        "echo hi # note",
        "(true)",
    ] {
        refused(&[command, ":::", "ls"], "cannot be added at its end");
    }
    let output = run(["cd / && echo", ":::", "a"]);
    assert_eq!(stdout(&output), "a\n");
}

#[test]
fn more_threads_than_open_files_allow_are_fewer_threads_and_no_failure() {
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let limited = |limits: &str, threads: u32| {
        let script = format!("{limits} && exec {windlass} run --json -j {threads} true");
        let input: String = (0..200).map(|n| format!("{n}\n")).collect();
        let mut command = std::process::Command::new("sh");
        support::output_of(command.args(["-c", &script]), input.as_bytes())
    };
    // The hard limit allows no more.
    let output = limited("ulimit -n 128", 100);
    assert!(
        stderr(&output).contains("8 threads instead of 100"),
        "{}",
        stderr(&output)
    );
    assert_eq!(summary(&output)["succeeded"], 200);
    // It does, and the soft limit is raised.
    let output = limited("ulimit -Sn 64", 20);
    assert_eq!(summary(&output)["succeeded"], 200, "{}", stderr(&output));
    assert_eq!(summary(&output)["threads"], 20);
}

#[test]
#[cfg(target_os = "linux")]
fn a_job_ignores_what_windlass_was_told_to_ignore_and_no_more() {
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let ignored = |script: &str| {
        let script = format!("{script} exec {windlass} run grep SigIgn ::: /proc/self/status");
        let mut command = std::process::Command::new("sh");
        let output = support::output_of(command.args(["-c", &script]), b"");
        let mask = stdout(&output).replace("SigIgn:", "");
        u64::from_str_radix(mask.trim(), 16).unwrap()
    };
    let (hangup, pipe) = (1 << 0, 1 << 12);
    // What the test itself ignores is ignored in any case.
    let before = ignored("");
    assert_eq!(before & pipe, 0);
    assert_eq!(ignored("trap '' HUP USR1;"), before | hangup | 1 << 9);
}

#[test]
fn a_run_inside_a_run_has_variables_of_its_own() {
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let inner = format!("echo 'env | grep ^WINDLASS_SEQ' | {windlass} run; : {{}}");
    let output = run(["-j", "1", &inner, ":::", "x", "y"]);
    assert_eq!(stdout(&output), "WINDLASS_SEQ=1\nWINDLASS_SEQ=1\n");
}

#[test]
fn a_reader_that_goes_away_ends_the_other_commands_quietly() {
    for arguments in [
        &[
            "size",
            "--rate",
            "500",
            "--service",
            "15ms",
            "-j",
            "8",
            "--tasks",
            "1000",
        ][..],
        &["man"],
        &["completions", "bash"],
        &["demo", "--port", "0"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = windlass()
            .args(arguments)
            .stdout(writer)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let output = support::wait_for_end(child);
        let shown = (stderr(&output), output.status.code());
        assert_eq!(shown, (String::new(), Some(141)), "{arguments:?}");
    }
}

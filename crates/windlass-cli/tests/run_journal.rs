//! `windlass run`: the journal, and runs that go on where another stopped.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Output;

use support::{kill, run, stderr, stdout, summary, wait_until, windlass};

fn resume(journal: &Path, options: &[&str], command: &str, inputs: &[String]) -> Output {
    let mut arguments = vec!["--journal", journal.to_str().unwrap(), "--json", "-k"];
    arguments.extend(options);
    arguments.extend([command, ":::"]);
    arguments.extend(inputs.iter().map(String::as_str));
    run(arguments)
}

fn numbers(count: u32) -> Vec<String> {
    (1..=count).map(|n| n.to_string()).collect()
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, log) = (folder.path().join("journal"), folder.path().join("log"));
    let command = format!("echo {{}} >> {}; sleep 0.02; echo {{}}", log.display());
    let mut child = windlass()
        .args([
            "run",
            "-j",
            "2",
            "--journal",
            journal.to_str().unwrap(),
            &command,
            ":::",
        ])
        .args(numbers(60))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let lines = |path: &Path| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
    wait_until("some jobs are recorded", || lines(&journal) > 10);
    kill(&child, "KILL");
    child.wait().unwrap();

    let output = resume(&journal, &["--resume"], &command, &numbers(60));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary = summary(&output);
    let (resumed, succeeded) = (&summary["resumed"], &summary["succeeded"]);
    assert!(resumed.as_u64().unwrap() >= 10);
    assert_eq!(resumed.as_u64().unwrap() + succeeded.as_u64().unwrap(), 60);
    let text = std::fs::read_to_string(&log).unwrap();
    let ran: BTreeSet<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ran.len(), 60, "every input was run");
    // Two jobs ran when it was killed; no other is run twice.
    assert!(text.lines().count() <= 62, "{}", text.lines().count());
}

#[test]
fn failed_jobs_are_run_again_only_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let command = format!(
        "echo {{}}; test {{}} != 2 || test -e {}/ok",
        folder.path().display()
    );
    let inputs = numbers(3);
    let output = resume(&journal, &[], &command, &inputs);
    assert_eq!(
        (stdout(&output), output.status.code()),
        ("1\n2\n3\n".into(), Some(123))
    );
    let output = resume(&journal, &["--resume"], &command, &inputs);
    // Nothing is run, but not everything is done either.
    assert_eq!(
        (stdout(&output), output.status.code()),
        (String::new(), Some(123))
    );
    let counts = summary(&output);
    assert_eq!(
        (&counts["resumed"], &counts["failed_before"]),
        (&2.into(), &1.into())
    );
    std::fs::write(folder.path().join("ok"), "").unwrap();
    let output = resume(&journal, &["--resume-failed"], &command, &inputs);
    assert_eq!(
        (stdout(&output), output.status.code()),
        ("2\n".into(), Some(0))
    );
    let output = resume(&journal, &["--resume-failed"], &command, &inputs);
    assert_eq!(stdout(&output), "");
}

#[test]
fn half_a_line_at_the_end_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    resume(&journal, &[], "echo", &numbers(3));
    let text = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &text[..text.len() - 3]).unwrap();
    let output = resume(&journal, &["--resume"], "echo", &numbers(3));
    assert_eq!(summary(&output)["succeeded"], 1);
    assert_eq!(
        std::fs::read_to_string(&journal).unwrap().lines().count(),
        4
    );
}

#[test]
fn a_journal_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    resume(&journal, &[], "echo", &numbers(2));
    let refused = |options: &[&str], command: &str, inputs: &[String], text: &str| {
        let output = resume(&journal, options, command, inputs);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(stderr(&output).contains(text), "{}", stderr(&output));
    };
    refused(&[], "echo", &numbers(2), "--resume goes on");
    refused(
        &["--resume"],
        "printf",
        &numbers(2),
        "belongs to another command",
    );
    refused(
        &["--resume"],
        "echo",
        &["2".into()],
        "not the one that the journal records",
    );
    std::fs::write(&journal, "my notes\n").unwrap();
    refused(&["--resume"], "echo", &numbers(2), "not a journal");
    assert_eq!(std::fs::read(&journal).unwrap(), b"my notes\n");
}

#[test]
fn two_runs_do_not_share_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut child = windlass()
        .args(["run", "--journal", journal.to_str().unwrap(), "cat"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the journal is there", || {
        std::fs::read(&journal).is_ok_and(|text| !text.is_empty())
    });
    let output = resume(&journal, &["--resume"], "cat", &[]);
    assert!(
        stderr(&output).contains("another run writes"),
        "{}",
        stderr(&output)
    );
    child.stdin.take().unwrap().flush().unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_journal_on_a_full_disk_ends_the_run() {
    let output = run(["--journal", "/dev/full", "echo", ":::", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("cannot use the journal /dev/full"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_dry_run_records_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let command = format!("touch {}/f-{{}}", folder.path().display());
    let output = resume(&journal, &["-n"], &command, &numbers(2));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!journal.exists(), "a dry run has created the journal");
    let output = resume(&journal, &["--resume"], &command, &numbers(2));
    assert_eq!(summary(&output)["succeeded"], 2, "{}", stderr(&output));
    assert!(folder.path().join("f-1").exists() && folder.path().join("f-2").exists());
}

#[test]
fn a_dry_run_of_a_resumed_run_prints_what_is_left_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    resume(&journal, &[], "echo", &numbers(2));
    // Half a line, as a crash leaves it.
    let mut text = std::fs::read(&journal).unwrap();
    text.extend_from_slice(b"3\tok");
    std::fs::write(&journal, &text).unwrap();
    let output = resume(&journal, &["-n", "--resume"], "echo", &numbers(3));
    assert_eq!(stdout(&output), "echo 3\n");
    assert_eq!(std::fs::read(&journal).unwrap(), text);
    // What the run would refuse, the dry run refuses.
    let output = resume(&journal, &["-n"], "echo", &numbers(3));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--resume goes on"));
}

//! `windlass run`: signals, time limits, and that nothing of a job is left behind.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use support::{
    is_alive, kill, kill_pid, processes_with, read_until, run, stdout, summary, wait_for_end,
    wait_for_file, wait_until, windlass,
};

/// Starts a run on one thread whose first job runs this script; `$0` is a folder for its files.
fn start(folder: &Path, options: &[&str], script: &str) -> Child {
    let command = format!("cd {}; {script}", folder.display());
    windlass()
        .args(["run", "-j", "1", "--json"])
        .args(options)
        .args([&command, ":::", "1", "2", "3"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A script that says that it is ready and then waits for a file.
const READY_AND_WAIT: &str = "touch ready; while ! test -e go; do sleep 0.01; done; echo {}";

fn pid_in(file: &PathBuf) -> u32 {
    wait_until("the file has a number", || {
        std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n'))
    });
    std::fs::read_to_string(file)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn the_first_ctrl_c_starts_nothing_more_and_lets_running_jobs_end() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), &[], READY_AND_WAIT);
    wait_for_file(&folder.path().join("ready"));
    kill(&child, "INT");
    // The job ends after the signal was received: the message says that it was.
    let go = folder.path().join("go");
    let output = {
        let mut child = child;
        let mut stderr = child.stderr.take().unwrap();
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains("no more jobs") {
            let mut byte = [0];
            std::io::Read::read_exact(&mut stderr, &mut byte).unwrap();
            seen.push(byte[0]);
        }
        std::fs::write(go, "").unwrap();
        wait_for_end(child)
    };
    assert_eq!(stdout(&output), "1\n");
    assert_eq!(output.status.code(), Some(130));
}

#[test]
fn the_second_ctrl_c_terminates_jobs_and_the_third_kills_them() {
    let folder = tempfile::tempdir().unwrap();
    let script = ": {}; trap 'touch told' TERM; touch ready; while :; do sleep 0.01; done";
    let mut child = start(folder.path(), &[], script);
    wait_for_file(&folder.path().join("ready"));
    // A signal that comes while another is pending is one signal, so each is sent after the last has acted.
    kill(&child, "INT");
    read_until(&mut child, "(again: TERM)");
    kill(&child, "INT");
    read_until(&mut child, "(again: KILL)");
    wait_for_file(&folder.path().join("told"));
    kill(&child, "INT");
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(130));
    let summary = summary(&output);
    assert_eq!(summary["failures"][0]["outcome"], "signal:9");
    assert_eq!(summary["ended_by"], "by SIGINT");
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_its_input() {
    let mut child = windlass()
        .args(["run", "echo"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"1\n").unwrap();
    let mut first = [0; 2];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    kill(&child, "INT");
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(130));
    drop(stdin);
}

#[test]
fn a_term_ends_the_jobs_too() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), &[], "echo $$ > pid; touch ready; sleep 1000");
    wait_for_file(&folder.path().join("ready"));
    kill(&child, "TERM");
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(summary(&output)["failures"][0]["outcome"], "signal:15");
    assert!(!is_alive(pid_in(&folder.path().join("pid"))));
}

#[test]
fn a_job_that_ignores_term_is_killed_after_its_grace() {
    let folder = tempfile::tempdir().unwrap();
    let script = ": {}; trap '' TERM; touch ready; while :; do sleep 0.01; done";
    let child = start(folder.path(), &["--grace", "100ms"], script);
    wait_for_file(&folder.path().join("ready"));
    kill(&child, "TERM");
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(summary(&output)["failures"][0]["outcome"], "signal:9");
}

#[test]
fn a_time_limit_ends_the_whole_process_group() {
    let marker = format!("7654{}", std::process::id());
    // The sleep is a child of a child of the shell, and holds the output open.
    let command = format!("sh -c 'sleep {marker} & sleep {marker}'; echo {{}}");
    let output = run(["--timeout", "200ms", "--json", &command, ":::", "1"]);
    assert_eq!(output.status.code(), Some(123));
    let summary = summary(&output);
    assert_eq!(
        (&summary["timed_out"], &summary["failures"][0]["outcome"]),
        (&1.into(), &"timeout".into())
    );
    assert_eq!(processes_with(&marker), [0_u32; 0]);
}

#[test]
fn a_job_within_its_time_limit_is_left_alone() {
    let output = run(["--timeout", "1h", "--json", "echo", ":::", "1", "2", "3"]);
    assert_eq!(summary(&output)["succeeded"], 3);
}

#[test]
fn a_process_that_escapes_the_group_does_not_hold_up_the_run() {
    let marker = format!("8765{}", std::process::id());
    let command = format!("setsid sleep {marker} & sleep 1000; echo {{}}");
    let output = run([
        "--timeout",
        "300ms",
        "--grace",
        "100ms",
        "--json",
        &command,
        ":::",
        "1",
    ]);
    assert_eq!(summary(&output)["timed_out"], 1);
    for pid in processes_with(&marker) {
        kill_pid(pid, "KILL");
    }
}

#[test]
fn what_a_job_leaves_in_the_background_ends_with_it() {
    let marker = format!("9876{}", std::process::id());
    let command = format!("sleep {marker} > /dev/null 2>&1 & echo {{}}");
    let output = run([&command, ":::", "1"]);
    assert_eq!(stdout(&output), "1\n");
    wait_until("nothing of the job is left", || {
        processes_with(&marker).is_empty()
    });
}

#[test]
fn a_child_that_is_killed_fails_its_job_only() {
    let output = run([
        "-k",
        "--json",
        "if test {} = 2; then kill -9 $$; fi; echo {}",
        ":::",
        "1",
        "2",
        "3",
    ]);
    assert_eq!(stdout(&output), "1\n3\n");
    let summary = summary(&output);
    assert_eq!(summary["failures"][0]["outcome"], "signal:9");
    assert_eq!(output.status.code(), Some(123));
}

#[test]
fn a_run_that_is_killed_leaves_no_job_behind() {
    let folder = tempfile::tempdir().unwrap();
    let marker = format!("6543{}", std::process::id());
    let command = format!(
        "touch {}/{{}}; sleep {marker} & sleep {marker}",
        folder.path().display()
    );
    let mut child = windlass()
        .args(["run", "-j", "3", &command, ":::", "1", "2", "3"])
        .spawn()
        .unwrap();
    for name in ["1", "2", "3"] {
        wait_for_file(&folder.path().join(name));
    }
    kill(&child, "KILL");
    child.wait().unwrap();
    wait_until("no job is left", || processes_with(&marker).is_empty());
    wait_until("no guard is left", || {
        processes_with(&format!("__guard\0{}-", child.id())).is_empty()
    });
}

#[test]
fn a_run_that_is_killed_while_it_starts_jobs_leaves_none_behind() {
    let marker = format!("5432{}", std::process::id());
    for jobs in 0..=8 {
        let mut child = windlass()
            .args(["run", "-j", "8", "sleep", ":::"])
            .args((0..8).map(|n| format!("{marker}{n}")))
            .spawn()
            .unwrap();
        // At another moment of the start in each round; the run itself names the marker too.
        wait_until("so many jobs are there", || {
            processes_with(&marker).len() > jobs
        });
        kill(&child, "KILL");
        child.wait().unwrap();
        wait_until("no job is left", || processes_with(&marker).is_empty());
    }
}

#[test]
fn a_run_leaves_neither_zombie_nor_guard() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), &[], READY_AND_WAIT);
    let id = child.id();
    wait_for_file(&folder.path().join("ready"));
    let zombies = std::fs::read_dir("/proc").unwrap().filter(|entry| {
        let path = entry.as_ref().unwrap().path().join("stat");
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
        fields.first() == Some(&"Z") && fields.get(1) == Some(&id.to_string().as_str())
    });
    assert_eq!(zombies.count(), 0);
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(wait_for_end(child).status.code(), Some(0));
    assert_eq!(processes_with(&format!("__guard\0{id}-")), [0_u32; 0]);
}

#[test]
fn a_stopped_run_stops_its_jobs_and_continues_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(
        folder.path(),
        &[],
        &format!("echo $$ > pid; {READY_AND_WAIT}"),
    );
    wait_for_file(&folder.path().join("ready"));
    let job = pid_in(&folder.path().join("pid"));
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().chars().next().unwrap()
    };
    kill(&child, "TSTP");
    wait_until("both are stopped", || {
        state(job) == 'T' && state(child.id()) == 'T'
    });
    kill(&child, "CONT");
    wait_until("the job goes on", || state(job) != 'T');
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(wait_for_end(child).status.code(), Some(0));
}

#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "trap '' INT; {} run 'touch {1}/ready; while ! test -e {1}/go; do sleep 0.01; done; echo' ::: 1",
        env!("CARGO_BIN_EXE_windlass"),
        folder.path().display()
    );
    let child = std::process::Command::new("sh")
        .args([
            "-c",
            &format!("exec sh -c '{}'", script.replace('\'', "'\\''")),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_file(&folder.path().join("ready"));
    for pid in processes_with(&format!("touch {}/ready", folder.path().display())) {
        kill_pid(pid, "INT");
    }
    std::fs::write(folder.path().join("go"), "").unwrap();
    let output = wait_for_end(child);
    assert_eq!(
        (stdout(&output), output.status.code()),
        ("1\n".into(), Some(0))
    );
}

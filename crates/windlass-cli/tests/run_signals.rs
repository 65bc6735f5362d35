//! `windlass run`: signals, time limits, and that nothing of a job is left behind.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use support::{
    is_alive, kill, kill_pid, output_of, processes_with, read_until, run, say_skipped, stderr,
    stdout, summary, wait_for_end, wait_for_file, wait_until, windlass,
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

/// Interrupts a run of 50 inputs while the first one runs, and returns its summary.
fn interrupted_run(bound: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let inputs: Vec<String> = (1..=50).map(|n| n.to_string()).collect();
    let command = format!("cd {}; {READY_AND_WAIT}", folder.path().display());
    let mut child = windlass()
        .args(["run", "-j", "1", "-q", bound, "--json", "--summary-file"])
        .arg(folder.path().join("summary"))
        .args([&command, ":::"])
        .args(&inputs)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_file(&folder.path().join("ready"));
    kill(&child, "INT");
    read_until(&mut child, "no more jobs");
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(wait_for_end(child).status.code(), Some(130));
    let text = std::fs::read_to_string(folder.path().join("summary")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_input_is_accounted_for_also_those_that_were_not_read() {
    let summary = interrupted_run("4");
    let counts = ["inputs", "succeeded", "not_run"].map(|name| &summary[name]);
    assert_eq!(counts, [50, 1, 49], "{summary}");
}

#[test]
fn what_did_not_run_is_not_timed() {
    // All inputs wait in the pool when the run is ended.
    let summary = interrupted_run("100");
    let counts = ["inputs", "succeeded", "not_run"].map(|name| &summary[name]);
    assert_eq!(counts, [50, 1, 49], "{summary}");
    let times = &summary["run"];
    assert!(times["max"].as_f64().unwrap() > 0.0, "{summary}");
    assert_eq!(times["p50"], times["max"], "one job ran: {summary}");
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

/// The children of a process that have ended and were not waited for.
fn zombies_of(parent: u32) -> Vec<u32> {
    let is_zombie = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
        fields.first() == Some(&"Z") && fields.get(1) == Some(&parent.to_string().as_str())
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(is_zombie)
        .collect()
}

#[test]
fn a_zombie_is_seen_where_there_is_one() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    wait_until("the child is a zombie", || {
        zombies_of(std::process::id()).contains(&child.id())
    });
    child.wait().unwrap();
}

#[test]
fn a_run_leaves_neither_zombie_nor_guard() {
    let folder = tempfile::tempdir().unwrap();
    // Two jobs have ended when the third one is ready: zombies would be theirs.
    let script = format!("test {{}} != 3 || {{ {READY_AND_WAIT}; }}");
    let child = start(folder.path(), &[], &script);
    let id = child.id();
    wait_for_file(&folder.path().join("ready"));
    assert_eq!(zombies_of(id), [0_u32; 0]);
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

/// What a job leaves behind that ignores `TERM`; it says in a file that it does.
fn stubborn(folder: &Path, marker: &str) -> String {
    let ready = folder.join("ignores").display().to_string();
    format!(
        "sh -c 'trap \"\" TERM; touch {ready}; exec sleep {marker}' > /dev/null 2>&1 & \
         while ! test -e {ready}; do sleep 0.01; done"
    )
}

/// Runs a job that leaves such a process behind, and returns the output once nothing of it is left.
fn leave_stubborn_process(marker: &str, options: &[&str], rest: &str) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    let command = format!("{}; {rest}", stubborn(folder.path(), marker));
    let mut arguments = vec!["--json", "--grace", "200ms"];
    arguments.extend(options);
    arguments.extend([&command, ":::", "1"]);
    let output = run(arguments);
    assert!(folder.path().join("ignores").exists(), "it was never there");
    wait_until("nothing of the job is left", || {
        processes_with(marker).is_empty()
    });
    output
}

#[test]
fn what_ignores_term_is_killed_when_its_job_has_ended() {
    let marker = format!("1357{}", std::process::id());
    let output = leave_stubborn_process(&marker, &[], "echo {}");
    assert_eq!(stdout(&output), "1\n");
    assert_eq!(summary(&output)["succeeded"], 1);
}

#[test]
fn what_ignores_term_is_killed_when_the_time_of_its_job_is_up() {
    let marker = format!("2468{}", std::process::id());
    let output = leave_stubborn_process(&marker, &["--timeout", "2s"], "sleep 1000; echo {}");
    assert_eq!(summary(&output)["timed_out"], 1);
}

#[test]
fn what_ignores_term_is_killed_when_its_ungrouped_job_has_ended() {
    let marker = format!("3579{}", std::process::id());
    let output = leave_stubborn_process(&marker, &["-u"], "echo {}");
    assert_eq!(summary(&output)["succeeded"], 1);
}

#[test]
fn what_ignores_term_is_killed_where_the_session_is_of_another_pid_namespace() {
    // As in a container: the first process of a PID namespace is in a session that it cannot name.
    let unshare = |program: &str| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child", program]);
        command
    };
    if !unshare("true").output().is_ok_and(|o| o.status.success()) {
        say_skipped("a PID namespace", "unshare of util-linux, as root");
        return;
    }
    let marker = format!("4680{}", std::process::id());
    let folder = tempfile::tempdir().unwrap();
    let command = format!("{}; echo {{}}", stubborn(folder.path(), &marker));
    let mut run = unshare(env!("CARGO_BIN_EXE_windlass"));
    run.args(["run", "--json", "--summary", "always", "--grace", "200ms"]);
    let output = output_of(run.args([&command, ":::", "1"]), b"");
    assert_eq!(stdout(&output), "1\n");
    assert_eq!(summary(&output)["succeeded"], 1, "{}", stderr(&output));
    assert_eq!(processes_with(&marker), [0_u32; 0]);
}

/// Starts a run that writes more than a pipe takes, to a reader that does not read.
fn start_unread(options: &[&str]) -> Child {
    windlass()
        .args(["run", "--json", "--grace", "100ms"])
        .args(options)
        .args(["head -c 1000000 /dev/zero; echo {}", ":::", "1", "2", "3"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the pipe of standard output holds as much as it takes.
fn wait_for_full_pipe(child: &Child) {
    let pipe = child.stdout.as_ref().unwrap();
    wait_until("the pipe is full", || {
        rustix::io::ioctl_fionread(pipe).unwrap() >= 60_000
    });
}

#[test]
fn a_run_whose_output_is_not_read_ends_at_the_third_ctrl_c() {
    let mut child = start_unread(&[]);
    wait_for_full_pipe(&child);
    kill(&child, "INT");
    read_until(&mut child, "(again: TERM)");
    kill(&child, "INT");
    read_until(&mut child, "(again: KILL)");
    kill(&child, "INT");
    wait_until("the run has ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_whose_output_is_not_read_ends_after_a_term() {
    for options in [&[][..], &["--line-buffer"], &["-k"]] {
        let mut child = start_unread(options);
        wait_for_full_pipe(&child);
        kill(&child, "TERM");
        wait_until("the run has ended", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(143), "{options:?}");
    }
}

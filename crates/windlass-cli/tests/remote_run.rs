//! `windlass run --engine`: the same jobs, run by workers. Needs a Redis server, or skips.

mod support;

use std::os::unix::ffi::OsStringExt as _;

use support::fleet::Fleet;
use support::{
    kill, output_of, processes_with, read_until, sorted_lines, stderr, stdout, summary,
    wait_for_end, wait_for_file, wait_for_line, wait_until,
};
use windlass_remote::{QueueAdmin, QueueName};

/// A job that says that it runs, and ends when it is let go.
const GATED: &str =
    "gated = sh: touch \"ready-$1\"; while ! test -e go; do sleep 0.01; done; echo \"$1\"\n";

#[test]
fn commands_run_on_workers_and_their_outputs_come_back_in_order() {
    let Some(mut fleet) = Fleet::with_worker("echo\nslow = sh: sleep \"0.0$1\"; echo \"$1\"")
    else {
        return;
    };
    fleet.add_worker(
        "echo\nslow = sh: sleep \"0.0$1\"; echo \"$1\"",
        &["-j", "2"],
    );
    let output = fleet.run(["-k", "slow", "{}", ":::", "9", "5", "1", "7"]);
    assert_eq!(stdout(&output), "9\n5\n1\n7\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = fleet.run([
        "--json",
        "--summary",
        "always",
        "echo '{}' {#} {.}",
        ":::",
        "a b.c",
        "$(d)",
    ]);
    assert_eq!(sorted_lines(&output), ["$(d) 2 $(d)", "a b.c 1 a b"]);
    let summary = summary(&output);
    assert_eq!(
        (&summary["succeeded"], &summary["threads"]),
        (&2.into(), &64.into())
    );
}

#[test]
fn inputs_of_every_form_reach_the_workers_as_they_are() {
    let Some(fleet) = Fleet::with_worker("printf\nshow = printf '%s|' {@}\n") else {
        return;
    };
    let input = b"a\nb\xff\0'c \"$x\"\0";
    let output = output_of(&mut fleet.run_command(["-0", "-k", "show"]), input);
    assert_eq!(output.stdout, b"a\nb\xff|\n'c \"$x\"|");
    let list = fleet.file("list");
    std::fs::write(&list, "one\n\ntwo\n").unwrap();
    let list = list.into_os_string();
    let output = fleet.run(["-k".into(), "-a".into(), list, "show".into()]);
    assert_eq!(stdout(&output), "one|\ntwo|");
    let output = output_of(&mut fleet.run_command(["-k"]), b"show 1 2\nshow 3\n");
    assert_eq!(stdout(&output), "1|2|\n3|");
    let odd = std::ffi::OsString::from_vec(b"\xfe".to_vec());
    let output = fleet.run(["show".into(), ":::".into(), odd]);
    assert_eq!(output.stdout, b"\xfe|");
}

#[test]
fn a_command_that_the_workers_do_not_allow_fails_and_is_named() {
    let Some(fleet) = Fleet::with_worker("echo\n") else {
        return;
    };
    let file = fleet.file("made");
    let output = fleet.run(["touch".into(), ":::".into(), file.clone().into_os_string()]);
    assert_eq!(output.status.code(), Some(123));
    assert!(
        stderr(&output).contains("its allow-list has no \"touch\""),
        "{}",
        stderr(&output)
    );
    let line = format!("echo {{}} > {}", file.display());
    let output = fleet.run([line.as_str(), ":::", "x"]);
    assert!(
        stderr(&output).contains("its allow-list has no \"sh\""),
        "{}",
        stderr(&output)
    );
    assert!(!file.exists());
}

#[test]
fn a_failed_command_is_tried_again_and_its_last_outcome_counts() {
    let Some(fleet) = Fleet::with_worker(
        "flaky = sh: echo try; test -e \"$1\" || { touch \"$1\"; exit 3; }\nfalse = sh: kill -9 $$\n",
    ) else {
        return;
    };
    let arguments = ["--json", "--summary", "always", "--retry-delay", "1ms"];
    let flaky = |more: &[&str]| fleet.run(arguments.iter().chain(more));
    let output = flaky(&["--retries", "2", "flaky", ":::", "a"]);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "try\n")
    );
    let counts = summary(&output);
    assert_eq!(
        (&counts["succeeded"], &counts["retries"]),
        (&1.into(), &1.into())
    );
    let output = flaky(&["flaky", ":::", "b"]);
    assert_eq!(output.status.code(), Some(123));
    assert_eq!(summary(&output)["failures"][0]["outcome"], "exit:3");
    let output = flaky(&["false", ":::", "c"]);
    assert_eq!(summary(&output)["failures"][0]["outcome"], "signal:9");
}

#[test]
fn a_time_limit_ends_the_whole_group_on_the_worker() {
    let marker = "31536101";
    let allowed =
        format!("stuck = sh: trap '' TERM; sleep {marker} & sleep {marker}; echo \"$1\"\n");
    let Some(fleet) = Fleet::with_worker(&allowed) else {
        return;
    };
    let output = fleet.run([
        "--timeout",
        "300ms",
        "--grace",
        "200ms",
        "--json",
        "stuck",
        ":::",
        "1",
        "2",
    ]);
    assert_eq!(output.status.code(), Some(123));
    let summary = summary(&output);
    assert_eq!(summary["timed_out"], 2, "{summary}");
    wait_until("no process is left", || processes_with(marker).is_empty());
}

#[test]
fn a_failure_ends_the_run_and_what_runs_on_the_workers() {
    let marker = "31536102";
    let allowed = format!(
        "job = sh: if test \"$1\" = 1; then touch ready; sleep {marker}; else while ! test -e ready; do sleep 0.01; done; false; fi\n"
    );
    let Some(fleet) = Fleet::with_worker(&allowed) else {
        return;
    };
    let output = fleet.run([
        "--halt", "now", "-j", "2", "--json", "job", ":::", "1", "2", "3", "4", "5",
    ]);
    assert_eq!(output.status.code(), Some(123));
    let summary = summary(&output);
    assert_eq!(
        summary["inputs"].as_u64().unwrap(),
        summary["failed"].as_u64().unwrap() + summary["not_run"].as_u64().unwrap()
    );
    wait_until("no process is left", || processes_with(marker).is_empty());
}

#[test]
fn an_output_beyond_the_bound_is_cut_and_the_job_fails() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    let allowed = "big = sh: head -c \"$1\" /dev/zero | tr '\\0' x\n";
    fleet.add_worker(allowed, &["-j", "1", "--max-output", "1k"]);
    let output = fleet.run(["--json", "big", ":::", "5000"]);
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(123), 1024)
    );
    assert_eq!(summary(&output)["failures"][0]["outcome"], "cut:3976");
    let output = fleet.run(["big", ":::", "1024"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 1024));
}

#[test]
fn a_large_output_comes_back_whole() {
    let Some(fleet) = Fleet::with_worker("big = sh: head -c \"$1\" /dev/urandom | tee copy\n")
    else {
        return;
    };
    let output = fleet.run(["big", ":::", "1000000"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(output.stdout == std::fs::read(fleet.file("copy")).unwrap());
}

#[test]
fn a_journal_goes_on_where_a_run_on_workers_stopped() {
    let Some(fleet) = Fleet::with_worker("note = sh: echo \"$1\" >> done; test \"$1\" != 2\n")
    else {
        return;
    };
    let journal = fleet
        .file("journal")
        .into_os_string()
        .into_string()
        .unwrap();
    let run = |more: &[&str]| {
        fleet.run(
            ["--journal", &journal]
                .iter()
                .chain(more)
                .chain(&["note", ":::", "1", "2", "3"]),
        )
    };
    assert_eq!(run(&[]).status.code(), Some(123));
    // Nothing is left to do, and one job has failed before.
    assert_eq!(run(&["--resume"]).status.code(), Some(123));
    assert_eq!(run(&["--resume-failed"]).status.code(), Some(123));
    let done = std::fs::read_to_string(fleet.file("done")).unwrap();
    let mut done: Vec<&str> = done.lines().collect();
    done.sort_unstable();
    assert_eq!(done, ["1", "2", "2", "3"]);
}

#[test]
fn ctrl_c_waits_for_what_runs_and_cancels_what_no_worker_has_started() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    fleet.add_worker(GATED, &["-j", "1"]);
    let child = fleet.start_run(&[
        "-j", "3", "--json", "gated", ":::", "1", "2", "3", "4", "5", "6",
    ]);
    wait_until("one runs and two wait", || {
        let stats = fleet.json(&["queues"]);
        stats[0]["running"] == 1 && stats[0]["ready"] == 2
    });
    kill(&child, "INT");
    wait_until("what waits is cancelled", || {
        fleet.json(&["stats"])["cancelled"] == 2
    });
    std::fs::write(fleet.file("go"), "").unwrap();
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(stdout(&output).lines().count(), 1);
    let summary = summary(&output);
    assert_eq!(
        (&summary["succeeded"], &summary["failed"]),
        (&1.into(), &0.into())
    );
    assert!(summary["not_run"].as_u64().unwrap() >= 2, "{summary}");
}

#[test]
fn term_ends_what_runs_on_the_workers() {
    let marker = "31536103";
    let Some(fleet) = Fleet::with_worker(&format!("job = sh: touch ready; sleep {marker}\n"))
    else {
        return;
    };
    let child = fleet.start_run(&["--json", "--summary", "always", "job", ":::", "1"]);
    wait_for_file(&fleet.file("ready"));
    kill(&child, "TERM");
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(summary(&output)["failures"][0]["outcome"], "signal:15");
    wait_until("no process is left", || processes_with(marker).is_empty());
}

#[test]
fn a_job_whose_worker_is_killed_runs_on_another_one() {
    let marker = "31536104";
    let allowed =
        format!("job = sh: echo $PPID >> starts; test -e second || sleep {marker}; echo \"$1\"\n");
    let Some(mut fleet) = Fleet::with_worker(&allowed) else {
        return;
    };
    let child = fleet.start_run(&["job", ":::", "x"]);
    let starts = wait_for_line(&fleet.file("starts"));
    std::fs::write(fleet.file("second"), "").unwrap();
    fleet.add_worker(&allowed, &["-j", "1"]);
    let first = fleet.take_worker(starts.trim().parse().unwrap());
    kill(&first, "KILL");
    wait_for_end(first);
    wait_until("its guard has ended what ran", || {
        processes_with(marker).is_empty()
    });
    let output = wait_for_end(child);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "x\n")
    );
    assert_eq!(fleet.json(&["stats"])["redelivered"], 1);
}

#[test]
fn a_job_that_may_run_once_is_lost_with_its_worker() {
    let marker = "31536105";
    let allowed = format!("job = sh: echo $PPID >> starts; sleep {marker}\n");
    let Some(mut fleet) = Fleet::with_worker(&allowed) else {
        return;
    };
    let child = fleet.start_run(&["--at-most-once", "--json", "job", ":::", "x"]);
    let starts = wait_for_line(&fleet.file("starts"));
    fleet.add_worker(&allowed, &["-j", "1"]);
    let first = fleet.take_worker(starts.trim().parse().unwrap());
    kill(&first, "KILL");
    wait_for_end(first);
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(123));
    let failure = &summary(&output)["failures"][0];
    assert_eq!(failure["outcome"], "lost");
    assert_eq!(failure["reason"], "lost: the worker vanished");
    let starts = std::fs::read_to_string(fleet.file("starts")).unwrap();
    assert_eq!(starts.lines().count(), 1);
}

#[test]
fn a_third_ctrl_c_ends_a_run_whose_engine_is_away() {
    let Some(mut fleet) = Fleet::with_worker(GATED) else {
        return;
    };
    let mut child = fleet.start_run(&["--json", "gated", ":::", "1"]);
    wait_for_file(&fleet.file("ready-1"));
    support::server::end(fleet.server.child.take().unwrap());
    kill(&child, "INT");
    read_until(&mut child, "(again: TERM)");
    kill(&child, "INT");
    read_until(&mut child, "(again: KILL)");
    kill(&child, "INT");
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(summary(&output)["failures"][0]["outcome"], "lost");
}

#[test]
fn a_run_waits_for_room_in_a_full_queue_and_ends_at_a_closed_one() {
    let Some(fleet) = Fleet::with_worker("echo\n") else {
        return;
    };
    let queue = QueueAdmin::new(fleet.server.engine(), QueueName::default());
    queue.set_capacity(Some(1)).unwrap();
    queue.pause().unwrap();
    let child = fleet.start_run(&["-j", "5", "echo", ":::", "1", "2", "3", "4", "5"]);
    wait_until("the queue has refused some", || {
        queue.stats().unwrap().refused >= 4
    });
    queue.resume().unwrap();
    let output = wait_for_end(child);
    assert_eq!(sorted_lines(&output), ["1", "2", "3", "4", "5"]);
    queue.close().unwrap();
    let output = fleet.run(["echo", ":::", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the queue is closed"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_task_that_is_not_signed_does_not_run_where_a_key_is_asked_for() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    let key = fleet.file("key");
    std::fs::write(&key, "k".repeat(40)).unwrap();
    let key = key.to_str().unwrap().to_owned();
    fleet.add_worker("note = sh: touch ran; echo ok\n", &["--key-file", &key]);
    let output = fleet.run(["note", ":::", "1"]);
    assert_eq!(output.status.code(), Some(123));
    assert!(
        stderr(&output).contains("not signed"),
        "{}",
        stderr(&output)
    );
    assert!(!fleet.file("ran").exists());
    let output = fleet.run(["--key-file", &key, "note", ":::", "1"]);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "ok\n")
    );
}

#[test]
fn what_does_not_go_with_an_engine_is_refused() {
    let engine = "redis://:hunter2@127.0.0.1:1/";
    for (arguments, why) in [
        (vec!["--ungroup"], "--ungroup does not go with --engine"),
        (
            vec!["--line-buffer"],
            "--line-buffer does not go with --engine",
        ),
        (vec!["-q", "100"], "--queue is a name, not a bound"),
        (vec!["-q", "A b"], "is not a name"),
    ] {
        let all = ["--engine", engine]
            .into_iter()
            .chain(arguments)
            .chain(["true", ":::", "1"]);
        let output = support::run(all);
        assert_eq!(output.status.code(), Some(2), "{why}");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    let output = support::run(["-q", "media", "true", ":::", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("with --engine it is the name of a queue"));
    for (engine, why) in [
        ("memory://", "an engine in memory ends with its process"),
        ("nosuch://db", "no engine for nosuch://"),
        ("env", "no engine is named"),
    ] {
        let output = support::run(["--engine", engine, "true", ":::", "1"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    let output = support::run(["--engine", engine, "true", ":::", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(
        told.contains("redis://127.0.0.1:1/: the engine cannot be reached"),
        "{told}"
    );
    assert!(
        told.contains("hint:") && !told.contains("hunter2"),
        "{told}"
    );
}

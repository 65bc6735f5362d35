//! `windlass worker`: what it allows, how it ends, and that it outlives its engine. Needs a Redis server, or skips.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::os::unix::fs::PermissionsExt as _;

use support::fleet::Fleet;
use support::{
    Process, kill, kill_pid, output_of, processes_with, stderr, stdout, wait_for_end,
    wait_for_file, wait_until, windlass,
};

/// A job that says that it runs, and ends when it is let go.
const GATED: &str =
    "gated = sh: touch ready; while ! test -e go; do sleep 0.01; done; echo \"$1\"\n";

#[test]
fn term_lets_a_worker_finish_what_it_runs() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    let pid = fleet.add_worker(GATED, &["-j", "1"]);
    let run = fleet.start_run(&["gated", ":::", "x"]);
    wait_for_file(&fleet.file("ready"));
    kill_pid(pid, "TERM");
    let mut worker = fleet.take_worker(pid);
    support::read_until(&mut worker, "waiting for 1 that run");
    assert!(support::is_alive(pid));
    std::fs::write(fleet.file("go"), "").unwrap();
    let worker = wait_for_end(worker);
    assert_eq!(worker.status.code(), Some(0));
    let run = wait_for_end(run);
    assert_eq!((run.status.code(), stdout(&run).as_str()), (Some(0), "x\n"));
    assert!(!fleet.knows_worker(pid));
}

#[test]
fn a_second_signal_gives_tasks_back_and_ends_the_commands() {
    let marker = "31536201";
    let allowed =
        format!("job = sh: test -e second && exec echo \"$1\"; touch ready; sleep {marker}\n");
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    let pid = fleet.add_worker(&allowed, &["-j", "1"]);
    let run = fleet.start_run(&["job", ":::", "x"]);
    wait_for_file(&fleet.file("ready"));
    std::fs::write(fleet.file("second"), "").unwrap();
    kill_pid(pid, "INT");
    let mut worker = fleet.take_worker(pid);
    let told = support::read_until(&mut worker, "again: stop now");
    kill_pid(pid, "INT");
    let worker = wait_for_end(worker);
    assert_eq!(worker.status.code(), Some(130), "{told}{}", stderr(&worker));
    assert!(processes_with(marker).is_empty());
    fleet.add_worker(&allowed, &["-j", "1"]);
    let run = wait_for_end(run);
    assert_eq!((run.status.code(), stdout(&run).as_str()), (Some(0), "x\n"));
    let stats = fleet.json(&["stats"]);
    assert_eq!(
        (&stats["done"], &stats["redelivered"]),
        (&1.into(), &0.into()),
        "{stats}"
    );
}

#[test]
fn a_worker_outlives_its_engine() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    // It starts before the engine does.
    support::server::end(fleet.server.child.take().unwrap());
    let mut worker = fleet
        .worker(&format!("{GATED}echo\n"), &["-j", "2"])
        .spawn()
        .map(Process::from)
        .unwrap();
    let pid = worker.id();
    let told = support::read_until(&mut worker, "trying until it can be used");
    assert!(told.contains("the engine cannot be reached"), "{told}");
    assert!(fleet.server.launch());
    wait_until("the worker has found it", || fleet.knows_worker(pid));
    support::read_until(&mut worker, "the engine is back");
    // The engine goes while a command runs, and comes back.
    let run = fleet.start_run(&["gated", ":::", "x"]);
    wait_for_file(&fleet.file("ready"));
    support::server::end(fleet.server.child.take().unwrap());
    support::read_until(&mut worker, "commands run on");
    std::fs::write(fleet.file("go"), "").unwrap();
    assert!(fleet.server.launch());
    let run = wait_for_end(run);
    assert_eq!(
        (run.status.code(), stdout(&run).as_str()),
        (Some(0), "x\n"),
        "{}",
        stderr(&run)
    );
    let output = fleet.run(["echo", ":::", "y"]);
    assert_eq!(stdout(&output), "y\n");
    kill(&worker, "TERM");
    assert_eq!(wait_for_end(worker).status.code(), Some(0));
}

#[test]
fn a_command_that_is_cancelled_ends_with_its_group() {
    let marker = "31536202";
    let allowed = format!("job = sh: touch ready; sleep {marker} & trap '' TERM; sleep {marker}\n");
    let Some(fleet) = Fleet::with_worker(&allowed) else {
        return;
    };
    let run = fleet.start_run(&["--grace", "100ms", "job", ":::", "x"]);
    wait_for_file(&fleet.file("ready"));
    let run_id = find_task(&fleet);
    let cancelled = fleet.queue(["cancel", &run_id]);
    assert!(
        stdout(&cancelled).contains("cancelled while it ran"),
        "{}",
        stdout(&cancelled)
    );
    let run = wait_for_end(run);
    assert_eq!(run.status.code(), Some(123));
    assert!(
        stderr(&run).contains("the task was cancelled"),
        "{}",
        stderr(&run)
    );
    wait_until("no process is left", || processes_with(marker).is_empty());
}

/// The id of the task that runs: its command has it in its environment.
fn find_task(fleet: &Fleet) -> String {
    let pid = processes_with("touch ready; sleep 31536202")[0];
    let environment = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    assert!(!environment.contains(&fleet.server.url()), "{environment}");
    let mut variables = environment.split('\0');
    let id = variables.find_map(|variable| variable.strip_prefix("WINDLASS_TASK_ID="));
    id.unwrap().to_owned()
}

#[test]
fn a_worker_needs_an_allow_list_that_it_can_trust() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    let worker = |text: &str, mode: u32| {
        std::fs::write(&list, text).unwrap();
        std::fs::set_permissions(&list, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = windlass();
        command.args([
            "worker",
            "--engine",
            "redis://:hunter2@127.0.0.1:1/",
            "--allow",
        ]);
        let output = output_of(command.arg(&list), b"");
        assert!(!stderr(&output).contains("hunter2"), "{}", stderr(&output));
        (output.status.code(), stderr(&output))
    };
    for (text, mode, code, why) in [
        ("echo\n", 0o666, 2, "everybody can write"),
        ("", 0o644, 2, "it allows nothing"),
        (
            "echo\nno-such-program\n",
            0o644,
            2,
            "line 2: no-such-program: command not found",
        ),
        ("x = wc < {1}\n", 0o644, 2, "line 1: it needs a shell"),
    ] {
        let (found, told) = worker(text, mode);
        assert_eq!(found, Some(code), "{told}");
        assert!(told.contains(why) && told.contains("hint:"), "{told}");
    }
    let mut missing = windlass();
    missing.args(["worker", "--engine", "redis://127.0.0.1:1/", "--allow"]);
    let output = output_of(missing.arg(folder.path().join("none")), b"");
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("cannot read the allow-list") && told.contains("hint:"),
        "{told}"
    );
    let output = output_of(
        windlass().args(["worker", "--engine", "redis://127.0.0.1:1/"]),
        b"",
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--allow <FILE>"),
        "{}",
        stderr(&output)
    );
}

//! `windlass queue`: what it prints is what the engine holds, and what it does happens there. Needs a Redis
//! server, or skips.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use support::fleet::Fleet;
use support::{Process, kill, output_of, stderr, stdout, wait_for_end, wait_until, windlass};
use windlass_cli::engine::CommandTask;
use windlass_remote::engine::{Engine as _, NewTask, TaskState};
use windlass_remote::{QueueName, RemoteTask as _, TaskOptions};

/// A task whose payload no worker can read.
fn new_task(id: &str) -> NewTask {
    NewTask {
        id: id.parse().unwrap(),
        name: CommandTask::NAME.into(),
        version: 1,
        payload: vec![0],
        options: TaskOptions::default(),
        delay: Duration::ZERO,
        reply_to: None,
    }
}

/// Submits such a task, and waits until it is a dead letter.
fn make_dead(fleet: &Fleet, id: &str) {
    submit(fleet, std::iter::once(id.to_owned()));
    wait_until("the task is dead", || {
        state(fleet, id) == Some(TaskState::Dead)
    });
}

fn state(fleet: &Fleet, id: &str) -> Option<TaskState> {
    let id = id.parse().unwrap();
    let records = fleet
        .server
        .engine()
        .look_up(&QueueName::default(), &[id], None);
    records
        .unwrap()
        .into_iter()
        .flatten()
        .next()
        .map(|record| record.state)
}

#[test]
fn queues_workers_and_tasks_are_shown_as_the_engine_has_them() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    assert_eq!(fleet.json(&["queues"]), serde_json::json!([]));
    assert!(stdout(&fleet.queue(["queues"])).contains("no queues"));
    let pid = fleet.add_worker(
        "echo\nfail = sh: echo oh >&2; exit 7\n",
        &["-j", "3", "--name", "press"],
    );
    fleet.run(["echo", ":::", "a", "b"]);
    fleet.run(["fail", ":::", "c"]);
    make_dead(&fleet, "broken");
    let stats = fleet.server.engine().stats(&QueueName::default()).unwrap();
    let list = fleet.json(&["queues"]);
    assert_eq!(list.as_array().unwrap().len(), 1);
    let queue = &list[0];
    assert_eq!(
        (&queue["queue"], &queue["paused"]),
        (&"default".into(), &false.into())
    );
    assert_eq!((&queue["workers"], &queue["slots"]), (&1.into(), &3.into()));
    for (field, count) in [
        ("submitted", stats.submitted),
        ("done", stats.done),
        ("dead_letters", stats.dead_letters),
        ("ready", stats.ready),
    ] {
        assert_eq!(queue[field], count, "{field}");
    }
    assert_eq!((stats.submitted, stats.done, stats.dead_letters), (4, 3, 1));
    let text = stdout(&fleet.queue(["stats"]));
    assert!(text.contains("4 submitted, 0 refused: 3 done"), "{text}");
    let workers = fleet.json(&["workers"]);
    assert_eq!(
        (&workers[0]["pid"], &workers[0]["slots"]),
        (&pid.into(), &3.into())
    );
    assert!(workers[0]["id"].as_str().unwrap().starts_with("press."));
    assert_eq!(
        workers[0]["tasks"],
        serde_json::json!(["windlass.command@1"])
    );
    assert!(stdout(&fleet.queue(["workers"])).contains("windlass.command@1"));
}

#[test]
fn a_command_is_shown_with_its_words_and_its_end() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    let run = fleet.start_run(&["-j", "1", "fail", ":::", "it's"]);
    // Nobody has started it yet, so its id is found by that of its run.
    wait_until("it waits", || fleet.json(&["queues"])[0]["ready"] == 1);
    let id = task_of(run.id(), &fleet);
    let shown = fleet.json(&["show", &id]);
    assert_eq!(
        (&shown["state"], &shown["command"]),
        (&"ready".into(), &serde_json::json!(["fail", "it's"]))
    );
    assert!(stdout(&fleet.queue(["show", &id])).contains(r"command   fail 'it'\''s'"));
    fleet.add_worker("fail = sh: echo oh >&2; exit 7\n", &[]);
    assert_eq!(wait_for_end(run).status.code(), Some(123));
    let shown = fleet.json(&["show", &id, "--queue", "default"]);
    assert_eq!(shown["state"], "done");
    assert_eq!(
        (&shown["report"]["outcome"], &shown["report"]["err"]),
        (&"exit:7".into(), &"oh\n".into())
    );
    let text = stdout(&fleet.queue(["show", &id]));
    assert!(
        text.contains("exit status 7 after") && text.contains("3 to standard error"),
        "{text}"
    );
}

/// The id of the only task of a run that waits.
fn task_of(pid: u32, fleet: &Fleet) -> String {
    let list = fleet.json(&["list", "--state", "ready"]);
    let mut ids = list["tasks"].as_array().unwrap().iter();
    let mut ids = ids.by_ref().map(|task| task["id"].as_str().unwrap());
    ids.find(|id| id.starts_with(&format!("run:{pid}-")))
        .unwrap()
        .to_owned()
}

/// Submits tasks that nobody runs as long as there is no worker.
fn submit(fleet: &Fleet, ids: impl Iterator<Item = String>) {
    let tasks: Vec<NewTask> = ids.map(|id| new_task(&id)).collect();
    for tasks in tasks.chunks(200) {
        let engine = fleet.server.engine();
        engine.submit(&QueueName::default(), tasks).unwrap();
    }
}

#[test]
fn a_list_is_read_in_pages_to_its_end() {
    let Some(fleet) = Fleet::start() else {
        return;
    };
    let none = fleet.queue(["list"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("no queue yet"), "{}", stderr(&none));
    submit(&fleet, (0..500).map(|n| format!("job:{n}")));
    let expected: BTreeSet<String> = (0..500).map(|n| format!("job:{n}")).collect();

    let all = fleet.queue(["list", "--all", "--ids"]);
    let ids: BTreeSet<String> = stdout(&all).lines().map(Into::into).collect();
    assert_eq!(ids, expected);
    assert_eq!(stderr(&all), "");

    let (mut ids, mut after) = (BTreeSet::new(), None);
    let mut pages = 0;
    loop {
        let mut arguments = vec!["list", "--count", "20"];
        arguments.extend(after.iter().flat_map(|place: &String| ["--after", place]));
        let page = fleet.json(&arguments);
        assert_eq!(page["queue"], "default");
        for task in page["tasks"].as_array().unwrap() {
            assert_eq!(
                (&task["state"], &task["deliveries"]),
                (&"ready".into(), &0.into())
            );
            ids.insert(task["id"].as_str().unwrap().to_owned());
        }
        pages += 1;
        after = page["next"].as_str().map(Into::into);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(ids, expected);
    assert!(pages > 5, "{pages}");

    let first = fleet.queue(["list", "--count", "20"]);
    let lines = stdout(&first).lines().count();
    assert!((20..200).contains(&lines), "{lines}");
    assert!(stdout(&first).starts_with("TASK "), "{first:?}");
    assert!(stderr(&first).contains("--after "), "{first:?}");
    // A reader that has gone away is no news.
    let mut unread = windlass()
        .args(["queue", "list", "--all", "--engine", &fleet.server.url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(unread.stdout.take());
    let unread = wait_for_end(unread);
    assert_eq!(unread.status.code(), Some(141), "{unread:?}");
    assert_eq!(stderr(&unread), "");
    let wrong = fleet.queue(["list", "--after", "there"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).contains("there"), "{wrong:?}");
}

#[test]
fn a_list_has_the_tasks_of_a_state_wherever_they_are() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    let run = fleet.start_run(&["-j", "1", "echo", ":::", "it's"]);
    wait_until("it waits", || fleet.json(&["queues"])[0]["ready"] == 1);
    let text = stdout(&fleet.queue(["list"]));
    assert!(text.contains(r"echo 'it'\''s'"), "{text}");
    fleet.add_worker("echo\n", &[]);
    assert_eq!(wait_for_end(run).status.code(), Some(0));
    make_dead(&fleet, "broken");
    fleet.queue(["pause"]);
    submit(&fleet, (0..2_500).map(|n| format!("job:{n}")));

    let ids = |state: &str| -> Vec<String> {
        let list = fleet.queue(["list", "--ids", "--state", state, "--count", "5000"]);
        assert!(list.status.success(), "{list:?}");
        stdout(&list).lines().map(Into::into).collect()
    };
    assert_eq!(ids("dead"), ["broken"]);
    assert_eq!(ids("done").len(), 1);
    assert_eq!(ids("running"), [""; 0]);
    assert_eq!(ids("ready").len(), 2_500);
    let both = fleet.json(&["list", "--state", "dead", "--state", "done"]);
    let both = both["tasks"].as_array().unwrap();
    assert_eq!(both.len(), 2);
    let done = both.iter().find(|task| task["state"] == "done").unwrap();
    assert_eq!(done["report"]["outcome"], "ok");
    let text = stdout(&fleet.queue(["list", "--state", "done"]));
    assert!(text.contains("windlass.command@1: succeeded"), "{text}");
    let none = fleet.queue(["list", "--state", "running"]);
    assert_eq!(stdout(&none), "no such tasks\n");
    // The state is one of the names, and the message has them.
    let wrong = fleet.queue(["list", "--state", "broken"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("scheduled, ready, running"),
        "{wrong:?}"
    );
}

#[test]
fn dead_letters_are_listed_retried_and_dropped() {
    let Some(fleet) = Fleet::with_worker("echo\n") else {
        return;
    };
    for id in ["a", "b", "c", "d"] {
        make_dead(&fleet, id);
    }
    let ids = |arguments: &[&str]| -> Vec<String> {
        let letters = fleet.json(arguments);
        let letters = letters.as_array().unwrap().iter();
        letters
            .map(|letter| letter["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&["dead"]), ["d", "c", "b", "a"]);
    assert_eq!(
        ids(&["dead", "list", "--skip", "1", "--count", "2"]),
        ["c", "b"]
    );
    assert!(stdout(&fleet.queue(["dead"])).contains("the payload was refused"));
    fleet.queue(["pause"]);
    assert_eq!(fleet.json(&["retry", "a"])[0]["done"], "ready again");
    assert_eq!(state(&fleet, "a"), Some(TaskState::Ready));
    let refused = fleet.queue(["dead", "retry", "a"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("the task a is ready, and no dead letter"),
        "{}",
        stderr(&refused)
    );
    assert!(stdout(&fleet.queue(["dead", "drop", "b"])).contains("b: dropped"));
    assert_eq!(state(&fleet, "b"), None);
    assert_eq!(fleet.json(&["dead", "retry", "--all"])["count"], 2);
    assert_eq!(ids(&["dead"]), Vec::<String>::new());
    fleet.queue(["resume"]);
    wait_until("they are dead again", || ids(&["dead"]).len() == 3);
    let dropped = stdout(&fleet.queue(["dead", "drop", "--all"]));
    assert_eq!(dropped, "3 dead letters of default dropped\n");
    let both = fleet.queue(["dead", "drop", "a", "--all"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_paused_queue_gives_workers_nothing_and_a_waiting_task_can_be_cancelled() {
    let Some(fleet) = Fleet::with_worker("note = sh: touch \"$1\"\n") else {
        return;
    };
    assert_eq!(fleet.json(&["pause"])["paused"], true);
    assert!(stdout(&fleet.queue(["queues"])).contains("paused"));
    let run = fleet.start_run(&["note", ":::", "made"]);
    wait_until("it waits", || fleet.json(&["stats"])["ready"] == 1);
    let id = task_of(run.id(), &fleet);
    let cancelled = fleet.json(&["cancel", &id]);
    assert_eq!(cancelled[0]["done"], "cancelled before it started");
    let run = wait_for_end(run);
    assert_eq!(run.status.code(), Some(123));
    assert!(
        stderr(&run).contains("the queue default is paused"),
        "{}",
        stderr(&run)
    );
    let again = fleet.queue(["cancel", &id]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        stderr(&again).contains("is cancelled already"),
        "{}",
        stderr(&again)
    );
    assert_eq!(fleet.json(&["resume"])["paused"], false);
    assert!(!fleet.file("made").exists());
}

#[test]
fn errors_say_what_to_do_next_and_no_secrets() {
    let away = output_of(
        windlass().args([
            "queue",
            "list",
            "--engine",
            "redis://me:hunter2@127.0.0.1:1/",
        ]),
        b"",
    );
    assert_eq!(away.status.code(), Some(1));
    let told = stderr(&away);
    assert!(
        told.contains("cannot be reached") && told.contains("is the server running"),
        "{told}"
    );
    assert!(!told.contains("hunter2"), "{told}");
    let none = output_of(windlass().args(["queue", "list"]), b"");
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("WINDLASS_ENGINE"));
    let Some(fleet) = Fleet::with_worker("echo\n") else {
        return;
    };
    let wrong = format!("redis://me:hunter2@127.0.0.1:{}/", fleet.server.port);
    for command in [
        vec!["queue", "stats", "--engine", &wrong],
        vec!["run", "--engine", &wrong, "echo", ":::", "1"],
    ] {
        let output = output_of(windlass().args(&command), b"");
        assert_eq!(output.status.code(), Some(1));
        let told = stderr(&output);
        assert!(
            told.contains("denied access") && told.contains("password"),
            "{told}"
        );
        assert!(!told.contains("hunter2"), "{told}");
    }
    let unknown = fleet.queue(["stats", "--queue", "other"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        stderr(&unknown).contains("there are: default"),
        "{}",
        stderr(&unknown)
    );
    let unknown = fleet.queue(["show", "nobody"]);
    assert!(
        stderr(&unknown).contains("no record of a task nobody"),
        "{}",
        stderr(&unknown)
    );
    assert_eq!(fleet.queue(["show", "no body"]).status.code(), Some(2));
    // Nobody's question has made a queue.
    assert_eq!(fleet.json(&["queues"]).as_array().unwrap().len(), 1);
}

#[test]
fn the_console_shows_the_queues_of_the_engine_until_it_is_told_to_end() {
    let Some(fleet) = Fleet::with_worker("echo\n") else {
        return;
    };
    make_dead(&fleet, "broken");
    let mut console = windlass()
        .args([
            "queue",
            "console",
            "--bind",
            "127.0.0.1:0",
            "--engine",
            &fleet.server.url(),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map(Process::from)
        .unwrap();
    let mut lines = BufReader::new(console.stdout.take().unwrap()).lines();
    let mut field = |name: &str| {
        let line = lines.next().unwrap().unwrap();
        line.strip_prefix(name)
            .unwrap_or_else(|| panic!("{line}"))
            .trim()
            .to_owned()
    };
    let page = field("console");
    let place = field("engine");
    let token = field("token");
    assert_eq!(place, fleet.server.url());
    let url = page.strip_suffix("#/remote").unwrap();
    let mut answer = ureq::get(format!("{url}api/v1/remote")).call().unwrap();
    let answer: serde_json::Value = answer.body_mut().read_json().unwrap();
    assert_eq!(
        (&answer["engine"]["kind"], &answer["engine"]["up"]),
        (&"redis".into(), &true.into())
    );
    assert_eq!(
        (
            &answer["queues"][0]["dead"],
            &answer["queues"][0]["workers"]
        ),
        (&1.into(), &1.into())
    );
    let dropped = ureq::delete(format!("{url}api/v1/remote/dead/broken"))
        .header("Authorization", format!("Bearer {token}"))
        .call();
    assert_eq!(dropped.unwrap().status(), 200);
    assert_eq!(state(&fleet, "broken"), None);
    kill(&console, "TERM");
    assert_eq!(wait_for_end(console).status.code(), Some(0));
}

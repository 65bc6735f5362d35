//! Models of the reader of an activity against the worker that writes it.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::activity::{Activity, SharedActivity, Writer};
use crate::sync::{model, thread};
use crate::task::TaskId;

/// A worker runs three tasks: the first has a name, the second is timed, the third neither.
fn work(activity: &SharedActivity, tasks: [TaskId; 3]) {
    let writer = Writer::new(activity);
    writer.set_name(&Arc::from("first"));
    writer.set_since(1);
    writer.begin(tasks[0]);
    writer.end();
    writer.set_since(2);
    writer.begin(tasks[1]);
    writer.end();
    writer.begin(tasks[2]);
    writer.end();
}

#[test]
fn a_reader_never_sees_the_words_of_two_runs() {
    model(|| {
        let tasks = [(); 3].map(|()| TaskId::next());
        let activity = Arc::new(CachePadded::new(Activity::default()));
        let worker = {
            let activity = Arc::clone(&activity);
            thread::Builder::new().spawn(move || work(&activity, tasks))
        };
        if let Some(running) = activity.running() {
            let seen = (running.task, running.since, running.name.as_deref());
            let expected = match running.run {
                1 => (tasks[0], 1, Some("first")),
                3 => (tasks[1], 2, None),
                5 => (tasks[2], 2, None),
                run => panic!("run {run}"),
            };
            assert_eq!(seen, expected);
        }
        worker.expect("a thread").join().expect("no panic");
        assert_eq!((activity.count(), activity.running()), (6, None));
    });
}

//! What `windlass queue` does: one action each.

use serde::Serialize;
use windlass_remote::engine::{Cancelled, DeadAction as Settle, MAX_BATCH, TaskState};
use windlass_remote::{QueueName, TaskId};

use super::options::{DeadAction, DeadChoice, QueueAction, QueueOptions};
use super::print::print;
use super::session::Session;
use super::view::{QueueView, TaskView, WorkerView};
use super::{console, list, text};
use crate::exit::Failure;

/// Does what the options say.
///
/// # Errors
///
/// If the engine does not answer, or has not what is asked for.
pub fn execute(options: &QueueOptions) -> Result<(), Failure> {
    if let QueueAction::Console { .. } = &options.action {
        return console::serve(options);
    }
    let session = Session::new(options)?;
    let json = options.json;
    match &options.action {
        QueueAction::List(options) => list::tasks(&session, options, json),
        QueueAction::Queues => queues(&session, json),
        QueueAction::Stats => stats(&session, json),
        QueueAction::Workers => workers(&session, json),
        QueueAction::Show { id } => {
            let (queue, record) = session.find(id)?;
            let view = TaskView::new(&queue, &record);
            print(json, &view, text::task)
        }
        QueueAction::Cancel { ids } => each(&session, ids, json, cancel),
        QueueAction::Retry { ids } => each(&session, ids, json, |session, id| {
            settle_one(session, id, Settle::Retry)
        }),
        QueueAction::Dead { action: None } => dead_list(&session, 0, 50, json),
        QueueAction::Dead {
            action: Some(DeadAction::List { skip, count }),
        } => dead_list(&session, *skip, *count, json),
        QueueAction::Dead {
            action: Some(DeadAction::Retry(choice)),
        } => dead_settle(&session, choice, Settle::Retry, json),
        QueueAction::Dead {
            action: Some(DeadAction::Drop(choice)),
        } => dead_settle(&session, choice, Settle::Drop, json),
        QueueAction::Pause => pause(&session, true, json),
        QueueAction::Resume => pause(&session, false, json),
        QueueAction::Console { .. } => Ok(()),
    }
}

/// What became of one task.
#[derive(Debug, Serialize)]
struct Done {
    id: String,
    queue: String,
    done: &'static str,
}

fn view(session: &Session, queue: &QueueName) -> Result<QueueView, Failure> {
    let admin = session.admin(queue);
    let stats = session.asked(admin.stats())?;
    let status = session.asked(admin.status())?;
    let workers = session.asked(admin.workers())?;
    Ok(QueueView::new(queue, &stats, status, &workers))
}

fn queues(session: &Session, json: bool) -> Result<(), Failure> {
    let queues = session.queues()?;
    let views: Result<Vec<_>, _> = queues.iter().map(|queue| view(session, queue)).collect();
    print(json, &views?[..], text::queues)
}

fn stats(session: &Session, json: bool) -> Result<(), Failure> {
    let view = view(session, &session.queue()?)?;
    print(json, &view, text::stats)
}

fn workers(session: &Session, json: bool) -> Result<(), Failure> {
    let mut views = Vec::new();
    for queue in session.queues()? {
        let workers = session.asked(session.admin(&queue).workers())?;
        views.extend(workers.into_iter().map(|of| WorkerView::new(&queue, of)));
    }
    print(json, &views[..], text::workers)
}

fn pause(session: &Session, paused: bool, json: bool) -> Result<(), Failure> {
    let queue = session.queue()?;
    let admin = session.admin(&queue);
    session.asked(if paused {
        admin.pause()
    } else {
        admin.resume()
    })?;
    print(json, &view(session, &queue)?, |view| {
        format!("{}: {}\n", view.queue, view.state())
    })
}

/// Does the same to each task; the first that does not allow it ends it, after what was done is printed.
fn each(
    session: &Session,
    ids: &[String],
    json: bool,
    act: impl Fn(&Session, &str) -> Result<Done, Failure>,
) -> Result<(), Failure> {
    let mut all = Vec::new();
    let mut failure = None;
    for id in ids {
        match act(session, id) {
            Ok(done) => all.push(done),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    print(json, &all[..], |all| {
        all.iter()
            .map(|done| format!("{}: {}\n", done.id, done.done))
            .collect()
    })?;
    failure.map_or(Ok(()), Err)
}

fn cancel(session: &Session, id: &str) -> Result<Done, Failure> {
    let (queue, record) = session.find(id)?;
    let done = match session.asked(session.admin(&queue).cancel(&record.id))? {
        Cancelled::BeforeStart => "cancelled before it started",
        Cancelled::WhileRunning => "cancelled while it ran; its worker ends it",
        Cancelled::Running | Cancelled::Finished => {
            let (_, now) = session.find(id)?;
            let failure = Failure::new(format!("the task {id} is {} already", now.state));
            return Err(match now.state {
                TaskState::Dead => {
                    failure.hint(format!("windlass queue dead drop {id} forgets it"))
                }
                _ => failure.hint("what has ended cannot be cancelled"),
            });
        }
    };
    Ok(Done {
        id: id.to_owned(),
        queue: queue.to_string(),
        done,
    })
}

fn settle_one(session: &Session, id: &str, action: Settle) -> Result<Done, Failure> {
    let (queue, record) = session.find(id)?;
    let ids = std::slice::from_ref(&record.id);
    let admin = session.admin(&queue);
    let (settled, done) = match action {
        Settle::Retry => (admin.retry_dead(ids), "ready again"),
        Settle::Drop => (admin.drop_dead(ids), "dropped"),
    };
    if session.asked(settled)? == 0 {
        let message = format!("the task {id} is {}, and no dead letter", record.state);
        return Err(Failure::new(message).hint(format!(
            "windlass queue dead list --queue {queue} shows those that are"
        )));
    }
    Ok(Done {
        id: id.to_owned(),
        queue: queue.to_string(),
        done,
    })
}

fn dead_list(session: &Session, skip: usize, count: usize, json: bool) -> Result<(), Failure> {
    let mut views = Vec::new();
    for queue in session.queues()? {
        let admin = session.admin(&queue);
        let mut left = count;
        let mut at = skip;
        while left > 0 {
            let letters = session.asked(admin.dead_letters(at, left.min(MAX_BATCH)))?;
            if letters.is_empty() {
                break;
            }
            at += letters.len();
            left -= letters.len();
            views.extend(letters.iter().map(|letter| TaskView::new(&queue, letter)));
        }
    }
    print(json, &views[..], text::dead)
}

fn dead_settle(
    session: &Session,
    choice: &DeadChoice,
    action: Settle,
    json: bool,
) -> Result<(), Failure> {
    if !choice.all {
        return each(session, &choice.ids, json, |session, id| {
            settle_one(session, id, action)
        });
    }
    let queue = session.queue()?;
    let admin = session.admin(&queue);
    // All ids first: what is retried may be dead again before the next page is read.
    let mut ids: Vec<TaskId> = Vec::new();
    loop {
        let page = session.asked(admin.dead_letters(ids.len(), MAX_BATCH))?;
        if page.is_empty() {
            break;
        }
        ids.extend(page.into_iter().map(|letter| letter.id));
    }
    let settled = session.asked(match action {
        Settle::Retry => admin.retry_dead(&ids),
        Settle::Drop => admin.drop_dead(&ids),
    })?;
    let answer = serde_json::json!({ "queue": queue.as_str(), "count": settled });
    print(json, &answer, |_| {
        let done = match action {
            Settle::Retry => "made ready again",
            Settle::Drop => "dropped",
        };
        format!("{settled} dead letters of {queue} {done}\n")
    })
}

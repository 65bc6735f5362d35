//! `windlass queue list`: the tasks of a queue, page by page.
//!
//! An engine looks at a bounded number of records in a call, so a list of a few tasks among many takes several
//! calls. Pages are written as they come: a long list takes no more memory than a page.

use serde::Serialize;
use windlass_remote::engine::{MAX_PAGE, TaskState};
use windlass_remote::{QueueAdmin, QueueName, TaskId};

use super::options::{ListOptions, StateName};
use super::print::print;
use super::session::Session;
use super::text;
use super::view::TaskView;
use crate::exit::Failure;

/// What is printed of a list at a time.
#[derive(Debug, Serialize)]
struct Part {
    queue: String,
    tasks: Vec<TaskView>,
    /// Where the list goes on.
    next: Option<String>,
}

impl From<StateName> for TaskState {
    fn from(name: StateName) -> Self {
        match name {
            StateName::Scheduled => Self::Scheduled,
            StateName::Ready => Self::Ready,
            StateName::Running => Self::Running,
            StateName::Done => Self::Done,
            StateName::Failed => Self::Failed,
            StateName::Cancelled => Self::Cancelled,
            StateName::Dead => Self::Dead,
        }
    }
}

pub(super) fn tasks(session: &Session, options: &ListOptions, json: bool) -> Result<(), Failure> {
    let queue = session.queue()?;
    let admin = session.admin(&queue);
    let states: Vec<TaskState> = options.state.iter().copied().map(Into::into).collect();
    let most = if options.all {
        usize::MAX
    } else {
        options.count.max(1)
    };
    let (mut after, mut page_size) = (options.after.clone(), most.min(MAX_PAGE));
    let mut listed = 0;
    // As JSON, a list that has an end is one value.
    let mut gathered = Vec::new();
    loop {
        let page = session.asked(admin.list(&states, after.as_deref(), page_size))?;
        after = page.next;
        let is_last = after.is_none() || listed + page.ids.len() >= most;
        if page.ids.is_empty() && !is_last {
            // What is looked for is rare: fewer and longer calls find it sooner.
            page_size = (page_size * 2).min(MAX_PAGE);
            continue;
        }
        let is_first = listed == 0;
        listed += page.ids.len();
        if options.ids {
            print(false, &page.ids.len(), |_| lines(&page.ids))?;
        } else {
            gathered.extend(views(session, &admin, &queue, (&page.ids, &states))?);
            // The last page may be empty, and the heading is for the first one.
            let is_shown = if json {
                is_last || options.all
            } else {
                is_first || !gathered.is_empty()
            };
            if is_shown {
                let part = Part {
                    queue: queue.to_string(),
                    tasks: std::mem::take(&mut gathered),
                    next: after.clone(),
                };
                print(json, &part, |part| text::tasks(&part.tasks, is_first))?;
            }
        }
        if is_last {
            break;
        }
    }
    if let (Some(place), false) = (after, json) {
        eprintln!("there may be more: --after {place} goes on here, --all prints all");
    }
    Ok(())
}

fn lines(ids: &[TaskId]) -> String {
    ids.iter().map(|id| format!("{id}\n")).collect()
}

/// Looks up what was listed. What has got another state or was forgotten since then is left out.
fn views(
    session: &Session,
    admin: &QueueAdmin,
    queue: &QueueName,
    (ids, states): (&[TaskId], &[TaskState]),
) -> Result<Vec<TaskView>, Failure> {
    let records = session.asked(admin.tasks(ids))?;
    Ok(records
        .into_iter()
        .flatten()
        .filter(|record| states.is_empty() || states.contains(&record.state))
        .map(|record| TaskView::new(queue, &record))
        .collect())
}

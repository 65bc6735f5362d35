//! Asks the console once a second, and for what keys ask for, on a thread of its own.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::app::Request;
use crate::attach::{Changed, Client, Overview, Workers, encode};
use crate::exit::Failure;

const EVERY: Duration = Duration::from_secs(1);

/// What the console has answered.
#[derive(Debug)]
pub(super) enum Answer {
    Overview(Overview),
    Workers(Workers),
    /// To a request of a key.
    Done(String),
    Failed(String),
}

/// What is asked.
#[derive(Debug)]
pub(super) enum Question {
    /// The pool whose workers are wanted has changed.
    Select(Option<String>),
    Request(Request),
}

/// The two ends of the thread that asks. It ends when the questions do.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) questions: Sender<Question>,
    pub(super) answers: Receiver<Answer>,
}

impl Feed {
    pub(super) fn start(client: Client) -> io::Result<Self> {
        let (questions, asked) = channel();
        let (answered, answers) = channel();
        thread::Builder::new()
            .name("console".to_owned())
            .spawn(move || {
                // An error means that nobody listens any more.
                let _ = ask(&client, &asked, &answered);
            })?;
        Ok(Self { questions, answers })
    }
}

fn ask(
    client: &Client,
    asked: &Receiver<Question>,
    answered: &Sender<Answer>,
) -> Result<(), std::sync::mpsc::SendError<Answer>> {
    let mut selected = None;
    let mut due = Instant::now();
    loop {
        match asked.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Question::Select(pool)) => {
                selected = pool;
                answered.send(workers(client, selected.as_deref()))?;
            }
            Ok(Question::Request(request)) => {
                answered.send(
                    send(client, &request)
                        .map_or_else(|error| Answer::Failed(error.to_string()), Answer::Done),
                )?;
                answered.send(overview(client))?;
            }
            Err(RecvTimeoutError::Timeout) => {
                due = Instant::now() + EVERY;
                answered.send(overview(client))?;
                answered.send(workers(client, selected.as_deref()))?;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn overview(client: &Client) -> Answer {
    client.get("/api/v1/pools").map_or_else(
        |error: Failure| Answer::Failed(error.to_string()),
        Answer::Overview,
    )
}

fn workers(client: &Client, pool: Option<&str>) -> Answer {
    let Some(pool) = pool else {
        return Answer::Workers(Workers::default());
    };
    // A pool that is gone meanwhile has no workers.
    let workers = client.get(&format!("/api/v1/pools/{}/threads", encode(pool)));
    Answer::Workers(workers.unwrap_or_default())
}

fn send(client: &Client, request: &Request) -> Result<String, Failure> {
    match request {
        Request::Change {
            pool,
            version,
            body,
        } => {
            let path = format!("/api/v1/pools/{}/config", encode(pool));
            let changed: Changed = client.patch(&path, *version, body)?;
            let changes = changed.describe().join(", ");
            let warnings = changed
                .warnings
                .iter()
                .map(|warning| format!("  ({warning})"));
            Ok(format!(
                "{pool}: {changes}, for a minute; c keeps it{}",
                warnings.collect::<String>()
            ))
        }
        Request::Command {
            pool,
            command,
            body,
        } => {
            let path = format!("/api/v1/pools/{}/{command}", encode(pool));
            let _: Value = client.post(&path, body)?;
            Ok(format!("{pool}: {command}"))
        }
    }
}

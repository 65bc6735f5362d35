//! Task types for tests. What they do besides returning goes through a [`Board`] of the process.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Condvar, LazyLock, Mutex};
use std::time::Duration;
use windlass_remote::{Priority, RemoteTask, TaskCx, TaskError, TaskOptions};

/// Who has started, and which gates are open, by a key that each test chooses for itself.
#[derive(Default)]
pub struct Board {
    starts: Mutex<Vec<String>>,
    open: Mutex<HashMap<String, bool>>,
    changed: Condvar,
}

pub static BOARD: LazyLock<Board> = LazyLock::new(Board::default);

impl Board {
    pub fn start(&self, key: &str) {
        self.starts.lock().unwrap().push(key.into());
    }

    pub fn starts(&self, prefix: &str) -> Vec<String> {
        let starts = self.starts.lock().unwrap();
        starts
            .iter()
            .filter(|key| key.starts_with(prefix))
            .cloned()
            .collect()
    }

    pub fn open(&self, gate: &str) {
        self.open.lock().unwrap().insert(gate.into(), true);
        self.changed.notify_all();
    }

    fn is_open(&self, gate: &str, wait: Duration) -> bool {
        let open = self.open.lock().unwrap();
        let closed = |open: &mut HashMap<String, bool>| !open.contains_key(gate);
        !closed(
            &mut self
                .changed
                .wait_timeout_while(open, wait, closed)
                .unwrap()
                .0,
        )
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Add(pub i64, pub i64);

impl RemoteTask for Add {
    const NAME: &'static str = "test.add";
    type Output = i64;

    fn run(self, _: &TaskCx) -> Result<i64, TaskError> {
        self.0
            .checked_add(self.1)
            .ok_or_else(|| TaskError::new("overflow"))
    }
}

/// Notes its start, waits for its gate or until it is told to stop, and returns its key.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Gated(pub String);

impl Gated {
    pub fn new(gate: &str) -> Self {
        Self(gate.into())
    }
}

impl RemoteTask for Gated {
    const NAME: &'static str = "test.gated";
    type Output = String;

    fn run(self, cx: &TaskCx) -> Result<String, TaskError> {
        BOARD.start(&self.0);
        while !BOARD.is_open(&self.0, Duration::from_millis(5)) {
            if cx.is_cancelled() {
                BOARD.start(&format!("stopped:{}", self.0));
                return Err(TaskError::new("told to stop"));
            }
        }
        Ok(self.0)
    }
}

/// Notes its start; not urgent unless submitted with other options.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note(pub String);

impl RemoteTask for Note {
    const NAME: &'static str = "test.note";
    type Output = ();

    fn run(self, _: &TaskCx) -> Result<(), TaskError> {
        BOARD.start(&self.0);
        Ok(())
    }

    fn options() -> TaskOptions {
        TaskOptions::default().priority(Priority::Normal)
    }
}

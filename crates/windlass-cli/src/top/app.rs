//! What is shown and selected, and what keys mean. Nothing here knows a terminal or a network.

use serde_json::{Value, json};

use crate::attach::{Overview, Pool, Workers};

/// How long a change of a key lasts unless it is confirmed, in seconds.
pub(super) const REVERT_AFTER: u64 = 60;

/// The key that closes the help, or the program.
pub(super) const ESC: char = '\u{1b}';

/// What the console was asked for by a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// A change of the settings of a pool with this version.
    Change {
        pool: String,
        version: u64,
        body: Value,
    },
    /// A command to a pool: its name in the path, and its body.
    Command {
        pool: String,
        command: &'static str,
        body: Value,
    },
}

/// What a key does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    None,
    Quit,
    Ask(Request),
}

/// What is shown.
#[derive(Debug, Default)]
pub(super) struct App {
    pub(super) overview: Option<Overview>,
    pub(super) workers: Workers,
    pub(super) selected: usize,
    /// The last answer or failure.
    pub(super) message: String,
    pub(super) shows_help: bool,
    pub(super) can_write: bool,
}

impl App {
    pub(super) fn pools(&self) -> &[Pool] {
        self.overview
            .as_ref()
            .map_or(&[], |overview| &overview.pools)
    }

    /// The pool that is selected.
    pub(super) fn pool(&self) -> Option<&Pool> {
        self.pools().get(self.selected)
    }

    /// Takes what the console says. The selection stays with its pool, though others come and go.
    pub(super) fn update(&mut self, overview: Overview) {
        let name = self.pool().map(|pool| pool.name.clone());
        let place = overview
            .pools
            .iter()
            .position(|pool| Some(&pool.name) == name.as_ref());
        let last = overview.pools.len().saturating_sub(1);
        self.selected = place.unwrap_or(self.selected).min(last);
        self.overview = Some(overview);
    }

    /// Returns what a key does.
    pub(super) fn key(&mut self, key: char) -> Action {
        match key {
            ESC if self.shows_help => self.shows_help = false,
            'q' | ESC => return Action::Quit,
            '?' => self.shows_help = !self.shows_help,
            'j' => self.selected = (self.selected + 1).min(self.pools().len().saturating_sub(1)),
            'k' => self.selected = self.selected.saturating_sub(1),
            _ => return self.tune(key),
        }
        Action::None
    }

    fn tune(&mut self, key: char) -> Action {
        let Some(pool) = self.pool().cloned() else {
            return Action::None;
        };
        let request = match key {
            '+' | '=' => Self::grow(&pool, pool.threads.core + 1),
            '-' if pool.threads.core > 0 => Self::grow(&pool, pool.threads.core - 1),
            '>' => pool
                .threads
                .max
                .and_then(|max| Self::change(&pool, "max", max + 1)),
            '<' => pool
                .threads
                .max
                .and_then(|max| Self::change(&pool, "max", max.saturating_sub(1).max(1))),
            ']' => pool
                .config
                .capacity
                .and_then(|n| Self::change(&pool, "capacity", n * 2)),
            '[' => pool
                .config
                .capacity
                .and_then(|n| Self::change(&pool, "capacity", (n / 2).max(1))),
            'p' if pool.paused_until_ms.is_some() => Some(command(&pool, "resume", json!({}))),
            'p' => Some(command(&pool, "pause", json!({ "seconds": 60 }))),
            'c' => Some(command(&pool, "confirm", json!({}))),
            'u' => Some(command(&pool, "revert", json!({}))),
            _ => return Action::None,
        };
        match request {
            _ if !self.can_write => {
                self.message =
                    "read only: set WINDLASS_TOKEN to the token of the console".to_owned();
                Action::None
            }
            Some(request) => Action::Ask(request),
            None => {
                self.message = format!("{} cannot change that", pool.name);
                Action::None
            }
        }
    }

    /// More threads: the parallelism of a fork-join pool, else core, and max with it if it has to.
    fn grow(pool: &Pool, core: u64) -> Option<Request> {
        if pool.is_tunable("parallelism") {
            let parallelism = pool.config.parallelism.unwrap_or(pool.threads.core);
            let wanted = if core > pool.threads.core {
                parallelism + 1
            } else {
                parallelism - 1
            };
            return Self::change(pool, "parallelism", wanted.max(1));
        }
        let mut request = Self::change(pool, "core", core)?;
        if let Request::Change { body, .. } = &mut request
            && pool.threads.max.is_some_and(|max| core > max)
        {
            body["max"] = core.into();
        }
        Some(request)
    }

    fn change(pool: &Pool, field: &str, value: u64) -> Option<Request> {
        pool.is_tunable(field).then(|| Request::Change {
            pool: pool.name.clone(),
            version: pool.version,
            body: json!({ field: value, "revert_after_seconds": REVERT_AFTER }),
        })
    }
}

fn command(pool: &Pool, command: &'static str, body: Value) -> Request {
    Request::Command {
        pool: pool.name.clone(),
        command,
        body,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Action, App, ESC, Request};

    fn pool(name: &str) -> Value {
        json!({
            "name": name, "kind": "thread_pool", "state": "running", "version": 3,
            "threads": {"size": 2, "active": 1, "core": 4, "max": 4},
            "queue": {"len": 0, "capacity": 100, "oldest_seconds": null},
            "tasks": {"completed": 0, "failed": 0, "rejected": 0},
            "rates": {"completed": 0.0, "rejected": 0.0},
            "wait": null, "run": null,
            "config": {"policy": "abort", "capacity": 100, "keep_alive_seconds": 60, "parallelism": null},
            "tunable": ["core", "max", "capacity"],
            "pending_revert": null, "paused_until_ms": null,
        })
    }

    fn app(names: &[&str]) -> App {
        let mut app = App {
            can_write: true,
            ..App::default()
        };
        app.update(overview(names));
        app
    }

    fn overview(names: &[&str]) -> crate::attach::Overview {
        let pools: Vec<Value> = names.iter().map(|name| pool(name)).collect();
        serde_json::from_value(json!({
            "host": "box", "pid": 1, "started_ms": 0, "now_ms": 1, "read_only": false, "pools": pools,
        }))
        .unwrap()
    }

    fn body(action: Action) -> Value {
        match action {
            Action::Ask(Request::Change {
                body, version: 3, ..
            }) => body,
            other => panic!("no change: {other:?}"),
        }
    }

    #[test]
    fn keys_change_the_selected_pool_for_a_minute() {
        let mut app = app(&["a", "b"]);
        assert_eq!(
            body(app.key('-')),
            json!({"core": 3, "revert_after_seconds": 60})
        );
        assert_eq!(
            body(app.key('+')),
            json!({"core": 5, "max": 5, "revert_after_seconds": 60})
        );
        assert_eq!(
            body(app.key(']')),
            json!({"capacity": 200, "revert_after_seconds": 60})
        );
        app.key('j');
        app.key('j');
        let Action::Ask(Request::Command { pool, command, .. }) = app.key('p') else {
            panic!("no command");
        };
        assert_eq!((pool.as_str(), command), ("b", "pause"));
    }

    #[test]
    fn the_selection_stays_with_its_pool() {
        let mut app = app(&["a", "b"]);
        app.key('j');
        app.update(overview(&["0", "a", "b"]));
        assert_eq!(app.pool().unwrap().name, "b");
        app.update(overview(&["a"]));
        assert_eq!(app.pool().unwrap().name, "a");
        app.update(overview(&[]));
        assert!(app.pool().is_none());
        assert_eq!(app.key('+'), Action::None);
    }

    #[test]
    fn escape_closes_the_help_before_it_quits() {
        let mut app = app(&["a"]);
        app.key('?');
        assert!(app.shows_help);
        assert_eq!(app.key(ESC), Action::None);
        assert!(!app.shows_help);
        assert_eq!(app.key(ESC), Action::Quit);
        app.key('?');
        assert_eq!(app.key('q'), Action::Quit);
    }

    #[test]
    fn without_a_token_keys_explain_what_is_missing() {
        let mut app = app(&["a"]);
        app.can_write = false;
        assert_eq!(app.key('+'), Action::None);
        assert!(app.message.contains("WINDLASS_TOKEN"));
        assert_eq!(app.key('q'), Action::Quit);
    }
}

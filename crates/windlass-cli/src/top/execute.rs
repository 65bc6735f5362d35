//! `windlass top` from its options to its end.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::app::{Action, App, ESC};
use super::draw::draw;
use super::feed::{Answer, Feed, Question};
use crate::attach::{Client, ConsoleOptions, Overview};
use crate::exit::Failure;

/// How long a key is awaited before answers of the console are looked at.
const TICK: Duration = Duration::from_millis(100);

/// The options of `windlass top`.
#[derive(Debug, Clone, Args)]
pub struct TopOptions {
    #[command(flatten)]
    console: ConsoleOptions,
}

/// Shows the pools until a key ends it.
///
/// # Errors
///
/// When there is no terminal or no console.
pub fn top(options: &TopOptions) -> Result<(), Failure> {
    if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
        return Err(Failure::usage("top needs a terminal").hint("windlass pools prints a table"));
    }
    let client = Client::new(&options.console)?;
    // A console that is not there is told before the screen is taken.
    let overview: Overview = client.get("/api/v1/pools")?;
    let mut app = App {
        can_write: client.has_token() && !overview.read_only,
        message: format!("attached to {}", client.url()),
        ..App::default()
    };
    app.update(overview);
    let feed = Feed::start(client).map_err(failed)?;
    let terminal = ratatui::try_init().map_err(failed)?;
    let shown = show(terminal, &mut app, &feed);
    ratatui::restore();
    shown.map_err(failed)
}

fn failed(error: io::Error) -> Failure {
    Failure::new(format!("cannot show the pools: {error}"))
}

fn show(mut terminal: DefaultTerminal, app: &mut App, feed: &Feed) -> io::Result<()> {
    let mut selected = None;
    loop {
        for answer in feed.answers.try_iter() {
            match answer {
                Answer::Overview(overview) => app.update(overview),
                Answer::Workers(workers) => app.workers = workers,
                Answer::Done(message) | Answer::Failed(message) => app.message = message,
            }
        }
        let name = app.pool().map(|pool| pool.name.clone());
        if name != selected {
            selected.clone_from(&name);
            // The feed ends after this loop only.
            let _ = feed.questions.send(Question::Select(name));
        }
        terminal.draw(|frame| draw(frame, app))?;
        if !event::poll(TICK)? {
            continue;
        }
        let Event::Key(key) = event::read()? else {
            continue;
        };
        match key_of(key).map_or(Action::None, |key| app.key(key)) {
            Action::None => {}
            Action::Quit => return Ok(()),
            Action::Ask(request) => {
                let _ = feed.questions.send(Question::Request(request));
            }
        }
    }
}

/// The key as one character; arrows are those of vi.
fn key_of(key: KeyEvent) -> Option<char> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some('q'),
        KeyCode::Char(character) => Some(character),
        KeyCode::Down => Some('j'),
        KeyCode::Up => Some('k'),
        KeyCode::Esc => Some(ESC),
        _ => None,
    }
}

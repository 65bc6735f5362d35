//! The queues of an engine in the browser.

use std::io::Write as _;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use windlass::monitor::{Monitor, Registry};
use windlass_console::Console;
use windlass_console::remote::EngineSource;

use super::options::{QueueAction, QueueOptions};
use crate::engine::EngineAddress;
use crate::exit::Failure;
use crate::run::signals::not_ignored;

/// The console waits two seconds for an answer.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Serves the console until a signal ends it.
pub(super) fn serve(options: &QueueOptions) -> Result<(), Failure> {
    let QueueAction::Console {
        bind,
        token_file,
        read_only,
        show_errors,
    } = &options.action
    else {
        return Ok(());
    };
    let open = EngineAddress::given_or_env(options.engine.as_ref())?.open(PATIENCE)?;
    let trouble = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP])).map_err(trouble)?;
    // This process has no pools worth showing.
    let monitor = Monitor::start(&Registry::new()).map_err(trouble)?;
    let mut builder = Console::builder()
        .bind(bind)
        .announce(false)
        .monitor(&monitor)
        .read_only(*read_only)
        .show_errors(*show_errors)
        .remote(EngineSource::new(open.kind, open.engine));
    if let Some(path) = token_file {
        builder = builder.token_from_file(path);
    }
    let console = builder.start().map_err(|error| {
        Failure::new(format!("the console cannot start: {error}"))
            .hint("--bind names another address; 127.0.0.1:0 is any free port")
    })?;
    let mut text = format!(
        "console   {}#/remote\nengine    {}\n",
        console.url(),
        open.place
    );
    if token_file.is_none() && !read_only {
        text.push_str(&format!("token     {}\n", console.token()));
    }
    text.push_str("ctrl-c ends it\n");
    let mut stdout = std::io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(trouble)?;
    signals.forever().next();
    console.shutdown();
    Ok(())
}

//! The link from tokens to a task that they cancel.

use super::control::TaskControl;
use super::handle_methods::Handle;
use super::token::CancelToken;

/// Lets each of the tokens cancel the task, until it is done; at once if a token is cancelled.
#[cold]
pub(super) fn link(task: &TaskControl, tokens: Vec<CancelToken>) {
    for token in tokens {
        let theirs = task.clone();
        let registered = token.register(move |signal| {
            theirs.cancel_for(signal.mode, signal.reason);
        });
        if let Some(registration) = registered {
            task.on_done(move |_| drop(registration));
        }
    }
}

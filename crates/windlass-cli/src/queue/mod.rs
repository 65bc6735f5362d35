//! `windlass queue`: looks at queues on an engine, and changes them.
//!
//! | file | in one sentence |
//! |---|---|
//! | `options` | the options of the command line |
//! | `session` | the engine that is asked, and the queue or task that is meant |
//! | `view` | what is printed as JSON |
//! | `text` | the same for people |
//! | `print` | writes one or the other |
//! | `list` | the tasks of a queue, page by page |
//! | `execute` | one action each |
//! | `console` | the queues in the browser |

mod console;
mod execute;
mod list;
mod options;
mod print;
mod session;
mod text;
mod view;

pub use execute::execute;
pub use options::{DeadAction, DeadChoice, ListOptions, QueueAction, QueueOptions, StateName};

//! `windlass top`: the pools of a running program in the terminal, with keys to tune them.
//!
//! | file | in one sentence |
//! |---|---|
//! | `app` | what is shown and selected, and what keys mean |
//! | `feed` | asks the console once a second, and for what keys ask for |
//! | `draw` | puts it on the screen |
//! | `execute` | all of it together |

mod app;
mod draw;
mod execute;
mod feed;

pub use execute::{TopOptions, top};

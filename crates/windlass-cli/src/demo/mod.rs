//! `windlass demo`: a small service under a changing load, to be watched and tuned.
//!
//! | file | in one sentence |
//! |---|---|
//! | `service` | the pools of the service, and what their tasks do |
//! | `load` | how much there is to do at a moment |
//! | `display` | the figures of the pools in the terminal |
//! | `execute` | all of it together, to the report at the end |

mod display;
mod execute;
mod load;
mod service;

pub use execute::{DemoOptions, demo};

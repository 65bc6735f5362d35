//! `windlass size`: how many threads a pool should have, and what a pool of a size will do.
//!
//! | file | in one sentence |
//! |---|---|
//! | `options` | the options of the command line |
//! | `formula` | the sizing formula, from given or measured times |
//! | `measure` | how long a command waits and computes |
//! | `load` | when tasks arrive and how long they take |
//! | `model` | the pool that is simulated: admission, workers, the thread that submits |
//! | `real_pool` | the model beside a real pool, task by task (tests only) |
//! | `simulation` | runs the model on its virtual clock |
//! | `figures` | what a simulation has shown |
//! | `theory` | what queueing theory says about the same pool, where it can |
//! | `plot`, `svg` | the figures as a picture, in the terminal and in a file |
//! | `execute` | all of it together |

mod execute;
mod figures;
mod formula;
mod load;
mod measure;
mod model;
mod options;
mod plot;
#[cfg(test)]
mod real_pool;
mod simulation;
mod svg;
mod theory;

pub use execute::execute;
pub use figures::{Figures, Stretch, Waits};
pub use load::{Arrivals, Load, Service};
pub use model::{OnSaturation, PoolModel};
pub use options::SizeOptions;
pub use simulation::simulate;
pub use theory::{Theory, erlang_c, mmck};

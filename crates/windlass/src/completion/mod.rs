//! Results in the order of their completion.
//!
//! | file | role |
//! |---|---|
//! | `service` | [`CompletionService`], and its iterator |
//! | `wakers` | the streams that wait |
//! | `stream` | the same as a `Stream` (feature `stream`) |

mod service;
#[cfg(feature = "stream")]
mod stream;
#[cfg(feature = "stream")]
mod wakers;

pub use service::{CompletionService, Completions};
#[cfg(feature = "stream")]
pub use stream::CompletionStream;

//! What happens, as a stream.

mod journal;
mod stream;

pub(crate) use journal::Journal;
pub(crate) use stream::Client;

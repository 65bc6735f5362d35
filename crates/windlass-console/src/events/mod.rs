//! What happens, as a stream.

mod feed;
mod journal;
mod stream;

pub(crate) use feed::Feed;
pub(crate) use journal::Journal;
pub(crate) use stream::Client;

//! The stream of events to one client.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse;
use futures_util::stream::{Stream, unfold};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::journal::{Event, Journal, Kind, Reading};
use crate::server::Stopping;

/// When a client that lost its connection should try again.
const RETRY: Duration = Duration::from_secs(2);

/// Who reads the journal for one client.
pub(crate) struct Client<S> {
    pub(crate) journal: Arc<Journal>,
    /// The last event that the client has, if it has one.
    pub(crate) last: Option<u64>,
    /// Makes the body of `hello`.
    pub(crate) snapshot: S,
    pub(crate) stopping: Stopping,
    /// The place of this client among the few there are; free again when the stream is dropped.
    pub(crate) _place: OwnedSemaphorePermit,
}

struct Cursor<S> {
    client: Client<S>,
    news: watch::Receiver<u64>,
}

impl<S: Fn() -> String> Client<S> {
    /// Returns the events, until the console stops.
    pub(crate) fn stream(self) -> impl Stream<Item = Result<sse::Event, Infallible>> {
        let news = self.journal.watch();
        unfold(Cursor { client: self, news }, async |mut cursor| {
            let event = cursor.next().await?;
            Some((Ok(event), cursor))
        })
    }
}

impl<S: Fn() -> String> Cursor<S> {
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            // Seen before the journal is read: what is appended after that is news.
            let newest = *self.news.borrow_and_update();
            let reading = match self.client.last {
                None => Reading::Missed,
                Some(last) => self.client.journal.after(last),
            };
            match reading {
                Reading::Next(event) => {
                    self.client.last = Some(event.id);
                    return Some(sent(&event));
                }
                Reading::Missed => {
                    // The snapshot is taken after its number is: it can be newer than the number says,
                    // never older.
                    self.client.last = Some(newest);
                    let data = (self.client.snapshot)().into();
                    let hello = Event {
                        id: newest,
                        kind: Kind::Hello,
                        data,
                    };
                    return Some(sent(&hello).retry(RETRY));
                }
                Reading::UpToDate => tokio::select! {
                    changed = self.news.changed() => changed.ok()?,
                    () = self.client.stopping.wait() => return None,
                },
            }
        }
    }
}

fn sent(event: &Event) -> sse::Event {
    sse::Event::default()
        .id(event.id.to_string())
        .event(event.kind.name())
        .data(&*event.data)
}

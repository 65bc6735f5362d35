//! The connection on which notices come and go.

use super::address::Address;
use super::session::Parameter;
use super::signals::Signals;
use crate::pace::Backoff;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::Client;

/// Sends notices, and hears those of everybody. Its task ends when this is dropped.
pub(super) struct Wire(UnboundedSender<Vec<String>>);

impl Wire {
    pub(super) fn start(
        runtime: &Runtime,
        address: Address,
        signals: Arc<Signals>,
        channel: &str,
    ) -> Self {
        let (sender, topics) = unbounded_channel();
        let line = Line {
            address,
            signals,
            channel: channel.into(),
            topics,
        };
        runtime.spawn(line.run());
        Self(sender)
    }

    pub(super) fn tell(&self, topics: Vec<String>) {
        // Without a receiver the engine ends, and whoever waits looks by itself.
        let _ = self.0.send(topics);
    }
}

struct Line {
    address: Address,
    signals: Arc<Signals>,
    channel: String,
    topics: UnboundedReceiver<Vec<String>>,
}

/// Whether the engine still needs its line.
enum After {
    Reconnect,
    End,
}

impl Line {
    async fn run(mut self) {
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
        loop {
            let opened = self
                .address
                .clone()
                .open(Some(Arc::clone(&self.signals)))
                .await;
            if let Ok((client, driven)) = opened {
                let listen = format!("LISTEN \"{}\"", self.channel);
                if self.in_time(client.batch_execute(&listen)).await.is_some() {
                    backoff.reset();
                    self.signals.deliver_all();
                    if let After::End = self.serve(&client, driven).await {
                        return;
                    }
                }
            }
            // Whoever these were for looks by itself before the server is back.
            while self.topics.try_recv().is_ok() {}
            if self.topics.is_closed() {
                return;
            }
            tokio::time::sleep(backoff.next_pause()).await;
        }
    }

    /// Waits for an answer no longer than a call may take; `None` if it is an error or does not come. A connection that was cut in silence
    /// would be waited for without end, and nobody would be told anything.
    async fn in_time<R>(
        &self,
        answer: impl Future<Output = Result<R, tokio_postgres::Error>>,
    ) -> Option<R> {
        let limit = self.address.call_timeout;
        tokio::time::timeout(limit, answer).await.ok()?.ok()
    }

    async fn serve(&mut self, client: &Client, mut driven: tokio::task::JoinHandle<()>) -> After {
        const NOTIFY: &str = "SELECT pg_notify($1, topic) FROM unnest($2::text[]) AS topic";
        let Some(notify) = self.in_time(client.prepare(NOTIFY)).await else {
            return After::Reconnect;
        };
        loop {
            let mut topics = tokio::select! {
                _ = &mut driven => return After::Reconnect,
                topics = self.topics.recv() => match topics {
                    Some(topics) => topics,
                    None => return After::End,
                },
            };
            while let Ok(more) = self.topics.try_recv() {
                topics.extend(more);
            }
            topics.sort_unstable();
            topics.dedup();
            let parameters: [Parameter<'_>; 2] = [&self.channel, &topics];
            let told = self.in_time(client.query(&notify, &parameters)).await;
            if told.is_none() {
                return After::Reconnect;
            }
        }
    }
}

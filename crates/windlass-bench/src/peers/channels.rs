//! A minimal pool: threads that take boxed closures from a channel.
//!
//! It has nothing of what makes a pool (states, statistics, panics, handles), and so shows what the
//! channel alone costs.

use std::thread::JoinHandle;

use super::family::{Bounded, Peer, Pool, WhenFull};

type Body = Box<dyn FnOnce() + Send>;

/// A channel of many senders and many receivers.
pub(crate) trait Channel: 'static {
    const NAME: &'static str;
    type Sender: Send + Sync + 'static;
    type Receiver: Send + Clone + 'static;

    fn unbounded() -> (Self::Sender, Self::Receiver);
    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver);
    fn send(sender: &Self::Sender, body: Body);
    /// Returns the body if there is no room.
    fn try_send(sender: &Self::Sender, body: Body) -> Option<Body>;
    /// `None` once there are no senders and nothing is left.
    fn receive(receiver: &Self::Receiver) -> Option<Body>;
}

pub(crate) struct ChannelPool<C: Channel> {
    sender: C::Sender,
    threads: Vec<JoinHandle<()>>,
    when_full: WhenFull,
}

impl<C: Channel> ChannelPool<C> {
    fn over(
        (sender, receiver): (C::Sender, C::Receiver),
        workers: usize,
        when_full: WhenFull,
    ) -> Self {
        let start = |_| {
            let receiver = receiver.clone();
            std::thread::spawn(move || {
                while let Some(body) = C::receive(&receiver) {
                    body();
                }
            })
        };
        Self {
            sender,
            threads: (0..workers).map(start).collect(),
            when_full,
        }
    }
}

impl<C: Channel> Peer for ChannelPool<C> {
    const NAME: &'static str = C::NAME;
}

impl<C: Channel> Pool for ChannelPool<C> {
    fn with_workers(workers: usize) -> Self {
        Self::over(C::unbounded(), workers, WhenFull::Block)
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        C::send(&self.sender, Box::new(body));
    }

    fn close(self) {
        drop(self.sender);
        for thread in self.threads {
            thread.join().expect("workers do not panic");
        }
    }
}

impl<C: Channel> Bounded for ChannelPool<C> {
    fn with_capacity(workers: usize, capacity: usize, when_full: WhenFull) -> Self {
        Self::over(C::bounded(capacity), workers, when_full)
    }

    #[inline]
    fn execute_bounded(&self, body: impl FnOnce() + Send + 'static) {
        match self.when_full {
            WhenFull::Block => self.execute(body),
            WhenFull::CallerRuns => {
                if let Some(body) = C::try_send(&self.sender, Box::new(body)) {
                    body();
                }
            }
        }
    }
}

/// `crossbeam-channel`.
pub(crate) struct Crossbeam;

impl Channel for Crossbeam {
    const NAME: &'static str = "crossbeam-channel";
    type Sender = crossbeam_channel::Sender<Body>;
    type Receiver = crossbeam_channel::Receiver<Body>;

    fn unbounded() -> (Self::Sender, Self::Receiver) {
        crossbeam_channel::unbounded()
    }

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        crossbeam_channel::bounded(capacity)
    }

    #[inline]
    fn send(sender: &Self::Sender, body: Body) {
        sender.send(body).expect("the receivers are there");
    }

    #[inline]
    fn try_send(sender: &Self::Sender, body: Body) -> Option<Body> {
        let refused = sender.try_send(body).err();
        refused.map(crossbeam_channel::TrySendError::into_inner)
    }

    #[inline]
    fn receive(receiver: &Self::Receiver) -> Option<Body> {
        receiver.recv().ok()
    }
}

/// `kanal`.
pub(crate) struct Kanal;

impl Channel for Kanal {
    const NAME: &'static str = "kanal";
    type Sender = kanal::Sender<Body>;
    type Receiver = kanal::Receiver<Body>;

    fn unbounded() -> (Self::Sender, Self::Receiver) {
        kanal::unbounded()
    }

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        kanal::bounded(capacity)
    }

    #[inline]
    fn send(sender: &Self::Sender, body: Body) {
        sender.send(body).expect("the receivers are there");
    }

    #[inline]
    fn try_send(sender: &Self::Sender, body: Body) -> Option<Body> {
        let mut body = Some(body);
        sender
            .try_send_option(&mut body)
            .expect("the receivers are there");
        body
    }

    #[inline]
    fn receive(receiver: &Self::Receiver) -> Option<Body> {
        receiver.recv().ok()
    }
}

//! Handles for pools that have none: a `oneshot` channel for each task, as their users do it.

use super::family::{Peer, Pool, Returning};

pub(crate) struct WithOneshot<P>(P);

impl<P: Peer> Peer for WithOneshot<P> {
    const NAME: &'static str = P::NAME;

    fn name() -> String {
        format!("{}+oneshot", P::NAME)
    }
}

impl<P: Pool> Pool for WithOneshot<P> {
    fn with_workers(workers: usize) -> Self {
        Self(P::with_workers(workers))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body);
    }

    fn close(self) {
        self.0.close();
    }
}

impl<P: Pool> Returning for WithOneshot<P> {
    type Handle<T: Send + 'static> = oneshot::Receiver<T>;

    #[inline]
    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.0.execute(move || {
            // Nobody may wait for it any more.
            let _ = sender.send(body());
        });
        receiver
    }

    #[inline]
    fn get<T: Send + 'static>(&self, handle: oneshot::Receiver<T>) -> T {
        handle.recv().expect("the task returns")
    }
}

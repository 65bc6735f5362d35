//! The pool of a textbook: threads that wait at a condition variable for a queue under a lock.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

use super::family::{Peer, Pool};

type Body = Box<dyn FnOnce() + Send>;

pub(crate) struct CondvarPool(Arc<(Mutex<VecDeque<Body>>, Condvar)>);

impl Peer for CondvarPool {
    const NAME: &'static str = "condvar";
}

impl Pool for CondvarPool {
    fn with_workers(workers: usize) -> Self {
        let shared = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
        for _ in 0..workers {
            let shared = Arc::clone(&shared);
            // They end with the process, as the sample does.
            std::thread::spawn(move || {
                loop {
                    take(&shared)();
                }
            });
        }
        Self(shared)
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        let (queue, filled) = &*self.0;
        let mut queue = queue.lock().expect("nobody panics with it");
        queue.push_back(Box::new(body));
        drop(queue);
        filled.notify_one();
    }
}

fn take((queue, filled): &(Mutex<VecDeque<Body>>, Condvar)) -> Body {
    let mut queue = queue.lock().expect("nobody panics with it");
    loop {
        match queue.pop_front() {
            Some(body) => return body,
            None => queue = filled.wait(queue).expect("nobody panics with it"),
        }
    }
}

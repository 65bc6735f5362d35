//! How can a pool serve its tenants fairly, when one of them floods it?
//!
//! With a queue of your own. A `Discipline` decides which task is next, on plain data without any
//! locks; `Blocking` turns it into a work queue. Here each tenant has a queue, and the queues take
//! turns, so the tenth task of one tenant does not delay the first task of another.
//!
//! `cargo run --release -p windlass --example own_queue`

use std::collections::VecDeque;
use std::error::Error;
use std::sync::mpsc::channel;

use windlass::prelude::*;
use windlass::queue::{Blocking, Discipline};
use windlass::task::Task;

/// The tenant that a task belongs to; attached to each task.
struct Tenant(&'static str);

fn tenant(task: &Task) -> &'static str {
    task.attachment::<Tenant>()
        .map_or("nobody", |tenant| tenant.0)
}

/// One queue per tenant, served round-robin: the first queue is served next and then moves to the end.
#[derive(Default)]
struct TakingTurns(VecDeque<(&'static str, VecDeque<Task>)>);

impl Discipline for TakingTurns {
    type Item = Task;

    fn push(&mut self, task: Task) {
        let name = tenant(&task);
        match self.0.iter_mut().find(|(owner, _)| *owner == name) {
            Some((_, queue)) => queue.push_back(task),
            None => self.0.push_back((name, VecDeque::from([task]))),
        }
    }

    fn pop(&mut self) -> Option<Task> {
        let (name, mut queue) = self.0.pop_front()?;
        let task = queue.pop_front();
        if !queue.is_empty() {
            self.0.push_back((name, queue));
        }
        task
    }

    fn len(&self) -> usize {
        self.0.iter().map(|(_, queue)| queue.len()).sum()
    }

    fn peek(&self) -> Option<&Task> {
        self.0.front()?.1.front()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &Task> + '_> {
        Box::new(self.0.iter().flat_map(|(_, queue)| queue))
    }

    fn remove(&mut self, mut at: usize) -> Task {
        let mut queues = self.0.iter_mut().enumerate();
        let place = queues.find_map(|(number, (_, queue))| match queue.len() {
            len if at < len => Some((number, queue.remove(at), queue.is_empty())),
            len => {
                at -= len;
                None
            }
        });
        let Some((number, Some(task), emptied)) = place else {
            unreachable!("`at` is a position in `iter`");
        };
        if emptied {
            self.0.remove(number);
        }
        task
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(Blocking::new(TakingTurns::default()))
        .build()?;
    // The one worker waits until everything is queued.
    let (start, started) = channel();
    pool.execute(move || started.recv().unwrap_or(()))?;

    let (log, order) = channel();
    for (name, tasks) in [("flood", 6), ("acme", 2), ("zeta", 1)] {
        for n in 1..=tasks {
            let log = log.clone();
            pool.task()
                .attach(Tenant(name))
                .execute(move || drop(log.send(format!("{name} {n}"))))?;
        }
    }
    println!("queued, in the order of submission: flood x 6, acme x 2, zeta x 1");
    start.send(())?;
    pool.close();
    drop(log);
    let order: Vec<_> = order.iter().collect();
    println!("served: {}", order.join(", "));
    assert_eq!(
        order[..5],
        ["flood 1", "acme 1", "zeta 1", "flood 2", "acme 2"]
    );
    assert_eq!(order.len(), 9);
    Ok(())
}

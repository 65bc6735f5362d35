//! An executor's factory: whatever it puts on a task is found again wherever the task turns up.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::executors::SerialExecutor;
use windlass::pool::{Hooks, TaskInfo};
use windlass::queue::{BlockingQueue, BlockingQueueExt, LinkedBlockingQueue};
use windlass::scheduled::Period;
use windlass::task::{Task, TaskBuilder};
use windlass::testing::Gate;
use windlass::{CompletionService, Submit, ThreadPoolExecutor, executors};
use windlass::{Executor, ExecutorService, RejectedExecution};

/// What the factory puts on each task: a number of its own.
#[derive(Debug, PartialEq)]
struct Birth(usize);

/// Notes which tasks it is called for.
#[derive(Default)]
struct Seen(LinkedBlockingQueue<usize>);

impl Hooks for Seen {
    fn before_execute(&self, task: &TaskInfo) {
        let birth = task.attachment::<Birth>().expect("made by the factory");
        assert!(self.0.offer(birth.0).is_ok());
    }
}

/// Names its tasks, and runs them in place.
struct Naming;

impl Executor for Naming {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        task.run();
        Ok(())
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        task.name("made here")
    }
}

/// ES-013
#[test]
fn one_factory_prepares_every_task_and_its_product_is_seen_everywhere() {
    let births = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Seen::default());
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .hooks(Arc::clone(&seen) as Arc<dyn Hooks>)
        .prepare_tasks({
            let births = Arc::clone(&births);
            move |task| task.attach(Birth(births.fetch_add(1, Ordering::SeqCst)))
        })
        .build()
        .unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    let held = pool.submit(move || theirs.pass().is_err()).unwrap();
    assert_eq!(held.attachment(), Some(&Birth(0)));
    pool.execute(|| ()).unwrap();
    let known = pool.submit_with_result(|| (), 7).unwrap();
    assert_eq!(known.attachment(), Some(&Birth(2)));
    let fallible = pool.submit_fallible(|| Ok::<_, std::fmt::Error>(7));
    assert_eq!(fallible.unwrap().attachment(), Some(&Birth(3)));

    let mut queued = Vec::new();
    pool.queue()
        .for_each(&mut |task| queued.push(task.attachment::<Birth>().map(|birth| birth.0)));
    assert_eq!(queued, [Some(1), Some(2), Some(3)]);
    gate.await_waiting(1);
    let drained = pool.shutdown_now();
    let drained: Vec<_> = drained.iter().map(Task::attachment::<Birth>).collect();
    assert_eq!(drained, [Some(&Birth(1)), Some(&Birth(2)), Some(&Birth(3))]);
    pool.close();
    assert_eq!(seen.0.snapshot(), [0]);
    assert_eq!(births.load(Ordering::SeqCst), 4);
}

fn names_its_tasks(executor: impl Executor) {
    assert_eq!(executor.submit(|| ()).unwrap().name(), Some("made here"));
    let all = executor.invoke_all([|| ()]).unwrap();
    assert_eq!(all[0].name(), Some("made here"));
    let service = CompletionService::new(executor);
    service.submit(|| ()).unwrap();
    assert_eq!(service.take().unwrap().name(), Some("made here"));
}

/// ES-013
#[test]
fn the_factory_is_reached_through_every_wrapper() {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .prepare_tasks(|task| task.name("made here"))
        .build()
        .unwrap();
    names_its_tasks(Naming);
    names_its_tasks(&Naming);
    names_its_tasks(Arc::new(Naming));
    names_its_tasks(Box::new(Naming) as Box<dyn Executor>);
    names_its_tasks(SerialExecutor::new(Naming));
    names_its_tasks(executors::unconfigurable(pool.clone()));
    names_its_tasks(pool);
}

#[test]
fn the_options_of_a_submission_take_precedence_over_the_factory() {
    let builder = ThreadPoolExecutor::builder().core_pool_size(1);
    let pool = builder
        .prepare_tasks(|task| task.name("prepared").priority(5))
        .build()
        .unwrap();
    let named = pool.task().name("own").attach("mark").submit(|| 7).unwrap();
    assert_eq!(named.name(), Some("own"));
    assert_eq!(named.attachment::<&str>(), Some(&"mark"));
    assert_eq!(named.join().unwrap(), 7);
    let prepared = pool.task().submit_fallible(|| "8".parse::<u32>()).unwrap();
    assert_eq!(prepared.name(), Some("prepared"));
    assert_eq!(prepared.join().unwrap(), 8);
    pool.shutdown();
    let rejected = pool.task().name("late").priority(-1).execute(|| ());
    let task = rejected.unwrap_err().into_task();
    assert_eq!((task.name(), task.priority()), (Some("late"), -1));
}

#[test]
fn a_scheduled_submission_has_options_too() {
    let pool = executors::scheduled_thread_pool(1);
    let once = pool.task().name("once").schedule(Duration::ZERO, || 7);
    let once = once.unwrap();
    assert_eq!(once.name(), Some("once"));
    assert_eq!(once.join().unwrap(), 7);
    let fails = pool.task().name("fails");
    let period = Period::fixed_delay(Duration::from_millis(1));
    let mut fails = fails
        .schedule_periodic_fallible(period, || Err("planned"))
        .unwrap();
    assert_eq!(fails.name(), Some("fails"));
    assert!(fails.get().unwrap_err().is_failed());
}

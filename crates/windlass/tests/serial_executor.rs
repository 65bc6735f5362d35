//! The serial executor: one task at a time, in order, on threads that belong to another.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use windlass::executors::{DirectExecutor, SerialExecutor};
use windlass::pool::DiscardPolicy;
use windlass::queue::{ArrayBlockingQueue, BlockingQueue, LinkedBlockingQueue};
use windlass::task::{Cancellation, ExecutionError, Task, TaskHandle};
use windlass::testing::{Gate, within_patience};
use windlass::{Executor, ExecutorService, RejectedExecution, RejectionReason};
use windlass::{Submit, ThreadPoolExecutor, executors};

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

fn small() -> windlass::pool::Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(1).unwrap())
}

fn cancellation<T: Send + 'static>(handle: &mut TaskHandle<T>) -> Option<Cancellation> {
    match handle.get() {
        Err(ExecutionError::Cancelled(why)) => Some(why),
        _ => None,
    }
}

/// Holds the line until the gate is open.
fn hold(serial: &SerialExecutor<impl Executor + 'static>, gate: &Gate) {
    let theirs = gate.clone();
    let held = move || theirs.pass_uninterruptibly();
    serial.execute(held).unwrap();
    gate.await_waiting(1);
}

#[test]
fn tasks_run_one_at_a_time_in_the_order_of_submission() {
    let serial = SerialExecutor::new(fixed(4));
    let running = Arc::new(AtomicUsize::new(0));
    let (log, order) = channel();
    for n in 0..1_000 {
        let (running, log) = (Arc::clone(&running), log.clone());
        let body = move || {
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
            log.send(n).unwrap();
            running.fetch_sub(1, Ordering::SeqCst);
        };
        serial.execute(body).unwrap();
    }
    drop(log);
    assert!(order.iter().eq(0..1_000));
}

#[test]
fn many_lines_share_a_small_pool() {
    let pool = fixed(1);
    let (first, second) = (
        SerialExecutor::new(pool.clone()),
        SerialExecutor::new(pool.clone()),
    );
    let gate = Gate::new();
    hold(&first, &gate);
    let (log, order) = channel();
    for n in 0..3 {
        for (line, serial) in [('a', &first), ('b', &second)] {
            let log = log.clone();
            serial
                .execute(move || log.send((line, n)).unwrap())
                .unwrap();
        }
    }
    assert_eq!(first.queue_len(), 3);
    gate.open();
    drop(log);
    let order: Vec<_> = order.iter().collect();
    let turns: String = order.iter().map(|(line, _)| *line).collect();
    assert_eq!(turns, "bababa", "each line is borrowed one task at a time");
    let of = |wanted| order.iter().filter(move |(line, _)| *line == wanted);
    assert!(of('a').map(|(_, n)| *n).eq(0..3) && of('b').map(|(_, n)| *n).eq(0..3));
    assert_eq!(first.queue_len(), 0);
    assert!(!first.executor().is_shutdown());
}

#[test]
fn a_panic_does_not_stop_the_line() {
    let serial = SerialExecutor::new(fixed(1));
    serial.execute(|| panic!("costs the worker")).unwrap();
    let mut fails = serial.submit(|| panic!("confined")).unwrap();
    let mut after = serial.submit(|| 7).unwrap();
    assert!(fails.get().unwrap_err().is_failed());
    assert_eq!(after.get().unwrap(), 7);
}

#[test]
fn a_refusal_hands_the_task_back() {
    let serial = SerialExecutor::new(fixed(1));
    serial.executor().shutdown();
    let refused = serial.submit(|| 7).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Shutdown);
    let (task, mut handle) = refused.into_parts();
    task.run();
    assert_eq!(handle.get().unwrap(), 7);
    assert_eq!(serial.queue_len(), 0);
}

#[test]
fn what_waits_when_the_other_executor_is_shut_down_is_cancelled() {
    let serial = SerialExecutor::new(fixed(1));
    let gate = Gate::new();
    hold(&serial, &gate);
    let mut waiting = serial.submit(|| 1).unwrap();
    serial.executor().shutdown();
    gate.open();
    assert_eq!(cancellation(&mut waiting), Some(Cancellation::Shutdown));
    within_patience("the pool's end", move || serial.executor().close());
}

#[test]
fn what_waits_for_a_runner_that_is_thrown_away_is_cancelled() {
    let pool = small().rejection_handler(DiscardPolicy).build().unwrap();
    let (held, queued, discarded) = (
        SerialExecutor::new(pool.clone()),
        SerialExecutor::new(pool.clone()),
        SerialExecutor::new(pool.clone()),
    );
    let gate = Gate::new();
    hold(&held, &gate);
    let mut drained = queued.submit(|| 1).unwrap();
    let mut thrown_away = discarded.submit(|| 2).unwrap();
    let why = cancellation(&mut thrown_away);
    assert_eq!(why, Some(Cancellation::Discarded));

    let runners = pool.shutdown_now();
    assert!(!drained.is_done(), "its runner is still there");
    drop(runners);
    assert_eq!(cancellation(&mut drained), Some(Cancellation::Discarded));
    gate.open();
}

#[test]
fn a_line_goes_on_where_it_is_when_the_pool_has_no_room_for_it() {
    let pool = small().build().unwrap();
    let serial = SerialExecutor::new(pool.clone());
    let gate = Gate::new();
    hold(&serial, &gate);
    let mut handles: Vec<_> = (0..3).map(|n| serial.submit(move || n).unwrap()).collect();
    pool.execute(|| ()).unwrap();
    assert!(pool.execute(|| ()).is_err(), "the queue is full");
    gate.open();
    for (n, handle) in handles.iter_mut().enumerate() {
        assert_eq!(handle.get().unwrap(), n, "accepted, and not run");
    }
}

#[test]
fn a_long_line_on_an_executor_that_runs_in_place_takes_no_more_stack_than_a_short_one() {
    let serial = Arc::new(SerialExecutor::new(DirectExecutor::new()));
    let runs = Arc::new(AtomicUsize::new(0));
    let (line, count) = (Arc::clone(&serial), Arc::clone(&runs));
    let fill = move || {
        for n in 0..100_000 {
            let count = Arc::clone(&count);
            let body = move || assert_eq!(count.fetch_add(1, Ordering::SeqCst), n);
            line.execute(body).unwrap();
        }
    };
    serial.execute(fill).unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 100_000);
}

#[test]
fn a_panic_in_place_reaches_the_submitter_after_the_line_is_done() {
    let serial = Arc::new(SerialExecutor::new(DirectExecutor::new()));
    let line = Arc::clone(&serial);
    let ran = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&ran);
    let submit = std::panic::AssertUnwindSafe(|| {
        serial.execute(move || {
            line.execute(move || theirs.store(true, Ordering::SeqCst))
                .unwrap();
            panic!("in the submitter");
        })
    });
    assert!(std::panic::catch_unwind(submit).is_err());
    assert!(ran.load(Ordering::SeqCst));
    assert_eq!(serial.submit(|| 7).unwrap().get().unwrap(), 7);
}

/// Refuses the first task that it is given, after it has run another; keeps all later ones.
#[derive(Default)]
struct Fickle {
    before_refusal: LinkedBlockingQueue<Task>,
    kept: LinkedBlockingQueue<Task>,
}

impl Executor for Fickle {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        match self.before_refusal.poll() {
            Some(before) => {
                before.run();
                Err(RejectedExecution::new(task, RejectionReason::Saturated))
            }
            None => {
                assert!(self.kept.offer(task).is_ok());
                Ok(())
            }
        }
    }
}

/// A submission that comes while another one is being refused finds a runner of its own.
#[test]
fn a_refused_runner_takes_no_later_task_with_it() {
    let fickle = Arc::new(Fickle::default());
    let serial = Arc::new(SerialExecutor::new(Arc::clone(&fickle)));
    let (give, given) = channel();
    let line = Arc::clone(&serial);
    let before = Task::new(move || {
        // In the line behind the task whose runner is refused, and so cancelled with it.
        let behind = line.submit(|| 2).unwrap();
        behind.on_done(move |_| give.send(line.submit(|| 3).unwrap()).unwrap());
    });
    assert!(fickle.before_refusal.offer(before).is_ok());
    let refused = serial.submit(|| 1).unwrap_err();
    drop(refused);
    let mut later = given.try_recv().unwrap();
    fickle.kept.poll().expect("its runner").run();
    assert_eq!(later.get().unwrap(), 3);
}

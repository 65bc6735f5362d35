//! The completion service: handles in the order in which their tasks end.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::interrupt;
use windlass::queue::ArrayBlockingQueue;
use windlass::task::{TaskHandle, TaskState};
use windlass::testing::{Gate, PATIENCE, until, within_patience};
use windlass::{CompletionService, Submit, ThreadPoolExecutor, executors};
use windlass::{Executor, ExecutorService};

const LONG: Duration = Duration::from_secs(3600);

type Service<T> = CompletionService<T, ThreadPoolExecutor>;

fn service<T: Send + 'static>(threads: usize) -> Service<T> {
    CompletionService::new(executors::fixed_thread_pool(threads).unwrap())
}

/// Waits at the gate, and tells whether an interrupt ended the wait.
fn waits(gate: &Gate) -> impl FnOnce() -> bool + Send + 'static {
    let gate = gate.clone();
    move || gate.pass().is_err()
}

/// Waits until all that was submitted has ended, after-work of the workers included.
fn quiesce<T: Send + 'static>(service: &Service<T>, tasks: u64) {
    let pool = service.executor();
    until("the tasks' end", || pool.completed_task_count() == tasks);
}

/// ECS-001
#[test]
fn take_waits_for_a_finished_task_and_gives_its_handle() {
    let service = service(1);
    let gate = Gate::new();
    let control = service.submit(waits(&gate)).unwrap();
    let service = Arc::new(service);
    let taker = interrupt::spawn({
        let service = Arc::clone(&service);
        move || service.take()
    });
    gate.await_waiting(1);
    assert!(!taker.is_finished());
    gate.open();
    let mut handle = taker.join().unwrap().unwrap().unwrap();
    assert_eq!(handle.id(), control.id());
    assert!(handle.is_done() && control.is_done());
    assert!(!handle.get().unwrap());
}

/// ECS-002
#[test]
fn poll_gives_nothing_before_a_task_has_finished() {
    let service = service(1);
    assert!(service.poll().is_none());
    let gate = Gate::new();
    let control = service.submit(waits(&gate)).unwrap();
    assert!(service.poll().is_none());
    gate.open();
    let mut polled = None;
    until("a finished task", || {
        polled = service.poll();
        polled.is_some()
    });
    let mut handle: TaskHandle<bool> = polled.unwrap();
    assert_eq!(handle.id(), control.id());
    assert!(!handle.get().unwrap());
    assert!(service.poll().is_none());
}

/// ECS-003
#[test]
fn poll_timeout_waits_up_to_its_time() {
    let service = Arc::new(service(1));
    let gate = Gate::new();
    let _control = service.submit(waits(&gate)).unwrap();
    assert!(service.poll_timeout(Duration::ZERO).unwrap().is_none());

    let clock = TestClock::new();
    let poller = clock.enter(|| {
        let service = Arc::clone(&service);
        interrupt::spawn(move || service.poll_timeout(LONG).map(|one| one.is_some()))
    });
    assert!(clock.await_sleepers(1, PATIENCE));
    clock.advance(LONG - Duration::from_nanos(1));
    assert!(!poller.is_finished());
    clock.advance(Duration::from_nanos(1));
    assert_eq!(poller.join().unwrap().unwrap(), Ok(false));

    gate.open();
    assert!(service.poll_timeout(PATIENCE).unwrap().is_some());
}

/// ECS-004
#[test]
fn successes_and_failures_are_each_delivered_exactly_once() {
    let service = service(2);
    for n in 0..2 {
        service.submit(move || n).unwrap();
        service.submit(|| std::panic::panic_any(7_u8)).unwrap();
        service.submit(|| panic!("in words")).unwrap();
    }
    let mut values = Vec::new();
    let mut failures = 0;
    for _ in 0..6 {
        match service.take().unwrap().get() {
            Ok(value) => values.push(value),
            Err(error) => failures += u32::from(error.is_failed()),
        }
    }
    values.sort_unstable();
    assert_eq!((values, failures), (vec![0, 1], 4));
    assert!(service.poll().is_none());
}

/// ECS-005
#[test]
fn a_task_from_a_custom_factory_is_delivered_as_that_factory_made_it() {
    struct Mark(&'static str);
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .prepare_tasks(|task| task.attach(Mark("from the factory")))
        .build()
        .unwrap();
    let service = CompletionService::new(pool);
    let control = service.submit(|| 7).unwrap();
    let mut handle = service.take().unwrap();
    assert_eq!(handle.id(), control.id());
    let mark = handle.attachment::<Mark>().map(|mark| mark.0);
    assert_eq!(mark, Some("from the factory"));
    assert_eq!(handle.state(), TaskState::Completed);
    assert_eq!(handle.get().unwrap(), 7);
}

/// ECS-006
#[test]
fn results_come_in_the_order_of_completion() {
    const TASKS: usize = 5;
    let service = service(5);
    let gates: Vec<_> = (0..TASKS).map(|_| Gate::new()).collect();
    for (n, gate) in gates.iter().enumerate() {
        let gate = gate.clone();
        let body = move || {
            gate.pass_uninterruptibly();
            n
        };
        service.submit(body).unwrap();
    }
    for n in (0..TASKS).rev() {
        gates[n].open();
        assert_eq!(service.take().unwrap().get().unwrap(), n);
    }
}

/// ECS-006
#[test]
fn none_of_many_results_is_lost() {
    const TASKS: u64 = 20_000;
    let service = Arc::new(service(8));
    let producer = interrupt::spawn({
        let service = Arc::clone(&service);
        move || {
            for n in 0..TASKS {
                service.submit(move || n).unwrap();
            }
        }
    });
    let mut seen = vec![false; TASKS as usize];
    for _ in 0..TASKS {
        let value = service.take().unwrap().get().unwrap();
        assert!(!std::mem::replace(&mut seen[value as usize], true));
    }
    producer.join().unwrap().unwrap();
    assert!(service.poll().is_none());
}

/// The task that the pool has is the task that is cancelled, so this is known at once; the JDK
/// wraps it, and learns of it when a worker gets there.
///
/// ECS-007
#[test]
fn a_cancelled_queued_task_is_delivered_at_once_and_once_only() {
    let service = service(1);
    let gate = Gate::new();
    let _held = service.submit(waits(&gate)).unwrap();
    let queued = service.submit(|| true).unwrap();
    assert!(queued.cancel());
    let handle = service.poll().expect("delivered at once");
    assert_eq!(handle.id(), queued.id());
    assert!(handle.is_cancelled());
    gate.open();
    quiesce(&service, 2);
    assert!(service.poll().is_some(), "the first task");
    assert!(service.poll().is_none(), "the cancelled task, twice");
}

/// ECS-007
#[test]
fn a_cancelled_running_task_is_interrupted_and_delivered_once() {
    let service = service(1);
    let (gate, left) = (Gate::new(), Gate::new());
    let body = {
        let (waits, left) = (waits(&gate), left.clone());
        move || {
            let interrupted = waits();
            left.open();
            interrupted
        }
    };
    let running = service.submit(body).unwrap();
    gate.await_waiting(1);
    assert!(running.cancel_now());
    left.pass().unwrap();
    assert!(service.take().unwrap().is_cancelled());
    quiesce(&service, 1);
    assert!(service.poll().is_none());
}

/// ECS-008
#[test]
fn remove_and_purge_find_the_tasks_of_a_completion_service() {
    let service = service(1);
    let gate = Gate::new();
    let _held = service.submit(waits(&gate)).unwrap();
    let removed = service.submit(|| true).unwrap();
    let cancelled = service.submit(|| true).unwrap();
    assert!(cancelled.cancel());
    let pool = service.executor();
    let task = pool
        .remove(&removed)
        .expect("the pool has it under this id");
    assert_eq!(task.id(), removed.id());
    assert_eq!(pool.purge(), 1);
    assert!(pool.queue().is_empty());
    gate.open();
}

/// ECS-009
#[test]
fn a_full_completion_queue_is_counted_and_costs_no_worker() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    let queue = Arc::new(ArrayBlockingQueue::new(1).unwrap());
    let service = CompletionService::with_queue(pool, queue);
    let thread_id = || std::thread::current().id();
    service.submit(thread_id).unwrap();
    let second = service.submit(thread_id).unwrap();
    quiesce(&service, 2);
    assert_eq!(second.state(), TaskState::Completed);
    assert_eq!(service.overflowed(), 1);
    let first = service.take().unwrap().get().unwrap();
    assert!(service.poll().is_none());
    service.submit(thread_id).unwrap();
    assert_eq!(service.take().unwrap().get().unwrap(), first);
}

/// ECS-010
#[test]
fn a_pending_interrupt_ends_take_and_poll_timeout_but_not_poll() {
    let service = service(1);
    service.submit(|| 7).unwrap();
    quiesce(&service, 1);
    let me = interrupt::current();
    me.interrupt();
    assert!(service.take().is_err());
    assert!(!me.is_interrupted());
    me.interrupt();
    assert!(service.poll_timeout(LONG).is_err());
    assert!(!me.is_interrupted());
    me.interrupt();
    assert!(service.poll().is_some());
    assert!(interrupt::interrupted(), "poll took the flag");
}

/// The two patterns of the JDK's documentation.
///
/// ECS-011
#[test]
fn taking_all_results_gives_each_solution_once() {
    let service = service(2);
    let solvers = [None, Some(1), Some(2), Some(3), None];
    for answer in solvers {
        service.submit(move || answer).unwrap();
    }
    let mut solutions: Vec<u32> = (0..solvers.len())
        .filter_map(|_| service.take().unwrap().get().unwrap())
        .collect();
    solutions.sort_unstable();
    assert_eq!(solutions, [1, 2, 3]);
}

/// ECS-011
#[test]
fn taking_until_the_first_success_gives_one_and_cancels_the_rest() {
    let service = service(1);
    let gate = Gate::new();
    let mut controls = vec![
        service.submit(|| panic!("no solver")).unwrap(),
        service.submit(|| None).unwrap(),
        service.submit(|| Some(1)).unwrap(),
    ];
    let held = waits(&gate);
    let late = service.submit(move || held().then_some(2)).unwrap();
    controls.push(late.clone());
    let found = (0..controls.len()).find_map(|_| service.take().unwrap().get().ok().flatten());
    for control in &controls {
        control.cancel_now();
    }
    assert_eq!(found, Some(1));
    assert!(late.is_cancelled());
    let pool = service.executor().clone();
    within_patience("the pool's end", move || pool.close());
}

/// ECS-012
#[test]
fn a_rejected_submission_is_an_error_and_delivers_nothing() {
    let service = service(1);
    service.executor().shutdown();
    let refused = service.submit(|| 7).unwrap_err();
    assert!(service.poll().is_none());
    let (task, handle) = refused.into_parts();
    task.run();
    assert_eq!(handle.join().unwrap(), 7);
    assert!(service.poll().is_none());
    assert_eq!(service.completions().count(), 0);
}

#[test]
fn the_iteration_ends_when_nothing_is_outstanding() {
    let service = service(2);
    assert!(service.completions().next().is_none());
    for n in 0..10_u32 {
        service.submit(move || n).unwrap();
    }
    let first = service.take().unwrap().join().unwrap();
    let mut values: Vec<_> = service
        .completions()
        .map(|done| done.join().unwrap())
        .collect();
    values.push(first);
    values.sort_unstable();
    assert!(values.into_iter().eq(0..10));
    assert!(service.completions().next().is_none());
    service.submit_fallible(|| "10".parse()).unwrap();
    for done in &service {
        assert_eq!(done.join().unwrap(), 10);
    }
}

#[test]
fn the_iteration_waits_through_an_interrupt_which_stays_pending() {
    let service = service(1);
    let gate = Gate::new();
    service.submit(waits(&gate)).unwrap();
    let waiter = interrupt::spawn(move || {
        let disturbed = service.completions().next().unwrap().join().unwrap();
        (disturbed, interrupt::interrupted())
    });
    waiter.interrupt();
    gate.open();
    let (disturbed, pending) = waiter.join().unwrap().unwrap();
    assert!(!disturbed && pending);
}

/// ECS-001
#[test]
fn any_executor_will_do() {
    let direct: Arc<dyn Executor> = Arc::new(windlass::executors::DirectExecutor::new());
    assert_eq!(direct.submit(|| 1).unwrap().get().unwrap(), 1);
    let service = CompletionService::new(direct);
    service.submit(|| 2).unwrap();
    assert_eq!(service.poll().unwrap().get().unwrap(), 2);
}

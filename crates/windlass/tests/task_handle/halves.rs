//! One task, two owners: what each learns of the other.

use std::collections::HashSet;
use std::mem::size_of;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::task::{
    Cancellation, ExecutionError, FutureTask, Task, TaskHandle, TaskId, TaskState,
};
use windlass::testing::{Gate, Latch, PATIENCE, within_patience};

/// What a handle reports of a cancelled task.
#[track_caller]
fn reason<T>(got: Result<T, ExecutionError>) -> Cancellation {
    match got {
        Err(ExecutionError::Cancelled(why)) => why,
        Err(other) => panic!("not cancelled: {other}"),
        Ok(_) => panic!("not cancelled: there is a value"),
    }
}

#[test]
fn a_task_dropped_unrun_completes_its_handle_as_cancelled() {
    let (task, mut handle) = Task::with_handle(|| 7);
    drop(task);
    assert!(handle.is_done() && handle.is_cancelled());
    assert_eq!(reason(handle.get()), Cancellation::Dropped);
}

#[test]
fn a_task_dropped_unrun_releases_a_getter_that_waits() {
    let (task, mut handle) = Task::with_handle(|| 7);
    let clock = TestClock::new();
    thread::scope(|scope| {
        let getter = scope.spawn(|| clock.enter(|| handle.get_timeout(Duration::from_secs(60))));
        assert!(clock.await_sleepers(1, PATIENCE));
        drop(task);
        assert_eq!(reason(getter.join().unwrap()), Cancellation::Dropped);
    });
}

#[test]
fn a_task_lost_in_a_panic_completes_its_handle() {
    let (task, mut handle) = Task::with_handle(|| 7);
    let lost = thread::spawn(move || {
        let _task = task;
        panic!("its owner panics");
    });
    assert!(lost.join().is_err());
    assert_eq!(reason(handle.get()), Cancellation::Dropped);
}

#[test]
fn an_abandoned_task_says_why() {
    let reasons = [
        Cancellation::Requested,
        Cancellation::Rejected,
        Cancellation::Discarded,
        Cancellation::Evicted,
        Cancellation::Drained,
        Cancellation::Removed,
        Cancellation::Dropped,
    ];
    for why in reasons {
        let (task, mut handle) = Task::with_handle(|| 7);
        task.abandon(why);
        assert_eq!(reason(handle.get()), why);
        assert_eq!(reason(handle.get()), why, "and goes on saying so");
    }
}

#[test]
fn a_task_without_a_handle_can_be_abandoned_too() {
    Task::new(|| unreachable!("abandoned")).abandon(Cancellation::Discarded);
    let named = Task::builder()
        .name("named")
        .build(|| unreachable!("abandoned"));
    named.abandon(Cancellation::Discarded);
}

#[test]
fn a_timed_get_that_is_late_does_not_lose_the_value() {
    let (task, mut handle) = Task::with_handle(|| 7);
    for _ in 0..3 {
        assert!(
            handle
                .get_timeout(Duration::ZERO)
                .unwrap_err()
                .is_timed_out()
        );
    }
    task.run();
    assert_eq!(handle.get_timeout(Duration::ZERO).unwrap(), 7);
}

#[test]
fn a_timed_get_that_waited_in_vain_can_be_repeated() {
    let (clock, (task, mut handle)) = (TestClock::new(), Task::with_handle(|| 7));
    thread::scope(|scope| {
        let getter = scope.spawn(|| {
            clock.enter(|| {
                let first = handle.get_timeout(Duration::from_secs(1));
                assert!(first.unwrap_err().is_timed_out());
                handle.get_timeout(Duration::from_secs(10))
            })
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(Duration::from_secs(1));
        windlass::testing::until("the second get waits", || {
            clock.next_wake_up() == Some(Duration::from_secs(10))
        });
        task.run();
        assert_eq!(getter.join().unwrap().unwrap(), 7);
    });
}

#[test]
fn try_get_never_waits() {
    let (task, mut handle) = Task::with_handle(|| 7);
    assert!(handle.try_get().is_none());
    task.run();
    assert_eq!(handle.try_get().unwrap().unwrap(), 7);
}

#[test]
fn a_value_is_given_once_and_then_it_is_taken() {
    let (task, mut handle) = Task::with_handle(|| 7);
    task.run();
    assert_eq!(handle.get().unwrap(), 7);
    assert!(matches!(handle.get(), Err(ExecutionError::Taken)));
    assert!(matches!(handle.try_get(), Some(Err(ExecutionError::Taken))));
    let again = handle.get_timeout(Duration::ZERO);
    assert!(matches!(again, Err(ExecutionError::Taken)));
    assert_eq!(handle.state(), TaskState::Completed);
    assert!(matches!(handle.share().get(), Err(ExecutionError::Taken)));
}

#[test]
fn a_failure_is_given_as_often_as_it_is_asked_for() {
    let (task, mut handle) = Task::with_handle(|| -> u32 { panic!("no") });
    task.run();
    let first = handle.get().unwrap_err().into_failure().unwrap();
    let second = handle.get().unwrap_err().into_failure().unwrap();
    assert_eq!(first, second);
}

#[test]
fn wait_says_when_the_task_is_done_and_leaves_the_value_in_place() {
    let (task, mut handle) = Task::with_handle(|| 7);
    assert_eq!(handle.wait_timeout(Duration::ZERO), Ok(false));
    task.run();
    handle.wait().unwrap();
    assert_eq!(handle.wait_timeout(Duration::ZERO), Ok(true));
    assert_eq!(handle.get().unwrap(), 7);
}

#[test]
fn dropping_a_handle_detaches_its_task() {
    let (ran, told) = mpsc::channel();
    let (task, handle) = Task::with_handle(move || ran.send(()).unwrap());
    drop(handle);
    assert!(!task.is_cancelled());
    task.run();
    assert_eq!(told.try_recv(), Ok(()));
}

#[test]
fn cancel_on_drop_cancels_a_task_that_has_not_started() {
    let (task, handle) = Task::with_handle(|| unreachable!("cancelled"));
    let control = handle.control();
    drop(handle.cancel_on_drop());
    assert!(task.is_cancelled() && control.is_cancelled());
    task.run();
}

#[test]
fn cancel_on_drop_interrupts_a_task_that_runs() {
    let (held, (tell, told)) = (Gate::new(), mpsc::channel());
    let gate = held.clone();
    let (task, handle) = Task::with_handle(move || tell.send(gate.pass()).unwrap());
    let handle = handle.cancel_on_drop();
    thread::scope(|scope| {
        scope.spawn(|| task.run());
        held.await_waiting(1);
        drop(handle);
    });
    assert!(told.recv().unwrap().is_err());
}

#[test]
fn a_shared_handle_detaches_its_task_also_where_the_handle_was_to_cancel_it() {
    let (task, handle) = Task::with_handle(|| 7);
    let shared = handle.cancel_on_drop().share();
    assert!(!shared.is_cancelled());
    task.run();
    assert_eq!(shared.get().unwrap(), 7);
}

#[test]
fn every_shared_handle_gets_the_value() {
    let (task, handle) = Task::with_handle(|| String::from("seven"));
    let shared = handle.share();
    thread::scope(|scope| {
        let getters: Vec<_> = (0..4)
            .map(|_| {
                let shared = shared.clone();
                scope.spawn(move || shared.get().unwrap())
            })
            .collect();
        task.run();
        for getter in getters {
            assert_eq!(getter.join().unwrap(), "seven");
        }
    });
    assert_eq!(shared.result_now().unwrap(), "seven");
    assert!(shared.try_get().unwrap().is_ok());
    assert!(shared.failure_now().is_none());
}

#[test]
fn a_control_watches_and_cancels_without_a_claim_to_the_value() {
    let (task, mut handle) = Task::with_handle(|| 7);
    let control = handle.control();
    assert_eq!(control.state(), TaskState::Queued);
    assert_eq!(control.id(), handle.id());
    assert!(control.clone().cancel_now());
    assert!(!control.cancel(), "once");
    task.run();
    assert_eq!(reason(handle.get()), Cancellation::Requested);
    assert!(control.is_done() && control.is_cancelled());
    assert!(handle.share().control().is_cancelled());
}

#[test]
fn a_control_that_outlives_both_halves_knows_the_end() {
    let (task, handle) = Task::with_handle(|| 7);
    let control = handle.control();
    drop(handle);
    task.run();
    assert_eq!(control.state(), TaskState::Completed);
    assert!(!control.cancel_now());
}

#[test]
fn a_callback_is_called_at_the_end_or_at_once_if_it_is_there() {
    let (tell, told) = mpsc::channel();
    let (task, handle) = Task::with_handle(|| 7);
    let before = tell.clone();
    handle.on_done(move |end| before.send(("before", end)).unwrap());
    assert!(told.try_recv().is_err());
    task.run();
    assert_eq!(told.try_recv(), Ok(("before", TaskState::Completed)));
    handle.on_done(move |end| tell.send(("after", end)).unwrap());
    assert_eq!(told.try_recv(), Ok(("after", TaskState::Completed)));
}

#[test]
fn a_callback_hears_of_a_task_that_was_dropped() {
    let (tell, told) = mpsc::channel();
    let (task, handle) = Task::with_handle(|| 7);
    handle.on_done(move |end| tell.send(end).unwrap());
    drop(handle);
    drop(task);
    assert_eq!(told.try_recv(), Ok(TaskState::Cancelled));
}

#[test]
fn both_halves_of_a_task_have_one_id_and_no_other_task_has_it() {
    let (task, handle) = Task::with_handle(|| 7);
    assert_eq!(task.id(), handle.id());
    assert_ne!(task.id(), Task::new(|| ()).id());
}

#[test]
fn ids_are_unique_over_threads() {
    const EACH: usize = 10_000;
    let take = || (0..EACH).map(|_| Task::new(|| ()).id()).collect();
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(take)).collect();
    let ids: Vec<Vec<TaskId>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let all: HashSet<_> = ids.into_iter().flatten().collect();
    assert_eq!(all.len(), 4 * EACH);
}

#[test]
fn a_task_is_five_words() {
    assert_eq!(size_of::<Task>(), 5 * size_of::<usize>());
}

#[test]
fn a_handle_is_one_word() {
    assert_eq!(size_of::<TaskHandle<u64>>(), size_of::<usize>());
}

#[test]
fn a_task_runs_whatever_the_size_and_alignment_of_its_closure() {
    #[repr(align(128))]
    struct Aligned([u8; 128]);

    let (tell, told) = mpsc::channel();
    Task::new(|| ()).run();
    let (one, three, eight) = ([1_usize; 1], [3_usize; 2], [8_usize; 8]);
    let aligned = Aligned([9; 128]);
    let send = tell.clone();
    Task::new(move || send.send(one.len()).unwrap()).run();
    let send = tell.clone();
    Task::new(move || send.send(three.len()).unwrap()).run();
    let send = tell.clone();
    Task::new(move || send.send(eight[7]).unwrap()).run();
    Task::new(move || {
        let aligned = &aligned;
        assert_eq!(std::ptr::from_ref(aligned).addr() % 128, 0);
        tell.send(aligned.0[127].into()).unwrap();
    })
    .run();
    assert_eq!(told.iter().collect::<Vec<_>>(), [1, 2, 8, 9]);
}

#[test]
fn a_task_knows_its_name_its_priority_and_its_state() {
    let built = Task::builder().name("report").priority(-3).attach(7_u8);
    let (task, handle) = built.clone().build_with_handle(|| ());
    for task in [built.build(|| ()), task] {
        assert_eq!(task.name(), Some("report"));
        assert_eq!(task.priority(), -3);
        assert_eq!(task.attachment::<u8>(), Some(&7));
        assert_eq!(task.attachment::<u16>(), None);
    }
    assert_eq!(handle.name(), Some("report"));
    assert_eq!(handle.attachment::<u8>(), Some(&7));
    let plain = Task::new(|| ());
    assert_eq!((plain.name(), plain.priority()), (None, 0));
    assert!(!plain.has_handle() && !plain.is_cancelled());
}

#[test]
fn a_task_and_its_getter_never_miss_each_other() {
    within_patience("5,000 tasks", || {
        let (send, receive) = mpsc::channel::<Task>();
        let worker = thread::spawn(move || receive.iter().for_each(Task::run));
        for number in 0..5_000 {
            let (task, mut handle) = Task::with_handle(move || number);
            send.send(task).unwrap();
            assert_eq!(handle.get().unwrap(), number);
        }
        drop(send);
        worker.join().unwrap();
    });
}

#[test]
fn a_half_that_is_dropped_does_not_disturb_a_task_that_runs() {
    let (started, gate) = (Latch::new(1), Gate::new());
    let task = {
        let (started, gate) = (started.clone(), gate.clone());
        FutureTask::new(move || {
            started.count_down();
            gate.pass_uninterruptibly();
            7
        })
    };
    let half = task.task();
    let runner = {
        let task = task.clone();
        std::thread::spawn(move || task.run())
    };
    started.wait();
    drop(half);
    assert!(!task.is_done());
    gate.open();
    runner.join().unwrap();
    assert_eq!(task.get().unwrap(), 7);
}

/// WL-050
#[test]
fn a_half_that_is_dropped_leaves_the_task_to_the_clones_and_the_other_halves() {
    let task = FutureTask::new(|| 7);
    let (one, other) = (task.task(), task.task());
    drop(one);
    assert!(!task.is_done());
    other.run();
    assert_eq!(task.get().unwrap(), 7);
    let task = FutureTask::new(|| 8);
    drop(task.task());
    task.run();
    assert_eq!(task.get().unwrap(), 8);
}

/// WL-051
#[test]
fn a_task_that_nobody_can_run_any_more_is_cancelled() {
    let dropped = Some(ExecutionError::Cancelled(Cancellation::Dropped));
    let task = FutureTask::new(|| 7);
    let (handle, clone, half) = (task.handle(), task.clone(), task.task());
    drop(task);
    drop(half);
    assert!(!handle.is_done(), "the clone can run it");
    drop(clone);
    assert_eq!(handle.get().err(), dropped);
    let task = FutureTask::new(|| 7);
    let (handle, half) = (task.handle(), task.task());
    drop(task);
    assert!(!handle.is_done(), "the half can run it");
    drop(half);
    assert_eq!(handle.get().err(), dropped);
}

/// WL-051
#[test]
fn a_task_whose_last_half_an_executor_gives_up_is_cancelled_with_its_reason() {
    let task = FutureTask::new(|| 7);
    let (one, other) = (task.task(), task.task());
    one.abandon(Cancellation::Removed);
    assert!(!task.is_done(), "the other half is in another place");
    other.abandon(Cancellation::Discarded);
    assert_eq!(
        task.get().err(),
        Some(ExecutionError::Cancelled(Cancellation::Discarded))
    );
}

#[test]
fn a_handle_shared_after_its_value_was_taken_says_so_in_every_way() {
    let (task, mut handle) = Task::with_handle(|| 7);
    task.run();
    assert_eq!(handle.get().unwrap(), 7);
    let shared = handle.share();
    assert!(shared.is_done());
    assert_eq!(shared.try_get(), Some(Err(ExecutionError::Taken)));
    assert_eq!(shared.outcome(), Some(Err(ExecutionError::Taken)));
    assert_eq!(shared.get(), Err(ExecutionError::Taken));
    assert_eq!(shared.result_now(), None);
    assert_eq!(shared.join(), Err(ExecutionError::Taken));
}

//! Handles as futures: any runtime, any number of waiters, threads and wakers mixed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use windlass::task::{Cancellation, ExecutionError, FutureTask, Task};
use windlass::testing::{Latch, within_patience};

use super::{CountingWaker, block_on, poll_with};

#[test]
fn a_handle_is_awaited_from_a_minimal_runtime() {
    let (task, handle) = Task::with_handle(|| 7);
    let runner = thread::spawn(|| task.run());
    assert_eq!(block_on(handle).unwrap(), 7);
    runner.join().unwrap();
}

#[test]
fn a_handle_is_awaited_from_a_runtime_of_the_ecosystem() {
    let (first, second) = (Task::with_handle(|| 3), Task::with_handle(|| 4));
    let runner = thread::spawn(|| {
        first.0.run();
        second.0.run();
    });
    let sum = pollster::block_on(async { first.1.await.unwrap() + second.1.await.unwrap() });
    assert_eq!(sum, 7);
    runner.join().unwrap();
}

#[test]
fn an_awaited_task_that_is_dropped_ends_the_wait() {
    let (task, handle) = Task::with_handle(|| 7);
    let dropper = thread::spawn(|| drop(task));
    let got = within_patience("await of a dropped task", || block_on(handle));
    assert!(matches!(
        got,
        Err(ExecutionError::Cancelled(Cancellation::Dropped))
    ));
    dropper.join().unwrap();
}

#[test]
fn a_handle_polled_again_wakes_only_the_last_waker() {
    let (first, second) = (CountingWaker::new(), CountingWaker::new());
    let (task, mut handle) = Task::with_handle(|| 7);
    assert!(poll_with(&mut handle, &first).is_pending());
    assert!(poll_with(&mut handle, &second).is_pending());
    assert_eq!(Arc::strong_count(&first), 1, "the old waker is let go");
    task.run();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert!(matches!(poll_with(&mut handle, &first), Poll::Ready(Ok(7))));
}

#[test]
fn shared_handles_keep_their_wakers_apart() {
    let (first, second) = (CountingWaker::new(), CountingWaker::new());
    let (task, handle) = Task::with_handle(|| 7);
    let mut shared = handle.share();
    let mut other = shared.clone();
    assert!(poll_with(&mut shared, &first).is_pending());
    assert!(poll_with(&mut other, &second).is_pending());
    assert!(poll_with(&mut shared, &first).is_pending());
    task.run();
    assert_eq!((first.wakes(), second.wakes()), (1, 1));
    assert!(matches!(poll_with(&mut shared, &first), Poll::Ready(Ok(7))));
    assert!(matches!(poll_with(&mut other, &first), Poll::Ready(Ok(7))));
}

#[test]
fn a_handle_polled_after_its_value_was_taken_says_so() {
    let waker = CountingWaker::new();
    let (task, mut handle) = Task::with_handle(|| 7);
    task.run();
    assert!(matches!(poll_with(&mut handle, &waker), Poll::Ready(Ok(7))));
    let again = poll_with(&mut handle, &waker);
    assert!(matches!(again, Poll::Ready(Err(ExecutionError::Taken))));
}

#[test]
fn dropping_a_polled_handle_lets_go_of_its_waker() {
    let waker = CountingWaker::new();
    let (task, mut handle) = Task::with_handle(|| 7);
    assert!(poll_with(&mut handle, &waker).is_pending());
    assert_eq!(Arc::strong_count(&waker), 2);
    drop(handle);
    assert_eq!(Arc::strong_count(&waker), 1);
    task.run();
    assert_eq!(waker.wakes(), 0);
}

#[test]
fn dropping_a_polled_shared_handle_lets_go_of_its_waker_alone() {
    let (gone, staying) = (CountingWaker::new(), CountingWaker::new());
    let (task, handle) = Task::with_handle(|| 7);
    let mut shared = handle.share();
    let mut other = shared.clone();
    assert!(poll_with(&mut shared, &gone).is_pending());
    assert!(poll_with(&mut other, &staying).is_pending());
    drop(shared);
    assert_eq!(Arc::strong_count(&gone), 1);
    task.run();
    assert_eq!((gone.wakes(), staying.wakes()), (0, 1));
}

#[test]
fn a_finished_task_holds_no_waker() {
    let waker = CountingWaker::new();
    let (task, mut handle) = Task::with_handle(|| 7);
    assert!(poll_with(&mut handle, &waker).is_pending());
    task.run();
    assert_eq!(Arc::strong_count(&waker), 1);
}

#[test]
fn a_task_that_ends_while_it_is_polled_holds_no_waker() {
    within_patience("races of poll and run", || {
        for _ in 0..5_000 {
            let waker = CountingWaker::new();
            let (task, mut handle) = Task::with_handle(|| 7);
            let runner = thread::spawn(|| task.run());
            let polled = poll_with(&mut handle, &waker);
            runner.join().unwrap();
            assert_eq!(Arc::strong_count(&waker), 1);
            assert!(polled.is_ready() || waker.wakes() == 1);
        }
    });
}

#[test]
fn many_shared_handles_wait_at_once_on_threads_and_in_runtimes() {
    const EACH: usize = 8;
    let (task, handle) = Task::with_handle(|| String::from("seven"));
    let (shared, waiting) = (handle.share(), Latch::new(3 * EACH));
    let waiters: Vec<_> = (0..3 * EACH)
        .map(|number| {
            let (shared, waiting) = (shared.clone(), waiting.clone());
            thread::spawn(move || {
                waiting.count_down();
                match number % 3 {
                    0 => shared.get(),
                    1 => block_on(shared),
                    _ => pollster::block_on(shared),
                }
            })
        })
        .collect();
    waiting.wait();
    task.run();
    within_patience("all waiters", move || {
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap().unwrap(), "seven");
        }
    });
    assert_eq!(shared.get().unwrap(), "seven");
}

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

fn poll_with_panicking_waker(future: &mut (impl Future + Unpin)) {
    let waker = Waker::from(Arc::new(PanickingWaker));
    let mut context = Context::from_waker(&waker);
    assert!(std::pin::Pin::new(future).poll(&mut context).is_pending());
}

#[test]
fn a_waker_that_panics_keeps_nobody_else_from_waking() {
    let counting = CountingWaker::new();
    let (task, handle) = Task::with_handle(|| 7);
    let mut handles: Vec<_> = std::iter::repeat_n(handle.share(), 3).collect();
    poll_with_panicking_waker(&mut handles[0]);
    assert!(poll_with(&mut handles[1], &counting).is_pending());
    poll_with_panicking_waker(&mut handles[2]);
    let getter = thread::spawn({
        let shared = handles[0].clone();
        move || shared.get()
    });
    task.run();
    assert_eq!(counting.wakes(), 1);
    assert_eq!(getter.join().unwrap().unwrap(), 7);
}

/// A waker that looks at its task whenever it is cloned, woken or dropped.
struct Curious {
    task: FutureTask<u32>,
    looks: AtomicUsize,
}

fn curious(data: Arc<Curious>) -> Waker {
    fn look(data: &Curious) {
        // Would wait for itself for ever if the library called a waker under its lock.
        data.task.on_done(|_| ());
        let _ = data.task.is_done();
        data.looks.fetch_add(1, Ordering::SeqCst);
    }
    struct LookOnDrop(Arc<Curious>);
    impl Wake for LookOnDrop {
        fn wake(self: Arc<Self>) {
            look(&self.0);
        }
    }
    impl Drop for LookOnDrop {
        fn drop(&mut self) {
            look(&self.0);
        }
    }
    Waker::from(Arc::new(LookOnDrop(data)))
}

#[test]
fn a_waker_may_use_the_task_when_it_is_woken_and_when_it_is_dropped() {
    within_patience("curious wakers", || {
        let task = FutureTask::new(|| 7);
        let data = Arc::new(Curious {
            task: task.clone(),
            looks: AtomicUsize::new(0),
        });
        let mut polled = task.handle();
        for _ in 0..2 {
            let waker = curious(Arc::clone(&data));
            let mut context = Context::from_waker(&waker);
            assert!(
                std::pin::Pin::new(&mut polled)
                    .poll(&mut context)
                    .is_pending()
            );
        }
        assert_eq!(
            data.looks.load(Ordering::SeqCst),
            1,
            "the first was replaced"
        );
        task.run();
        assert_eq!(data.looks.load(Ordering::SeqCst), 3, "woken and dropped");
        let unrun = FutureTask::new(|| 7);
        let mut forgotten = unrun.handle();
        let waker = curious(Arc::clone(&data));
        let mut context = Context::from_waker(&waker);
        assert!(
            std::pin::Pin::new(&mut forgotten)
                .poll(&mut context)
                .is_pending()
        );
    });
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_harms_neither_poll_nor_drop() {
    struct PanicOnDrop;
    impl Wake for PanicOnDrop {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("a waker that panics when it is dropped");
        }
    }
    let counting = CountingWaker::new();
    let (task, mut handle) = Task::with_handle(|| 7);
    let mut poll_with_bomb = || {
        let bomb = Waker::from(Arc::new(PanicOnDrop));
        let mut context = Context::from_waker(&bomb);
        assert!(
            std::pin::Pin::new(&mut handle)
                .poll(&mut context)
                .is_pending()
        );
        // The handle's clone is the last one now.
        assert!(thread::spawn(move || drop(bomb)).join().is_ok());
    };
    poll_with_bomb();
    poll_with_bomb();
    assert!(poll_with(&mut handle, &counting).is_pending());
    task.run();
    assert_eq!(counting.wakes(), 1);

    let (task, mut handle) = Task::with_handle(|| 7);
    let bomb = Waker::from(Arc::new(PanicOnDrop));
    let mut context = Context::from_waker(&bomb);
    assert!(
        std::pin::Pin::new(&mut handle)
            .poll(&mut context)
            .is_pending()
    );
    drop(bomb);
    drop(handle);
    task.run();
}

//! The interrupt of a thread: who sets it, who sees it and who clears it.
//!
//! All of this holds on plain threads of the standard library; what pools add to it is tested with
//! them.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test by panicking"
)]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::interrupt::{self, InterruptHandle};
use windlass::queue::{BlockingQueue, LinkedBlockingQueue, PutError, SynchronousQueue};
use windlass::task::{FutureTask, Task};
use windlass::testing::{DropCounter, Gate, Latch, PATIENCE, until, within_patience};

const LONG: Duration = Duration::from_secs(3600);

/// Runs the body of a test, and shows that it leaves the flag of its thread clear.
fn clean(body: impl FnOnce()) {
    body();
    assert!(
        !interrupt::interrupted(),
        "the test leaves its thread interrupted"
    );
}

fn interrupt_myself() {
    interrupt::current().interrupt();
}

/// A call that blocks, and whether an interrupt ended it.
type Blocking = fn() -> bool;

fn full_queue() -> LinkedBlockingQueue<u32> {
    let queue = LinkedBlockingQueue::with_capacity(1).unwrap();
    queue.offer(0).unwrap();
    queue
}

fn empty_queue() -> LinkedBlockingQueue<u32> {
    LinkedBlockingQueue::new()
}

/// Every kind of blocking call that there is without a pool; none of them ever succeeds.
const BLOCKING: [(&str, Blocking); 15] = [
    ("sleep", || interrupt::sleep(LONG).is_err()),
    ("sleep for ever", || {
        interrupt::sleep(Duration::MAX).is_err()
    }),
    ("park", || loop_until_interrupted(interrupt::park)),
    ("park_timeout", || {
        loop_until_interrupted(|| interrupt::park_timeout(LONG))
    }),
    ("FutureTask::get", || {
        let got = FutureTask::new(|| 7).get();
        got.unwrap_err().is_interrupted()
    }),
    ("FutureTask::get_timeout", || {
        let got = FutureTask::new(|| 7).get_timeout(LONG);
        got.unwrap_err().is_interrupted()
    }),
    ("TaskHandle::get", || {
        let (_task, mut handle) = Task::with_handle(|| 7);
        handle.get().unwrap_err().is_interrupted()
    }),
    ("TaskHandle::wait_timeout", || {
        let (_task, handle) = Task::with_handle(|| 7);
        handle.wait_timeout(LONG).is_err()
    }),
    ("take", || empty_queue().take().is_err()),
    ("poll_timeout", || empty_queue().poll_timeout(LONG).is_err()),
    ("put", || {
        matches!(full_queue().put(1), Err(PutError::Interrupted(1)))
    }),
    ("offer_timeout", || {
        let offered = full_queue().offer_timeout(1, LONG);
        matches!(offered, Err(PutError::Interrupted(1)))
    }),
    ("SynchronousQueue::put", || {
        let put = SynchronousQueue::new().put(1);
        matches!(put, Err(PutError::Interrupted(1)))
    }),
    ("SynchronousQueue::take", || {
        SynchronousQueue::<u32>::new().take().is_err()
    }),
    ("join", || {
        let forever = Gate::new();
        let thread = interrupt::spawn({
            let gate = forever.clone();
            move || gate.pass_uninterruptibly()
        });
        let interrupted = thread.join();
        forever.open();
        let handle = interrupted.unwrap_err().into_handle();
        handle.join().unwrap().is_ok()
    }),
];

/// A park may end spuriously.
fn loop_until_interrupted(park: impl Fn() -> Result<(), interrupt::Interrupted>) -> bool {
    while park().is_ok() {}
    true
}

/// INT-001
#[test]
fn a_pending_interrupt_ends_every_blocking_call_without_blocking_and_is_cleared() {
    for (name, call) in BLOCKING {
        let cleared = within_patience(name, move || {
            interrupt_myself();
            assert!(call());
            !interrupt::is_interrupted()
        });
        assert!(cleared, "{name} left the flag set");
    }
}

/// INT-001
#[test]
fn an_interrupt_that_comes_during_a_blocking_call_ends_it_and_is_cleared() {
    for (name, call) in BLOCKING {
        let (tell, told) = mpsc::channel::<InterruptHandle>();
        let blocked = thread::spawn(move || {
            tell.send(interrupt::current()).unwrap();
            assert!(call());
            !interrupt::is_interrupted()
        });
        told.recv().unwrap().interrupt();
        until(name, || blocked.is_finished());
        assert!(blocked.join().unwrap(), "{name} left the flag set");
    }
}

/// INT-001
#[test]
fn an_interrupt_ends_timed_waits_that_are_known_to_sleep() {
    const TIMED: [(&str, Blocking); 4] = [BLOCKING[0], BLOCKING[3], BLOCKING[5], BLOCKING[9]];
    for (name, call) in TIMED {
        let clock = TestClock::new();
        let blocked = clock.enter(|| interrupt::spawn(call));
        assert!(clock.await_sleepers(1, PATIENCE), "{name}");
        blocked.interrupt();
        assert!(blocked.join().unwrap().unwrap(), "{name}");
        assert_eq!(clock.elapsed(), Duration::ZERO);
    }
}

/// INT-001
#[test]
fn an_interrupt_ends_queue_waits_that_are_known_to_wait() {
    let empty = empty_queue();
    let full = full_queue();
    let (tell, told) = mpsc::channel::<InterruptHandle>();
    thread::scope(|scope| {
        let taker = scope.spawn(|| {
            tell.send(interrupt::current()).unwrap();
            empty.take()
        });
        until("a taker", || empty.waiting().unwrap().takers == 1);
        told.recv().unwrap().interrupt();
        assert!(taker.join().unwrap().is_err());
        let putter = scope.spawn(|| {
            tell.send(interrupt::current()).unwrap();
            full.put(1)
        });
        until("a putter", || full.waiting().unwrap().putters == 1);
        told.recv().unwrap().interrupt();
        assert!(putter.join().unwrap().is_err());
    });
    assert_eq!(
        (
            empty.waiting().unwrap().takers,
            full.waiting().unwrap().putters
        ),
        (0, 0)
    );
    assert_eq!(full.len(), 1);
}

/// INT-002
#[test]
fn calls_that_do_not_block_neither_see_nor_clear_the_flag() {
    clean(|| {
        let queue = full_queue();
        let (done, pending) = (FutureTask::new(|| 7), FutureTask::new(|| 7));
        done.run();
        let (task, mut handle) = Task::with_handle(|| 7);
        let ended = interrupt::spawn(|| 7);
        until("the end of a thread", || ended.is_finished());
        interrupt_myself();

        assert!(queue.offer(1).is_err() && queue.len() == 1);
        queue.peek(&mut |front| assert_eq!(*front, 0));
        assert_eq!(queue.poll(), Some(0));
        assert_eq!(queue.poll(), None);
        assert!(queue.drain_all().is_empty());
        assert_eq!(done.get().unwrap(), 7);
        assert_eq!(done.get_timeout(Duration::ZERO).unwrap(), 7);
        assert!(done.result_now().is_some() && pending.result_now().is_none());
        pending.on_done(|_| ());
        assert!(pending.cancel_now() && !pending.complete(8));
        task.run();
        assert_eq!(handle.get().unwrap(), 7);
        assert_eq!(ended.join().unwrap().unwrap(), 7);
        assert!(interrupt::is_interrupted(), "looking does not clear");
        assert!(interrupt::current().is_interrupted(), "nor does a handle");

        assert!(interrupt::interrupted(), "the flag is still set");
    });
}

/// INT-003
#[test]
fn on_a_pending_task_an_interrupt_beats_a_timeout_of_zero() {
    clean(|| {
        let task = FutureTask::new(|| 7);
        interrupt_myself();
        let got = task.get_timeout(Duration::ZERO);
        assert!(got.unwrap_err().is_interrupted());
        let got = task.get_timeout(Duration::ZERO);
        assert!(got.unwrap_err().is_timed_out());
    });
}

/// INT-003
#[test]
fn on_a_finished_task_the_outcome_beats_an_interrupt() {
    clean(|| {
        let task = FutureTask::new(|| 7);
        task.run();
        interrupt_myself();
        assert_eq!(task.get_timeout(Duration::ZERO).unwrap(), 7);
        assert_eq!(task.get().unwrap(), 7);
        assert!(interrupt::interrupted());
    });
}

/// INT-003
#[test]
fn on_a_queue_an_interrupt_beats_a_ready_element_and_ready_room() {
    clean(|| {
        let queue = LinkedBlockingQueue::new();
        queue.offer(1).unwrap();
        interrupt_myself();
        assert!(queue.take().is_err());
        interrupt_myself();
        assert!(queue.poll_timeout(Duration::ZERO).is_err());
        interrupt_myself();
        assert!(matches!(queue.put(2), Err(PutError::Interrupted(2))));
        interrupt_myself();
        let offered = queue.offer_timeout(2, Duration::ZERO);
        assert!(matches!(offered, Err(PutError::Interrupted(2))));
        assert_eq!(queue.poll_timeout(Duration::ZERO), Ok(Some(1)));
        assert_eq!(queue.poll_timeout(Duration::ZERO), Ok(None));
    });
}

/// INT-003
#[test]
fn a_sleep_of_no_time_is_interrupted_all_the_same() {
    clean(|| {
        assert!(interrupt::sleep(Duration::ZERO).is_ok());
        interrupt_myself();
        assert!(interrupt::sleep(Duration::ZERO).is_err());
        interrupt_myself();
        assert!(interrupt::park_timeout(Duration::ZERO).is_err());
    });
}

/// INT-008
#[test]
fn receiving_interrupted_uses_up_the_flag() {
    let (held, (tell, told)) = (Gate::new(), mpsc::channel());
    let task = FutureTask::new({
        let held = held.clone();
        move || {
            let waited = held.pass();
            tell.send((waited.is_err(), interrupt::is_interrupted()))
                .unwrap();
        }
    });
    thread::scope(|scope| {
        let runner = scope.spawn(|| {
            task.run();
            interrupt::is_interrupted()
        });
        held.await_waiting(1);
        assert!(task.cancel_now());
        assert_eq!(told.recv().unwrap(), (true, false));
        assert!(
            !runner.join().unwrap(),
            "nothing is left for what comes next"
        );
    });
}

/// INT-009
#[test]
fn several_interrupts_before_one_is_noticed_count_as_one() {
    let clock = TestClock::new();
    let thread = clock.enter(|| {
        interrupt::spawn(|| {
            (0..3).for_each(|_| interrupt_myself());
            assert!(interrupt::sleep(LONG).is_err());
            interrupt::sleep(LONG)
        })
    });
    assert!(clock.await_sleepers(1, PATIENCE), "the second sleep sleeps");
    clock.advance(LONG);
    assert!(thread.join().unwrap().unwrap().is_ok());
}

/// INT-011
#[test]
fn a_test_that_leaves_its_thread_interrupted_is_found_out() {
    let dirty = thread::spawn(|| clean(interrupt_myself));
    assert!(dirty.join().is_err());
    let tidy = thread::spawn(|| {
        clean(|| {
            interrupt_myself();
            assert!(interrupt::interrupted());
        });
    });
    assert!(tidy.join().is_ok());
}

/// INT-012
#[test]
fn a_call_that_must_finish_despite_an_interrupt_sets_the_flag_again() {
    clean(|| {
        interrupt_myself();
        let thread = interrupt::spawn(|| 7);
        assert!(interrupt::interrupted(), "starting a thread");
        assert_eq!(thread.join().unwrap().unwrap(), 7);
    });
    let (gate, latch) = (Gate::new(), Latch::new(1));
    let waits: [Box<dyn FnOnce() + Send>; 2] = [
        Box::new({
            let gate = gate.clone();
            move || gate.pass_uninterruptibly()
        }),
        Box::new({
            let latch = latch.clone();
            move || latch.wait()
        }),
    ];
    let threads = waits.map(|wait| {
        interrupt::spawn(move || {
            interrupt_myself();
            wait();
            interrupt::interrupted()
        })
    });
    gate.open();
    latch.count_down();
    for thread in threads {
        assert!(thread.join().unwrap().unwrap());
    }
}

#[test]
fn looking_clears_the_flag_or_not_as_the_name_says() {
    clean(|| {
        assert!(!interrupt::is_interrupted() && interrupt::check().is_ok());
        interrupt_myself();
        assert!(interrupt::is_interrupted() && interrupt::is_interrupted());
        assert!(interrupt::interrupted());
        assert!(!interrupt::interrupted());
        interrupt_myself();
        assert!(interrupt::check().is_err());
        assert!(interrupt::check().is_ok());
    });
}

#[test]
fn every_thread_has_a_flag_of_its_own() {
    clean(|| {
        interrupt_myself();
        let other = thread::spawn(interrupt::is_interrupted);
        assert!(!other.join().unwrap());
        assert!(interrupt::interrupted());
    });
}

#[test]
fn a_handle_may_outlive_its_thread() {
    let gone = thread::spawn(interrupt::current).join().unwrap();
    gone.interrupt();
    gone.unpark();
    assert!(gone.clone().is_interrupted());
    let ended = interrupt::spawn(|| ());
    let handle = ended.interrupt_handle();
    assert!(ended.join().unwrap().is_ok());
    handle.interrupt();
    assert!(!interrupt::is_interrupted());
}

#[test]
fn a_thread_that_ends_can_still_wait_and_run_tasks() {
    struct WaitOnDrop(mpsc::Sender<u32>);
    impl Drop for WaitOnDrop {
        fn drop(&mut self) {
            let (task, mut handle) = Task::with_handle(|| 7);
            let runner = thread::spawn(|| task.run());
            self.0.send(handle.get().unwrap_or(0)).unwrap();
            runner.join().unwrap();
            let task = FutureTask::new(|| 8);
            task.run();
            self.0.send(task.get().unwrap_or(0)).unwrap();
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<WaitOnDrop>> = const { std::cell::RefCell::new(None) };
    }
    let (tell, told) = mpsc::channel();
    let ending = thread::spawn(move || {
        // Registered first, and so dropped last, after the library's own local.
        LAST.with_borrow_mut(|last| *last = Some(WaitOnDrop(tell)));
        assert!(!interrupt::is_interrupted());
    });
    ending.join().unwrap();
    assert_eq!(told.iter().collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn unpark_before_park_is_not_lost() {
    within_patience("a park", || {
        interrupt::current().unpark();
        interrupt::park()
    })
    .unwrap();
}

#[test]
fn a_join_that_is_interrupted_gives_the_handle_back_and_the_value_is_not_lost() {
    let (gate, drops) = (Gate::new(), DropCounter::new());
    let thread = interrupt::spawn({
        let (gate, token) = (gate.clone(), drops.token());
        move || {
            gate.pass_uninterruptibly();
            token
        }
    });
    clean(|| {
        interrupt_myself();
        let handle = thread.join().unwrap_err().into_handle();
        assert!(!handle.is_finished());
        gate.open();
        let value = handle.join().unwrap().unwrap();
        assert_eq!(drops.count(), 0);
        drop(value);
    });
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_join_gives_the_payload_of_a_panic() {
    let thread = interrupt::spawn(|| panic!("oh"));
    let payload = thread.join().unwrap().unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"oh"));
}

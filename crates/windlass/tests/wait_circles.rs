//! Tasks that wait for each other in a circle are told so, by name; nobody else is.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use recording::{finish, fixed};
use windlass::error::ExecutionError;
use windlass::executors::ThreadPerTaskExecutor;
use windlass::interrupt;
use windlass::pool::NestedWaits;
use windlass::task::{SharedHandle, TaskId, TaskState};
use windlass::testing::{Gate, until, within_patience};
use windlass::{
    CompletionService, ExecutorService, ForkJoinPool, InvokeError, Submit, ThreadPoolExecutor,
};

/// The result of a task in a circle: the error of its wait, if it had one.
type End = Option<ExecutionError>;

type Body = Box<dyn FnOnce() -> End + Send>;

/// Submits a body to some pool.
type SubmitTo<'a> = &'a dyn Fn(Body) -> SharedHandle<End>;

/// Creates tasks, one for each submission, of which each waits for the next and the last for the first.
///
/// Each of them runs when it begins to wait.
fn circle_of(submissions: &[SubmitTo<'_>]) -> Circle {
    let meeting = Arc::new(Barrier::new(submissions.len()));
    let mut senders: Vec<Sender<SharedHandle<End>>> = Vec::new();
    let mut handles = Vec::new();
    for submit in submissions {
        let (sender, receiver): (_, Receiver<SharedHandle<End>>) = mpsc::channel();
        let meeting = Arc::clone(&meeting);
        let body = move || {
            let next = receiver.recv().unwrap();
            meeting.wait();
            next.join().err()
        };
        handles.push(submit(Box::new(body)));
        senders.push(sender);
    }
    let count = handles.len();
    for (at, sender) in senders.iter().enumerate() {
        sender.send(handles[(at + 1) % count].clone()).unwrap();
    }
    Circle(handles)
}

struct Circle(Vec<SharedHandle<End>>);

impl Circle {
    /// Waits for the ends of all tasks; returns the circles that were reported.
    fn reports(self) -> Vec<Vec<TaskId>> {
        let ids: Vec<_> = self.0.iter().map(SharedHandle::id).collect();
        let ends = self
            .0
            .into_iter()
            .filter_map(|handle| handle.join().unwrap());
        let reports = ends.map(|error| {
            let circle = error.deadlock().expect("no other error").clone();
            circle.tasks().map(|(id, _)| id).collect::<Vec<_>>()
        });
        let reports: Vec<_> = reports.collect();
        for report in &reports {
            // The same circle, from wherever it was closed.
            let at = ids.iter().position(|id| *id == report[0]).unwrap();
            let turned: Vec<_> = (0..ids.len()).map(|n| ids[(at + n) % ids.len()]).collect();
            assert_eq!(*report, turned);
        }
        reports
    }
}

fn on(pool: &ThreadPoolExecutor) -> impl Fn(Body) -> SharedHandle<End> {
    |body| pool.submit(body).unwrap().share()
}

/// WL-504
#[test]
fn a_circle_through_tasks_with_threads_of_their_own_is_broken() {
    let (pool, threads) = (fixed(1).build().unwrap(), ThreadPerTaskExecutor::new());
    let to_pool = |body: Body| pool.submit(body).unwrap().share();
    let to_thread = |body: Body| threads.submit(body).unwrap().share();
    assert_eq!(circle_of(&[&to_pool, &to_thread]).reports().len(), 1);
    assert_eq!(circle_of(&[&to_thread, &to_thread]).reports().len(), 1);
    pool.close();
    threads.close();
}

/// WL-110
#[test]
fn a_task_that_waits_for_itself_is_told() {
    let reports = within_patience("itself", || {
        let pool = fixed(1).build().unwrap();
        let reports = circle_of(&[&on(&pool)]).reports();
        finish(&pool);
        reports
    });
    assert_eq!(reports.len(), 1);
}

/// WL-110
#[test]
fn circles_of_two_and_three_tasks_are_broken_by_one_report_that_names_them() {
    for _ in 0..20 {
        for count in [2, 3] {
            let reports = within_patience("a circle", move || {
                let pool = fixed(count).build().unwrap();
                let submit = on(&pool);
                let submissions = vec![&submit as &_; count];
                let reports = circle_of(&submissions).reports();
                finish(&pool);
                reports
            });
            assert_eq!(reports.len(), 1);
        }
    }
}

/// WL-110
#[test]
fn a_circle_through_several_pools_is_reported() {
    let reports = within_patience("a circle", || {
        let (one, other) = (fixed(1).build().unwrap(), fixed(2).build().unwrap());
        let third = ForkJoinPool::new(1).unwrap();
        let forks = |body: Body| third.submit(body).unwrap().share();
        let reports = circle_of(&[&on(&one), &on(&other), &forks, &on(&other)]).reports();
        finish(&one);
        finish(&other);
        third.close();
        reports
    });
    assert_eq!(reports.len(), 1);
}

/// WL-110: also where nothing is run in place.
#[test]
fn a_pool_that_blocks_reports_circles_too() {
    let reports = within_patience("a circle", || {
        let pool = fixed(2).nested_waits(NestedWaits::Block).build().unwrap();
        let submit = on(&pool);
        let reports = circle_of(&[&submit, &submit]).reports();
        finish(&pool);
        reports
    });
    assert_eq!(reports.len(), 1);
}

/// WL-110
#[test]
fn a_circle_through_a_task_in_place_names_that_task_too() {
    let (report, expected) = within_patience("a circle", || {
        let pool = fixed(1).build().unwrap();
        let (sender, receiver) = mpsc::channel::<SharedHandle<String>>();
        let inside = pool.clone();
        let outer = pool.task().name("outer").submit(move || {
            let own = receiver.recv().unwrap();
            let waits = move || own.join().unwrap_err().to_string();
            let inner = inside.task().name("inner").submit(waits).unwrap();
            let name = format!("{} (inner)", inner.id());
            format!("{}|{name}", inner.join().unwrap())
        });
        let outer = outer.unwrap().share();
        sender.send(outer.clone()).unwrap();
        let said = outer.clone().join().unwrap();
        let (report, inner) = said.split_once('|').unwrap();
        let outer = format!("{} (outer)", outer.id());
        let expected =
            format!("the tasks wait in a circle: {outer} waits for {inner} waits for {outer}");
        finish(&pool);
        (report.to_owned(), expected)
    });
    assert_eq!(report, expected);
}

/// WL-111: `wait` has no other error.
#[test]
fn a_wait_and_an_invocation_in_a_circle_end() {
    within_patience("a circle", || {
        let pool = fixed(2).build().unwrap();
        let (sender, receiver) = mpsc::channel::<SharedHandle<bool>>();
        let waits = pool.submit(move || receiver.recv().unwrap().wait().is_err());
        let waits = waits.unwrap().share();
        sender.send(waits.clone()).unwrap();
        assert!(waits.join().unwrap());
        let (sender, receiver) = mpsc::channel::<SharedHandle<bool>>();
        let inside = pool.clone();
        let invokes = pool.submit(move || {
            let own = receiver.recv().unwrap();
            // The wait that closes the circle is told: that of the invocation, or that of its task.
            match inside.invoke_all([move || own.join().is_err_and(|e| e.is_deadlock())]) {
                Err(InvokeError::Failed(error)) => error.is_deadlock(),
                invoked => invoked.unwrap().pop().unwrap().join().unwrap(),
            }
        });
        let invokes = invokes.unwrap().share();
        sender.send(invokes.clone()).unwrap();
        assert!(invokes.join().unwrap());
        finish(&pool);
    });
}

/// WL-111: a wait with a limit ends by itself.
#[test]
fn a_wait_with_a_time_limit_is_neither_told_nor_part_of_a_circle() {
    within_patience("a time limit", || {
        let pool = fixed(2).build().unwrap();
        let (sender, receiver) = mpsc::channel::<SharedHandle<bool>>();
        let gate = Gate::new();
        let passes = gate.clone();
        let timed = pool.submit(move || {
            let other = receiver.recv().unwrap();
            passes.pass_uninterruptibly();
            let waited = other.get_timeout(Duration::from_millis(20));
            waited.is_err_and(|error| error.is_timed_out())
        });
        let timed = timed.unwrap().share();
        let theirs = timed.clone();
        let untimed = pool.submit(move || theirs.join().unwrap()).unwrap().share();
        sender.send(untimed.clone()).unwrap();
        until("the other waits", || pool.stats().waiting_count == 1);
        gate.open();
        assert!(timed.join().unwrap() && untimed.join().unwrap());
        finish(&pool);
    });
}

/// WL-111: a scope cannot end before its tasks, so the other wait is told.
#[test]
fn a_scope_in_a_circle_waits_on_and_its_task_is_told() {
    for workers in [1, 2] {
        let told = within_patience("a scope", move || {
            let pool = fixed(workers).build().unwrap();
            let (sender, receiver) = mpsc::channel::<SharedHandle<bool>>();
            let inside = pool.clone();
            let outer = pool.submit(move || {
                let own = receiver.recv().unwrap();
                let told = AtomicBool::new(false);
                inside.scope(|s| {
                    let waits = || {
                        let ended = own.join();
                        told.store(ended.is_err_and(|e| e.is_deadlock()), Ordering::SeqCst);
                    };
                    drop(s.spawn(waits).unwrap());
                });
                told.into_inner()
            });
            let outer = outer.unwrap().share();
            sender.send(outer.clone()).unwrap();
            let told = outer.join().unwrap();
            finish(&pool);
            told
        });
        assert!(told);
    }
}

/// WL-112
#[test]
fn chains_that_are_no_circles_are_not_reported() {
    within_patience("chains", || {
        let pool = fixed(3).build().unwrap();
        for _ in 0..200 {
            let first = pool.submit(|| 1).unwrap().share();
            let (one, other) = (first.clone(), first.clone());
            let second = pool
                .submit(move || one.join().unwrap() + 1)
                .unwrap()
                .share();
            let both = (second.clone(), other);
            let third = pool.submit(move || both.0.join().unwrap() + both.1.join().unwrap());
            let waits = second.clone();
            let fourth = pool.submit(move || waits.join().unwrap()).unwrap();
            assert_eq!(
                (third.unwrap().join().unwrap(), fourth.join().unwrap()),
                (3, 2)
            );
        }
        finish(&pool);
    });
}

/// WL-112: the wait of an interrupted thread goes on no longer.
#[test]
fn a_wait_that_was_interrupted_closes_no_circle() {
    within_patience("an interrupted wait", || {
        let pool = fixed(2).build().unwrap();
        for _ in 0..100 {
            let (sender, receiver) = mpsc::channel::<SharedHandle<bool>>();
            let (tell, told) = mpsc::channel();
            let first = pool.submit(move || {
                tell.send(interrupt::current()).unwrap();
                receiver
                    .recv()
                    .unwrap()
                    .get()
                    .is_err_and(|error| error.is_interrupted())
            });
            let first = first.unwrap().share();
            let (theirs, thread) = (first.clone(), told.recv().unwrap());
            let (start, started) = mpsc::channel();
            let second = pool.submit(move || {
                start.send(()).unwrap();
                thread.interrupt();
                theirs.get().unwrap()
            });
            let second = second.unwrap().share();
            // Queued, it would be run in place, inside the first.
            started.recv().unwrap();
            sender.send(second.clone()).unwrap();
            assert!(first.join().unwrap() && second.join().unwrap());
        }
        finish(&pool);
    });
}

/// WL-112
#[test]
fn cancelling_a_task_of_a_would_be_circle_is_no_report() {
    within_patience("a cancelled task", || {
        let pool = fixed(2).build().unwrap();
        let (sender, receiver) = mpsc::channel::<SharedHandle<End>>();
        let first = pool.submit(move || receiver.recv().unwrap().join().err());
        let first = first.unwrap().share();
        until("it runs", || first.state() == TaskState::Running);
        first.cancel();
        let theirs = first.clone();
        let second = pool.submit(move || theirs.join().err()).unwrap().share();
        sender.send(second.clone()).unwrap();
        assert!(second.join().unwrap().unwrap().is_cancelled());
        finish(&pool);
    });
}

/// WL-457
#[test]
fn a_join_of_a_scope_inside_one_of_its_tasks_is_told() {
    within_patience("a scope", || {
        let pool = fixed(2).build().unwrap();
        let joined = pool.scope(|s| {
            let task = s.spawn(|| s.join()).unwrap();
            task.join().unwrap()
        });
        let circle = joined.unwrap_err();
        assert_eq!(circle.deadlock().unwrap().tasks().count(), 1);
        finish(&pool);
    });
}

/// WL-457
#[test]
fn two_tasks_of_a_scope_that_join_it_are_told() {
    within_patience("a scope", || {
        let pool = fixed(3).build().unwrap();
        let told = pool.scope(|s| {
            let tasks = [(); 2].map(|()| s.spawn(|| s.join()).unwrap());
            let ends = tasks.map(|task| task.join().unwrap());
            ends.iter().filter(|end| end.is_err()).count()
        });
        assert!(told >= 1);
        finish(&pool);
    });
}

/// WL-458
#[test]
fn a_take_from_a_service_whose_only_task_waits_for_the_taker_is_told() {
    within_patience("a service", || {
        let pool = fixed(2).build().unwrap();
        let service = Arc::new(CompletionService::new(pool.clone()));
        let (handles, receives) = mpsc::channel::<SharedHandle<bool>>();
        let (theirs, meeting) = (Arc::clone(&service), Arc::new(Barrier::new(2)));
        let here = Arc::clone(&meeting);
        let taker = pool.submit(move || {
            here.wait();
            theirs.take().is_ok()
        });
        let taker = taker.unwrap().share();
        handles.send(taker.clone()).unwrap();
        service
            .submit(move || {
                let taker = receives.recv().unwrap();
                meeting.wait();
                taker.join().map(drop)
            })
            .unwrap();
        // The wait of the service's task is told, so that it ends, and the taker gets it.
        assert!(taker.join().unwrap());
        finish(&pool);
    });
}

/// WL-458: one task that may still end is enough.
#[test]
fn a_take_from_a_service_of_which_one_task_can_end_is_not_told() {
    within_patience("a service", || {
        let pool = fixed(3).build().unwrap();
        let service = Arc::new(CompletionService::new(pool.clone()));
        let gate = Gate::new();
        let (handles, receives) = mpsc::channel::<SharedHandle<bool>>();
        let (theirs, held) = (Arc::clone(&service), gate.clone());
        service.submit(move || held.pass().is_ok()).unwrap();
        gate.await_waiting(1);
        let taker = pool.submit(move || {
            let first = theirs.take();
            first.unwrap().join().unwrap()
        });
        let taker = taker.unwrap().share();
        handles.send(taker.clone()).unwrap();
        let waits = service.submit(move || {
            let taker = receives.recv().unwrap();
            taker.join().unwrap()
        });
        let waits = waits.unwrap();
        until("it runs", || waits.state() == TaskState::Running);
        gate.open();
        assert!(taker.join().unwrap());
        finish(&pool);
    });
}

/// WL-458
#[test]
fn an_invocation_of_any_in_a_circle_ends() {
    within_patience("an invocation", || {
        let pool = fixed(2).build().unwrap();
        let (handles, receives) = mpsc::channel::<SharedHandle<bool>>();
        let inner = pool.clone();
        let outer = pool.submit(move || {
            let me = receives.recv().unwrap();
            inner.invoke_any([move || me.join().unwrap()]).is_err()
        });
        let outer = outer.unwrap().share();
        handles.send(outer.clone()).unwrap();
        assert!(outer.join().unwrap());
        finish(&pool);
    });
}

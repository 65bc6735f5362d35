//! Waits inside tasks: on few workers, in two pools, with spare workers, in circles.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{Rendezvous, spawn};
use crate::completion::CompletionService;
use crate::executor::{Executor, ExecutorService, SerialExecutor, ThreadPerTaskExecutor};
use crate::forkjoin::ForkJoinPool;
use crate::pool::{Builder, ThreadPoolExecutor};
use crate::submit::Submit;
use crate::sync::{Mutex, model};
use crate::task::{SharedHandle, Task};
use crate::thread_factory::{ThreadBody, ThreadFactory};

fn fixed(workers: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(workers)
        .maximum_pool_size(workers)
        .keep_alive(Duration::from_secs(60))
}

/// Closes the pool, and checks that this many tasks have run.
fn close(pool: &ThreadPoolExecutor, completed: u64) {
    pool.close();
    let stats = pool.stats();
    assert_eq!(stats.completed_task_count, completed);
    assert_eq!(stats.task_count, completed);
    assert_eq!((stats.pool_size, stats.waiting_count), (0, 0));
}

/// Submits a task that submits another one and waits for it.
fn submit_nested(pool: &ThreadPoolExecutor) -> SharedHandle<u32> {
    let inside = pool.clone();
    let body = move || inside.submit(|| 1).unwrap().join().unwrap() + 1;
    pool.submit(body).unwrap().share()
}

#[test]
fn nested_waits_on_fewer_workers_than_waits() {
    for workers in [1, 2] {
        model(move || {
            let pool = fixed(workers).build().unwrap();
            let theirs = pool.clone();
            let other = spawn(move || submit_nested(&theirs).join().unwrap());
            assert_eq!(submit_nested(&pool).join().unwrap(), 2);
            assert_eq!(other.join().unwrap(), 2);
            close(&pool, 4);
        });
    }
}

#[test]
fn a_snapshot_while_a_task_runs_in_place() {
    model(|| {
        let pool = fixed(1).build().unwrap();
        let nested = submit_nested(&pool);
        let mut last = 0;
        for _ in 0..2 {
            let stats = pool.stats();
            let parts = stats.completed_task_count + (stats.active_count + stats.queue_len) as u64;
            assert!(parts <= stats.task_count && stats.task_count >= last);
            assert!(stats.active_count <= stats.pool_size);
            last = stats.task_count;
        }
        nested.join().unwrap();
        close(&pool, 2);
    });
}

#[test]
fn pools_of_one_worker_whose_tasks_wait_for_each_others_tasks() {
    model(|| {
        let pools = [fixed(1).build().unwrap(), fixed(1).build().unwrap()];
        let meeting = Rendezvous::of(2);
        let outer = |at: usize| {
            let (other, meeting) = (pools[1 - at].clone(), Arc::clone(&meeting));
            let body = move || {
                // Both workers are busy now, so neither runs what the other pool's submits.
                meeting.arrive();
                other.submit(|| 1).unwrap().join().unwrap()
            };
            pools[at].submit(body).unwrap()
        };
        let (one, other) = (outer(0), outer(1));
        assert_eq!(one.join().unwrap() + other.join().unwrap(), 2);
        close(&pools[0], 2);
        close(&pools[1], 2);
    });
}

/// The worker of the second pool waits for the task of the first, which waits for one that is queued behind
/// the second's: whoever waits first, the first pool's worker runs that one.
#[test]
fn the_last_worker_of_a_pool_to_wait_tells_who_waits_for_its_queue() {
    model(|| {
        let (first, second) = (fixed(1).build().unwrap(), fixed(1).build().unwrap());
        let meeting = Rendezvous::of(2);
        let theirs = (second.clone(), Arc::clone(&meeting));
        let outer = first.submit(move || {
            // The second pool's worker is busy now, and takes nothing out of its queue.
            theirs.1.arrive();
            theirs.0.submit(|| 1).unwrap().join().unwrap()
        });
        let outer = outer.unwrap().share();
        let awaited = outer.clone();
        let waits = second.submit(move || {
            meeting.arrive();
            awaited.join().unwrap() + 1
        });
        assert_eq!(waits.unwrap().join().unwrap(), 2);
        assert_eq!(outer.join().unwrap(), 1);
        close(&first, 1);
        close(&second, 2);
    });
}

/// Creates a fork-join pool of one worker that nobody replaces.
fn lone_fork_join() -> ForkJoinPool {
    let builder = ForkJoinPool::builder().parallelism(1).maximum_spares(0);
    builder.build().unwrap()
}

/// The task of each pool waits for one that is queued in the other.
fn wait_for_each_other(one: impl Submit + Clone + 'static, two: impl Submit + Clone + 'static) {
    let meeting = Rendezvous::of(2);
    let (theirs, meets) = (two.clone(), Arc::clone(&meeting));
    let first = one.submit(move || {
        // Both workers are busy now, so neither runs what the other pool's submits.
        meets.arrive();
        theirs.submit(|| 1).unwrap().join().unwrap()
    });
    let second = two.submit(move || {
        meeting.arrive();
        one.submit(|| 2).unwrap().join().unwrap()
    });
    assert_eq!(first.unwrap().join().unwrap(), 1);
    assert_eq!(second.unwrap().join().unwrap(), 2);
}

#[test]
fn fork_join_pools_without_spares_whose_tasks_wait_for_each_others_tasks() {
    model(|| {
        let (one, two) = (lone_fork_join(), lone_fork_join());
        wait_for_each_other(one.clone(), two.clone());
        for pool in [one, two] {
            pool.close();
            assert_eq!(pool.stats().completed_task_count, 2);
        }
    });
}

#[test]
fn a_thread_pool_and_a_fork_join_pool_whose_tasks_wait_for_each_others_tasks() {
    model(|| {
        let (threads, forks) = (fixed(1).build().unwrap(), lone_fork_join());
        wait_for_each_other(threads.clone(), forks.clone());
        close(&threads, 2);
        forks.close();
        assert_eq!(forks.stats().completed_task_count, 2);
    });
}

/// The worker of the second pool waits for the task of the first, which waits for one that comes to the
/// second: whether it is there before the second's worker waits or comes later, the first's runs it.
#[test]
fn a_task_that_comes_to_a_stalled_fork_join_pool_is_run_by_who_waits_for_it() {
    model(|| {
        let (first, second) = (lone_fork_join(), lone_fork_join());
        let (task, late) = Task::with_handle(|| 1);
        let outer = first.submit(move || late.join().unwrap()).unwrap().share();
        let awaited = outer.clone();
        let waits = second.submit(move || awaited.join().unwrap() + 1).unwrap();
        second.execute_task(task).unwrap();
        assert_eq!(waits.join().unwrap(), 2);
        assert_eq!(outer.join().unwrap(), 1);
        for pool in [first, second] {
            pool.close();
        }
    });
}

#[test]
fn a_task_behind_a_closure_that_waits_in_a_fork_join_pool_is_run_by_who_waits_for_it() {
    model(|| {
        let (threads, forks) = (fixed(1).build().unwrap(), lone_fork_join());
        let (home, away) = (threads.clone(), forks.clone());
        let waits = move || away.install(|| home.submit(|| 1).unwrap().join().unwrap());
        assert_eq!(threads.submit(waits).unwrap().join().unwrap(), 1);
        close(&threads, 2);
        forks.close();
    });
}

#[test]
fn a_spare_runs_what_the_worker_waits_for_indirectly() {
    model(|| {
        let pool = fixed(1).spare_workers(1).build().unwrap();
        let (queued, later) = Task::with_handle(|| 1);
        let elsewhere = fixed(1).build().unwrap();
        let running = elsewhere.submit(move || later.join().unwrap()).unwrap();
        let waits = pool.submit(move || running.join().unwrap()).unwrap();
        pool.execute_task(queued).unwrap();
        assert_eq!(waits.join().unwrap(), 1);
        assert!(pool.largest_pool_size() <= 2);
        pool.close();
        elsewhere.close();
    });
}

/// One of two workers waits. Two tasks that need a worker each are queued while the other is idle.
#[test]
fn a_spare_runs_what_an_idle_worker_has_no_time_for() {
    model(|| {
        let pool = fixed(2).spare_workers(1).build().unwrap();
        let (later, handle) = Task::with_handle(|| 1);
        let waits = pool.submit(move || handle.join().unwrap()).unwrap();
        pool.prestart_all_core_threads();
        let meeting = Rendezvous::of(2);
        let meet = |meeting: &Arc<Rendezvous>| {
            let meeting = Arc::clone(meeting);
            pool.submit(move || meeting.arrive()).unwrap()
        };
        let (one, other) = (meet(&meeting), meet(&meeting));
        one.join().unwrap();
        other.join().unwrap();
        later.run();
        assert_eq!(waits.join().unwrap(), 1);
        close(&pool, 3);
    });
}

#[test]
fn a_worker_takes_results_that_only_it_can_produce() {
    model(|| {
        let pool = fixed(1).build().unwrap();
        let service = Arc::new(CompletionService::new(pool.clone()));
        let theirs = Arc::clone(&service);
        let takes = pool.submit(move || theirs.take().unwrap().join().unwrap());
        service.submit(|| 1).unwrap();
        assert_eq!(takes.unwrap().join().unwrap(), 1);
        close(&pool, 2);
    });
}

#[test]
fn a_worker_that_waits_for_a_serial_task() {
    model(|| {
        let pool = fixed(1).build().unwrap();
        let serial = SerialExecutor::new(pool.clone());
        let (task, handle) = Task::with_handle(|| 1);
        let waits = pool.submit(move || handle.join().unwrap()).unwrap();
        serial.execute_task(Task::new(|| ())).unwrap();
        serial.execute_task(task).unwrap();
        assert_eq!(waits.join().unwrap(), 1);
        pool.close();
    });
}

#[test]
fn a_circle_of_three_tasks_is_reported_once() {
    model(|| {
        type Slot = Mutex<Option<SharedHandle<bool>>>;
        let pool = fixed(3).build().unwrap();
        let slots: Arc<[Slot; 3]> = Arc::default();
        let (tasks, handles): (Vec<_>, Vec<_>) = (0..3)
            .map(|at: usize| {
                let (slots, meeting) = (Arc::clone(&slots), at);
                let (task, handle) = Task::with_handle(move || {
                    let next = slots[(meeting + 1) % 3].lock().take();
                    let error = next.expect("set before").join().err();
                    error.is_some_and(|error| error.is_deadlock())
                });
                (task, handle.share())
            })
            .unzip();
        for (slot, handle) in slots.iter().zip(&handles) {
            *slot.lock() = Some(handle.clone());
        }
        for task in tasks {
            pool.execute_task(task).unwrap();
        }
        let told = handles.into_iter().filter(|h| h.clone().join().unwrap());
        assert_eq!(told.count(), 1);
        close(&pool, 3);
    });
}

/// WL-458
#[test]
fn a_take_whose_only_task_waits_for_the_taker() {
    model(|| {
        let pool = fixed(2).build().unwrap();
        let service = Arc::new(CompletionService::new(pool.clone()));
        let theirs = Arc::clone(&service);
        let taker = pool.submit(move || theirs.take().unwrap().join().unwrap());
        let taker = taker.unwrap().share();
        let awaited = taker.clone();
        service.submit(move || awaited.join().is_err()).unwrap();
        assert!(taker.join().unwrap());
        close(&pool, 2);
    });
}

/// WL-458: the other task would have ended the wait of the taker, but its end may be taken first.
#[test]
fn a_take_of_which_another_thread_takes_the_end() {
    model(|| {
        let pool = fixed(2).build().unwrap();
        let service = Arc::new(CompletionService::new(pool.clone()));
        let theirs = Arc::clone(&service);
        let taker = pool.submit(move || drop(theirs.take().unwrap()));
        let taker = taker.unwrap().share();
        let awaited = taker.clone();
        service.submit(move || drop(awaited.join())).unwrap();
        service.submit(|| ()).unwrap();
        service.take().unwrap().join().unwrap();
        taker.join().unwrap();
        close(&pool, 3);
    });
}

/// Keeps what its threads are to run.
#[derive(Debug, Default, Clone)]
struct Bodies(Arc<Mutex<Vec<ThreadBody>>>);

impl ThreadFactory for Bodies {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.0.lock().push(body);
        Ok(())
    }
}

/// WL-503: the one thread waits for a task that comes meanwhile.
#[test]
fn a_task_that_comes_to_shared_threads_is_run_by_who_waits_for_it() {
    model(|| {
        let bodies = Bodies::default();
        let executor = ThreadPerTaskExecutor::on_shared_threads(bodies.clone());
        let (task, awaited) = Task::with_handle(|| 1);
        let outer = executor.submit(move || awaited.join().unwrap() + 1);
        let first = bodies.0.lock().pop().unwrap();
        let thread = spawn(move || first.run());
        executor.execute_task(task).unwrap();
        thread.join().unwrap();
        assert_eq!(outer.unwrap().join().unwrap(), 2);
        // Its own thread finds that it has run.
        let second = bodies.0.lock().pop().unwrap();
        second.run();
        executor.close();
        assert_eq!(executor.completed_count(), Some(2));
    });
}

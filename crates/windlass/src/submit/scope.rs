//! Scopes: closures on borrowed data, on any executor, all of which are gone when the scope returns.
//!
//! An executor owns the tasks that it accepts, and a [`Task`](crate::Task) is `'static`: it can be kept,
//! returned by `shutdown_now` or leaked, by safe code and for any time. So the closure of a scoped task is
//! not a part of the `Task`. It is in a [`Slot`], and the cell of the task has a [`Ticket`] in place of a
//! closure: the one way to the slot from outside the scope.
//!
//! Invariant: a ticket exists no longer than the scope. [`Members`] counts the tickets, and the scope
//! returns, or unwinds, only when there is none. The cell of the task decides who owns the ticket, as it
//! does for every closure: the runner, or the canceller of a task that has not started; both drop it at
//! their end. A ticket that is dropped first drops the closure, then its reference to the slot, and
//! with it the value if there is no handle any more; and then counts itself out, which touches nothing
//! borrowed. A handle refers to the slot too, but it has the lifetime of the scope.
//!
//! A task that was returned to a caller (drained or removed) is cancelled at once, so that the scope does
//! not wait for the caller. A task that an executor keeps and neither runs nor drops makes the scope wait.

#![expect(
    unsafe_code,
    reason = "an executor takes tasks that may live forever; these borrow, and the scope waits for them"
)]

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::members::{JoinPolicy, Member, Members, ScopeCounts, WaitUntil};
use super::rejected_spawn::RejectedSpawn;
use super::scoped_handle::{ScopedHandle, TakeValue};
use crate::executor::{Executor, execute_by};
use crate::sync::{Deadline, Mutex};
use crate::task::{
    CancelMode, Cancellation, ExecutionError, Failure, Handle, TaskBuilder, TaskHandle,
};
use crate::unwind::{catch, discard, discard_payload, ignore_panic};

/// A scope that spawns closures which may borrow from around [`Submit::scope`](crate::Submit::scope).
///
/// The closures may spawn others through the same scope, and are spawned on the executor of the scope, or
/// on any other with [`Submission::spawn`](crate::Submission::spawn).
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let text = String::from("borrowed, not cloned");
/// let words = pool.scope(|s| {
///     let words = s.spawn(|| text.split(' ').count()).unwrap();
///     words.join().unwrap()
/// });
/// assert_eq!(words, 3);
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    executor: &'scope (dyn Executor + 'env),
    members: Arc<Members>,
    // Invariant in both, as in `std::thread::Scope`: with a longer `'scope` a closure could borrow from
    // the body of the scope.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The closure of a task, then its value.
struct Slot<F, T> {
    closure: Mutex<Option<F>>,
    value: Mutex<Option<T>>,
    call: fn(F) -> Result<T, Failure>,
}

/// A slot without its types.
trait Work: Send + Sync {
    /// Runs the closure, unless it was taken back.
    fn run(&self) -> Result<(), Failure>;

    /// Drops the closure, if it has not run.
    fn drop_closure(&self);
}

impl<F, T> Slot<F, T> {
    fn take_closure(&self) -> Option<F> {
        self.closure.lock().take()
    }
}

impl<F: Send, T: Send> Work for Slot<F, T> {
    fn run(&self) -> Result<(), Failure> {
        let Some(closure) = self.take_closure() else {
            return Err(Failure::from_error("the closure was returned"));
        };
        let value = (self.call)(closure)?;
        *self.value.lock() = Some(value);
        Ok(())
    }

    fn drop_closure(&self) {
        discard(self.take_closure());
    }
}

impl<F: Send, T: Send> TakeValue<T> for Slot<F, T> {
    fn take_value(&self) -> Option<T> {
        self.value.lock().take()
    }
}

/// The right to run the closure of one task: its only use from outside the scope.
struct Ticket {
    /// The slot, until the ticket is dropped. Its lifetime is erased.
    work: Option<Arc<dyn Work>>,
    members: Arc<Members>,
    member: Member,
}

impl Ticket {
    fn new<'scope>(work: Arc<dyn Work + 'scope>, members: &Arc<Members>, member: Member) -> Self {
        members.closure_created();
        // SAFETY: only the lifetime changes. The reference is private to the ticket, which uses it before it
        // counts itself out in `drop`, and drops it before too. A ticket that is leaked is never counted
        // out. `run` waits for that count on every way out of the scope, and `'scope` ends after `run`: it
        // is the lifetime of a borrow of a variable of `run`, and the body of the scope is generic over it.
        let work =
            unsafe { std::mem::transmute::<Arc<dyn Work + 'scope>, Arc<dyn Work + 'static>>(work) };
        Self {
            work: Some(work),
            members: Arc::clone(members),
            member,
        }
    }

    fn run(self) -> Result<(), Failure> {
        let Some(work) = &self.work else {
            return Ok(());
        };
        if self.members.deadline().has_passed() {
            // This task too: the error that is returned here goes unseen.
            self.members
                .cancel(CancelMode::Interrupt, Cancellation::TimedOut);
            return Err(Failure::from_error("the deadline has passed"));
        }
        let ran = catch(|| work.run());
        let outcome = ran.unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
        if let Err(failure) = &outcome {
            self.members.keep_failure(self.member, failure);
        }
        outcome
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            work.drop_closure();
            discard(work);
        }
        self.members.closure_gone();
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Submits the closure, and returns the handle to its value.
    ///
    /// # Errors
    ///
    /// [`RejectedSpawn`], with the closure.
    pub fn spawn<F, T>(&'scope self, body: F) -> Result<ScopedHandle<'scope, T>, RejectedSpawn<F>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let task = self.executor.prepare(TaskBuilder::new());
        self.spawn_on(self.executor, task, body, |body| Ok(body()))
    }

    /// Submits the closure, and returns the handle to its value; an error that the closure returns is
    /// the failure of the task, as a panic is.
    ///
    /// # Errors
    ///
    /// [`RejectedSpawn`], with the closure.
    pub fn spawn_fallible<F, T, E>(
        &'scope self,
        body: F,
    ) -> Result<ScopedHandle<'scope, T>, RejectedSpawn<F>>
    where
        F: FnOnce() -> Result<T, E> + Send + 'scope,
        T: Send + 'scope,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let task = self.executor.prepare(TaskBuilder::new());
        let call = |body: F| body().map_err(Failure::from_error);
        self.spawn_on(self.executor, task, body, call)
    }

    /// Submits a task with options to any executor.
    pub(super) fn spawn_on<X, F, T>(
        &'scope self,
        executor: &X,
        task: TaskBuilder,
        body: F,
        call: fn(F) -> Result<T, Failure>,
    ) -> Result<ScopedHandle<'scope, T>, RejectedSpawn<F>>
    where
        X: Executor + ?Sized,
        F: Send + 'scope,
        T: Send + 'scope,
    {
        let member = self.members.number();
        let slot = Arc::new(Slot {
            closure: Mutex::new(Some(body)),
            value: Mutex::new(None),
            call,
        });
        let work: Arc<dyn Work + 'scope> = Arc::<Slot<F, T>>::clone(&slot);
        let ticket = Ticket::new(work, &self.members, member);
        let (task, handle) = task.build_scoped(move || ticket.run());
        self.members.add(member, &handle.control());
        let submitted = match self.members.deadline() {
            Deadline::Never => executor.execute_task(task),
            deadline => execute_by(executor, task, deadline),
        };
        if let Err(rejected) = submitted {
            // Without a closure the executor has run or dropped the task, whatever it says.
            if let Some(closure) = slot.take_closure() {
                self.members.remove(member);
                withdraw(&handle);
                return Err(RejectedSpawn::new(closure, rejected));
            }
        }
        let members = Arc::clone(&self.members);
        Ok(ScopedHandle::new(handle, slot, members, member))
    }

    /// Waits until all tasks that were spawned are done, and returns what the policy of the
    /// [group](super::TaskGroup) makes of them. Interrupts do not end the wait and stay pending.
    ///
    /// # Errors
    ///
    /// The first failure, if the group [fails fast](super::TaskGroup::fail_fast); the last, if the
    /// [first success](super::TaskGroup::first_success) was wanted and there is none;
    /// [`Cancelled`](ExecutionError::Cancelled) if the scope was cancelled, or its time limit has passed,
    /// before all tasks were done; [`Deadlock`](ExecutionError::Deadlock) if a task waits for this call, as in a
    /// task of the scope itself.
    ///
    /// # Deadlocks
    ///
    /// As every wait, it notices a circle of waits only on threads that run tasks for a pool: on others it
    /// waits forever for a task that waits for it.
    pub fn join(&self) -> Result<(), ExecutionError> {
        self.members.wait_for_tasks(WaitUntil::DoneOrCircle)?;
        self.members.verdict()
    }

    /// Waits for the tasks until one has a value, and returns it.
    ///
    /// In a group that ends with the [first success](super::TaskGroup::first_success) the others are
    /// cancelled then; in any other it waits for all of them.
    ///
    /// # Errors
    ///
    /// As [`join`](Self::join); [`Cancelled`](ExecutionError::Cancelled) also if there is no task.
    pub fn join_first<T: Send + 'scope>(
        &self,
        tasks: impl IntoIterator<Item = ScopedHandle<'scope, T>>,
    ) -> Result<T, ExecutionError> {
        // An iterator may spawn the tasks as it goes.
        let tasks: Vec<_> = tasks.into_iter().collect();
        let ended = self.join();
        let mut failure = None;
        for mut task in tasks {
            match task.get() {
                Ok(value) => return Ok(value),
                Err(error) => failure = failure.or(error.is_failed().then_some(error)),
            }
        }
        ended?;
        Err(failure.unwrap_or(ExecutionError::Cancelled(Cancellation::Requested)))
    }

    /// Waits for all tasks, and returns their values in order.
    ///
    /// # Errors
    ///
    /// As [`join`](Self::join); in a group without a policy, the first failure among these tasks.
    pub fn join_all<T: Send + 'scope>(
        &self,
        tasks: impl IntoIterator<Item = ScopedHandle<'scope, T>>,
    ) -> Result<Vec<T>, ExecutionError> {
        let tasks: Vec<_> = tasks.into_iter().collect();
        self.join()?;
        tasks.into_iter().map(ScopedHandle::join).collect()
    }

    /// Returns whether all tasks were cancelled: on request, by the policy of the group, or by its time
    /// limit.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.members.is_cancelled()
    }

    /// Cancels all tasks that are not done; a run under way is not interrupted. Tasks that are spawned
    /// later are cancelled at once.
    pub fn cancel(&self) {
        self.members
            .cancel(CancelMode::LetRun, Cancellation::Requested);
    }

    /// Cancels all tasks that are not done; threads that run one are interrupted. Tasks that are spawned
    /// later are cancelled at once.
    pub fn cancel_now(&self) {
        self.members
            .cancel(CancelMode::Interrupt, Cancellation::Requested);
    }

    /// Returns how many tasks there are, and how they ended.
    #[must_use]
    pub fn counts(&self) -> ScopeCounts {
        self.members.counts()
    }
}

/// Drops the ticket of a task that was rejected; its closure has been taken.
fn withdraw(handle: &TaskHandle<()>) {
    ignore_panic(|| {
        handle.cancel_for(CancelMode::LetRun, Cancellation::Rejected);
    });
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// Runs the body on this thread, and what it spawns on the executor; all closures are gone when this
/// returns or unwinds.
pub(super) fn run<'env, F, R>(
    executor: &(dyn Executor + 'env),
    members: &Arc<Members>,
    body: F,
) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let scope = Scope {
        executor,
        members: Arc::clone(members),
        scope: PhantomData,
        env: PhantomData,
    };
    let ended = catch(|| body(&scope));
    if ended.is_err() && members.policy() != JoinPolicy::All {
        members.cancel(CancelMode::Interrupt, Cancellation::Sibling);
    }
    members.closure_gone();
    let mut panic = None;
    // Code of a user that runs in a wait must not end it.
    while let Err(payload) = catch(|| members.wait_for_all()) {
        if let Some(former) = panic.replace(payload) {
            discard_payload(former);
        }
    }
    let panic = members.take_panic().or(panic);
    match (ended, panic) {
        (Ok(value), None) => value,
        (Ok(surplus), Some(payload)) => {
            discard(surplus);
            std::panic::resume_unwind(payload)
        }
        (Err(payload), surplus) => {
            if let Some(surplus) = surplus {
                discard_payload(surplus);
            }
            std::panic::resume_unwind(payload)
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use crate::executor::{Executor, RejectedExecution};
    use crate::submit::Submit;
    use crate::sync::{Mutex, UnsafeCell, model, thread};
    use crate::task::{Cancellation, ExecutionError, Failure, Task, TaskControl};

    /// An executor whose tasks other threads of the model take.
    #[derive(Default, Clone)]
    struct Stack(Arc<Mutex<Vec<Task>>>);

    impl Executor for Stack {
        fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
            self.0.lock().push(task);
            Ok(())
        }
    }

    impl Stack {
        fn pop(&self) -> Option<Task> {
            self.0.lock().pop()
        }
    }

    fn spawn<T: Send + 'static>(
        body: impl FnOnce() -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        thread::Builder::new().spawn(body).unwrap()
    }

    /// The closure writes the cell, and so does the owner of the scope afterwards. Only the end of the
    /// scope orders these accesses: a scope that returns too early is a data race. Meanwhile another thread
    /// has the task, and keeps what `interfere` returns.
    fn use_after_scope(
        canceller: impl FnOnce(TaskControl) -> Option<thread::JoinHandle<bool>>,
        interfere: impl FnOnce(Task) -> Option<Task> + Send + 'static,
    ) {
        let (stack, mut cell) = (Stack::default(), UnsafeCell::new(()));
        let borrowed = &mut cell;
        let (canceller, keeper) = stack.scope(|s| {
            let task = s.spawn(move || borrowed.with_mut(|_| ())).unwrap();
            let theirs = stack.pop().unwrap();
            (canceller(task.control()), spawn(move || interfere(theirs)))
        });
        cell.with_mut(|_| ());
        drop(keeper.join().unwrap());
        if let Some(canceller) = canceller {
            canceller.join().unwrap();
        }
    }

    /// WL-124
    #[test]
    fn a_scope_returns_after_a_closure_that_runs_though_its_task_is_cancelled() {
        model(|| {
            let cancel = |task: TaskControl| Some(spawn(move || task.cancel()));
            use_after_scope(cancel, |task| {
                task.run();
                None
            });
        });
    }

    /// WL-127
    #[test]
    fn a_task_that_is_returned_and_kept_has_no_closure_when_the_scope_returns() {
        model(|| {
            use_after_scope(
                |_| None,
                |task| {
                    task.set_drop_reason(Cancellation::Drained);
                    Some(task)
                },
            );
        });
    }

    /// WL-134
    #[test]
    fn a_task_that_is_spawned_while_its_scope_is_cancelled_is_cancelled_too() {
        model(|| {
            // Nobody runs its tasks.
            let stack = Stack::default();
            let (end, canceller) = stack.scope(|s| {
                let members = Arc::clone(&s.members);
                let cancel = move || members.cancel(super::CancelMode::LetRun, Cancellation::Token);
                let canceller = spawn(cancel);
                (s.spawn(|| ()).unwrap().join(), canceller)
            });
            assert_eq!(end, Err(ExecutionError::Cancelled(Cancellation::Token)));
            canceller.join().unwrap();
        });
    }

    /// WL-135
    #[test]
    fn the_first_failure_ends_the_others_and_is_what_join_returns() {
        model(|| {
            let stack = Stack::default();
            let (joined, worker) = stack.group().fail_fast().scope(|s| {
                let fails = s.spawn_fallible(|| Err::<(), _>(Failure::from_error("no")));
                drop(fails.unwrap());
                let task = stack.pop().unwrap();
                let worker = spawn(move || task.run());
                let joined = s.join();
                // Nobody runs this one.
                let late = s.spawn(|| ()).unwrap();
                assert_eq!(late.cancellation(), Some(Cancellation::Sibling));
                (joined, worker)
            });
            let failure = joined.unwrap_err().into_failure().unwrap();
            assert_eq!(failure.to_string(), "no");
            worker.join().unwrap();
        });
    }
}

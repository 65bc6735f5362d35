//! Completer trees: the completion of its children completes a parent.
//!
//! A [`Node`] counts how many completions it still waits for. When its work ends, it calls
//! [`try_complete`](Node::try_complete): that decrements the count, or, if the count is zero, calls
//! [`Completer::on_completion`] and continues with the parent. No thread waits anywhere in the tree; only
//! the [`Root`] can be waited for.

use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::executor::ForkJoinPool;
use super::job::{WaiterId, Work};
use super::local::Local;
use super::shared::Refused;
use crate::executor::{ExecutorService, RejectedExecution};
use crate::interrupt::ThreadContext;
use crate::sync::Deadline;
use crate::sync::atomic::{AtomicI32, Ordering};
use crate::task::{
    Awaitable, CancelMode, Cancellation, ExecutionError, Failure, FutureTask, Handle, Head, Helped,
    ReadingHandle, Ref, SharedHandle, Task, TaskControl, TaskId, Untyped, WaitError, WaitHelper,
    Wanted, handle_methods, reading_handle_methods,
};
use crate::unwind::{catch, discard};

/// The work of one node of a completer tree.
///
/// A sum over a range, split down to single numbers:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use windlass::forkjoin::ForkJoinPool;
/// use windlass::forkjoin::completer::{Completer, Node};
///
/// struct Sum(u64, u64, Arc<AtomicU64>);
///
/// impl Completer for Sum {
///     fn compute(&self, node: &Node) {
///         if self.1 - self.0 > 1 {
///             let middle = (self.0 + self.1) / 2;
///             node.set_pending_count(2);
///             node.child(Sum(self.0, middle, Arc::clone(&self.2))).fork();
///             node.child(Sum(middle, self.1, Arc::clone(&self.2))).fork();
///         } else {
///             self.2.fetch_add(self.0, Ordering::Relaxed);
///         }
///         node.try_complete();
///     }
/// }
///
/// let pool = ForkJoinPool::new(2).unwrap();
/// let sum = Arc::new(AtomicU64::new(0));
/// pool.submit_completer(Sum(0, 101, Arc::clone(&sum))).unwrap().join().unwrap();
/// assert_eq!(sum.load(Ordering::Relaxed), 5050);
/// ```
#[doc(alias = "CountedCompleter")]
pub trait Completer: Send + Sync {
    /// Does the node's own work, forks children, and ends with [`Node::try_complete`].
    fn compute(&self, node: &Node);

    /// Called once when the node and all that it waits for have completed.
    ///
    /// `caller` is the node whose completion led here: the last child, or the node itself.
    #[doc(alias = "onCompletion")]
    fn on_completion(&self, node: &Node, caller: &Node) {
        let _ = (node, caller);
    }

    /// Called once when the node, or one below it, has failed; returns whether the parent fails too.
    ///
    /// `caller` is the node whose failure led here: a child, or the node itself.
    #[doc(alias = "onExceptionalCompletion")]
    fn on_failure(&self, node: &Node, failure: &Failure, caller: &Node) -> bool {
        let _ = (node, failure, caller);
        true
    }
}

/// A node of a completer tree. Clones refer to the same node, and compare equal.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    completer: Box<dyn Completer>,
    place: Place,
    pending: AtomicI32,
    /// The outcome. A child that completes leaves it open; only failures and forced completions set it.
    end: FutureTask<()>,
}

/// Where a node is in its tree.
enum Place {
    Root(ForkJoinPool),
    Below {
        /// Taken when the node is dropped.
        parent: Option<Node>,
        /// Stored too, so that a node finds it in one step however deep the tree is.
        root: Node,
    },
}

impl Inner {
    fn take_parent(&mut self) -> Option<Node> {
        match &mut self.place {
            Place::Root(_) => None,
            Place::Below { parent, .. } => parent.take(),
        }
    }
}

impl Drop for Inner {
    /// Drops the nodes above that nothing else refers to, one after the other. Otherwise each drops the
    /// next one inside its own drop, and a long chain overflows the stack.
    fn drop(&mut self) {
        let mut above = self.take_parent();
        while let Some(mut inner) = above.and_then(|parent| Arc::into_inner(parent.0)) {
            above = inner.take_parent();
            discard(inner);
        }
    }
}

impl Node {
    fn new(completer: Box<dyn Completer>, place: Place) -> Self {
        Self(Arc::new(Inner {
            completer,
            place,
            pending: AtomicI32::new(0),
            end: FutureTask::new(|| ()),
        }))
    }

    /// Creates a node below this one. It does not change this node's count.
    #[must_use]
    pub fn child(&self, completer: impl Completer + 'static) -> Self {
        let place = Place::Below {
            parent: Some(self.clone()),
            root: self.root().clone(),
        };
        Self::new(Box::new(completer), place)
    }

    /// Returns the id of the node; the id of the root's handle is that of its node.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.0.end.id()
    }

    /// Returns the node above this one.
    #[must_use]
    #[doc(alias = "getCompleter")]
    pub fn parent(&self) -> Option<&Self> {
        match &self.0.place {
            Place::Root(_) => None,
            Place::Below { parent, .. } => parent.as_ref(),
        }
    }

    /// Returns the node at the top.
    #[must_use]
    pub fn root(&self) -> &Self {
        match &self.0.place {
            Place::Root(_) => self,
            Place::Below { root, .. } => root,
        }
    }

    /// Returns the pool, which the root stores.
    fn pool(&self) -> Option<&ForkJoinPool> {
        match &self.root().0.place {
            Place::Root(pool) => Some(pool),
            Place::Below { .. } => None,
        }
    }

    /// Forks the node's work, to be run by this or another worker.
    ///
    /// If the work is never run, because the pool is shut down or stopped, the tree is cancelled.
    pub fn fork(&self) {
        let rejected = self.submit();
        drop(rejected);
    }

    fn submit(&self) -> Result<(), Refused> {
        let queued = QueuedNode(Some(self.clone()));
        let waiter = Some(self.root().waiter());
        match self.pool() {
            Some(pool) => {
                let task = pool.shared().forked_task().build(move || queued.compute());
                let task = pool.shared().record_submission_time(task);
                pool.shared().push_or_submit(Work::Task(task, waiter))
            }
            None => {
                let task = Task::new(move || queued.compute());
                Err(Refused::shut_down(Work::Task(task, waiter)))
            }
        }
    }

    fn waiter(&self) -> WaiterId {
        WaiterId::of(&*self.0)
    }

    /// Runs the node's work on the current thread; does nothing if the node has ended.
    pub fn compute(&self) {
        if self.0.end.is_done() {
            return;
        }
        if let Err(payload) = catch(|| self.0.completer.compute(self)) {
            self.fail(Failure::from_panic(payload));
        }
    }

    /// Returns how many completions below the node it waits for.
    #[must_use]
    pub fn pending_count(&self) -> i32 {
        self.0.pending.load(Ordering::Acquire)
    }

    /// Sets how many completions below the node it waits for.
    pub fn set_pending_count(&self, count: i32) {
        self.0.pending.store(count, Ordering::Release);
    }

    /// Adds to how many completions below the node it waits for.
    pub fn add_to_pending_count(&self, delta: i32) {
        self.0.pending.fetch_add(delta, Ordering::AcqRel);
    }

    /// Sets the count if it is the expected one; returns whether it was.
    pub fn compare_and_set_pending_count(&self, expected: i32, count: i32) -> bool {
        let exchange = (Ordering::AcqRel, Ordering::Acquire);
        self.0
            .pending
            .compare_exchange(expected, count, exchange.0, exchange.1)
            .is_ok()
    }

    /// Decrements the count unless it is zero; returns the count before.
    pub fn decrement_pending_count_unless_zero(&self) -> i32 {
        let less = |count| (count != 0).then(|| count - 1);
        match self
            .0
            .pending
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less)
        {
            Ok(before) | Err(before) => before,
        }
    }

    /// Decrements the count. If it is zero, calls [`Completer::on_completion`] instead and continues
    /// with the parent; after that of the root, the tree is complete.
    pub fn try_complete(&self) {
        self.complete_upwards(Node::call_on_completion);
    }

    /// Does the same as [`try_complete`](Self::try_complete), without calling
    /// [`Completer::on_completion`].
    pub fn propagate_completion(&self) {
        self.complete_upwards(|_, _| Ok(()));
    }

    fn complete_upwards(&self, visit: impl Fn(&Self, &Self) -> Result<(), Failure>) {
        let (mut node, mut caller) = (self, self);
        while node.decrement_pending_count_unless_zero() == 0 {
            if let Err(failure) = visit(node, caller) {
                return node.fail(failure);
            }
            match node.parent() {
                Some(parent) => (node, caller) = (parent, node),
                None => {
                    node.0.end.complete(());
                    return;
                }
            }
        }
    }

    fn call_on_completion(&self, caller: &Self) -> Result<(), Failure> {
        catch(|| self.0.completer.on_completion(self, caller)).map_err(Failure::from_panic)
    }

    /// Completes the node regardless of its count: calls [`Completer::on_completion`] and continues
    /// with the parent. Returns false if the node has already ended.
    pub fn complete(&self) -> bool {
        if self.0.end.is_done() {
            return false;
        }
        match self.call_on_completion(self) {
            Err(failure) => self.fail(failure),
            Ok(()) => {
                self.0.end.complete(());
                if let Some(parent) = self.parent() {
                    parent.try_complete();
                }
            }
        }
        true
    }

    /// Fails the node, and each one above it until a [`Completer::on_failure`] returns false.
    #[doc(alias = "completeExceptionally")]
    pub fn fail(&self, failure: Failure) {
        let (mut node, mut caller) = (self, self);
        loop {
            if !node.0.end.fail(failure.clone()) {
                return;
            }
            let completer = &node.0.completer;
            let passes = catch(|| completer.on_failure(node, &failure, caller)).unwrap_or(true);
            match node.parent() {
                Some(parent) if passes => (node, caller) = (parent, node),
                _ => return,
            }
        }
    }

    /// Returns the node itself if its count is zero; else decrements it.
    #[must_use]
    pub fn first_complete(&self) -> Option<&Self> {
        (self.decrement_pending_count_unless_zero() == 0).then_some(self)
    }

    /// Returns the parent, if this was the last completion that it waited for. Completes the root
    /// without calling its hook.
    #[must_use]
    pub fn next_complete(&self) -> Option<&Self> {
        match self.parent() {
            Some(parent) => parent.first_complete(),
            None => {
                self.0.end.complete(());
                None
            }
        }
    }

    /// Completes the root, and nothing else.
    pub fn quietly_complete_root(&self) {
        self.root().0.end.complete(());
    }

    /// Runs up to `most` nodes of this tree that this worker has forked; returns how many there were.
    pub fn help_complete(&self, most: usize) -> usize {
        let Some(pool) = self.pool() else { return 0 };
        Local::of(pool.shared(), |local| {
            let Some(local) = local else { return 0 };
            let mut helped = 0;
            while helped < most && !self.root().0.end.is_done() {
                let Some(work) = local.take_for(self.root().waiter()) else {
                    break;
                };
                local.run(work);
                helped += 1;
            }
            helped
        })
    }
}

impl WaitHelper for Node {
    /// Runs nodes of this tree that are queued anywhere, if no worker would.
    fn help(&self, _wanted: Wanted) -> Helped {
        let Some(pool) = self.pool() else {
            return Helped::Nothing;
        };
        let waiter = self.root().waiter();
        let take = |local: Option<&Local>| {
            let is_own = |work: &Work| work.is_for(waiter);
            let is_done = self.root().0.end.is_done();
            (!is_done).then(|| pool.shared().take_if_stalled(local, is_own))?
        };
        let mut helped = Helped::Nothing;
        Local::of(pool.shared(), |local| {
            while let Some(work) = take(local) {
                helped = Helped::Ran;
                match local {
                    Some(local) => local.run_awaited(work),
                    None => pool.shared().run_on_outsider(work),
                }
            }
        });
        helped
    }

    fn executor(&self) -> usize {
        let pool = self.pool().map(|pool| Arc::as_ptr(pool.shared()).addr());
        pool.unwrap_or(0)
    }

    fn while_blocked(&self, wait: &mut dyn FnMut()) {
        let me = ThreadContext::current();
        match self.pool() {
            Some(pool) => pool.shared().as_waiter(&me, || Local::while_blocked(wait)),
            None => Local::while_blocked(wait),
        }
    }
}

/// Nodes are compared by identity.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl From<&Node> for TaskId {
    fn from(node: &Node) -> Self {
        node.id()
    }
}

impl UnwindSafe for Node {}
impl RefUnwindSafe for Node {}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("id", &self.id())
            .field("pending", &self.pending_count())
            .finish_non_exhaustive()
    }
}

/// A node that is queued; if it is dropped instead of run, the tree is cancelled.
struct QueuedNode(Option<Node>);

impl QueuedNode {
    fn compute(mut self) {
        if let Some(node) = self.0.take() {
            node.compute();
        }
    }
}

impl Drop for QueuedNode {
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            let reason = if node.pool().is_some_and(ForkJoinPool::is_shutdown) {
                Cancellation::Shutdown
            } else {
                Cancellation::Dropped
            };
            let end = &node.root().0.end;
            end.cancel_for(CancelMode::LetRun, reason);
        }
    }
}

impl ForkJoinPool {
    /// Submits the root of a completer tree and returns its handle.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task that runs the root, and the handle.
    pub fn submit_completer(
        &self,
        root: impl Completer + 'static,
    ) -> Result<Root, RejectedExecution<Root>> {
        let node = Node::new(Box::new(root), Place::Root(self.clone()));
        let end = node.0.end.handle();
        let root = Root { node, end };
        match root.node.submit() {
            Ok(()) => Ok(root),
            Err(refused) => Err(self.rejection(refused).with_handle(root)),
        }
    }
}

/// The handle of a completer tree: its root, the one node that can be waited for.
///
/// A worker that waits for it first runs nodes of the tree that it has forked itself. Cancelling it
/// keeps nodes from starting that have not. Dropping it detaches the tree.
#[must_use = "dropping the root detaches the tree"]
pub struct Root {
    node: Node,
    end: SharedHandle<()>,
}

impl Root {
    /// Returns the node.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }
}

impl Handle for Root {
    fn head(&self) -> &Head {
        self.end.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.end.to_untyped()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.end.cancel_for(mode, reason)
    }

    /// Runs nodes of the tree that this worker has forked, then waits for the end of the tree.
    fn wait_by(&self, deadline: Deadline) -> Result<bool, WaitError> {
        self.node.help_complete(usize::MAX);
        self.wait_with_help(deadline, Some(&self.node))
    }
}

impl ReadingHandle<()> for Root {
    fn outcome_ref(&self) -> Option<Result<&(), ExecutionError>> {
        self.end.outcome_ref()
    }

    fn to_shareable(&self) -> Ref<dyn Awaitable<()>> {
        self.end.to_shareable()
    }
}

handle_methods!([] Root, control = TaskControl);
reading_handle_methods!([] Root, value = (), shared = SharedHandle<()>);

impl Future for Root {
    type Output = Result<(), ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.end).poll(context)
    }
}

impl From<RejectedExecution<Root>> for RejectedExecution {
    fn from(rejected: RejectedExecution<Root>) -> Self {
        rejected.without_handle()
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("Root", self.failure_now().as_ref(), f)
    }
}

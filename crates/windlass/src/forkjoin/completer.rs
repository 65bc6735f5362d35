//! Trees of tasks in which the end of the children completes the parent.
//!
//! A [`Node`] counts how many children it still waits for. Whoever ends calls
//! [`try_complete`](Node::try_complete): that takes one off the count of the node, and at zero calls
//! its [`Completer::on_completion`] and goes on with its parent. No thread waits anywhere in the tree;
//! only the [`Root`] can be waited for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::blocker::blocking;
use super::executor::ForkJoinPool;
use super::job::{WaiterId, Work};
use super::local::Local;
use crate::executor::RejectedExecution;
use crate::interrupt::Interrupted;
use crate::sync::Deadline;
use crate::sync::atomic::{AtomicI32, Ordering};
use crate::task::{
    Awaitable, CancelMode, Cancellation, ExecutionError, Failure, FutureTask, Handle, Head,
    ReadingHandle, Ref, SharedHandle, Task, TaskControl, Untyped, handle_methods,
    reading_handle_methods,
};
use crate::unwind::catch;

/// What one node of the tree does.
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

    /// Called once when the node and all that it waited for have ended well.
    #[doc(alias = "onCompletion")]
    fn on_completion(&self, node: &Node) {
        let _ = node;
    }

    /// Called once when the node, or one below it, has failed. `true` passes the failure on to the
    /// parent.
    #[doc(alias = "onExceptionalCompletion")]
    fn on_failure(&self, node: &Node, failure: &Failure) -> bool {
        let _ = (node, failure);
        true
    }
}

/// A node of the tree; cloning gives another reference to it.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    completer: Box<dyn Completer>,
    parent: Option<Node>,
    pending: AtomicI32,
    /// For a child only whether it has failed; for the root, the end of the tree.
    end: FutureTask<()>,
    pool: ForkJoinPool,
}

impl Node {
    fn root_of(pool: &ForkJoinPool, completer: impl Completer + 'static) -> Self {
        Self::new(Box::new(completer), None, pool.clone())
    }

    fn new(completer: Box<dyn Completer>, parent: Option<Self>, pool: ForkJoinPool) -> Self {
        let end = FutureTask::new(|| ());
        Self(Arc::new(Inner {
            completer,
            parent,
            pending: AtomicI32::new(0),
            end,
            pool,
        }))
    }

    /// A node below this one. It does not change this node's count.
    #[must_use]
    pub fn child(&self, completer: impl Completer + 'static) -> Self {
        Self::new(Box::new(completer), Some(self.clone()), self.0.pool.clone())
    }

    /// The node above this one.
    #[must_use]
    #[doc(alias = "getCompleter")]
    pub fn parent(&self) -> Option<&Self> {
        self.0.parent.as_ref()
    }

    /// The node at the top.
    #[must_use]
    pub fn root(&self) -> &Self {
        let mut node = self;
        while let Some(parent) = node.parent() {
            node = parent;
        }
        node
    }

    /// Has the node's work done, here or by another worker.
    ///
    /// If it cannot be, because the pool has ended or is stopped, the tree is cancelled.
    pub fn fork(&self) {
        let refused = self.send();
        drop(refused);
    }

    fn send(&self) -> Result<(), Work> {
        let branch = Branch(Some(self.clone()));
        let task = Task::new(move || branch.compute());
        let work = Work::Task(task, Some(self.root().waiter()));
        self.0.pool.shared().push_or_submit(work)
    }

    fn waiter(&self) -> WaiterId {
        WaiterId::of(&*self.0)
    }

    /// Does the node's work here and now.
    pub fn compute(&self) {
        if self.0.end.is_done() {
            return;
        }
        if let Err(payload) = catch(|| self.0.completer.compute(self)) {
            self.fail(Failure::from_panic(payload));
        }
    }

    /// How many ends below the node waits for.
    #[must_use]
    pub fn pending_count(&self) -> i32 {
        self.0.pending.load(Ordering::Acquire)
    }

    /// Sets how many ends below the node waits for.
    pub fn set_pending_count(&self, count: i32) {
        self.0.pending.store(count, Ordering::Release);
    }

    /// Adds to how many ends below the node waits for.
    pub fn add_to_pending_count(&self, delta: i32) {
        self.0.pending.fetch_add(delta, Ordering::AcqRel);
    }

    /// Sets the count, if it is what is expected; says whether it was.
    pub fn compare_and_set_pending_count(&self, expected: i32, count: i32) -> bool {
        let exchange = (Ordering::AcqRel, Ordering::Acquire);
        self.0
            .pending
            .compare_exchange(expected, count, exchange.0, exchange.1)
            .is_ok()
    }

    /// Takes one off the count unless it is zero; gives what it was.
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

    /// Takes one off the count; at zero calls [`Completer::on_completion`] and goes on with the
    /// parent. The root is then done.
    pub fn try_complete(&self) {
        self.climb(Node::call_on_completion);
    }

    /// Like [`try_complete`](Self::try_complete), without calling [`Completer::on_completion`].
    pub fn propagate_completion(&self) {
        self.climb(|_| Ok(()));
    }

    fn climb(&self, visit: impl Fn(&Self) -> Result<(), Failure>) {
        let mut node = self;
        while node.decrement_pending_count_unless_zero() == 0 {
            if let Err(failure) = visit(node) {
                return node.fail(failure);
            }
            match node.parent() {
                Some(parent) => node = parent,
                None => {
                    node.0.end.complete(());
                    return;
                }
            }
        }
    }

    fn call_on_completion(&self) -> Result<(), Failure> {
        catch(|| self.0.completer.on_completion(self)).map_err(Failure::from_panic)
    }

    /// Completes the node whatever its count: calls [`Completer::on_completion`], and goes on with the
    /// parent. False if it has ended already.
    pub fn complete(&self) -> bool {
        if self.0.end.is_done() {
            return false;
        }
        match self.call_on_completion() {
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

    /// Fails the node, and each one above it until an [`Completer::on_failure`] says no.
    #[doc(alias = "completeExceptionally")]
    pub fn fail(&self, failure: Failure) {
        let mut node = self;
        loop {
            if !node.0.end.fail(failure.clone()) {
                return;
            }
            let passes = catch(|| node.0.completer.on_failure(node, &failure)).unwrap_or(true);
            match node.parent() {
                Some(parent) if passes => node = parent,
                _ => return,
            }
        }
    }

    /// The node itself if its count is zero; else takes one off it.
    #[must_use]
    pub fn first_complete(&self) -> Option<&Self> {
        (self.decrement_pending_count_unless_zero() == 0).then_some(self)
    }

    /// The parent, if this was the last end that it waited for. At the root: completes it quietly.
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

    /// Runs up to `most` nodes of this tree that this worker has forked; says how many there were.
    pub fn help_complete(&self, most: usize) -> usize {
        Local::with(|local| {
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

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("pending", &self.pending_count())
            .finish_non_exhaustive()
    }
}

impl ForkJoinPool {
    /// Submits the root of a tree of completers and returns it to wait for.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`].
    pub fn submit_completer(
        &self,
        root: impl Completer + 'static,
    ) -> Result<Root, RejectedExecution> {
        Root::submit(Node::root_of(self, root))
    }
}

/// A node on its way to be computed; if that never happens, the tree is given up.
struct Branch(Option<Node>);

impl Branch {
    fn compute(mut self) {
        if let Some(node) = self.0.take() {
            node.compute();
        }
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            node.root().0.end.cancel();
        }
    }
}

/// The handle of a tree, through its root: the one node that can be waited for.
///
/// A worker that waits runs nodes of the tree that it has forked. Cancelling the tree keeps nodes that
/// have not started from being computed.
#[must_use = "dropping the root detaches the tree"]
pub struct Root {
    node: Node,
    end: SharedHandle<()>,
}

impl Root {
    fn submit(node: Node) -> Result<Self, RejectedExecution> {
        match node.send() {
            Ok(()) => Ok(Self {
                end: node.0.end.handle(),
                node,
            }),
            Err(work) => Err(node.0.pool.rejection(work)),
        }
    }

    /// Returns the root node.
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

    /// Runs nodes of the tree that this worker has forked, then waits for the end.
    fn wait_by(&self, deadline: Deadline) -> Result<bool, Interrupted> {
        self.node.help_complete(usize::MAX);
        blocking(|| self.end.wait_by(deadline))
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

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("Root", self.failure_now().as_ref(), f)
    }
}

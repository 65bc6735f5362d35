//! Completer trees: the end of the children completes the parent.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::error::{Cancellation, ExecutionError, Failure};
use windlass::forkjoin::ForkJoinPool;
use windlass::forkjoin::completer::{Completer, Node, Root};
use windlass::task::TaskId;
use windlass::testing::{Gate, PATIENCE, within_patience};
use windlass::{ExecutorService, Submit};

/// What was called, and how often.
#[derive(Debug, Default)]
struct Calls {
    completions: AtomicUsize,
    failures: AtomicUsize,
}

/// Counts its calls, and keeps its node for the test.
struct Counted(Arc<Calls>, Arc<Mutex<Vec<Node>>>, bool);

impl Completer for Counted {
    fn compute(&self, node: &Node) {
        self.1.lock().unwrap().push(node.clone());
    }
    fn on_completion(&self, _node: &Node, _caller: &Node) {
        self.0.completions.fetch_add(1, Ordering::SeqCst);
    }
    fn on_failure(&self, _node: &Node, _failure: &Failure, _caller: &Node) -> bool {
        self.0.failures.fetch_add(1, Ordering::SeqCst);
        self.2
    }
}

fn counted(calls: &Arc<Calls>) -> Counted {
    Counted(Arc::clone(calls), Arc::default(), true)
}

/// A root that waits for whatever the test does with it.
fn root(calls: &Arc<Calls>) -> Root {
    let pool = ForkJoinPool::new(1).unwrap();
    let root = pool.submit_completer(counted(calls)).unwrap();
    assert!(pool.await_quiescence(PATIENCE));
    root
}

fn count(of: &AtomicUsize) -> usize {
    of.load(Ordering::SeqCst)
}

/// CC-001
#[test]
fn complete_ends_the_node_whatever_its_pending_count() {
    for pending in [0, 42] {
        let calls = Arc::default();
        let root = root(&calls);
        root.node().set_pending_count(pending);
        assert!(root.node().complete());
        assert!(!root.node().complete());
        assert!(root.is_done());
        assert_eq!(
            (root.node().pending_count(), count(&calls.completions)),
            (pending, 1)
        );
    }
    let (above, below) = (Arc::default(), Arc::default());
    let root = root(&above);
    let child = root.node().child(counted(&below));
    child.set_pending_count(42);
    assert!(child.complete() && !child.complete());
    assert_eq!(
        (count(&below.completions), count(&above.completions)),
        (1, 1)
    );
    assert!(root.is_done());
}

/// CC-002
#[test]
fn completing_with_a_failure_calls_only_the_failure_hook_once() {
    let calls = Arc::default();
    let root = root(&calls);
    root.node().fail(Failure::from_error("failed"));
    root.node().fail(Failure::from_error("again"));
    assert_eq!((count(&calls.completions), count(&calls.failures)), (0, 1));
    assert!(root.join().unwrap_err().to_string().contains("failed"));
}

/// CC-003
#[test]
fn the_pending_count_can_be_set_added_to_and_compared() {
    let root = root(&Arc::default());
    let node = root.node();
    assert_eq!(node.pending_count(), 0);
    for count in [i32::MIN, -1, 0, 7, i32::MAX] {
        node.set_pending_count(count);
        assert_eq!(node.pending_count(), count);
    }
    node.set_pending_count(1);
    node.add_to_pending_count(5);
    node.add_to_pending_count(-2);
    assert_eq!(node.pending_count(), 4);
    assert!(!node.compare_and_set_pending_count(3, 9));
    assert!(node.compare_and_set_pending_count(4, 1));
    assert_eq!(node.decrement_pending_count_unless_zero(), 1);
    assert_eq!(node.decrement_pending_count_unless_zero(), 0);
    assert_eq!(node.pending_count(), 0);
}

/// CC-004, CC-011
#[test]
fn a_node_knows_its_parent_and_its_root() {
    let calls = Arc::default();
    let root = root(&calls);
    root.node().set_pending_count(11);
    let middle = root.node().child(counted(&calls));
    middle.set_pending_count(22);
    let leaf = middle.child(counted(&calls));
    assert_eq!(leaf.parent().unwrap().pending_count(), 22);
    assert_eq!(leaf.root().pending_count(), 11);
    assert!(root.node().parent().is_none());
    assert_eq!(root.node().root().pending_count(), 11);
}

/// CC-005
#[test]
fn try_complete_counts_down_and_at_zero_completes_upwards() {
    let (above, below) = (Arc::default(), Arc::default());
    let root = root(&above);
    root.node().set_pending_count(1);
    let child = root.node().child(counted(&below));
    child.set_pending_count(3);
    for left in (0..3).rev() {
        child.try_complete();
        assert_eq!(
            (child.pending_count(), count(&below.completions)),
            (left, 0)
        );
    }
    child.try_complete();
    assert_eq!(
        (count(&below.completions), root.node().pending_count()),
        (1, 0)
    );
    assert!(!root.is_done());
    root.node().try_complete();
    assert_eq!(count(&above.completions), 1);
    root.join().unwrap();
}

/// CC-006
#[test]
fn propagate_completion_does_not_call_the_hook() {
    let calls = Arc::default();
    let root = root(&calls);
    let child = root.node().child(counted(&calls));
    child.set_pending_count(1);
    child.propagate_completion();
    assert!(!root.is_done());
    child.propagate_completion();
    assert!(root.is_done());
    assert_eq!(count(&calls.completions), 0);
}

/// CC-007
#[test]
fn the_completion_path_can_be_walked_step_by_step() {
    let root = root(&Arc::default());
    let child = root.node().child(counted(&Arc::default()));
    child.set_pending_count(1);
    root.node().set_pending_count(1);
    assert!(child.first_complete().is_none());
    let at_child = child.first_complete().unwrap();
    assert!(at_child.next_complete().is_none());
    assert_eq!(root.node().pending_count(), 0);
    let at_root = at_child.next_complete().unwrap();
    assert!(!root.is_done());
    assert!(at_root.next_complete().is_none());
    assert!(root.is_done());
}

/// CC-008
#[test]
fn completing_the_root_quietly_completes_nothing_else() {
    let calls = Arc::default();
    let root = root(&calls);
    let middle = root.node().child(counted(&calls));
    let leaf = middle.child(counted(&calls));
    for node in [root.node(), &middle, &leaf] {
        node.set_pending_count(1);
    }
    leaf.quietly_complete_root();
    assert!(root.is_done());
    assert_eq!((leaf.pending_count(), middle.pending_count()), (1, 1));
    assert_eq!(count(&calls.completions), 0);
    assert!(middle.complete() && leaf.complete());
}

/// How a range is split.
#[derive(Debug, Clone, Copy)]
enum Style {
    /// Two children, and a count of two.
    Two,
    /// One child is forked, the other computed in place.
    OffByOne,
    /// A child for the right half, again and again.
    Loop,
    /// One child per element, counted beforehand.
    Counted,
}

/// Adds one to each cell of its range.
struct Visit(Arc<Vec<AtomicU32>>, usize, usize, Style);

impl Visit {
    fn part(&self, from: usize, to: usize) -> Self {
        Self(Arc::clone(&self.0), from, to, self.3)
    }

    fn visit(&self, from: usize, to: usize) {
        for cell in &self.0[from..to] {
            cell.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Completer for Visit {
    fn compute(&self, node: &Node) {
        let (from, mut to) = (self.1, self.2);
        let middle = from + (to - from) / 2;
        match self.3 {
            Style::Two if to - from > 1 => {
                node.set_pending_count(2);
                node.child(self.part(from, middle)).fork();
                node.child(self.part(middle, to)).fork();
            }
            Style::OffByOne if to - from > 1 => {
                node.set_pending_count(1);
                node.child(self.part(middle, to)).fork();
                return node.child(self.part(from, middle)).compute();
            }
            Style::Loop => {
                while to - from > 1 {
                    let middle = from + (to - from) / 2;
                    node.add_to_pending_count(1);
                    node.child(self.part(middle, to)).fork();
                    to = middle;
                }
                self.visit(from, to);
                return node.propagate_completion();
            }
            Style::Counted if to - from > 1 => {
                node.set_pending_count(i32::try_from(to - from).unwrap());
                (from..to).for_each(|at| node.child(self.part(at, at + 1)).fork());
            }
            _ => self.visit(from, to),
        }
        node.try_complete();
    }
}

/// CC-012
#[test]
fn every_way_to_split_visits_every_element_once() {
    for parallelism in [1, 3] {
        let pool = ForkJoinPool::new(parallelism).unwrap();
        for style in [Style::Two, Style::OffByOne, Style::Loop, Style::Counted] {
            for length in (0..8).chain([100]) {
                let cells: Arc<Vec<AtomicU32>> = Arc::new((0..length).map(|_| 0.into()).collect());
                let visit = Visit(Arc::clone(&cells), 0, length, style);
                pool.submit_completer(visit).unwrap().join().unwrap();
                let once = cells.iter().all(|cell| cell.load(Ordering::SeqCst) == 1);
                assert!(once, "{style:?} {length}");
            }
        }
    }
}

/// Adds up a Fibonacci number leaf by leaf.
struct Fib(u32, Arc<AtomicU64>);

impl Completer for Fib {
    fn compute(&self, node: &Node) {
        if self.0 < 2 {
            self.1.fetch_add(self.0.into(), Ordering::SeqCst);
        } else {
            node.set_pending_count(2);
            for less in [1, 2] {
                node.child(Fib(self.0 - less, Arc::clone(&self.1))).fork();
            }
        }
        node.try_complete();
    }
}

/// CC-009
#[test]
fn a_tree_behaves_like_any_task() {
    within_patience("trees", || {
        let (one, four) = (ForkJoinPool::new(1).unwrap(), ForkJoinPool::new(4).unwrap());
        for pool in [&one, &four, ForkJoinPool::common()] {
            let sum = Arc::new(AtomicU64::new(0));
            let outside = pool.submit_completer(Fib(12, Arc::clone(&sum))).unwrap();
            outside.get().unwrap();
            outside.join().unwrap();
            assert_eq!(sum.load(Ordering::SeqCst), 144);
            let inside = || pool.submit_completer(Fib(12, Arc::clone(&sum)));
            pool.install(|| inside().unwrap().join().unwrap());
            assert_eq!(sum.load(Ordering::SeqCst), 288);
        }
    });
}

fn held() -> (ForkJoinPool, Gate) {
    let pool = ForkJoinPool::new(1).unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    (pool, gate)
}

/// CC-009
#[test]
fn a_tree_can_be_cancelled_before_it_starts() {
    let (pool, gate) = held();
    let sum = Arc::new(AtomicU64::new(0));
    let tree = pool.submit_completer(Fib(5, Arc::clone(&sum))).unwrap();
    assert!(tree.cancel());
    assert!(tree.join().unwrap_err().is_cancelled());
    gate.open();
    pool.close();
    assert_eq!(sum.load(Ordering::SeqCst), 0);
}

/// CC-009, FJP-021
#[test]
fn a_tree_whose_nodes_are_dropped_is_cancelled() {
    let (pool, gate) = held();
    let tree = pool.submit_completer(Fib(5, Arc::default())).unwrap();
    assert_eq!(pool.shutdown_now().len(), 1);
    let reason = ExecutionError::Cancelled(Cancellation::Shutdown);
    assert_eq!(tree.join(), Err(reason));
    gate.open();
    pool.close();
}

/// CC-009
#[test]
fn a_tree_that_is_refused_comes_back_with_its_handle() {
    let pool = ForkJoinPool::new(1).unwrap();
    pool.close();
    let sum = Arc::new(AtomicU64::new(0));
    let root = Fib(5, Arc::clone(&sum));
    let (task, tree) = pool.submit_completer(root).unwrap_err().into_parts();
    assert!(!tree.is_done());
    drop(task);
    assert!(tree.join().unwrap_err().is_cancelled());
    assert_eq!(sum.load(Ordering::SeqCst), 0);
}

/// CC-009
#[test]
fn a_wait_for_a_tree_can_have_a_time_limit() {
    let (pool, gate) = held();
    let tree = pool.submit_completer(Fib(5, Arc::default())).unwrap();
    assert_eq!(
        tree.get_timeout(Duration::ZERO),
        Err(ExecutionError::TimedOut)
    );
    assert_eq!(tree.wait_timeout(Duration::ZERO), Ok(false));
    gate.open();
    assert_eq!(tree.get_timeout(PATIENCE), Ok(()));
}

/// CC-009, FJP-009
#[test]
fn a_tree_goes_on_forking_after_shutdown() {
    let (pool, gate) = held();
    let sum = Arc::new(AtomicU64::new(0));
    let tree = pool.submit_completer(Fib(10, Arc::clone(&sum))).unwrap();
    pool.shutdown();
    gate.open();
    tree.join().unwrap();
    assert_eq!(sum.load(Ordering::SeqCst), 55);
}

/// Panics when it is computed.
struct Panics;

impl Completer for Panics {
    fn compute(&self, _node: &Node) {
        panic!("at the leaf");
    }
}

/// CC-010, CC-014
#[test]
fn a_panic_travels_up_until_one_stops_it() {
    let (above, between) = (Arc::default(), Arc::default());
    let passed = root(&above);
    let middle = passed.node().child(counted(&between));
    middle.set_pending_count(4);
    middle.child(Panics).compute();
    assert_eq!((count(&between.failures), count(&above.failures)), (1, 1));
    assert_eq!(middle.pending_count(), 4);
    let failure = |error: ExecutionError| error.into_failure().unwrap();
    let (first, second) = (passed.get().unwrap_err(), passed.join().unwrap_err());
    let (first, second) = (failure(first), failure(second));
    assert!(first == second && first.message() == Some("at the leaf"));

    let (above, between) = (Arc::default(), Arc::default());
    let stopped = root(&above);
    let middle = stopped
        .node()
        .child(Counted(Arc::clone(&between), Arc::default(), false));
    middle.child(Panics).compute();
    assert_eq!((count(&between.failures), count(&above.failures)), (1, 0));
    assert!(!stopped.is_done());
}

/// CC-010
#[test]
fn a_panic_in_a_completion_fails_the_node() {
    struct Late;
    impl Completer for Late {
        fn compute(&self, node: &Node) {
            node.try_complete();
        }
        fn on_completion(&self, _node: &Node, _caller: &Node) {
            panic!("at completion");
        }
    }
    let tree = ForkJoinPool::new(1)
        .unwrap()
        .submit_completer(Late)
        .unwrap();
    let failure = tree.join().unwrap_err().into_failure().unwrap();
    assert_eq!(failure.message(), Some("at completion"));
}

/// CC-013
#[test]
fn help_complete_runs_at_most_the_given_number_of_nodes() {
    struct Helps(ForkJoinPool, Arc<AtomicUsize>);
    impl Completer for Helps {
        fn compute(&self, node: &Node) {
            let leaf = Visit(Arc::new(vec![0.into()]), 0, 1, Style::Two);
            node.set_pending_count(4);
            for _ in 0..4 {
                node.child(leaf.part(0, 1)).fork();
            }
            let unrelated = Arc::clone(&self.1);
            let add = move || {
                unrelated.fetch_add(1, Ordering::SeqCst);
            };
            self.0.execute(add).unwrap();
            assert_eq!((node.help_complete(3), node.pending_count()), (3, 1));
            assert_eq!((node.help_complete(3), node.pending_count()), (1, 0));
            assert_eq!(count(&self.1), 0);
            node.try_complete();
        }
    }
    let unrelated = Arc::new(AtomicUsize::new(0));
    let pool = ForkJoinPool::new(1).unwrap();
    let helps = Helps(pool.clone(), Arc::clone(&unrelated));
    pool.submit_completer(helps).unwrap().join().unwrap();
    pool.close();
    assert_eq!(count(&unrelated), 1);
}

/// Records which node completed or failed, and which node led there.
struct Traced(Arc<Mutex<Vec<(Node, Node)>>>);

impl Completer for Traced {
    fn compute(&self, _node: &Node) {}
    fn on_completion(&self, node: &Node, caller: &Node) {
        self.0.lock().unwrap().push((node.clone(), caller.clone()));
    }
    fn on_failure(&self, node: &Node, _failure: &Failure, caller: &Node) -> bool {
        self.0.lock().unwrap().push((node.clone(), caller.clone()));
        true
    }
}

/// CC-005
#[test]
fn a_completion_knows_the_node_that_led_to_it() {
    for fails in [false, true] {
        let calls: Arc<Mutex<Vec<(Node, Node)>>> = Arc::default();
        let pool = ForkJoinPool::new(1).unwrap();
        let root = pool.submit_completer(Traced(Arc::clone(&calls))).unwrap();
        assert!(pool.await_quiescence(PATIENCE));
        let child = root.node().child(Traced(Arc::clone(&calls)));
        if fails {
            child.fail(Failure::from_error("failed"));
        } else {
            child.try_complete();
        }
        let top = root.node().clone();
        let expected = [(child.clone(), child.clone()), (top, child)];
        assert_eq!(*calls.lock().unwrap(), expected);
    }
}

/// CC-004
#[test]
fn nodes_are_told_apart_by_identity() {
    let root = root(&Arc::default());
    let child = root.node().child(counted(&Arc::default()));
    assert!(child.root() == root.node() && child == child.clone());
    assert!(child != *root.node() && child.id() != root.id());
    assert_eq!(root.id(), root.node().id());
    assert_eq!(TaskId::from(&root), TaskId::from(root.node()));
}

/// WL-003
#[test]
fn a_chain_of_a_hundred_thousand_nodes_completes_and_is_dropped() {
    /// Counts down; each step is the only child of the one before.
    struct Step(usize);
    impl Completer for Step {
        fn compute(&self, node: &Node) {
            if self.0 > 0 {
                node.set_pending_count(1);
                node.child(Step(self.0 - 1)).fork();
            }
            node.try_complete();
        }
    }
    for parallelism in [1, 2] {
        let pool = ForkJoinPool::new(parallelism).unwrap();
        let root = pool.submit_completer(Step(100_000)).unwrap();
        within_patience("the chain", || root.join().unwrap());
    }
    let calls = Arc::default();
    let root = root(&calls);
    let mut deepest = root.node().clone();
    for _ in 0..100_000 {
        deepest = deepest.child(counted(&calls));
    }
    assert_eq!(deepest.root(), root.node());
    drop(deepest);
    assert_eq!(root.node().root().id(), root.id());
}

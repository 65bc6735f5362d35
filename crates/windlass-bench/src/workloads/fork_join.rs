//! W7: work that splits in two and joins.

use std::time::{Duration, Instant};

use super::slices;
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, participants, points};
use crate::instruments::pace;
use crate::instruments::random::Random;
use crate::peers::{Chili, ForkJoin, Rayon, Sequential, WindlassForkJoin};

/// Below this length a part is sorted, or summed, without splitting.
const LEAF: usize = 8_192;
/// How long a leaf waits where nothing is computed.
const LEAF_WAITS: Duration = Duration::from_millis(50);
/// The last of so many runs counts, with the pool awake and the caches warm.
const RUNS: usize = 3;

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W7",
        title: "fork-join",
        about: "Fibonacci numbers without a cut-off, the sum over a binary tree of boxes, a merge \
                sort with splits down to 8,192 elements, the sum of an array. Time of the last of \
                three runs, and of Fibonacci numbers also per join, of which there is nothing else. \
                Pools differ in which half of a join they run first; each is handed the halves of tree, sort \
                and array so that one thread alone would go through memory from end to end. \
                Eight leaves that wait for 50 ms each, on eight workers, show whether idle workers \
                reach all that there is to do: 50 ms is ideal. Sequential is the same algorithm \
                without a pool. Points whose names begin with `slice` call a library's own loops \
                and sorts: each element changed in place, a sum, a sum of hashes that take a \
                microsecond each, both kinds of sort.",
        points: grid,
        participants: |point| {
            if slices::has(point) {
                use slices::sample;
                return participants![sample; WindlassForkJoin, Rayon, Sequential];
            }
            participants![sample; WindlassForkJoin, Rayon, Chili, Sequential]
        },
        jdk: |point| {
            if slices::has(point) {
                return vec![];
            }
            vec!["jdk-fork-join"]
        },
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

fn grid(size: Size) -> Vec<Point> {
    let kinds = [
        ("fib", size.pick(10, 22, 32)),
        ("tree", size.pick(6, 14, 20)),
        ("sort", size.pick(20_000, 200_000, 4_194_304)),
        ("sum", size.pick(20_000, 1_000_000, 50_000_000)),
    ];
    let lengths = [
        size.pick(20_000, 200_000, 8_388_608),
        size.pick(20_000, 1_000_000, 50_000_000),
        size.pick(200, 2_000, 50_000),
        size.pick(20_000, 200_000, 4_194_304),
        size.pick(20_000, 200_000, 4_194_304),
    ];
    let slices = slices::KINDS.into_iter().zip(lengths);
    let kinds: Vec<(&str, u64)> = kinds.into_iter().chain(slices).collect();
    let workers = size.pick(&[2][..], &[2], &[1, 2, 4]);
    let of = |w: &u64| {
        let of = |(kind, n): &(&str, u64)| format!("what={kind},workers={w},n={n}");
        kinds.iter().map(of).collect::<Vec<_>>()
    };
    let leaves = size.pick(2, 8, 8);
    let leaves = format!("what=leaves,workers={leaves},n={leaves}");
    points(workers.iter().flat_map(of).chain([leaves]))
}

fn sample<P: ForkJoin>(point: &Point) -> Vec<Figure> {
    let pool = P::with_parallelism(point.size("workers"));
    let n = point.size("n");
    let elapsed = match point.word("what") {
        "fib" => return of_fib(time_fib(&pool, n as u64), n),
        "leaves" => time_leaves(&pool, n),
        "tree" => time_tree(&pool, n),
        "sort" => time_sort(&pool, n),
        _ => time_sum(&pool, n as u64),
    };
    vec![Figure::millis("time", elapsed)]
}

/// The figures of a Fibonacci number, whose recursion has a join for each of its calls but those
/// for zero and one.
fn of_fib(elapsed: Duration, n: usize) -> Vec<Figure> {
    let joins = (0..=n).fold((0_u64, 1_u64), |(a, b), _| (b, a + b)).0 - 1;
    vec![
        Figure::millis("time", elapsed),
        Figure::per("per join", elapsed, joins),
    ]
}

/// The time of the last run.
pub(super) fn last(mut run: impl FnMut() -> Duration) -> Duration {
    for _ in 1..RUNS {
        run();
    }
    run()
}

fn time_fib<P: ForkJoin>(pool: &P, n: u64) -> Duration {
    let expected = (0..n).fold((0_u64, 1_u64), |(a, b), _| (b, a + b)).0;
    last(|| {
        let begun = Instant::now();
        let found = pool.enter(|scope| fib::<P>(scope, std::hint::black_box(n)));
        let elapsed = begun.elapsed();
        assert_eq!(found, expected, "a number is wrong");
        elapsed
    })
}

fn fib<P: ForkJoin>(scope: &mut P::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = P::join(
        scope,
        |scope| fib::<P>(scope, n - 1),
        |scope| fib::<P>(scope, n - 2),
    );
    a + b
}

fn time_leaves<P: ForkJoin>(pool: &P, count: usize) -> Duration {
    last(|| {
        let begun = Instant::now();
        pool.enter(|scope| leaves::<P>(scope, count));
        begun.elapsed()
    })
}

fn leaves<P: ForkJoin>(scope: &mut P::Scope<'_>, count: usize) {
    if count == 1 {
        pace::sleep_until(Instant::now() + LEAF_WAITS);
        return;
    }
    let half = count / 2;
    P::join(
        scope,
        |scope| leaves::<P>(scope, count - half),
        |scope| leaves::<P>(scope, half),
    );
}

struct Node {
    value: u64,
    children: Option<(Box<Node>, Box<Node>)>,
}

impl Node {
    fn of_height(height: usize) -> Self {
        let child = || Box::new(Self::of_height(height - 1));
        Self {
            value: 1,
            children: (height > 0).then(|| (child(), child())),
        }
    }
}

fn time_tree<P: ForkJoin>(pool: &P, height: usize) -> Duration {
    let root = Node::of_height(height);
    last(|| {
        let begun = Instant::now();
        let found = pool.enter(|scope| tree::<P>(scope, &root));
        let elapsed = begun.elapsed();
        assert_eq!(found, (1 << (height + 1)) - 1, "a sum is wrong");
        elapsed
    })
}

fn tree<P: ForkJoin>(scope: &mut P::Scope<'_>, node: &Node) -> u64 {
    let Some((left, right)) = &node.children else {
        return node.value;
    };
    // A box is allocated after the two below it, so this order goes through memory from end to end.
    let (right, left) = P::join_in_order(
        scope,
        |scope| tree::<P>(scope, right),
        |scope| tree::<P>(scope, left),
    );
    node.value + left + right
}

fn time_sum<P: ForkJoin>(pool: &P, n: u64) -> Duration {
    let numbers: Vec<u64> = (0..n).collect();
    last(|| {
        let begun = Instant::now();
        let found = pool.enter(|scope| sum::<P>(scope, &numbers));
        let elapsed = begun.elapsed();
        assert_eq!(found, n * (n - 1) / 2, "a sum is wrong");
        elapsed
    })
}

fn sum<P: ForkJoin>(scope: &mut P::Scope<'_>, numbers: &[u64]) -> u64 {
    if numbers.len() <= LEAF {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = P::join_in_order(
        scope,
        |scope| sum::<P>(scope, left),
        |scope| sum::<P>(scope, right),
    );
    left + right
}

pub(super) fn random_numbers(n: usize) -> Vec<u64> {
    let mut random = Random::new(1);
    // Below 2^63, so that Java's signed numbers sort alike.
    (0..n).map(|_| random.next() >> 1).collect()
}

fn time_sort<P: ForkJoin>(pool: &P, n: usize) -> Duration {
    let numbers = random_numbers(n);
    let mut spare = vec![0; n];
    last(|| {
        let mut sorted = numbers.clone();
        let begun = Instant::now();
        pool.enter(|scope| sort::<P>(scope, &mut sorted, &mut spare));
        let elapsed = begun.elapsed();
        assert!(sorted.is_sorted(), "the order is wrong");
        elapsed
    })
}

fn sort<P: ForkJoin>(scope: &mut P::Scope<'_>, numbers: &mut [u64], spare: &mut [u64]) {
    if numbers.len() <= LEAF {
        // As in the Java program: the library's sort of numbers.
        numbers.sort_unstable();
        return;
    }
    let middle = numbers.len() / 2;
    let (left, right) = numbers.split_at_mut(middle);
    let (left_spare, right_spare) = spare.split_at_mut(middle);
    P::join_in_order(
        scope,
        |scope| sort::<P>(scope, left, left_spare),
        |scope| sort::<P>(scope, right, right_spare),
    );
    merge(numbers, spare, middle);
}

/// Merges the sorted halves; the left one waits in `spare`.
fn merge(numbers: &mut [u64], spare: &mut [u64], middle: usize) {
    let left = &mut spare[..middle];
    left.copy_from_slice(&numbers[..middle]);
    let (mut from_left, mut from_right) = (0, middle);
    for to in 0..numbers.len() {
        if from_left == middle {
            break;
        }
        if from_right < numbers.len() && numbers[from_right] < left[from_left] {
            numbers[to] = numbers[from_right];
            from_right += 1;
        } else {
            numbers[to] = left[from_left];
            from_left += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of_fib;
    use std::time::Duration;

    #[test]
    fn a_fibonacci_number_has_a_join_for_every_call_that_splits() {
        // fib(4) = fib(3) + fib(2), fib(3) = fib(2) + fib(1): four calls split.
        let figures = of_fib(Duration::from_nanos(40), 4);
        assert_eq!(figures[1].value, 10.0);
    }
}

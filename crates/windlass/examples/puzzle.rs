//! How is a puzzle solved by many threads that end as soon as one of them has found a solution?
//!
//! The sliding puzzle with eight tiles, first by one thread, then on a pool: a task explores a batch of positions and
//! submits those that can be reached from them. (One position is too little for a task: its cost would exceed its work.)
//! The first solution goes through a channel; then `shutdown_now` drops all that is queued. Without a solution the
//! channel closes when the last task is dropped, so the program ends as well.
//!
//! `cargo run --release -p windlass --example puzzle`

use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use windlass::clock;
use windlass::prelude::*;
use windlass::queue::LinkedBlockingQueue;

/// The tiles row by row; zero is the gap.
type Tiles = [u8; 9];

/// How many positions a task explores.
const BATCH: usize = 512;

/// In how many parts the positions that were seen are kept, each with its lock.
const PARTS: usize = 16;

/// A position, and the step before it.
type Reached = (Arc<Step>, Tiles);

const GOAL: Tiles = [1, 2, 3, 4, 5, 6, 7, 8, 0];

/// A position, and how it was reached.
struct Step {
    tiles: Tiles,
    depth: u32,
    from: Option<Arc<Step>>,
}

impl Step {
    fn first(tiles: Tiles) -> Arc<Self> {
        Arc::new(Self {
            tiles,
            depth: 0,
            from: None,
        })
    }

    /// Returns the positions that can be reached by one move.
    fn moves(&self) -> impl Iterator<Item = Tiles> + use<> {
        let tiles = self.tiles;
        let gap = tiles.iter().position(|&tile| tile == 0).unwrap_or(0);
        let (row, column) = (gap / 3, gap % 3);
        let neighbours = [
            (row > 0).then(|| gap - 3),
            (row < 2).then_some(gap + 3),
            (column > 0).then(|| gap - 1),
            (column < 2).then_some(gap + 1),
        ];
        neighbours.into_iter().flatten().map(move |other| {
            let mut moved = tiles;
            moved.swap(gap, other);
            moved
        })
    }

    /// Returns the step from here to that position.
    fn to(self: &Arc<Self>, tiles: Tiles) -> Arc<Self> {
        Arc::new(Self {
            tiles,
            depth: self.depth + 1,
            from: Some(Arc::clone(self)),
        })
    }

    /// Returns the positions from the first to this one.
    fn path(self: &Arc<Self>) -> Vec<Tiles> {
        let mut path = vec![self.tiles];
        let mut step = &self.from;
        while let Some(before) = step {
            path.push(before.tiles);
            step = &before.from;
        }
        path.reverse();
        path
    }
}

/// The last step of a solution, if there is one.
type Solution = Option<Arc<Step>>;

fn solve_alone(start: Tiles) -> Solution {
    let mut seen = HashSet::from([start]);
    let mut open = VecDeque::from([Step::first(start)]);
    while let Some(step) = open.pop_front() {
        if step.tiles == GOAL {
            return Some(step);
        }
        let fresh = step.moves().filter(|tiles| seen.insert(*tiles));
        open.extend(fresh.map(|tiles| step.to(tiles)));
    }
    None
}

/// Shared by the tasks of one search.
struct Search {
    pool: ThreadPoolExecutor,
    /// The positions that some task has taken.
    seen: [LockedSet; PARTS],
}

#[expect(clippy::disallowed_types, reason = "a program has locks of its own")]
type LockedSet = std::sync::Mutex<HashSet<Tiles>>;

impl Search {
    /// Returns the part that a position belongs to.
    fn part_of(tiles: &Tiles) -> usize {
        let hash = tiles
            .iter()
            .fold(0, |hash, &tile| hash * 7 + usize::from(tile));
        hash % PARTS
    }

    /// Takes positions of one part. Returns those that no other task has taken.
    fn take(&self, part: usize, mut reached: Vec<Reached>) -> Vec<Reached> {
        match self.seen[part].lock() {
            Ok(mut seen) => reached.retain(|(_, tiles)| seen.insert(*tiles)),
            Err(_) => reached.clear(),
        }
        reached
    }

    fn explore(self: Arc<Self>, batch: Vec<Arc<Step>>, found: &Sender<Arc<Step>>) {
        let mut parts: [Vec<Reached>; PARTS] = Default::default();
        for step in batch {
            if step.tiles == GOAL {
                // Fails if another solution was first.
                let _ = found.send(step);
                return;
            }
            for tiles in step.moves() {
                parts[Self::part_of(&tiles)].push((Arc::clone(&step), tiles));
            }
        }
        let parts = parts.into_iter().enumerate();
        let fresh = parts.flat_map(|(part, reached)| self.take(part, reached));
        let mut fresh: Vec<_> = fresh.map(|(from, tiles)| from.to(tiles)).collect();
        while !fresh.is_empty() {
            let rest = fresh.split_off(fresh.len().min(BATCH));
            let (search, found) = (Arc::clone(&self), found.clone());
            let batch = std::mem::replace(&mut fresh, rest);
            // Rejected after the first solution: then nobody asks for another.
            let _ = self.pool.execute(move || search.explore(batch, &found));
        }
    }
}

/// Returns a solution, which need not be the shortest, and how many batches were left unexplored.
fn solve_together(start: Tiles, workers: usize) -> Result<(Solution, usize), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(workers)
        .work_queue(LinkedBlockingQueue::new())
        .build()?;
    let search = Search {
        pool: pool.clone(),
        seen: Default::default(),
    };
    let (found, solution) = channel();
    let search = Arc::new(search);
    search.take(Search::part_of(&start), vec![(Step::first(start), start)]);
    pool.execute(move || search.explore(vec![Step::first(start)], &found))?;
    let first = solution.recv().ok();
    let left = pool.shutdown_now().len();
    pool.close();
    Ok((first, left))
}

fn show(path: &[Tiles]) {
    for row in 0..3 {
        let rows = path.iter().map(|tiles| {
            let tiles = tiles[row * 3..row * 3 + 3].iter();
            tiles
                .map(|&tile| {
                    if tile == 0 {
                        String::from("·")
                    } else {
                        tile.to_string()
                    }
                })
                .collect::<String>()
        });
        println!("    {}", rows.collect::<Vec<_>>().join("  "));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    for (name, start) in [
        ("a hard one", [7, 2, 4, 5, 0, 6, 8, 3, 1]),
        ("an easy one", [1, 2, 3, 4, 0, 6, 7, 5, 8]),
        ("one that cannot be solved", [1, 2, 3, 4, 5, 6, 8, 7, 0]),
    ] {
        println!("{name}:");
        show(&[start]);
        let time = clock::now();
        let alone = solve_alone(start);
        let alone_took = clock::now() - time;
        let time = clock::now();
        let (together, left) = solve_together(start, workers)?;
        let together_took = clock::now() - time;
        let moves = |solution: &Solution| {
            solution.as_ref().map_or_else(
                || String::from("no solution"),
                |step| format!("{} moves", step.depth),
            )
        };
        println!("  one thread:  {} after {alone_took:.1?}", moves(&alone));
        println!(
            "  {workers} workers:   {} after {together_took:.1?}; {left} batches dropped",
            moves(&together)
        );
        if let Some(step) = &alone {
            let path = step.path();
            println!("  its first moves:");
            show(&path[..path.len().min(6)]);
        }
        assert_eq!(alone.is_some(), together.is_some());
        if let Some(step) = together {
            assert_eq!(step.path().first(), Some(&start));
            assert_eq!(step.path().last(), Some(&GOAL));
        }
    }
    Ok(())
}

//! Which of the queued tasks is next: the oldest, or one chosen by a seed.

/// How the next of the queued tasks is chosen.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    /// The oldest.
    Oldest,
    /// Each with the same probability.
    Uniform(Random),
    /// The one with the lowest rank. Tasks of one chain have the same rank, so that one of several
    /// chains can come to its end before another begins. With even odds for each step that happens
    /// only to short chains.
    Ranked(Random),
}

/// One step in so many moves a chain behind all others.
const CHANGE: u64 = 8;

impl Choice {
    /// Returns the choice for a seed: uniform for even ones, by ranks for odd ones.
    pub(super) fn seeded(seed: u64) -> Self {
        let random = Random::new(seed);
        if seed % 2 == 0 {
            Self::Uniform(random)
        } else {
            Self::Ranked(random)
        }
    }

    /// Returns the rank of a new task; `parent` is the rank of the task that submits it.
    pub(super) fn rank(&mut self, parent: Option<u64>) -> u64 {
        match (self, parent) {
            (Self::Ranked(_), Some(parent)) => parent,
            (Self::Ranked(random), None) => random.next() >> 1,
            (Self::Oldest | Self::Uniform(_), _) => 0,
        }
    }

    /// Returns the index of the next task, given the ranks of all in order of submission.
    pub(super) fn next(&mut self, ranks: &mut dyn ExactSizeIterator<Item = &mut u64>) -> usize {
        match self {
            Self::Oldest => 0,
            Self::Uniform(random) => random.below(ranks.len()),
            Self::Ranked(random) => {
                let mut ranks: Vec<&mut u64> = ranks.collect();
                let first = lowest(&ranks);
                if random.next() % CHANGE == 0 {
                    // Behind all that have a rank of their own, and all that were moved before.
                    *ranks[first] = (1 << 63) | (random.next() >> 1);
                }
                lowest(&ranks)
            }
        }
    }
}

/// Returns the index of the first of the lowest ranks.
fn lowest(ranks: &[&mut u64]) -> usize {
    let lowest = ranks.iter().enumerate().min_by_key(|(_, rank)| ***rank);
    lowest.map_or(0, |(index, _)| index)
}

/// A sequence of numbers that depends on its seed alone (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::Choice;

    /// Runs chains of tasks, each of which submits its next; returns the order of the chains.
    fn order(seed: u64, chains: &[usize]) -> Vec<usize> {
        let mut choice = Choice::seeded(seed);
        let mut queued: Vec<(usize, usize, u64)> = Vec::new();
        for (chain, &length) in chains.iter().enumerate() {
            queued.push((chain, length, choice.rank(None)));
        }
        let mut order = Vec::new();
        while !queued.is_empty() {
            let next = choice.next(&mut queued.iter_mut().map(|queued| &mut queued.2));
            let (chain, length, rank) = queued.remove(next);
            order.push(chain);
            if length > 1 {
                queued.push((chain, length - 1, choice.rank(Some(rank))));
            }
        }
        order
    }

    #[test]
    fn a_seed_always_has_the_same_order() {
        for seed in 0..20 {
            assert_eq!(order(seed, &[3, 3, 3]), order(seed, &[3, 3, 3]));
        }
    }

    #[test]
    fn every_order_of_three_tasks_is_found() {
        let mut found: Vec<_> = (0..100).map(|seed| order(seed, &[1, 1, 1])).collect();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn a_task_can_come_after_a_long_chain_and_in_the_middle_of_it() {
        let place = |seed| order(seed, &[20, 1]).iter().position(|chain| *chain == 1);
        let places: Vec<_> = (0..200).filter_map(place).collect();
        assert!(places.contains(&0) && places.contains(&20), "{places:?}");
        assert!(
            places.iter().any(|place| (5..15).contains(place)),
            "{places:?}"
        );
    }
}

//! A sequence in blocks: elements lie inline, and a long queue costs no more than it holds.
//!
//! A plain ring doubles when it is full, which copies everything and leaves up to half of the
//! memory unused; a linked list allocates for each element. Blocks of [`BLOCK`] elements do
//! neither. Blocks that have become empty are kept, a few of them, and used again.

use std::collections::VecDeque;

/// Elements in a block.
const BLOCK: usize = 128;

/// Empty blocks that are kept for later.
const SPARE: usize = 4;

/// The sequence. Only the first and the last block can have free places at their ends.
#[derive(Debug)]
pub(super) struct Blocks<T> {
    blocks: VecDeque<VecDeque<T>>,
    spare: Vec<VecDeque<T>>,
    len: usize,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self {
            blocks: VecDeque::new(),
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<T> Blocks<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push_back(item),
            _ => self.push_block(item),
        }
        self.len += 1;
    }

    #[cold]
    fn push_block(&mut self, item: T) {
        let mut block = self
            .spare
            .pop()
            .unwrap_or_else(|| VecDeque::with_capacity(BLOCK));
        block.push_back(item);
        self.blocks.push_back(block);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let block = self.blocks.front_mut()?;
        let item = block.pop_front()?;
        if block.is_empty() {
            self.shed_front();
        }
        self.len -= 1;
        Some(item)
    }

    #[cold]
    fn shed_front(&mut self) {
        if let Some(block) = self.blocks.pop_front() {
            self.keep(block);
        }
    }

    fn keep(&mut self, block: VecDeque<T>) {
        if self.spare.len() < SPARE {
            self.spare.push(block);
        }
    }

    pub(super) fn front(&self) -> Option<&T> {
        self.blocks.front()?.front()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten()
    }

    /// Takes out the element at this place.
    pub(super) fn remove(&mut self, mut at: usize) -> Option<T> {
        let block = self.blocks.iter().position(|block| {
            let here = at < block.len();
            at -= if here { 0 } else { block.len() };
            here
        })?;
        let item = self.blocks[block].remove(at)?;
        self.len -= 1;
        if self.blocks[block].is_empty() {
            if let Some(empty) = self.blocks.remove(block) {
                self.keep(empty);
            }
        }
        Some(item)
    }

    /// Takes everything out, in order.
    pub(super) fn drain(&mut self) -> Vec<T> {
        let mut items = Vec::with_capacity(self.len);
        items.extend(std::iter::from_fn(|| self.pop()));
        items
    }

    /// Keeps what the next `len` verdicts keep; the others come back in order.
    pub(super) fn retain(&mut self, verdicts: &mut impl Iterator<Item = bool>) -> Vec<T> {
        let mut removed = Vec::new();
        for item in self.drain() {
            if verdicts.next().unwrap_or(true) {
                self.push(item);
            } else {
                removed.push(item);
            }
        }
        removed
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{BLOCK, Blocks};

    fn filled(count: usize) -> Blocks<usize> {
        let mut blocks = Blocks::default();
        (0..count).for_each(|item| blocks.push(item));
        blocks
    }

    #[test]
    fn elements_leave_in_order_across_blocks() {
        let mut blocks = filled(3 * BLOCK + 7);
        assert_eq!(blocks.len(), 3 * BLOCK + 7);
        assert_eq!(blocks.front(), Some(&0));
        let drained = blocks.drain();
        assert!(drained.iter().copied().eq(0..3 * BLOCK + 7));
        assert_eq!(blocks.pop(), None);
        blocks.push(1);
        assert_eq!(blocks.pop(), Some(1));
    }

    #[test]
    fn any_place_can_be_removed() {
        for count in [1, BLOCK, BLOCK + 1, 2 * BLOCK + 3] {
            for at in [0, 1, BLOCK - 1, BLOCK, count - 1] {
                let mut blocks = filled(count);
                let mut expected: Vec<usize> = (0..count).collect();
                let removed = (at < count).then(|| expected.remove(at));
                assert_eq!(blocks.remove(at), removed);
                assert_eq!(blocks.len(), expected.len());
                blocks.push(count);
                expected.push(count);
                assert!(blocks.iter().eq(expected.iter()));
                assert_eq!(blocks.drain(), expected);
            }
        }
    }

    #[test]
    fn retaining_splits_in_order() {
        let mut blocks = filled(2 * BLOCK + 5);
        let mut verdicts = (0..2 * BLOCK + 5).map(|item| item % 3 == 0);
        let removed = blocks.retain(&mut verdicts);
        assert!(
            removed
                .iter()
                .copied()
                .eq((0..2 * BLOCK + 5).filter(|item| item % 3 != 0))
        );
        assert!(
            blocks
                .iter()
                .copied()
                .eq((0..2 * BLOCK + 5).filter(|item| item % 3 == 0))
        );
    }
}

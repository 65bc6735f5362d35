//! A sequence in blocks: elements lie inline, and a long queue takes no more memory than it holds.
//!
//! A plain ring doubles when it is full, which copies everything and leaves up to half of the
//! memory unused; a linked list allocates for each element. Blocks of [`BLOCK_LEN`] elements do
//! neither. A few of the blocks that have become empty are recycled.

use std::collections::VecDeque;

use super::block::Block;
use super::sequence::Sequence;
use super::shrink::Shrink;

/// Elements in a block.
const BLOCK_LEN: usize = 128;

/// Empty blocks that are kept for reuse.
const MAX_SPARE: usize = 4;

/// A sequence in blocks: first `head`, then `middle`, then `tail`.
///
/// Elements are pushed to the tail and popped from the head, which is refilled only by moving
/// another block into it. So neither end has to search for its block.
///
/// `repr(C)` places the length between the ends. Each end is used together with the length, so the
/// two are on one or two cache lines.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct BlockList<T> {
    head: Block<T>,
    len: usize,
    tail: Block<T>,
    /// The blocks between the ends; none of them is empty.
    middle: VecDeque<Block<T>>,
    spare: Vec<Block<T>>,
}

impl<T> Default for BlockList<T> {
    fn default() -> Self {
        Self {
            head: Block::default(),
            middle: VecDeque::new(),
            tail: Block::default(),
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<T> BlockList<T> {
    /// Replaces the tail, which is full, by an empty block.
    #[cold]
    fn next_tail(&mut self) {
        let block = self.spare.pop();
        let block = block.unwrap_or_else(|| Block::with_capacity(BLOCK_LEN));
        let full = std::mem::replace(&mut self.tail, block);
        if !full.is_empty() {
            self.middle.push_back(full);
        }
    }

    /// Replaces the head, which is empty, by the next block.
    #[cold]
    fn next_head(&mut self) {
        let next = match self.middle.pop_front() {
            Some(block) => block,
            None => std::mem::take(&mut self.tail),
        };
        self.middle.shrink_if_mostly_empty(0);
        let empty = std::mem::replace(&mut self.head, next);
        self.recycle(empty);
    }

    fn recycle(&mut self, block: Block<T>) {
        if block.capacity() > 0 && self.spare.len() < MAX_SPARE {
            self.spare.push(block);
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &Block<T>> {
        let ends = |block| std::iter::once(block);
        ends(&self.head).chain(&self.middle).chain(ends(&self.tail))
    }

    /// Removes everything, in order.
    fn drain(&mut self) -> Vec<T> {
        let mut items = Vec::with_capacity(self.len);
        items.extend(std::iter::from_fn(|| self.pop()));
        items
    }
}

impl<T> Sequence for BlockList<T> {
    type Item = T;

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn push_with(&mut self, make: impl FnOnce() -> T) {
        if self.tail.is_full() {
            self.next_tail();
        }
        self.tail.push_with(make);
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        if self.head.is_empty() {
            self.next_head();
        }
        self.len -= 1;
        self.head.pop()
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks().flat_map(Block::as_slice)
    }

    fn remove(&mut self, mut index: usize) -> Option<T> {
        let ends = |block| std::iter::once(block);
        let mut blocks = ends(&mut self.head)
            .chain(&mut self.middle)
            .chain(ends(&mut self.tail));
        let block = blocks.find(|block| {
            let here = index < block.len();
            index -= if here { 0 } else { block.len() };
            here
        })?;
        let item = block.remove(index);
        self.len -= 1;
        self.middle.retain(|block| !block.is_empty());
        Some(item)
    }

    fn retain(&mut self, verdicts: &mut impl Iterator<Item = bool>) -> Vec<T> {
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
    use std::rc::Rc;

    use super::{BLOCK_LEN, BlockList, MAX_SPARE};
    use crate::queue::parts::sequence::Sequence;

    fn filled(count: usize) -> BlockList<usize> {
        let mut blocks = BlockList::default();
        (0..count).for_each(|item| blocks.push(item));
        blocks
    }

    #[test]
    fn elements_leave_in_order_across_blocks() {
        let mut blocks = filled(3 * BLOCK_LEN + 7);
        assert_eq!(blocks.len(), 3 * BLOCK_LEN + 7);
        assert_eq!(blocks.iter().next(), Some(&0));
        let drained = blocks.drain();
        assert!(drained.iter().copied().eq(0..3 * BLOCK_LEN + 7));
        assert_eq!((blocks.len(), blocks.pop()), (0, None));
        blocks.push(1);
        assert_eq!(blocks.pop(), Some(1));
    }

    #[test]
    fn any_element_can_be_removed() {
        for count in [1, BLOCK_LEN, BLOCK_LEN + 1, 2 * BLOCK_LEN + 3] {
            for at in [0, 1, BLOCK_LEN - 1, BLOCK_LEN, count - 1] {
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
        let mut blocks = filled(2 * BLOCK_LEN + 5);
        let mut verdicts = (0..2 * BLOCK_LEN + 5).map(|item| item % 3 == 0);
        let removed = blocks.retain(&mut verdicts);
        assert!(
            removed
                .iter()
                .copied()
                .eq((0..2 * BLOCK_LEN + 5).filter(|item| item % 3 != 0))
        );
        assert!(
            blocks
                .iter()
                .copied()
                .eq((0..2 * BLOCK_LEN + 5).filter(|item| item % 3 == 0))
        );
    }

    #[test]
    fn a_long_sequence_lies_in_full_blocks_of_one_size() {
        let blocks = filled(3 * BLOCK_LEN + 7);
        let sizes = blocks.blocks().map(|block| (block.len(), block.capacity()));
        let full = (BLOCK_LEN, BLOCK_LEN);
        assert!(sizes.eq([(0, 0), full, full, full, (7, BLOCK_LEN)]));
    }

    #[test]
    fn a_few_empty_blocks_are_recycled() {
        let mut blocks = filled((MAX_SPARE + 3) * BLOCK_LEN);
        blocks.drain();
        assert_eq!(blocks.spare.len(), MAX_SPARE);
        assert!(
            blocks
                .spare
                .iter()
                .all(|block| block.capacity() == BLOCK_LEN)
        );
        blocks.push(1);
        assert_eq!(blocks.spare.len(), MAX_SPARE - 1);
    }

    #[test]
    fn a_block_without_memory_is_not_recycled() {
        let mut blocks = filled(0);
        assert_eq!(blocks.pop(), None);
        assert!(blocks.spare.is_empty());
    }

    #[test]
    fn what_is_left_is_dropped_with_the_sequence() {
        let witness = Rc::new(());
        let mut blocks = BlockList::default();
        (0..2 * BLOCK_LEN).for_each(|_| blocks.push(Rc::clone(&witness)));
        assert!(blocks.pop().is_some());
        assert_eq!(Rc::strong_count(&witness), 2 * BLOCK_LEN);
        drop(blocks);
        assert_eq!(Rc::strong_count(&witness), 1);
    }
}

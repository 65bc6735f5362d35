//! Numbers of shared values, by which they are found again.
//!
//! A number fits into a word beside other things, where a pointer does not; and a number whose value
//! is gone leads nowhere.

#![expect(
    clippy::disallowed_types,
    reason = "a static lock, which the models' cannot be; what it guards orders nothing for them"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Values with numbers. Numbers start at one, and are used again when their values are gone.
pub(crate) struct Numbered<V>(Mutex<Slots<V>>);

struct Slots<V> {
    /// The value with the number `n` is at `n - 1`.
    values: Vec<Weak<V>>,
    free: Vec<u32>,
}

impl<V> Numbered<V> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Slots {
            values: Vec::new(),
            free: Vec::new(),
        }))
    }

    fn slots(&self) -> MutexGuard<'_, Slots<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the value a number up to `limit`; returns zero if all of them are taken.
    pub(crate) fn insert(&self, value: Weak<V>, limit: u32) -> u32 {
        let mut slots = self.slots();
        if let Some(number) = slots.free.pop() {
            slots.values[number as usize - 1] = value;
            return number;
        }
        let number = u32::try_from(slots.values.len() + 1).unwrap_or(u32::MAX);
        if number > limit {
            return 0;
        }
        slots.values.push(value);
        number
    }

    /// Frees a number.
    pub(crate) fn remove(&self, number: u32) {
        if number == 0 {
            return;
        }
        let mut slots = self.slots();
        slots.values[number as usize - 1] = Weak::new();
        slots.free.push(number);
    }

    /// Returns the value with this number, if it still exists.
    pub(crate) fn get(&self, number: u32) -> Option<Arc<V>> {
        let at = (number as usize).checked_sub(1)?;
        self.slots().values.get(at)?.upgrade()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;

    use super::Numbered;

    #[test]
    fn a_value_is_found_by_its_number_until_it_is_gone() {
        let numbered = Numbered::new();
        let (one, other) = (Arc::new('a'), Arc::new('b'));
        let first = numbered.insert(Arc::downgrade(&one), 2);
        let second = numbered.insert(Arc::downgrade(&other), 2);
        assert_eq!((first, second), (1, 2));
        assert_eq!(numbered.get(first).as_deref(), Some(&'a'));
        assert_eq!(numbered.get(second).as_deref(), Some(&'b'));
        drop(one);
        assert_eq!(numbered.get(first), None);
        numbered.remove(first);
        let third = Arc::new('c');
        assert_eq!(numbered.insert(Arc::downgrade(&third), 2), first);
        assert_eq!(numbered.get(first).as_deref(), Some(&'c'));
    }

    #[test]
    fn without_a_number_a_value_is_not_found() {
        let numbered = Numbered::new();
        let value = Arc::new('a');
        assert_eq!(numbered.insert(Arc::downgrade(&value), 0), 0);
        assert_eq!(numbered.get(0), None);
        assert_eq!(numbered.get(7), None);
        numbered.remove(0);
    }
}

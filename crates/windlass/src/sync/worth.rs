//! What is tried as long as it pays.

/// Whether to try what costs a moment and is often in vain: as long as it pays.
///
/// A thread that stays awake for nothing keeps a core from whomever it has just woken, which then
/// wakes up on another one. So after some attempts in vain it is left out, and tried again a few
/// occasions later all the same: the pace may have changed.
#[derive(Debug, Default)]
pub(crate) struct Worth {
    /// Occasions to leave out before the next attempt.
    left_out: u32,
    /// Attempts in vain since the last that was not.
    in_vain: u32,
}

impl Worth {
    pub(crate) fn try_again(&mut self) -> bool {
        let is_tried = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        is_tried
    }

    pub(crate) fn note(&mut self, something_came: bool) {
        self.in_vain = if something_came {
            0
        } else {
            self.in_vain.saturating_add(1)
        };
        let too_often = self.in_vain.saturating_sub(FORGIVEN);
        self.left_out = (1 << too_often.min(MOST_LEFT_OUT)) - 1;
    }
}

/// So many attempts in vain may follow each other: a steady exchange has hiccups.
const FORGIVEN: u32 = 16;

/// After many attempts in vain, there is one at `2^MOST_LEFT_OUT` occasions.
const MOST_LEFT_OUT: u32 = 5;

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{FORGIVEN, MOST_LEFT_OUT, Worth};

    /// How many of the next `occasions` are used, if each attempt is in vain or none is.
    fn attempts(worth: &mut Worth, occasions: usize, pays: bool) -> usize {
        let mut attempts = 0;
        for _ in 0..occasions {
            if worth.try_again() {
                attempts += 1;
                worth.note(pays);
            }
        }
        attempts
    }

    #[test]
    fn what_pays_is_tried_each_time() {
        assert_eq!(attempts(&mut Worth::default(), 100, true), 100);
    }

    #[test]
    fn some_attempts_in_vain_are_forgiven() {
        let mut worth = Worth::default();
        let forgiven = FORGIVEN as usize;
        assert_eq!(attempts(&mut worth, forgiven, false), forgiven);
        assert_eq!(attempts(&mut worth, 1, true), 1);
        assert_eq!(attempts(&mut worth, forgiven, false), forgiven);
    }

    #[test]
    fn more_and_more_occasions_are_left_out_up_to_a_bound() {
        let mut worth = Worth::default();
        attempts(&mut worth, FORGIVEN as usize, false);
        let mut between = Vec::new();
        for _ in 0..MOST_LEFT_OUT + 2 {
            assert!(worth.try_again());
            worth.note(false);
            between.push(worth.left_out);
            while worth.left_out > 0 {
                assert!(!worth.try_again());
            }
        }
        assert_eq!(between, [1, 3, 7, 15, 31, 31, 31]);
    }

    #[test]
    fn one_that_pays_makes_up_for_all_that_did_not() {
        let mut worth = Worth::default();
        attempts(&mut worth, 500, false);
        while !worth.try_again() {}
        worth.note(true);
        assert_eq!(attempts(&mut worth, 10, true), 10);
    }
}

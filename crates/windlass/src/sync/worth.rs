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
const MOST_LEFT_OUT: u32 = 3;

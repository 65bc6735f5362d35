//! Which calls an interrupt that is pending on entry ends: the queues differ, as the JDK's do.

/// The calls that an interrupt pending on entry ends, even where they need not wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Precedence {
    pub(super) take: bool,
    pub(super) timed_poll: bool,
    pub(super) put: bool,
    pub(super) timed_offer: bool,
}

impl Precedence {
    pub(crate) const ALWAYS: Self = Self {
        take: true,
        timed_poll: true,
        put: true,
        timed_offer: true,
    };
    /// Insertion never waits, so only removal looks.
    pub(crate) const REMOVAL: Self = Self {
        take: true,
        timed_poll: true,
        put: false,
        timed_offer: false,
    };
    /// Untimed calls look only when they have to wait.
    pub(crate) const TIMED: Self = Self {
        take: false,
        timed_poll: true,
        put: false,
        timed_offer: true,
    };
}

//! The order in which threads that wait on a queue are served.

/// The order in which threads that wait on a queue are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fairness {
    /// In no particular order; the faster choice.
    #[default]
    Unfair,
    /// In order of arrival: a newcomer cannot overtake a thread that waits.
    Fair,
}

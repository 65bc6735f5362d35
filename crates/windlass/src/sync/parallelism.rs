//! The parallelism of the machine.

/// Returns how many threads the machine runs at a time, and at least one.
pub(crate) fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

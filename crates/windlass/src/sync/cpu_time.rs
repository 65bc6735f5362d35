//! The processor time of a thread.

/// Returns the processor time that the current thread has used, in nanoseconds; `None` without the feature
/// `cpu-time`, and where the system does not tell.
#[cfg(all(feature = "cpu-time", target_os = "linux", not(loom), not(shuttle)))]
pub(crate) fn thread_cpu_time() -> Option<u64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Returns nothing: the feature `cpu-time` is off, or the system does not tell.
#[cfg(not(all(feature = "cpu-time", target_os = "linux", not(loom), not(shuttle))))]
pub(crate) const fn thread_cpu_time() -> Option<u64> {
    None
}

//! Facts of this process, from the kernel.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The memory of this process that is in RAM, in bytes.
///
/// # Panics
///
/// Where there is no `/proc`.
pub(crate) fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("memory is read from /proc");
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("the kernel gives VmRSS in kB") * 1024
}

/// The cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The processor time that all threads of this process have used.
pub(crate) fn cpu_time() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// The processor time that this thread has used.
pub(crate) fn own_cpu_time() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{cpu_time, own_cpu_time};
    use crate::instruments::busy::Work;

    #[test]
    fn work_is_processor_time_of_its_thread_and_of_the_process() {
        let (all, own) = (cpu_time(), own_cpu_time());
        Work::of_micros(1_000).run();
        let (all, own) = (cpu_time() - all, own_cpu_time() - own);
        assert!(own.as_micros() > 100, "{own:?}");
        assert!(all >= own, "{all:?} in all, {own:?} here");
    }
}

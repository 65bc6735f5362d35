//! Facts of this process, from the kernel.

use std::fs;

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

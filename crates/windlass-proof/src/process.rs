//! Threads and memory of the process, from `/proc`.

use std::fs;

/// Threads and memory of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) threads: u64,
    pub(crate) resident_kib: u64,
}

impl Usage {
    /// Zeros where the system does not report.
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let figure = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Self {
            threads: figure("Threads:").unwrap_or(0),
            resident_kib: figure("VmRSS:").unwrap_or(0),
        }
    }
}

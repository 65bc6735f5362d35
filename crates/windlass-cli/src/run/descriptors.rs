//! How many jobs the limit of open files allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a job needs at most while it is started: both ends of two pipes, those of its slot, and two more for
/// whatever starts it.
const EACH: u64 = 8;
/// What the run needs besides.
const BESIDES: u64 = 64;

/// Raises the limit of open files as far as so many threads need it, and returns how many threads it allows.
pub(super) fn allowed_threads(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let needed = (wanted as u64).saturating_mul(EACH).saturating_add(BESIDES);
    let (Some(soft), hard) = (limit.current, limit.maximum) else {
        return wanted;
    };
    if soft >= needed {
        return wanted;
    }
    let raised = hard.map_or(needed, |hard| hard.min(needed)).max(soft);
    let granted = Rlimit {
        current: Some(raised),
        maximum: hard,
    };
    let reached = setrlimit(Resource::Nofile, granted).map_or(soft, |()| raised);
    threads_within(reached).min(wanted)
}

fn threads_within(limit: u64) -> usize {
    usize::try_from(limit.saturating_sub(BESIDES) / EACH)
        .unwrap_or(usize::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::threads_within;

    #[test]
    fn a_limit_allows_some_threads_and_always_one() {
        assert_eq!(threads_within(1024), 120);
        assert_eq!(threads_within(0), 1);
    }
}

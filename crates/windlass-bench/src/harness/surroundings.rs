//! What a sample has to live with: fewer cores, or other threads that want them.
//!
//! A point of any workload may ask for it: `cores=1` lets the process run on one core only, and
//! `busy=4` adds so many threads that never sleep.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::point::Point;
use crate::instruments::busy::Work;

/// How long a busy thread works before it looks around.
const BUSY_MICROS: u64 = 100;

/// Makes the surroundings of a point, before any thread of a pool is started: threads inherit the
/// cores of the one that starts them.
pub(crate) fn make(point: &Point) {
    if point.get("cores").is_some() {
        pin(point.size("cores"));
    }
    if point.get("busy").is_some() {
        let work = Work::of_micros(BUSY_MICROS);
        for _ in 0..point.number("busy") {
            // They end with the process, as the sample does.
            std::thread::spawn(move || {
                loop {
                    work.run();
                }
            });
        }
    }
}

/// Keeps this thread, and those that it starts, on the first of the cores that it may use.
fn pin(cores: usize) {
    let mut chosen = CpuSet::new();
    first_cores(cores)
        .into_iter()
        .for_each(|core| chosen.set(core));
    sched_setaffinity(None, &chosen).expect("a thread may give up cores");
}

/// The first so many of the cores that this thread may use.
pub(crate) fn first_cores(count: usize) -> Vec<usize> {
    let allowed = sched_getaffinity(None).expect("the kernel tells the cores of a thread");
    let cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    cores.take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::make;
    use crate::harness::point::Point;
    use crate::instruments::process::cores;

    #[test]
    fn threads_of_a_pinned_thread_have_its_core_only() {
        let inherited = || std::thread::spawn(cores).join().unwrap();
        let pinned = std::thread::spawn(move || {
            make(&Point::parse("workers=2,cores=1"));
            inherited()
        });
        assert_eq!(pinned.join().unwrap(), 1);
    }

    #[test]
    fn a_point_without_such_a_wish_changes_nothing() {
        let before = cores();
        make(&Point::parse("workers=2"));
        assert_eq!(cores(), before);
    }
}

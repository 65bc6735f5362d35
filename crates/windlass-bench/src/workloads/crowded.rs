//! W16: the first five workloads on one core, and with other threads that want the cores.

use super::{bounded, empty_tasks, ping_pong, results, wake_up};
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Participant, Plot, Size, Workload, points};
use crate::instruments::process;

/// Those who are the best at one of the five workloads, or in wide use.
const CHOSEN: [&str; 11] = [
    "windlass",
    "windlass-array",
    "windlass-fork-join",
    "threadpool",
    "rayon",
    "tokio",
    "executors-stealing",
    "crossbeam-channel",
    "kanal",
    "condvar",
    "threadfin",
];

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W16",
        title: "W1 to W5 on one core, and on crowded ones",
        about: "Points of W1 to W5, measured as there, with fewer tasks and fewer peers. Either the \
                whole process may use one core only, as in a small container (`sched_setaffinity` \
                before a thread is started; the JDK's by `taskset`), or twice as many other threads \
                of the process as there are cores never sleep, so that a woken worker has to wait \
                for its turn and whoever spins takes time from the others.",
        points: grid,
        participants: |point| {
            let mut participants = (base(point).participants)(point);
            participants.retain(is_chosen);
            participants
        },
        jdk: |point| {
            let mut names = (base(point).jdk)(point);
            names.retain(|name| *name != "jdk-scheduled" && *name != "jdk-array");
            names
        },
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

/// The workload that a point is of.
fn base(point: &Point) -> Workload {
    match point.word("of") {
        "W1" => empty_tasks::workload(),
        "W2" => results::workload(),
        "W3" => ping_pong::workload(),
        "W4" => wake_up::workload(),
        _ => bounded::workload(),
    }
}

fn is_chosen(participant: &Participant) -> bool {
    let name = participant.name.trim_end_matches("+oneshot");
    // Windlass has handles of its own.
    let is_addition = participant.name.starts_with("windlass+");
    CHOSEN.contains(&name) && !is_addition
}

fn grid(size: Size) -> Vec<Point> {
    let tasks = size.pick(500, 10_000, 300_000);
    // A trip or a wake-up may take a whole time slice of a busy thread.
    let (trips, wakes) = size.pick((20, 3), (100, 10), (1_000, 100));
    let bases = [
        format!("of=W1,producers=1,workers=2,captured=24,tasks={tasks}"),
        format!("of=W1,producers=4,workers=2,captured=0,tasks={tasks}"),
        format!("of=W2,workers=2,tasks={tasks}"),
        format!("of=W3,workers=2,trips={trips}"),
        format!("of=W4,workers=2,wakes={wakes}"),
        format!("of=W5,policy=block,producers=2,workers=2,tasks={tasks}"),
        format!("of=W5,policy=caller-runs,producers=1,workers=2,tasks={tasks}"),
    ];
    let busy = 2 * process::cores();
    let surroundings = ["cores=1".to_owned(), format!("busy={busy}")];
    let bases = match size {
        Size::Tiny => &bases[..1],
        Size::Quick | Size::Full => &bases[..],
    };
    let at = |base| {
        let surroundings = surroundings.iter();
        surroundings.map(move |around| format!("{base},{around}"))
    };
    points(bases.iter().flat_map(at))
}

#[cfg(test)]
mod tests {
    use super::{grid, workload};
    use crate::harness::workload::Size;

    #[test]
    fn all_five_are_measured_in_both_surroundings_with_windlass_a_peer_and_the_jdk() {
        let points = grid(Size::Full);
        for of in ["W1", "W2", "W3", "W4", "W5"] {
            for key in ["cores", "busy"] {
                let mut found = points.iter();
                let found = found.find(|point| point.word("of") == of && point.get(key).is_some());
                let point = found.unwrap_or_else(|| panic!("{of} with {key}"));
                let all = (workload().participants)(point);
                assert!(all.iter().any(|one| one.name == "windlass"), "{point}");
                assert!(
                    all.iter().any(|one| !one.name.starts_with("windlass")),
                    "{point}"
                );
                assert!(!(workload().jdk)(point).is_empty(), "{point}");
            }
        }
    }
}

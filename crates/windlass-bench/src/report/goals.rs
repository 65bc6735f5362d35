//! The performance goals, and whether a record meets them.

use super::goal::{ANY, Against, Goal, goal, median, worst};
use super::markdown::line;
use crate::harness::record::Row;

const FORK_JOIN: &[&str] = &["windlass-fork-join"];
const SCHEDULED: &[&str] = &["windlass-scheduled"];
const FAIR: &[&str] = &["windlass-array-fair"];
const TIMERS: Against = Against::Best(&["tokio-sleep", "tokio-delay-queue", "jdk-scheduled"]);
const DELAY_QUEUE: Against = Against::Best(&["tokio-delay-queue"]);
/// Those whose shutdown hands back what is queued, as Windlass's does.
const HANDS_BACK: Against = Against::Best(&["jdk-linked", "jdk-scheduled"]);

/// Twice as many as there are cores.
const BUSY: &[(&str, &str)] = &[("busy", ANY)];

/// Every peer of W3 and W4 lets idle threads sleep, so all count as parking there; some search for
/// work for a while before, `executors-stealing` among them.
#[rustfmt::skip]
const GOALS: &[Goal] = &[
    goal("W1", "per task", "1.3 times the throughput of the best peer in every cell, 2 times in the median").worst(1.0 / 1.3).median(0.5),
    goal("W1", "per task", "3 times `threadpool`").against(Against::Best(&["threadpool"])).median(1.0 / 3.0),
    goal("W1", "per task", "3 times `jdk-linked`").against(Against::Best(&["jdk-linked"])).median(1.0 / 3.0),
    goal("W1", "per task", "4 producers, 2 workers: 1.3 times the throughput of the best peer").only(&[("producers", "4"), ("workers", "2")]).worst(1.0 / 1.3),
    goal("W1", "per task", "nothing captured: level with the best peer").only(&[("captured", "0")]).worst(1.05),
    goal("W2", "per task", "1.3 times the throughput of the best peer in every cell, 2 times in the median").worst(1.0 / 1.3).median(0.5),
    goal("W2", "per task", "3 times `threadpool`").against(Against::Best(&["threadpool+oneshot"])).median(1.0 / 3.0),
    goal("W2", "per task", "3 times `jdk-linked`").against(Against::Best(&["jdk-linked"])).median(1.0 / 3.0),
    goal("W3", "round trip p50", "not slower than the best parking peer").median(1.05),
    goal("W3", "round trip p99", "not slower than the best parking peer").median(1.05),
    goal("W4", "wake-up p50", "not slower than the best parking peer").median(1.05),
    goal("W4", "wake-up p50", "not slower than a lock and a condition variable").against(Against::Best(&["condvar"])).worst(1.05),
    goal("W4", "wake-up p99", "not slower than the best parking peer").median(1.05),
    goal("W5", "per task", "ahead of all").ours(&["windlass", "windlass-array"]).worst(1.0),
    goal("W5", "per task", "a fair array queue, 8 workers: ahead of the JDK's").only(&[("fair", "yes"), ("workers", "8")]).ours(FAIR).against(Against::Best(&["jdk-array-fair"])).worst(1.0),
    goal("W6", "per task", "ahead of all").worst(1.0),
    goal("W6", "threads", "200,000 tasks from one thread: at most 64 threads").only(&[("burst", "200000")]).against(Against::One).worst(64.0),
    goal("W6", "per task", "200,000 tasks from one thread: ahead of `rusty_pool`").only(&[("burst", "200000")]).against(Against::Best(&["rusty_pool"])).worst(1.0),
    goal("W7", "time", "fib: 2 times as fast as rayon").only(&[("what", "fib")]).ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(0.5),
    goal("W7", "time", "tree: 2 times as fast as rayon").only(&[("what", "tree")]).ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(0.5),
    goal("W7", "time", "fib: not behind chili by more than 1.2").only(&[("what", "fib")]).ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W7", "time", "tree: not behind chili by more than 1.2").only(&[("what", "tree")]).ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W7", "time", "sort: not behind chili by more than 1.2").only(&[("what", "sort")]).ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W7", "time", "sum: not behind chili by more than 1.2").only(&[("what", "sum")]).ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W7", "time", "for_each_mut over a slice: not behind rayon").only(&[("what", "slice-for-each")]).ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(1.0),
    goal("W7", "time", "sum of a slice: not behind rayon").only(&[("what", "slice-sum")]).ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(1.0),
    goal("W7", "time", "sum of hashes: not behind rayon").only(&[("what", "slice-hash")]).ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(1.0),
    goal("W7", "time", "unstable sort of a slice: not behind rayon").only(&[("what", "slice-sort-unstable")]).ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(1.0),
    goal("W7", "time", "stable sort of a slice: not behind rayon").only(&[("what", "slice-sort")]).ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(1.0),
    goal("W7", "per join", "a join: not dearer than rayon's or the JDK's").ours(FORK_JOIN).against(Against::Best(&["rayon", "jdk-fork-join"])).worst(1.0),
    goal("W7", "time", "8 workers reach 8 leaves that wait 50 ms at once").only(&[("what", "leaves")]).ours(FORK_JOIN).against(Against::One).worst(60.0),
    goal("W8", "per task", "ahead of all").ours(&["windlass", "windlass-fork-join"]).worst(1.0),
    goal("W9", "insert", "2 times as fast as tokio's timers and the JDK's").ours(SCHEDULED).against(TIMERS).worst(0.5),
    goal("W9", "cancel and free", "2 times as fast as tokio's timers and the JDK's").ours(SCHEDULED).against(TIMERS).worst(0.5),
    goal("W9", "insert", "level with tokio's `DelayQueue`").ours(SCHEDULED).against(DELAY_QUEUE).worst(1.05),
    goal("W9", "cancel and free", "level with tokio's `DelayQueue`").ours(SCHEDULED).against(DELAY_QUEUE).worst(1.05),
    goal("W9", "insert", "24 bytes captured: ahead of tokio's `DelayQueue`").only(&[("captured", "24")]).ours(SCHEDULED).against(DELAY_QUEUE).worst(1.0),
    goal("W9", "late p50", "no later than the best peer").ours(SCHEDULED).worst(1.05),
    goal("W9", "late p99", "no later than the best peer").ours(SCHEDULED).worst(1.05),
    goal("W10", "bytes each", "a small queued task takes at most 40 bytes").only(&[("what", "queued")]).against(Against::One).worst(40.0),
    goal("W10", "bytes each", "a pending timer takes at most 100 bytes").only(&[("what", "timers")]).ours(SCHEDULED).against(Against::One).worst(100.0),
    goal("W11", "efficiency", "ahead of all").worst(1.0),
    goal("W12", "threads gone", "`shutdown_now` of a million: not slower than others that hand them back").only(&[("what", "now")]).against(HANDS_BACK).worst(1.0),
    goal("W13", "per task", "waiting and running times cost under 5 %").against(Against::Without("windlass-times")).worst(1.05),
    goal("W13", "per task", "statistics cost under 5 %").ours(&["windlass+stats"]).against(Against::Plain).worst(1.05),
    goal("W13", "per task", "hooks cost under 5 %").ours(&["windlass+hooks"]).against(Against::Plain).worst(1.05),
    goal("W13", "per task", "names cost under 5 %").ours(&["windlass+names"]).against(Against::Plain).worst(1.05),
    goal("W13", "per task", "a monitor costs under 5 %").ours(&["windlass+monitor"]).against(Against::Plain).worst(1.05),
    goal("W13", "per task", "a console that is looked at costs under 5 %").ours(&["windlass+console"]).against(Against::Plain).worst(1.05),
    goal("W14", "per task", "64 workers: within 2 times of the best point").only(&[("workers", "64")]).against(Against::OwnBest).worst(2.0),
    goal("W14", "per task", "10^6 queued: within 2 times of the best point").only(&[("queued", "1000000")]).against(Against::OwnBest).worst(2.0),
    goal("W14", "per task", "fork-join pool, 1 to 64 workers: within 2 times of the best point").only(&[("what", "workers")]).ours(FORK_JOIN).against(Against::OwnBest).worst(2.0),
    goal("W14", "per task", "fork-join pool, 10 to 10^6 queued: within 2 times of the best point").only(&[("what", "queued")]).ours(FORK_JOIN).against(Against::OwnBest).worst(2.0),
    goal("W15", "CPU per task", "a task every 10 µs: the most frugal").only(&[("every", "10")]).worst(1.0),
    goal("W15", "CPU per task", "a task every 100 µs: the most frugal").only(&[("every", "100")]).worst(1.0),
    goal("W15", "CPU per task", "a task every 1,000 µs: the most frugal").only(&[("every", "1000")]).worst(1.0),
    goal("W15", "CPU per idle second", "64 idle workers take at most 0.1 ms of a second").against(Against::One).worst(0.1),
    goal("W16", "per task", "one core: not behind the best peer").only(&[("cores", "1")]).ours(&["windlass", "windlass-array"]).median(1.05),
    goal("W16", "per task", "busy threads: not behind the best peer").only(BUSY).ours(&["windlass", "windlass-array"]).median(1.05),
    goal("W16", "round trip p50", "one core: not behind the best peer").only(&[("cores", "1")]).worst(1.05),
    goal("W16", "round trip p50", "busy threads: not behind the best peer").only(BUSY).worst(1.05),
    goal("W16", "wake-up p50", "one core: not behind the best peer").only(&[("cores", "1")]).worst(1.05),
    goal("W16", "wake-up p50", "busy threads: not behind the best peer").only(BUSY).worst(1.05),
];

/// Writes the section.
pub(super) fn write(text: &mut String, rows: &[Row]) {
    line(text, "\n## Goals\n");
    line(
        text,
        "A cell is one point of a workload. Figures are Windlass's divided by those it is compared \
         with, below one is better; where nothing is compared they are \
         the figure itself. A range is given where a median is not steady, and a goal is open where the \
         range reaches across its limit. All peers of W3 and W4 let idle threads \
         sleep and so count as parking, `executors-stealing` too, which searches for work for \
         a while before.\n",
    );
    line(
        text,
        "| | what is asked | how it is measured here | worst cell | median cell | verdict |",
    );
    line(text, "|---|---|---|---|---|---|");
    for goal in GOALS {
        let cells = goal.cells(rows);
        let columns = [
            goal.workload.to_owned(),
            goal.asked.to_owned(),
            goal.how(),
            worst(&cells).map_or(String::new(), |cell| {
                format!("{}: {}", cell.value, cell.place)
            }),
            median(&cells).map_or(String::new(), |value| value.to_string()),
            goal.verdict(&cells),
        ];
        line(text, &format!("| {} |", columns.join(" | ")));
    }
}

#[cfg(test)]
mod tests {
    use super::GOALS;
    use crate::harness::workload::Size;
    use crate::workloads;

    #[test]
    fn every_goal_is_of_points_of_a_workload_and_has_a_limit() {
        let all = workloads::all();
        for goal in GOALS {
            let workload = all.iter().find(|one| one.id == goal.workload);
            let points = (workload.unwrap().points)(Size::Full);
            assert!(
                points.iter().any(|point| goal.counts(point)),
                "{}",
                goal.asked
            );
            assert!(goal.has_limit(), "{}", goal.asked);
        }
    }
}

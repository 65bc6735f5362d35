//! The first half page: a picture, five sentences, and where Windlass loses.
//!
//! All figures are computed from the record. Only the reasons for losses are written by
//! hand, and shown as long as the record shows the loss.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::Value;

use super::markdown::line;
use super::ranges::Range;
use crate::harness::figure::digits;
use crate::harness::point::Point;
use crate::harness::record::Row;
use crate::harness::span::Span;
use crate::harness::table::{self, Ranking};
use crate::harness::workload::Baseline;
use crate::instruments::quantile::quantile;

/// Within this factor two figures count as equal.
const LEVEL: f64 = 1.05;

/// One line of the picture.
struct Topic {
    name: &'static str,
    workload: &'static str,
    metric: &'static str,
    /// The points that count.
    only: fn(&Point) -> bool,
    /// The pools of Windlass that are meant for this; the best counts at each point.
    ours: &'static [&'static str],
    /// Why it is behind, if it is.
    why: &'static str,
}

/// Our figure divided by that of the fastest peer, at one point.
struct Cell {
    ratio: Span,
    /// The same, if only peers written in Rust count.
    in_rust: Option<f64>,
    fastest: String,
    point: String,
}

/// The ratios of a topic over all points.
pub(super) struct Summary {
    topic: &'static Topic,
    median: f64,
    in_rust: Option<f64>,
    best: f64,
    worst: Cell,
}

const WINDLASS: &[&str] = &["windlass"];
const BOUNDED: &[&str] = &["windlass", "windlass-array"];
const FORK_JOIN: &[&str] = &["windlass-fork-join"];
const EITHER: &[&str] = &["windlass", "windlass-fork-join"];
const SCHEDULED: &[&str] = &["windlass-scheduled"];
const UNKNOWN: &str = "not examined";

fn all(_: &Point) -> bool {
    true
}

fn what(point: &Point, kind: &str) -> bool {
    point.get("what") == Some(kind)
}

#[rustfmt::skip]
const TOPICS: &[Topic] = &[
    Topic { name: "empty tasks that capture nothing", workload: "W1", metric: "per task", ours: WINDLASS,
        only: |point| point.get("captured") == Some("0"),
        why: "a pool moves five words for a task where a channel of boxes moves two, and a box of nothing costs no allocation" },
    Topic { name: "empty tasks that capture 24 or 64 bytes", workload: "W1", metric: "per task", ours: WINDLASS,
        only: |point| point.get("captured") != Some("0"), why: UNKNOWN },
    Topic { name: "tasks with results, all kept", workload: "W2", metric: "per task", ours: WINDLASS,
        only: |point| point.get("warm").is_none(),
        why: "56 bytes of fresh memory for each task, cell and handle, and a page fault for every 70 of them; the JDK's heap is warm" },
    Topic { name: "tasks with results, memory warm", workload: "W2", metric: "per task", ours: WINDLASS,
        only: |point| point.get("warm").is_some(), why: UNKNOWN },
    Topic { name: "round trip, median", workload: "W3", metric: "round trip p50", ours: WINDLASS, only: all, why: UNKNOWN },
    Topic { name: "round trip, 99th percentile", workload: "W3", metric: "round trip p99", ours: WINDLASS, only: all, why: UNKNOWN },
    Topic { name: "wake-up from idle, median", workload: "W4", metric: "wake-up p50", ours: WINDLASS, only: all,
        why: "one microsecond: the same system calls, and 4,770 instructions for a wake-up, both sides and the wait for it together, where a bare loop around a condition variable has 1,910; they are cold after each sleep" },
    Topic { name: "wake-up from idle, 99th percentile", workload: "W4", metric: "wake-up p99", ours: WINDLASS, only: all,
        why: "the third largest of 300 wake-ups, which moves by a factor of two between runs, for every peer" },
    Topic { name: "full queue, producers block", workload: "W5", metric: "per task", ours: BOUNDED,
        only: |point| point.get("policy") == Some("block") && point.get("fair").is_none(), why: "both sides together take 495 instructions for a task, kanal's loop 110, crossbeam's 303: neither has the states and counts of a task" },
    Topic { name: "full queue, in the order of arrival", workload: "W5", metric: "per task", ours: &["windlass-array-fair"],
        only: |point| point.get("fair").is_some(), why: "750 instructions for a task where tokio takes 2,260; the threads switch between 124 and 7,201 times for 20,000 tasks, by the order in which they get the cores" },
    Topic { name: "full queue, caller runs", workload: "W5", metric: "per task", ours: BOUNDED,
        only: |point| point.get("policy") == Some("caller-runs") && point.get("micros").is_none(),
        why: "an empty task is cheaper to run than to queue, so whoever refuses soonest wins; the second table of W5 has who ran them" },
    Topic { name: "full queue, caller runs, tasks of 1 µs", workload: "W5", metric: "per task", ours: BOUNDED,
        only: |point| point.get("policy") == Some("caller-runs") && point.get("micros").is_some(), why: UNKNOWN },
    Topic { name: "cached pool, 200,000 at once", workload: "W6", metric: "per task", ours: WINDLASS,
        only: |point| point.get("micros").is_some(),
        why: "a pool starts up to 48 threads for tasks that find no idle worker, and queues no more than 1,024 beyond; rusty_pool queues without a bound" },
    Topic { name: "cached pool", workload: "W6", metric: "per task", ours: WINDLASS, only: |point| point.get("micros").is_none(),
        why: "a task that finds no idle worker starts a thread, up to 48; rusty_pool queues what it cannot hand over" },
    Topic { name: "fork-join, Fibonacci", workload: "W7", metric: "time", ours: FORK_JOIN, only: |point| what(point, "fib"),
        why: "pending joins stay within reach of idle workers, which costs each join stores and checks; chili shares work at a heartbeat only" },
    Topic { name: "fork-join, tree", workload: "W7", metric: "time", ours: FORK_JOIN, only: |point| what(point, "tree"),
        why: "the price of a join, which chili does not pay in most: once three jobs are pending it runs both halves without one, except each 64th time" },
    Topic { name: "fork-join, merge sort", workload: "W7", metric: "time", ours: FORK_JOIN, only: |point| what(point, "sort"), why: UNKNOWN },
    Topic { name: "fork-join, array", workload: "W7", metric: "time", ours: FORK_JOIN, only: |point| what(point, "sum"), why: "30.1 million instructions for 4 million elements, rayon 29.9: the same work, bound by memory, whose speed moves between samples" },
    Topic { name: "fork-join, leaves that wait", workload: "W7", metric: "time", ours: FORK_JOIN, only: |point| what(point, "leaves"), why: UNKNOWN },
    Topic { name: "each task spawns two", workload: "W8", metric: "per task", ours: FORK_JOIN, only: all,
        why: "the JDK allocates a task by moving a pointer and forgets it" },
    Topic { name: "timers, insert", workload: "W9", metric: "insert", ours: SCHEDULED, only: all,
        why: "some 590 instructions, where tokio's queue, which has neither handles nor the states of a pool, takes 525; and 88 bytes of fresh memory for each timer. Within a second each timer that is due wakes a worker, 50 times as precisely" },
    Topic { name: "timers, cancel and free", workload: "W9", metric: "cancel and free", ours: SCHEDULED, only: all,
        why: "the JDK frees nothing at once" },
    Topic { name: "timers, lateness, median", workload: "W9", metric: "late p50", ours: SCHEDULED, only: all, why: UNKNOWN },
    Topic { name: "timers, lateness, 99th percentile", workload: "W9", metric: "late p99", ours: SCHEDULED, only: all, why: UNKNOWN },
    Topic { name: "memory of a queued task", workload: "W10", metric: "bytes each", ours: WINDLASS, only: |point| what(point, "queued"), why: "as in W1, its tasks capture nothing: five words for a task where a channel of boxes moves two" },
    Topic { name: "memory of an idle worker", workload: "W10", metric: "bytes each", ours: WINDLASS, only: |point| what(point, "idle"), why: "4.5 kB of heap for a worker, 2.4 of them the histograms of waiting and running times, where `blocking` has 0.6: one page of four" },
    Topic { name: "memory of a pending timer", workload: "W10", metric: "bytes each", ours: SCHEDULED, only: |point| what(point, "timers"),
        why: "a timer is a task with a handle: its cell takes 72 bytes of a block, its place in the queue 16" },
    Topic { name: "efficiency, tasks of 1 to 100 µs", workload: "W11", metric: "efficiency", ours: WINDLASS, only: all, why: UNKNOWN },
    Topic { name: "shutdown, idle threads", workload: "W12", metric: "threads gone", ours: WINDLASS, only: |point| what(point, "idle"), why: "1,134 `futex` calls for 64 threads, threadpool 1,293, tokio 1,492: what is left is the system's end of a thread" },
    Topic { name: "shutdown_now, a million queued", workload: "W12", metric: "threads gone", ours: WINDLASS, only: |point| what(point, "now"),
        why: "all of them are handed back, which no other pool in Rust does: 40 MB of fresh memory, whose page faults alone take 17 ms" },
    Topic { name: "empty tasks, 1 to 64 workers", workload: "W14", metric: "per task", ours: WINDLASS, only: |point| what(point, "workers"),
        why: "as in W1, its tasks capture nothing: five words for a task where a channel of boxes moves two" },
    Topic { name: "a standing queue of 10 to a million", workload: "W14", metric: "per task", ours: EITHER, only: |point| what(point, "queued"), why: "two workers and one lock: kanal moves two words for a task, a pool five; with one worker the fork-join pool takes 24 ns of a million" },
    Topic { name: "processor time of a trickle", workload: "W15", metric: "CPU per task", ours: WINDLASS, only: |point| what(point, "trickle"),
        why: "one wake-up and one wait for a task, as in a bare loop around a condition variable; the rest is code of the pool that is cold after each sleep" },
    Topic { name: "one core, tasks and results", workload: "W16", metric: "per task", ours: BOUNDED,
        only: |point| point.get("cores").is_some(),
        why: "what both sides do, which no other core does meanwhile: kanal moves two words under a lock whose release is a plain store, a pool five words, states and counts" },
    Topic { name: "one core, round trip", workload: "W16", metric: "round trip p50", ours: WINDLASS, only: |point| point.get("cores").is_some(), why: "two switches of threads for a round trip, as for every peer: 2,246 for 1,000 of them and the start, rayon 2,228" },
    Topic { name: "one core, wake-up", workload: "W16", metric: "wake-up p50", ours: WINDLASS, only: |point| point.get("cores").is_some(), why: "the same system calls as a bare loop around a condition variable: 1,019 switches of threads and 983; the rest is code of the pool that is cold after each sleep" },
    Topic { name: "busy cores, tasks and results", workload: "W16", metric: "per task", ours: BOUNDED,
        only: |point| point.get("busy").is_some(), why: "in caller-runs as in W5; with four producers memory: 3,400 page faults for 300,000 tasks of five words, kanal 1,100 for two, and 77 to 101 switches of threads, each a time slice, kanal 38 to 46" },
    Topic { name: "busy cores, round trip", workload: "W16", metric: "round trip p50", ours: WINDLASS, only: |point| point.get("busy").is_some(), why: "two modes: both threads have a core and spin (0.5 µs), or each wake-up waits for its turn as every peer's does: 1,629 `futex` calls for 1,000 round trips, rayon 2,203" },
    Topic { name: "busy cores, wake-up", workload: "W16", metric: "wake-up p50", ours: WINDLASS, only: |point| point.get("busy").is_some(), why: "the woken thread waits for a turn, or gets one at once: the samples of rayon, the best here, differ by more than a hundred" },
];

/// Returns a summary of each topic that was measured, best first.
pub(super) fn summaries(rows: &[Row]) -> Vec<Summary> {
    let mut summaries: Vec<_> = TOPICS
        .iter()
        .filter_map(|topic| topic.summary(rows))
        .collect();
    summaries.sort_by(|a, b| a.median.total_cmp(&b.median));
    summaries
}

/// The lines of the picture.
pub(super) fn ranges(summaries: &[Summary]) -> Vec<Range> {
    let range = |summary: &Summary| Range {
        name: summary.topic.name.to_owned(),
        low: summary.best,
        middle: summary.median,
        high: summary.worst.ratio.middle,
        standing: standing(summary.median),
    };
    summaries.iter().map(range).collect()
}

/// Returns how a ratio compares to one; within 5 % it is equal.
fn standing(ratio: f64) -> Ordering {
    if ratio < 1.0 / LEVEL {
        Ordering::Less
    } else if ratio <= LEVEL {
        Ordering::Equal
    } else {
        Ordering::Greater
    }
}

/// Writes picture, sentences and losses.
pub(super) fn write(text: &mut String, (settings, rows): (&[Value], &[Row]), picture: &str) {
    let summaries = summaries(rows);
    if summaries.is_empty() {
        return;
    }
    line(text, picture);
    let sentences = [
        measured(settings, rows),
        "Each line above compares the pool of Windlass that is meant for the job with the \
         *fastest* of the others, whichever that is at each point: the dot is the median point, \
         the line reaches from the best to the worst, and left of 1 Windlass is faster (green: ahead at the \
         median point; grey: level, within 5 %; red: behind)."
            .to_owned(),
        leads(&summaries),
        level(&summaries),
        single_peers(rows),
    ];
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        line(text, &format!("- {sentence}"));
    }
    losses(text, &summaries);
}

fn measured(settings: &[Value], rows: &[Row]) -> String {
    let others = rows.iter().filter(|row| is_peer(row));
    let others: BTreeSet<_> = others.map(|row| row.peer.as_str()).collect();
    let workloads: BTreeSet<_> = rows.iter().map(|row| row.workload.as_str()).collect();
    format!(
        "{} workloads put Windlass beside {} set-ups of other pools, runtimes and channels, those \
         of the JDK among them, on {} cores ({}, {}, commit {}).",
        workloads.len(),
        others.len(),
        each(settings, "cores"),
        each(settings, "cpu"),
        each(settings, "date"),
        each(settings, "commit"),
    )
}

/// What the runs of a record have under this key, each value once.
fn each(settings: &[Value], key: &str) -> String {
    let mut values: Vec<String> = Vec::new();
    for value in settings.iter().filter_map(|setting| setting.get(key)) {
        let value = value.to_string().trim_matches('"').to_owned();
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.is_empty() {
        return "unknown".to_owned();
    }
    values.join(" and ")
}

fn leads(summaries: &[Summary]) -> String {
    let ahead = summaries
        .iter()
        .filter(|summary| standing(summary.median).is_lt());
    let ahead: Vec<_> = ahead
        .map(|summary| {
            let times = 1.0 / summary.median;
            format!("{} ({times:.1} times)", summary.topic.name)
        })
        .collect();
    if ahead.is_empty() {
        return "It leads nowhere.".to_owned();
    }
    format!("It leads in {}.", ahead.join("; "))
}

fn level(summaries: &[Summary]) -> String {
    let level = summaries
        .iter()
        .filter(|summary| standing(summary.median).is_eq());
    let level: Vec<_> = level.map(|summary| summary.topic.name).collect();
    if level.is_empty() {
        return String::new();
    }
    format!(
        "It is level, within 5 %, with the fastest in {}.",
        level.join("; ")
    )
}

/// How much faster than single pools that many programs use.
fn single_peers(rows: &[Row]) -> String {
    let times =
        |workload: &str, ours: &str, peer: &str, only: fn(&Point) -> bool| {
            let mut ratios = Vec::new();
            let wanted = |row: &&Row| row.workload == workload && only(&row.point);
            for row in rows.iter().filter(wanted).filter(|row| {
                row.peer == peer && (row.metric == "per task" || row.metric == "time")
            }) {
                let same = |other: &&Row| {
                    other.workload == workload
                        && other.point == row.point
                        && other.metric == row.metric
                        && other.peer == ours
                };
                let ours = rows.iter().find(same);
                ratios.extend(ours.map(|ours| row.median / ours.median));
            }
            (!ratios.is_empty()).then(|| quantile(&mut ratios, 0.5))
        };
    let empty: Vec<_> = [
        ("`threadpool`", "threadpool"),
        ("`rayon`", "rayon"),
        ("`tokio`", "tokio"),
        ("the JDK's `ThreadPoolExecutor`", "jdk-linked"),
    ]
    .into_iter()
    .filter_map(|(name, peer)| {
        let times = times("W1", "windlass", peer, all)?;
        Some(format!("{times:.1} times as fast as on {name}"))
    })
    .collect();
    if empty.is_empty() {
        return String::new();
    }
    let fork_join = [
        (
            "Fibonacci numbers",
            (|point: &Point| what(point, "fib")) as fn(&Point) -> bool,
        ),
        ("a tree", |point: &Point| what(point, "tree")),
    ];
    let fork_join: Vec<_> = fork_join
        .into_iter()
        .filter_map(|(name, only)| {
            let times = times("W7", "windlass-fork-join", "rayon", only)?;
            Some(format!("{name} {times:.1} times as fast as rayon"))
        })
        .collect();
    let also = if fork_join.is_empty() {
        String::new()
    } else {
        format!("; a fork-join pool does {}", fork_join.join(", "))
    };
    format!(
        "Beside single peers, at the median point: empty tasks run {}{also}.",
        empty.join(", ")
    )
}

fn losses(text: &mut String, summaries: &[Summary]) {
    let behind: Vec<_> = summaries
        .iter()
        .rev()
        .filter(|summary| standing(summary.median).is_gt())
        .collect();
    if behind.is_empty() {
        return;
    }
    line(text, "\n### Where it loses\n");
    line(
        text,
        "Times the figure of the fastest peer; lower is better. The third column counts only \
         peers in Rust.\n",
    );
    line(
        text,
        "| | median point | in Rust | worst point | why |\n|---|---:|---:|---|---|",
    );
    for summary in behind {
        let worst = &summary.worst;
        let columns = [
            format!("{} ({})", summary.topic.name, summary.topic.workload),
            digits(summary.median),
            summary.in_rust.map_or(String::new(), digits),
            format!("{} to {}, {}", worst.ratio, worst.fastest, worst.point),
            summary.topic.why.to_owned(),
        ];
        line(text, &format!("| {} |", columns.join(" | ")));
    }
}

/// Returns whether a row is not of Windlass.
fn is_peer(row: &Row) -> bool {
    !row.is_ours() && !row.is_reference()
}

impl Topic {
    fn summary(&'static self, rows: &[Row]) -> Option<Summary> {
        let of_it = |row: &&Row| {
            row.workload == self.workload && row.metric == self.metric && (self.only)(&row.point)
        };
        let rows: Vec<Row> = rows.iter().filter(of_it).cloned().collect();
        let groups = table::groups(&rows).into_iter();
        let cells: Vec<_> = groups.filter_map(|group| self.cell(&group)).collect();
        let mut ratios: Vec<_> = cells.iter().map(|cell| cell.ratio.middle).collect();
        let mut in_rust: Vec<_> = cells.iter().filter_map(|cell| cell.in_rust).collect();
        let best = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let worst = cells
            .into_iter()
            .max_by(|a, b| a.ratio.middle.total_cmp(&b.ratio.middle))?;
        Some(Summary {
            topic: self,
            median: quantile(&mut ratios, 0.5),
            in_rust: (!in_rust.is_empty()).then(|| quantile(&mut in_rust, 0.5)),
            best,
            worst,
        })
    }

    /// Returns the ratio at one point, if both sides were measured there.
    fn cell(&self, group: &[&Row]) -> Option<Cell> {
        let ranking = Ranking::new(group.iter().copied(), Baseline::BestPeer);
        let ours = ranking.rows.iter();
        let ours = *ours
            .clone()
            .find(|row| self.ours.contains(&row.peer.as_str()))?;
        let in_rust = group.iter().filter(|row| !row.peer.starts_with("jdk-"));
        let in_rust = Ranking::new(in_rust.copied(), Baseline::BestPeer);
        Some(Cell {
            ratio: ranking.ratio(ours)?,
            in_rust: in_rust.ratio(ours).map(|ratio| ratio.middle),
            fastest: ranking.baseline?.peer.clone(),
            point: ours.point.words(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{TOPICS, summaries};
    use crate::harness::figure::Unit;
    use crate::harness::point::Point;
    use crate::harness::record::Row;
    use crate::harness::workload::Size;
    use crate::workloads;

    fn row(peer: &str, point: &str, value: f64) -> Row {
        let name = ("W2", &Point::parse(point), peer);
        Row::gather(name, ("per task".to_owned(), Unit::Nanos), vec![value])
    }

    #[test]
    fn a_topic_has_its_median_and_worst_point_against_the_fastest() {
        let rows = [
            row("windlass", "workers=1", 10.0),
            row("rayon", "workers=1", 20.0),
            row("jdk-linked", "workers=1", 40.0),
            row("windlass", "workers=2", 30.0),
            row("rayon", "workers=2", 20.0),
            row("jdk-linked", "workers=2", 10.0),
            row("windlass", "workers=4", 20.0),
            row("rayon", "workers=4", 20.0),
        ];
        let found = summaries(&rows);
        let [summary] = found.as_slice() else {
            panic!("one topic was measured");
        };
        assert_eq!((summary.best, summary.worst.ratio.middle), (0.5, 3.0));
        assert_eq!(summary.in_rust, Some(1.0));
        assert_eq!(summary.worst.fastest, "jdk-linked");
        assert_eq!(summary.worst.point, "2 workers");
    }

    #[test]
    fn every_topic_counts_points_of_a_workload() {
        let all = workloads::all();
        for topic in TOPICS {
            let workload = all.iter().find(|one| one.id == topic.workload).unwrap();
            let points = (workload.points)(Size::Full);
            assert!(points.iter().any(topic.only), "{}", topic.name);
            for ours in topic.ours {
                let takes_part = |point: &Point| {
                    let participants = (workload.participants)(point);
                    participants.iter().any(|one| one.name == *ours)
                };
                let mut points = points.iter().filter(|point| (topic.only)(point));
                assert!(points.any(takes_part), "{ours} in {}", topic.name);
            }
        }
    }
}

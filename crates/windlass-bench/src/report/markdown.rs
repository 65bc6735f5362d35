//! The text and tables of the document.

use std::fmt::Write;

use serde_json::Value;

use super::Record;
use super::goals;
use super::overview;
use super::plots::{self, Plot};
use crate::harness::merge;
use crate::harness::point::{AMOUNTS, Point};
use crate::harness::record::Row;
use crate::harness::table::{self, Ranking};
use crate::harness::workload::Workload;
use crate::workloads;

const OPENING: &str = "\
<!-- Written by `cargo run --release -p windlass-bench -- report`; do not edit by hand. -->

# Performance
";

const METHOD: &str = "
## How it was measured

All peers are measured in one run and take turns round by round, each sample in a
fresh process (on the JDK, in one that stays warm). Figures are medians of the
rounds. Absolute figures move with the machine: compare within a table.

A median of few samples may be far from that of the next run. So for each one the
interval is computed in which it lies with three chances of four, whatever the samples'
distribution (of three samples, from the least to the largest; of eleven, from the fourth
to the eighth). As long as that interval spans more than a factor of 1.25 for Windlass or
for a peer that may be the best, the point gets further rounds of these, up to 21 or to
the end of the run's time. What is not steady then is shown as a range, `1.20 (0.90–1.60)`; so are its
ratios, and a goal whose limit lies within such a range is open.

The figures are those of [`performance/record.jsonl`](performance/record.jsonl). A new
record is made, and this document from it, by

```text
cargo run --release -p windlass-bench -- run --budget 28 --json docs/performance/record.jsonl
cargo run --release -p windlass-bench -- report
```

within that many minutes, if they suffice for three rounds of everything; `run --only W9
--into docs/performance/record.jsonl` measures one workload again and keeps the others.

Each workload below names the commands that measure it again, and one cell of it, where
`windlass-bench` stands for `cargo run --release -p windlass-bench --`; its `list` has all
points and peers. Two builds of Windlass are compared by `scripts/compare-builds.sh`.
Tasks on Redis, W20 to W24, are measured by `scripts/remote-bench.py`; see
[`performance/remote.md`](performance/remote.md).
";

/// The whole document; the plots are in a folder of that name.
pub(super) fn document(record: &Record, plots: &[Plot], folder: &str) -> String {
    let mut text = OPENING.to_owned();
    let picture = plots.iter().find(|plot| plot.workload == plots::OVERVIEW);
    let picture = picture.map_or(String::new(), |plot| {
        format!("\n![{}]({folder}/{})\n", plot.title, plot.file)
    });
    overview::write(&mut text, (&record.settings, &record.rows), &picture);
    text.push_str(METHOD);
    record
        .settings
        .iter()
        .take(1)
        .for_each(|first| setting(&mut text, first));
    runs(&mut text, &record.settings);
    notices(&mut text, &record.notices);
    goals::write(&mut text, &record.rows);
    let all = workloads::all();
    summary(&mut text, &all, &record.rows);
    for workload in &all {
        let of_it = |row: &&Row| row.workload == workload.id;
        let rows: Vec<Row> = record.rows.iter().filter(of_it).cloned().collect();
        if rows.is_empty() {
            continue;
        }
        line(
            &mut text,
            &format!("\n## {}: {}\n", workload.id, workload.title),
        );
        line(&mut text, workload.about);
        line(&mut text, &command(workload, &rows));
        for plot in plots.iter().filter(|plot| plot.workload == workload.id) {
            line(
                &mut text,
                &format!("\n![{}]({folder}/{})", plot.title, plot.file),
            );
        }
        metrics(&mut text, workload, &rows);
    }
    text
}

/// The commands that measure a workload again, and one cell of it.
fn command(workload: &Workload, rows: &[Row]) -> String {
    let row = rows.iter().find(|row| row.is_pool_of_ours());
    let row = row.unwrap_or(&rows[0]);
    format!(
        "\n```text\n\
         windlass-bench run --only {0}\n\
         windlass-bench sample {0} \"{1}\" {2}\n\
         ```",
        workload.id, row.point, row.peer
    )
}

pub(super) fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn setting(text: &mut String, setting: &Value) {
    line(text, "\n| what | which |\n|---|---|");
    let plain = [
        "date", "command", "cpu", "cores", "memory", "kernel", "load", "rustc", "commit",
    ];
    for key in plain.into_iter().chain(["jdk", "note"]) {
        if let Some(value) = setting.get(key).filter(|value| !value.is_null()) {
            let value = value.to_string();
            line(text, &format!("| {key} | {} |", value.trim_matches('"')));
        }
    }
    if let Some(versions) = setting.get("versions").and_then(Value::as_object) {
        let version = |(name, version): (&String, &Value)| {
            format!("{name} {}", version.as_str().unwrap_or_default())
        };
        let versions: Vec<_> = versions.iter().map(version).collect();
        line(text, &format!("| versions | {} |", versions.join(", ")));
    }
}

/// The runs of a record that was made in several.
fn runs(text: &mut String, settings: &[Value]) {
    if settings.len() < 2 {
        return;
    }
    line(text, "\n| workloads | date | commit | load | command |");
    line(text, "|---|---|---|---|---|");
    for setting in settings {
        let ids = setting.get(merge::WORKLOADS).and_then(Value::as_array);
        let ids = ids.into_iter().flatten().filter_map(Value::as_str);
        let ids: Vec<_> = ids.collect();
        let of = |key: &str| setting.get(key).and_then(Value::as_str).unwrap_or_default();
        let columns = [
            &ids.join(", "),
            of("date"),
            of("commit"),
            of("load"),
            of("command"),
        ];
        line(text, &format!("| {} |", columns.join(" | ")));
    }
}

fn notices(text: &mut String, notices: &[String]) {
    if !notices.is_empty() {
        line(text, "\nLeft out or failed:\n");
    }
    for notice in notices {
        line(text, &format!("- {notice}"));
    }
}

/// Our pools against the best peer, a line for each pool, point and metric.
fn summary(text: &mut String, all: &[Workload], rows: &[Row]) {
    line(text, "\n## Windlass and the best peer\n");
    line(text, "A ratio below one says that Windlass is ahead.\n");
    line(
        text,
        "| workload | point | figure | which of ours | Windlass | best peer | ratio |",
    );
    line(text, "|---|---|---|---|---|---|---|");
    for group in table::groups(rows) {
        let first = group[0];
        let Some(workload) = all.iter().find(|one| one.id == first.workload) else {
            continue;
        };
        let ranking = Ranking::new(group, workload.baseline);
        let Some(baseline) = ranking.baseline else {
            continue;
        };
        // Timers are what the scheduled pool is for; beside the plain one it would only be a line
        // more.
        let has_plain = ranking.rows.iter().any(|row| row.peer == "windlass");
        let is_shown = |ours: &Row| !(has_plain && ours.peer == "windlass-scheduled");
        for (ours, ratio) in ranking.pools().filter(|(ours, _)| is_shown(ours)) {
            let cells = [
                first.workload.clone(),
                first.point.words(),
                format!("{}, {}", first.metric, first.unit),
                ours.peer.clone(),
                ours.span().to_string(),
                format!("{} {}", baseline.peer, baseline.span()),
                ratio.to_string(),
            ];
            line(text, &format!("| {} |", cells.join(" | ")));
        }
    }
}

/// Points that differ in one of these have a table each: other peers take part, or there would be
/// too many columns.
const KINDS: [&str; 6] = ["what", "of", "policy", "captured", "cores", "busy"];

/// A table for each metric: a line for each peer, a column for each point.
fn metrics(text: &mut String, workload: &Workload, rows: &[Row]) {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.metric.as_str()) {
            names.push(&row.metric);
        }
    }
    for metric in names {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.metric == metric).collect();
        let mut kinds: Vec<_> = Vec::new();
        for row in &rows {
            let kind = KINDS.map(|key| row.point.get(key));
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for kind in kinds {
            let of_it = |row: &&&Row| KINDS.map(|key| row.point.get(key)) == kind;
            let rows: Vec<&Row> = rows.iter().filter(of_it).copied().collect();
            pivot(text, workload, &rows);
        }
    }
}

fn pivot(text: &mut String, workload: &Workload, rows: &[&Row]) {
    let mut points: Vec<&Point> = Vec::new();
    for row in rows {
        if !points.contains(&&row.point) {
            points.push(&row.point);
        }
    }
    let first = rows[0];
    // What all columns share stands above them.
    let is_shared = |key: &str| {
        let value = first.point.get(key);
        let same = points.iter().all(|point| point.get(key) == value);
        same && (points.len() > 1 || AMOUNTS.contains(&key) || KINDS.contains(&key))
    };
    let shared = first.point.words_of(is_shared);
    let comma = if shared.is_empty() { "" } else { "; " };
    let (metric, unit) = (&first.metric, first.unit);
    line(text, &format!("\n{metric}, {unit}{comma}{shared}:\n"));
    let heads: Vec<_> = points
        .iter()
        .map(|point| point.words_of(|key| !is_shared(key)))
        .collect();
    line(text, &format!("| peer | {} |", heads.join(" | ")));
    line(text, &format!("|---{}|", "|---:".repeat(points.len())));
    // In the order of the first point, and then those that are not there.
    let of_first = rows.iter().filter(|row| row.point == *points[0]);
    let order = Ranking::new(of_first.copied(), workload.baseline).rows;
    let mut peers: Vec<&str> = order.iter().map(|row| row.peer.as_str()).collect();
    for row in rows {
        if !peers.contains(&row.peer.as_str()) {
            peers.push(&row.peer);
        }
    }
    for peer in peers {
        let cell = |point: &&Point| {
            let found = rows
                .iter()
                .find(|row| row.peer == peer && row.point == **point);
            found.map_or(String::new(), |row| row.span().to_string())
        };
        let cells: Vec<_> = points.iter().map(cell).collect();
        let mark = if peer.starts_with("windlass") {
            "**"
        } else {
            ""
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {mark}{peer}{mark} | {} |", cells.join(" | "));
    }
}

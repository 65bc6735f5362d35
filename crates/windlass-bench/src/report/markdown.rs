//! The words and tables of the document.

use std::fmt::Write;

use serde_json::Value;

use super::Record;
use super::goals;
use super::plots::Plot;
use crate::harness::point::Point;
use crate::harness::record::Row;
use crate::harness::table::{self, Ranking, digits};
use crate::harness::workload::Workload;
use crate::workloads;

const OPENING: &str = "\
# Performance

Written by `cargo run --release -p windlass-bench -- report` from a record of
`windlass-bench run`; do not edit by hand. All peers are measured in one run and
take turns round by round, each sample in a fresh process (on the JDK, in one
that stays warm). Figures are medians; the record also has the 10th and the
90th percentile. Absolute figures move with the machine: compare within a table.
";

/// The whole document; the plots are in a folder of that name.
pub(super) fn document(record: &Record, plots: &[Plot], folder: &str) -> String {
    let mut text = OPENING.to_owned();
    setting(&mut text, &record.setting);
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

pub(super) fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn setting(text: &mut String, setting: &Value) {
    line(text, "\n## Setting\n\n| what | which |\n|---|---|");
    let plain = [
        "date", "command", "cpu", "cores", "memory", "kernel", "load", "rustc", "commit",
    ];
    for key in plain.into_iter().chain(["jdk"]) {
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
                first.point.to_string(),
                format!("{}, {}", first.metric, first.unit),
                ours.peer.clone(),
                digits(ours.median),
                format!("{} {}", baseline.peer, digits(baseline.median)),
                format!("{ratio:.2}"),
            ];
            line(text, &format!("| {} |", cells.join(" | ")));
        }
    }
}

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
        let mut kinds: Vec<&str> = Vec::new();
        for row in &rows {
            let kind = row.point.get("what").unwrap_or_default();
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        // Points of different kinds have different peers: a table for each.
        for kind in kinds {
            let of_it = |row: &&&Row| row.point.get("what").unwrap_or_default() == kind;
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
    line(text, &format!("\n{}, {}:\n", first.metric, first.unit));
    let heads: Vec<_> = points.iter().map(ToString::to_string).collect();
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
            found.map_or(String::new(), |row| digits(row.median))
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

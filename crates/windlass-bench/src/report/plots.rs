//! The plots of a record.

use std::collections::BTreeMap;

use super::bars::{self, Bar};
use super::lines::{self, Series};
use super::{overview, ranges};
use crate::harness::figure::Unit;
use crate::harness::point::{AMOUNTS, Point};
use crate::harness::record::Row;
use crate::harness::workload::{self, Workload};
use crate::workloads;

/// A drawing, and where it belongs.
pub(super) struct Plot {
    pub(super) workload: &'static str,
    pub(super) title: String,
    pub(super) file: String,
    pub(super) drawing: String,
}

/// Stands for no workload: the plot of the opening.
pub(super) const OVERVIEW: &str = "overview";

/// Draws the overview and the plots of each workload.
pub(super) fn draw(rows: &[Row]) -> Vec<Plot> {
    let mut plots = vec![overview(rows)];
    for workload in workloads::all() {
        let of_it = |row: &&Row| row.workload == workload.id;
        let rows: Vec<&Row> = rows.iter().filter(of_it).collect();
        match workload.plot {
            workload::Plot::Nothing => {}
            workload::Plot::Throughput => plots.extend(throughput(&workload, &rows)),
            workload::Plot::Scale(keys) => {
                let of_key = |key: &&str| scale(&workload, &rows, key);
                plots.extend(keys.iter().flat_map(of_key));
            }
        }
    }
    plots
}

fn overview(rows: &[Row]) -> Plot {
    let ranges = overview::ranges(&overview::summaries(rows));
    let title = "Windlass divided by the fastest other pool, runtime or channel".to_owned();
    let sides = ("Windlass is faster, or smaller", "another one is");
    Plot {
        workload: OVERVIEW,
        file: "overview.svg".to_owned(),
        drawing: ranges::draw(&title, sides, &ranges),
        title,
    }
}

/// Tasks per second by peer, at the first point with two workers, or else the first.
fn throughput(workload: &Workload, rows: &[&Row]) -> Option<Plot> {
    let with_two = rows
        .iter()
        .find(|row| row.point.get("workers") == Some("2"));
    let point = &with_two.or(rows.first())?.point;
    let of_it = |row: &&&Row| row.point == *point && row.unit == Unit::Nanos;
    let mut bars: Vec<Bar> = rows
        .iter()
        .filter(of_it)
        .map(|row| Bar {
            name: row.peer.clone(),
            value: 1e3 / row.median,
            is_ours: row.is_ours(),
        })
        .collect();
    bars.sort_by(|a, b| b.value.total_cmp(&a.value));
    let title = format!(
        "{} ({}): million tasks per second, {}",
        workload.title,
        workload.id,
        point.words()
    );
    Some(Plot {
        workload: workload.id,
        file: format!("{}-throughput.svg", workload.id.to_lowercase()),
        drawing: bars::draw(&title, &bars),
        title,
    })
}

/// What is drawn together: the metric, and the point without what varies.
type Group = (String, Point);

/// Cost against a parameter, a plot for each metric and each setting of the others.
fn scale(workload: &Workload, rows: &[&Row], key: &str) -> Vec<Plot> {
    let mut groups: BTreeMap<Group, BTreeMap<String, Series>> = BTreeMap::new();
    let mut units: BTreeMap<Group, Unit> = BTreeMap::new();
    for row in rows {
        let Some((at, mut rest)) = row.point.split_number(key) else {
            continue;
        };
        // How much was measured may differ between points of one line.
        for amount in AMOUNTS {
            rest = rest
                .split_number(amount)
                .map_or(rest.clone(), |(_, rest)| rest);
        }
        let group = (row.metric.clone(), rest);
        units.insert(group.clone(), row.unit);
        let series = groups.entry(group).or_default();
        let one = series.entry(row.peer.clone()).or_insert_with(|| Series {
            name: row.peer.clone(),
            points: Vec::new(),
            is_ours: row.is_ours(),
        });
        one.points.push((at, row.median));
    }
    let enough =
        |series: &BTreeMap<String, Series>| series.values().any(|one| one.points.len() > 1);
    groups
        .into_iter()
        .filter(|(_, series)| enough(series))
        .map(|(group, series)| {
            let (metric, rest) = &group;
            let words = rest.words();
            let comma = if words.is_empty() { "" } else { ", " };
            let title = format!(
                "{} ({}): {metric}, {} by {key}{comma}{words}",
                workload.title, workload.id, units[&group]
            );
            let name = format!("{} {metric} by {key}", workload.id).to_lowercase();
            Plot {
                workload: workload.id,
                file: format!("{}.svg", name.replace(' ', "-")),
                drawing: lines::draw(&title, key, series.into_values().collect()),
                title,
            }
        })
        .collect()
}

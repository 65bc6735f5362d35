//! The figures of one point as a table, best first, each with its ratio to the baseline.

use std::fmt::Write;

use super::figure::{Better, digits};
use super::record::Row;
use super::span::Span;
use super::workload::Baseline;

/// The rows of one metric at one point, with the one that all are compared with.
pub(crate) struct Ranking<'a> {
    pub(crate) rows: Vec<&'a Row>,
    pub(crate) baseline: Option<&'a Row>,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(rows: impl IntoIterator<Item = &'a Row>, baseline: Baseline) -> Self {
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by(|a, b| a.median.total_cmp(&b.median));
        let better = rows
            .first()
            .map_or(Better::Neither, |row| row.unit.better());
        if better == Better::Higher {
            rows.reverse();
        }
        let is_baseline = |row: &&&Row| match baseline {
            Baseline::BestPeer => !row.is_ours() && !row.is_reference(),
            Baseline::Plain => row.peer == "windlass",
        };
        let baseline = rows.iter().find(is_baseline).copied();
        Self {
            rows,
            baseline: baseline.filter(|_| better != Better::Neither),
        }
    }

    /// How many times the baseline's figure a row has; below one is better, whatever the unit.
    pub(crate) fn ratio(&self, row: &Row) -> Option<Span> {
        let (ours, theirs) = (row.span(), self.baseline?.span());
        let ratio = match row.unit.better() {
            Better::Lower => ours.over(theirs),
            Better::Higher => theirs.over(ours),
            Better::Neither => return None,
        };
        ratio.middle.is_finite().then_some(ratio)
    }

    /// Those of ours that are a pool of their own, best first, each with its ratio to the baseline;
    /// not Windlass with an addition, nor the baseline itself.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (&'a Row, Span)> {
        let is_baseline = |row: &Row| {
            self.baseline
                .is_some_and(|baseline| baseline.peer == row.peer)
        };
        let pools = self.rows.iter().filter(|row| row.is_pool_of_ours());
        pools.filter_map(move |row| {
            let ratio = self.ratio(row).filter(|_| !is_baseline(row))?;
            Some((*row, ratio))
        })
    }

    /// The lines that sum up: each of our pools against the best peer.
    pub(crate) fn verdicts(&self) -> impl Iterator<Item = String> {
        self.pools().map(|(ours, ratio)| {
            let baseline = self.baseline.map_or("", |baseline| &baseline.peer);
            format!("{} / best peer ({baseline}) = {ratio}", ours.peer)
        })
    }
}

/// The table of one ranking as text.
pub(crate) fn text(title: &str, ranking: &Ranking<'_>) -> String {
    let mut text = format!("{title}\n");
    for row in &ranking.rows {
        let ratio = ranking.ratio(row);
        let ratio = ratio.map_or(String::new(), |ratio| format!("{:>8.2}x", ratio.middle));
        let spread = row.spread.map_or(String::new(), |(low, high)| {
            format!("[{:>9} .. {:>9}]", digits(low), digits(high))
        });
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  {:<28} {:>10} {:<5} {spread:<24} {ratio}",
            row.peer,
            digits(row.median),
            row.unit,
        );
    }
    for verdict in ranking.verdicts() {
        let _ = writeln!(text, "  {verdict}");
    }
    text
}

/// Splits rows into groups of one point and metric, in the order of their first appearance.
pub(crate) fn groups(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let same = |group: &&mut Vec<&Row>| {
            let first = group[0];
            first.workload == row.workload && first.point == row.point && first.metric == row.metric
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::{Baseline, Ranking, groups};
    use crate::harness::figure::Unit;
    use crate::harness::point::Point;
    use crate::harness::record::Row;

    fn row(peer: &str, value: f64, unit: Unit) -> Row {
        let point = Point::parse("workers=2");
        Row::gather(("W1", &point, peer), ("x".to_owned(), unit), vec![value])
    }

    #[test]
    fn the_baseline_is_the_best_that_is_not_ours() {
        let rows = [
            row("rayon", 20.0, Unit::Nanos),
            row("windlass", 5.0, Unit::Nanos),
            row("threadpool", 10.0, Unit::Nanos),
        ];
        let ranking = Ranking::new(&rows, Baseline::BestPeer);
        assert_eq!(ranking.baseline.unwrap().peer, "threadpool");
        assert_eq!(ranking.ratio(&rows[1]).unwrap().middle, 0.5);
    }

    #[test]
    fn a_ratio_below_one_is_better_for_shares_too() {
        let rows = [
            row("rayon", 50.0, Unit::Percent),
            row("windlass", 100.0, Unit::Percent),
        ];
        let ranking = Ranking::new(&rows, Baseline::BestPeer);
        assert_eq!(ranking.rows[0].peer, "windlass");
        assert_eq!(ranking.ratio(&rows[1]).unwrap().middle, 0.5);
    }

    #[test]
    fn each_of_our_pools_has_a_verdict_and_no_addition_has() {
        let rows = [
            row("windlass", 5.0, Unit::Nanos),
            row("windlass+box", 6.0, Unit::Nanos),
            row("windlass-fork-join", 20.0, Unit::Nanos),
            row("rayon", 10.0, Unit::Nanos),
        ];
        let verdicts: Vec<_> = Ranking::new(&rows, Baseline::BestPeer).verdicts().collect();
        assert_eq!(
            verdicts,
            [
                "windlass / best peer (rayon) = 0.50",
                "windlass-fork-join / best peer (rayon) = 2.00"
            ]
        );
    }

    #[test]
    fn plain_windlass_is_not_compared_with_itself() {
        let rows = [
            row("windlass", 5.0, Unit::Nanos),
            row("windlass+hooks", 6.0, Unit::Nanos),
        ];
        assert_eq!(Ranking::new(&rows, Baseline::Plain).pools().count(), 0);
    }

    #[test]
    fn counts_are_not_compared() {
        let rows = [row("rayon", 4.0, Unit::Count)];
        assert!(Ranking::new(&rows, Baseline::BestPeer).baseline.is_none());
    }

    #[test]
    fn groups_keep_points_and_metrics_apart() {
        let mut other = row("rayon", 1.0, Unit::Nanos);
        other.metric = "y".to_owned();
        let rows = [
            row("rayon", 1.0, Unit::Nanos),
            other,
            row("chili", 2.0, Unit::Nanos),
        ];
        let sizes: Vec<_> = groups(&rows).iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1]);
    }
}

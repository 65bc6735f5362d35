//! The performance goals, and whether a record meets them.

use super::markdown::line;
use crate::harness::record::Row;
use crate::harness::table::{self, Ranking, digits};
use crate::harness::workload::Baseline;
use crate::instruments::quantile::quantile;

/// One line of the table.
struct Goal {
    workload: &'static str,
    metric: &'static str,
    /// The points that count: all that have this parameter with this value.
    only: Option<(&'static str, &'static str)>,
    /// The best of these counts at each point.
    ours: &'static [&'static str],
    against: Against,
    asked: &'static str,
    /// The most that the worst cell may have.
    worst: Option<f64>,
    /// The most that the median cell may have.
    median: Option<f64>,
}

/// What our figure is divided by.
#[derive(Clone, Copy)]
enum Against {
    /// The best of all peers.
    BestPeer,
    /// The best of these.
    Best(&'static [&'static str]),
    /// Windlass without the addition.
    Plain,
    /// Our own best figure of the sweep, that is of the points with the same `what`.
    OwnBest,
    /// Nothing: the figure itself counts.
    One,
}

/// The ratio at one point.
struct Cell {
    value: f64,
    /// The point, and who is compared there.
    place: String,
}

const WINDLASS: &[&str] = &["windlass"];
const FORK_JOIN: &[&str] = &["windlass-fork-join"];
const SCHEDULED: &[&str] = &["windlass-scheduled"];
const TIMERS: Against = Against::Best(&["tokio-sleep", "tokio-delay-queue", "jdk-scheduled"]);

/// A goal for plain Windlass against the best peer, with nothing asked yet.
const fn goal(workload: &'static str, metric: &'static str, asked: &'static str) -> Goal {
    Goal {
        workload,
        metric,
        only: None,
        ours: WINDLASS,
        against: Against::BestPeer,
        asked,
        worst: None,
        median: None,
    }
}

impl Goal {
    const fn only(mut self, key: &'static str, value: &'static str) -> Self {
        self.only = Some((key, value));
        self
    }

    const fn ours(mut self, ours: &'static [&'static str]) -> Self {
        self.ours = ours;
        self
    }

    const fn against(mut self, against: Against) -> Self {
        self.against = against;
        self
    }

    const fn worst(mut self, limit: f64) -> Self {
        self.worst = Some(limit);
        self
    }

    const fn median(mut self, limit: f64) -> Self {
        self.median = Some(limit);
        self
    }
}

/// Every peer of W3 and W4 lets idle threads sleep, so all count as parking there; some search for
/// work for a while before, `executors-stealing` among them.
#[rustfmt::skip]
const GOALS: &[Goal] = &[
    goal("W1", "per task", "1.3 times the throughput of the best peer in every cell, 2 times in the median").worst(1.0 / 1.3).median(0.5),
    goal("W1", "per task", "3 times `threadpool`").against(Against::Best(&["threadpool"])).median(1.0 / 3.0),
    goal("W1", "per task", "3 times `jdk-linked`").against(Against::Best(&["jdk-linked"])).median(1.0 / 3.0),
    goal("W2", "per task", "1.3 times the throughput of the best peer in every cell, 2 times in the median").worst(1.0 / 1.3).median(0.5),
    goal("W2", "per task", "3 times `threadpool`").against(Against::Best(&["threadpool+oneshot"])).median(1.0 / 3.0),
    goal("W2", "per task", "3 times `jdk-linked`").against(Against::Best(&["jdk-linked"])).median(1.0 / 3.0),
    goal("W3", "round trip p50", "not slower than the best parking peer").median(1.05),
    goal("W3", "round trip p99", "not slower than the best parking peer").median(1.05),
    goal("W4", "wake-up p50", "not slower than the best parking peer").median(1.05),
    goal("W4", "wake-up p99", "not slower than the best parking peer").median(1.05),
    goal("W5", "per task", "ahead of all").ours(&["windlass", "windlass-array"]).worst(1.0),
    goal("W6", "per task", "ahead of all").worst(1.0),
    goal("W7", "time", "fib: 2 times as fast as rayon").only("what", "fib").ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(0.5),
    goal("W7", "time", "tree: 2 times as fast as rayon").only("what", "tree").ours(FORK_JOIN).against(Against::Best(&["rayon"])).worst(0.5),
    goal("W7", "time", "fib: not behind chili by more than 1.2").only("what", "fib").ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W7", "time", "tree: not behind chili by more than 1.2").only("what", "tree").ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W7", "time", "sort: not behind chili by more than 1.2").only("what", "sort").ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W7", "time", "sum: not behind chili by more than 1.2").only("what", "sum").ours(FORK_JOIN).against(Against::Best(&["chili"])).worst(1.2),
    goal("W8", "per task", "ahead of all").ours(&["windlass", "windlass-fork-join"]).worst(1.0),
    goal("W9", "insert", "2 times as fast as tokio's timers and the JDK's").ours(SCHEDULED).against(TIMERS).worst(0.5),
    goal("W9", "cancel and free", "2 times as fast as tokio's timers and the JDK's").ours(SCHEDULED).against(TIMERS).worst(0.5),
    goal("W9", "late p50", "no later than the best peer").ours(SCHEDULED).worst(1.05),
    goal("W9", "late p99", "no later than the best peer").ours(SCHEDULED).worst(1.05),
    goal("W10", "bytes each", "a small queued task takes at most 40 bytes").only("what", "queued").against(Against::One).worst(40.0),
    goal("W11", "efficiency", "ahead of all").worst(1.0),
    goal("W13", "per task", "statistics cost under 5 %").ours(&["windlass+stats"]).against(Against::Plain).worst(1.05),
    goal("W13", "per task", "hooks cost under 5 %").ours(&["windlass+hooks"]).against(Against::Plain).worst(1.05),
    goal("W13", "per task", "names cost under 5 %").ours(&["windlass+names"]).against(Against::Plain).worst(1.05),
    goal("W14", "per task", "64 workers: within 2 times of the best point").only("workers", "64").against(Against::OwnBest).worst(2.0),
    goal("W14", "per task", "10^6 queued: within 2 times of the best point").only("queued", "1000000").against(Against::OwnBest).worst(2.0),
];

/// Writes the section.
pub(super) fn write(text: &mut String, rows: &[Row]) {
    line(text, "\n## Goals\n");
    line(
        text,
        "A cell is one point of a workload. Figures are Windlass's divided by those it is compared \
         with, below one is better; in W10 they are bytes. All peers of W3 and W4 let idle threads \
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
                format!("{} ({})", digits(cell.value), cell.place)
            }),
            median(&cells).map_or(String::new(), digits),
            goal.verdict(&cells),
        ];
        line(text, &format!("| {} |", columns.join(" | ")));
    }
}

impl Goal {
    /// Returns the ratio at each point of the record, in its order.
    fn cells(&self, rows: &[Row]) -> Vec<Cell> {
        let of_it = |row: &&Row| row.workload == self.workload && row.metric == self.metric;
        let rows: Vec<Row> = rows.iter().filter(of_it).cloned().collect();
        let groups = table::groups(&rows).into_iter();
        let is_asked = |group: &Vec<&Row>| {
            self.only
                .is_none_or(|(key, value)| group[0].point.get(key) == Some(value))
        };
        groups
            .filter(is_asked)
            .filter_map(|group| self.cell(group, &rows))
            .collect()
    }

    /// Returns the ratio at one point, if both sides were measured there.
    fn cell(&self, group: Vec<&Row>, all: &[Row]) -> Option<Cell> {
        let counts = |row: &&Row| match self.against {
            _ if self.is_ours(row) => true,
            Against::Best(names) => names.contains(&row.peer.as_str()),
            _ => true,
        };
        let baseline = match self.against {
            Against::Plain => Baseline::Plain,
            _ => Baseline::BestPeer,
        };
        let ranking = Ranking::new(group.into_iter().filter(counts), baseline);
        let ours = *ranking.rows.iter().find(|row| self.is_ours(row))?;
        let (value, whom) = match self.against {
            Against::One => (ours.median, ours.peer.clone()),
            Against::OwnBest => (
                ours.median / self.best_of_sweep(ours, all),
                ours.peer.clone(),
            ),
            _ => {
                let whom = format!("{} to {}", ours.peer, ranking.baseline?.peer);
                (ranking.ratio(ours)?, whom)
            }
        };
        let place = format!("{whom}, {}", ours.point.words());
        Some(Cell { value, place })
    }

    fn is_ours(&self, row: &Row) -> bool {
        self.ours.contains(&row.peer.as_str())
    }

    /// The least that the same pool has at any point of the same kind.
    fn best_of_sweep(&self, ours: &Row, all: &[Row]) -> f64 {
        let kind = ours.point.get("what");
        all.iter()
            .filter(|row| row.peer == ours.peer && row.point.get("what") == kind)
            .map(|row| row.median)
            .fold(f64::INFINITY, f64::min)
    }

    fn how(&self) -> String {
        let ours = match self.ours {
            [one] => (*one).to_owned(),
            several => format!("the better of {}", several.join(" and ")),
        };
        let against = match self.against {
            Against::BestPeer => "to the best peer".to_owned(),
            Against::Best([one]) => format!("to {one}"),
            Against::Best(several) => format!("to the best of {}", several.join(", ")),
            Against::Plain => "to plain windlass".to_owned(),
            Against::OwnBest => "to its own best point of the sweep".to_owned(),
            Against::One => "as it is".to_owned(),
        };
        let limit = |what: &str, limit: Option<f64>| {
            limit.map(|limit| format!("{what} at most {}", digits(limit)))
        };
        let limits = [
            limit("every cell", self.worst),
            limit("median cell", self.median),
        ];
        let limits: Vec<_> = limits.into_iter().flatten().collect();
        format!("{}: {ours} {against}; {}", self.metric, limits.join(", "))
    }

    fn verdict(&self, cells: &[Cell]) -> String {
        let (Some(worst), Some(median)) = (worst(cells), median(cells)) else {
            return "not measured".to_owned();
        };
        let excess = |which: &str, value: f64, limit: Option<f64>| {
            let limit = limit.filter(|limit| value > *limit)?;
            let share = 100.0 * (value / limit - 1.0);
            Some(format!("{} % in the {which} cell", digits(share)))
        };
        let excesses = [
            excess("worst", worst.value, self.worst),
            excess("median", median, self.median),
        ];
        let excesses: Vec<_> = excesses.into_iter().flatten().collect();
        if excesses.is_empty() {
            "met".to_owned()
        } else {
            format!("missed by {}", excesses.join(", "))
        }
    }
}

fn worst(cells: &[Cell]) -> Option<&Cell> {
    cells.iter().max_by(|a, b| a.value.total_cmp(&b.value))
}

fn median(cells: &[Cell]) -> Option<f64> {
    let mut values: Vec<f64> = cells.iter().map(|cell| cell.value).collect();
    (!values.is_empty()).then(|| quantile(&mut values, 0.5))
}

#[cfg(test)]
mod tests {
    use super::{Against, GOALS, Goal, goal, median, worst};
    use crate::harness::figure::Unit;
    use crate::harness::point::Point;
    use crate::harness::record::Row;
    use crate::workloads;

    fn row(peer: &str, point: &str, value: f64) -> Row {
        let name = ("W1", &Point::parse(point), peer);
        Row::gather(name, ("x".to_owned(), Unit::Nanos), vec![value])
    }

    fn asked() -> Goal {
        goal("W1", "x", "")
    }

    fn three_points() -> Vec<Row> {
        let at = |workers: &str, ours| {
            let point = format!("workers={workers}");
            [
                row("windlass", &point, ours),
                row("rayon", &point, 10.0),
                row("chili", &point, 20.0),
            ]
        };
        [at("1", 4.0), at("2", 8.0), at("4", 2.0)].concat()
    }

    #[test]
    fn the_worst_and_the_median_cell_are_found() {
        let cells = asked().cells(&three_points());
        assert_eq!(worst(&cells).unwrap().value, 0.8);
        assert_eq!(worst(&cells).unwrap().place, "windlass to rayon, 2 workers");
        assert_eq!(median(&cells), Some(0.4));
    }

    #[test]
    fn a_goal_is_met_if_both_limits_are_kept() {
        let rows = three_points();
        let verdict = |goal: Goal| goal.verdict(&goal.cells(&rows));
        assert_eq!(verdict(asked().worst(0.8).median(0.4)), "met");
        assert_eq!(
            verdict(asked().worst(0.5).median(0.4)),
            "missed by 60.0 % in the worst cell"
        );
        assert_eq!(
            verdict(asked().worst(0.8).median(0.2)),
            "missed by 100 % in the median cell"
        );
    }

    #[test]
    fn without_one_of_the_sides_nothing_is_measured() {
        let rows = three_points();
        for goal in [
            asked().worst(1.0).against(Against::Best(&["jdk-linked"])),
            asked().worst(1.0).ours(&["windlass-array"]),
            asked().worst(1.0).only("workers", "64"),
        ] {
            assert_eq!(goal.verdict(&goal.cells(&rows)), "not measured");
        }
    }

    #[test]
    fn only_the_named_peers_count() {
        let cells = asked()
            .against(Against::Best(&["chili"]))
            .cells(&three_points());
        assert_eq!(worst(&cells).unwrap().value, 0.4);
    }

    #[test]
    fn the_best_of_ours_counts_at_each_point() {
        let mut rows = three_points();
        rows.push(row("windlass-array", "workers=2", 3.0));
        let cells = asked().ours(&["windlass", "windlass-array"]).cells(&rows);
        assert_eq!(worst(&cells).unwrap().value, 0.4);
    }

    #[test]
    fn an_addition_is_compared_with_plain_windlass() {
        let mut rows = three_points();
        rows.push(row("windlass+hooks", "workers=2", 10.0));
        let cells = asked()
            .ours(&["windlass+hooks"])
            .against(Against::Plain)
            .cells(&rows);
        assert_eq!(worst(&cells).unwrap().value, 1.25);
    }

    #[test]
    fn a_sweep_is_compared_with_its_own_best_point() {
        let rows = [
            row("windlass", "what=workers,workers=1", 4.0),
            row("windlass", "what=workers,workers=64", 6.0),
            row("windlass", "what=queued,workers=2", 1.0),
        ];
        let cells = asked()
            .only("workers", "64")
            .against(Against::OwnBest)
            .cells(&rows);
        assert_eq!(worst(&cells).unwrap().value, 1.5);
    }

    #[test]
    fn a_figure_can_count_as_it_is() {
        let cells = asked().against(Against::One).cells(&three_points());
        assert_eq!(worst(&cells).unwrap().value, 8.0);
    }

    #[test]
    fn every_goal_is_of_a_workload_and_has_a_limit() {
        let all = workloads::all();
        for goal in GOALS {
            assert!(all.iter().any(|workload| workload.id == goal.workload));
            assert!(goal.worst.or(goal.median).is_some(), "{}", goal.asked);
        }
    }
}

//! A performance goal, and how a record is judged by it.

use crate::harness::figure::digits;
use crate::harness::point::Point;
use crate::harness::record::Row;
use crate::harness::span::Span;
use crate::harness::table::{self, Ranking};
use crate::harness::workload::Baseline;
use crate::instruments::quantile::quantile;

/// Stands for every value of a parameter.
pub(super) const ANY: &str = "any";

/// What is asked of one metric of a workload.
pub(super) struct Goal {
    pub(super) workload: &'static str,
    pub(super) metric: &'static str,
    /// The points that count: all that have these parameters with these values.
    only: &'static [(&'static str, &'static str)],
    /// The best of these counts at each point.
    ours: &'static [&'static str],
    against: Against,
    pub(super) asked: &'static str,
    /// The most that the worst cell may have.
    worst: Option<f64>,
    /// The most that the median cell may have.
    median: Option<f64>,
}

/// What our figure is divided by.
#[derive(Clone, Copy)]
pub(super) enum Against {
    /// The best of all peers.
    BestPeer,
    /// The best of these.
    Best(&'static [&'static str]),
    /// Windlass without the addition.
    Plain,
    /// Windlass without what the plain pool has.
    Without(&'static str),
    /// Our own best figure of the sweep, that is of the points with the same `what`.
    OwnBest,
    /// Nothing: the figure itself counts.
    One,
}

/// The ratio at one point.
pub(super) struct Cell {
    pub(super) value: Span,
    /// The point, and who is compared there.
    pub(super) place: String,
}

/// A goal for plain Windlass against the best peer, with nothing asked yet.
pub(super) const fn goal(
    workload: &'static str,
    metric: &'static str,
    asked: &'static str,
) -> Goal {
    Goal {
        workload,
        metric,
        only: &[],
        ours: &["windlass"],
        against: Against::BestPeer,
        asked,
        worst: None,
        median: None,
    }
}

impl Goal {
    pub(super) const fn only(mut self, only: &'static [(&'static str, &'static str)]) -> Self {
        self.only = only;
        self
    }

    pub(super) const fn ours(mut self, ours: &'static [&'static str]) -> Self {
        self.ours = ours;
        self
    }

    pub(super) const fn against(mut self, against: Against) -> Self {
        self.against = against;
        self
    }

    pub(super) const fn worst(mut self, limit: f64) -> Self {
        self.worst = Some(limit);
        self
    }

    pub(super) const fn median(mut self, limit: f64) -> Self {
        self.median = Some(limit);
        self
    }
}

impl Goal {
    /// Returns the ratio at each point of the record, in its order.
    pub(super) fn cells(&self, rows: &[Row]) -> Vec<Cell> {
        let of_it = |row: &&Row| row.workload == self.workload && row.metric == self.metric;
        let rows: Vec<Row> = rows.iter().filter(of_it).cloned().collect();
        let groups = table::groups(&rows).into_iter();
        let is_asked = |group: &Vec<&Row>| self.counts(&group[0].point);
        groups
            .filter(is_asked)
            .filter_map(|group| self.cell(group, &rows))
            .collect()
    }

    /// Whether anything is asked at all.
    #[cfg(test)]
    pub(super) const fn has_limit(&self) -> bool {
        self.worst.is_some() || self.median.is_some()
    }

    /// Whether a point is one of those that are asked for.
    pub(super) fn counts(&self, point: &Point) -> bool {
        let mut only = self.only.iter();
        only.all(|(key, value)| {
            let found = point.get(key);
            found.is_some_and(|found| *value == ANY || *value == found)
        })
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
            Against::One => (ours.span(), ours.peer.clone()),
            Against::Without(name) => {
                let without = ranking.rows.iter().find(|row| row.peer == name)?;
                let whom = format!("{} to {name}", ours.peer);
                (ours.span().over(without.span()), whom)
            }
            Against::OwnBest => (
                ours.span().over(best_of_sweep(ours, all)),
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

    pub(super) fn how(&self) -> String {
        let ours = match self.ours {
            [one] => (*one).to_owned(),
            several => format!("the better of {}", several.join(" and ")),
        };
        let against = match self.against {
            Against::BestPeer => "to the best peer".to_owned(),
            Against::Best([one]) => format!("to {one}"),
            Against::Best(several) => format!("to the best of {}", several.join(", ")),
            Against::Plain => "to plain windlass".to_owned(),
            Against::Without(name) => format!("to {name}"),
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

    /// Whether the goal is met. It is open where ranges do not tell.
    pub(super) fn verdict(&self, cells: &[Cell]) -> String {
        let (Some(worst), Some(median)) = (worst_value(cells), median(cells)) else {
            return "not measured".to_owned();
        };
        let judged = [
            judge("worst", worst, self.worst),
            judge("median", median, self.median),
        ];
        let judged: Vec<_> = judged.into_iter().flatten().collect();
        let missed = judged.iter().filter_map(|judgement| match judgement {
            Judgement::Missed(text) => Some(text.as_str()),
            Judgement::Open(_) => None,
        });
        let missed: Vec<_> = missed.collect();
        if !missed.is_empty() {
            return format!("missed by {}", missed.join(", "));
        }
        let open = judged.iter().map(|judgement| match judgement {
            Judgement::Missed(text) | Judgement::Open(text) => text.as_str(),
        });
        let open: Vec<_> = open.collect();
        if open.is_empty() {
            "met".to_owned()
        } else {
            format!("open: {}", open.join(", "))
        }
    }
}

/// What keeps a goal from being met.
enum Judgement {
    Missed(String),
    Open(String),
}

fn judge(which: &str, value: Span, limit: Option<f64>) -> Option<Judgement> {
    let limit = limit.filter(|limit| value.high > *limit)?;
    if value.low > limit {
        let share = digits(100.0 * (value.middle / limit - 1.0));
        return Some(Judgement::Missed(format!("{share} % in the {which} cell")));
    }
    let (low, high) = (digits(value.low), digits(value.high));
    Some(Judgement::Open(format!(
        "between {low} and {high} in the {which} cell"
    )))
}

/// The least that the same pool has at any point of the same kind.
fn best_of_sweep(ours: &Row, all: &[Row]) -> Span {
    let kind = ours.point.get("what");
    let sweep = all
        .iter()
        .filter(|row| row.peer == ours.peer && row.point.get("what") == kind);
    let best = sweep.min_by(|a, b| a.median.total_cmp(&b.median));
    best.map_or(ours.span(), Row::span)
}

/// The cell with the largest value.
pub(super) fn worst(cells: &[Cell]) -> Option<&Cell> {
    let by_value = |a: &&Cell, b: &&Cell| a.value.middle.total_cmp(&b.value.middle);
    cells.iter().max_by(by_value)
}

/// The largest value; with ranges, between the largest of their lower and of their upper ends.
fn worst_value(cells: &[Cell]) -> Option<Span> {
    of_all(cells, |values| {
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    })
}

/// The median value; with ranges, between the medians of their ends.
pub(super) fn median(cells: &[Cell]) -> Option<Span> {
    of_all(cells, |values| quantile(values, 0.5))
}

fn of_all(cells: &[Cell], of: impl Fn(&mut [f64]) -> f64) -> Option<Span> {
    let of = |end: fn(&Span) -> f64| {
        let mut values: Vec<f64> = cells.iter().map(|cell| end(&cell.value)).collect();
        of(&mut values)
    };
    (!cells.is_empty()).then(|| Span {
        low: of(|value| value.low),
        middle: of(|value| value.middle),
        high: of(|value| value.high),
    })
}

#[cfg(test)]
mod tests {
    use super::{Against, Goal, goal, median, worst};
    use crate::harness::figure::Unit;
    use crate::harness::point::Point;
    use crate::harness::record::Row;

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
        assert_eq!(worst(&cells).unwrap().value.middle, 0.8);
        assert_eq!(worst(&cells).unwrap().place, "windlass to rayon, 2 workers");
        assert_eq!(median(&cells).unwrap().middle, 0.4);
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
    fn a_range_across_the_limit_leaves_a_goal_open() {
        let mut rows = three_points();
        let wide = ("W1", &Point::parse("workers=2"), "windlass");
        rows[3] = Row::gather(wide, ("x".to_owned(), Unit::Nanos), vec![6.0, 8.0, 12.0]);
        let verdict = |limit| {
            let goal = asked().worst(limit);
            goal.verdict(&goal.cells(&rows))
        };
        assert_eq!(verdict(1.2), "met");
        assert_eq!(
            verdict(1.0),
            "open: between 0.60 and 1.20 in the worst cell"
        );
        assert_eq!(verdict(0.5), "missed by 60.0 % in the worst cell");
    }

    #[test]
    fn without_one_of_the_sides_nothing_is_measured() {
        let rows = three_points();
        for goal in [
            asked().worst(1.0).against(Against::Best(&["jdk-linked"])),
            asked().worst(1.0).ours(&["windlass-array"]),
            asked().worst(1.0).only(&[("workers", "64")]),
        ] {
            assert_eq!(goal.verdict(&goal.cells(&rows)), "not measured");
        }
    }

    #[test]
    fn only_the_named_peers_count() {
        let cells = asked()
            .against(Against::Best(&["chili"]))
            .cells(&three_points());
        assert_eq!(worst(&cells).unwrap().value.middle, 0.4);
    }

    #[test]
    fn the_best_of_ours_counts_at_each_point() {
        let mut rows = three_points();
        rows.push(row("windlass-array", "workers=2", 3.0));
        let cells = asked().ours(&["windlass", "windlass-array"]).cells(&rows);
        assert_eq!(worst(&cells).unwrap().value.middle, 0.4);
    }

    #[test]
    fn an_addition_is_compared_with_plain_windlass() {
        let mut rows = three_points();
        rows.push(row("windlass+hooks", "workers=2", 10.0));
        let cells = asked()
            .ours(&["windlass+hooks"])
            .against(Against::Plain)
            .cells(&rows);
        assert_eq!(worst(&cells).unwrap().value.middle, 1.25);
    }

    #[test]
    fn a_sweep_is_compared_with_its_own_best_point() {
        let rows = [
            row("windlass", "what=workers,workers=1", 4.0),
            row("windlass", "what=workers,workers=64", 6.0),
            row("windlass", "what=queued,workers=2", 1.0),
        ];
        let cells = asked()
            .only(&[("workers", "64")])
            .against(Against::OwnBest)
            .cells(&rows);
        assert_eq!(worst(&cells).unwrap().value.middle, 1.5);
    }

    #[test]
    fn a_figure_can_count_as_it_is() {
        let cells = asked().against(Against::One).cells(&three_points());
        assert_eq!(worst(&cells).unwrap().value.middle, 8.0);
    }
}

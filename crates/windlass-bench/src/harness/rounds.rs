//! Takes the samples of one point, round by round.
//!
//! In each round every peer takes one sample, so that what disturbs the machine hits all alike. The
//! order shifts from round to round, so that nobody always follows the same neighbour.
//!
//! A few samples tell some medians well and others badly, so a point may get further rounds: of
//! ours and of those peers that may be the best, until their medians are steady.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::figure::{Better, Figure, Unit};
use super::jdk::Jdk;
use super::point::Point;
use super::record::{Entry, Row};
use super::sample;
use super::table::{self, Ranking};
use super::workload::{Jvm, Workload};

/// Who takes samples.
pub(crate) struct Rounds<'a> {
    /// The peers that may take part; all, if there are none here.
    pub(crate) peers: &'a [String],
    pub(crate) jdk: Option<&'a mut Jdk>,
}

/// A point with the samples taken so far.
pub(crate) struct Measured<'w> {
    pub(crate) workload: &'w Workload,
    pub(crate) point: Point,
    runners: Vec<Runner>,
    gathered: Gathered,
    /// Why peers failed, which then take no further sample.
    failed: HashMap<usize, String>,
    rounds: usize,
}

/// Who takes a sample, and where.
struct Runner {
    name: String,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    Java(Jvm),
}

type Gathered = BTreeMap<(usize, String), (Unit, Vec<f64>)>;

impl Rounds<'_> {
    /// A point of which no sample is taken yet.
    pub(crate) fn prepare<'w>(&self, workload: &'w Workload, point: Point) -> Measured<'w> {
        Measured {
            workload,
            runners: self.runners(workload, &point),
            point,
            gathered: Gathered::new(),
            failed: HashMap::new(),
            rounds: 0,
        }
    }

    fn runners(&self, workload: &Workload, point: &Point) -> Vec<Runner> {
        let here = (workload.participants)(point)
            .into_iter()
            .map(|participant| Runner {
                name: participant.name,
                place: Place::Here,
            });
        let java = (workload.jdk)(point).into_iter().map(|name| Runner {
            name: name.to_owned(),
            place: Place::Java(workload.jvm),
        });
        let may = |runner: &Runner| {
            let wanted = self.peers.is_empty() || self.peers.contains(&runner.name);
            wanted && (runner.place == Place::Here || self.jdk.is_some())
        };
        here.chain(java).filter(may).collect()
    }

    /// Takes a sample of each of these in each of so many rounds. The persistent Java process
    /// takes `warm_ups` before, so that it has compiled what it is about to run.
    pub(crate) fn take(
        &mut self,
        measured: &mut Measured<'_>,
        who: &BTreeSet<usize>,
        (warm_ups, rounds): (usize, usize),
    ) {
        let is_persistent =
            |at: &&usize| measured.runners[**at].place == Place::Java(Jvm::Persistent);
        for _ in 0..warm_ups {
            for at in who.iter().filter(is_persistent) {
                // A failure shows again in the first round, and is noticed there.
                let _ = self.sample(measured, *at);
            }
        }
        let who: Vec<usize> = who.iter().copied().collect();
        for _ in 0..rounds {
            for turn in 0..who.len() {
                let at = who[(turn + measured.rounds * 5) % who.len()];
                if measured.failed.contains_key(&at) {
                    continue;
                }
                match self.sample(measured, at) {
                    Ok(figures) => gather(&mut measured.gathered, at, figures),
                    Err(reason) => drop(measured.failed.insert(at, reason)),
                }
            }
            measured.rounds += 1;
        }
    }

    fn sample(&mut self, measured: &Measured<'_>, at: usize) -> Result<Vec<Figure>, String> {
        let (workload, point) = (measured.workload.id, &measured.point);
        let Runner { name, place } = &measured.runners[at];
        match (place, &mut self.jdk) {
            (Place::Here, _) => sample::take(workload, point, name),
            (Place::Java(Jvm::Persistent), Some(jdk)) => jdk.take(workload, point, name),
            (Place::Java(Jvm::Fresh), Some(jdk)) => jdk.take_fresh(workload, point, name),
            (Place::Java(_), None) => Err("there is no JDK".to_owned()),
        }
    }
}

impl Measured<'_> {
    /// All that take part.
    pub(crate) fn everyone(&self) -> BTreeSet<usize> {
        (0..self.runners.len()).collect()
    }

    /// The number of rounds so far.
    pub(crate) const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Those whose further samples would tell more: ours and those that may be the best, if one of
    /// them has a median that is not steady.
    pub(crate) fn unsteady(&self) -> BTreeSet<usize> {
        let rows: Vec<Row> = self.entries().filter_map(Entry::into_row).collect();
        let mut chosen = BTreeSet::new();
        let mut is_steady = true;
        for group in table::groups(&rows) {
            let contenders = contenders(&Ranking::new(group, self.workload.baseline));
            is_steady &= contenders.iter().all(|row| row.span().is_steady());
            chosen.extend(contenders.into_iter().map(|row| row.peer.as_str()));
        }
        if is_steady {
            return BTreeSet::new();
        }
        let places = self.runners.iter().enumerate();
        let chosen = places.filter(|(at, runner)| {
            chosen.contains(runner.name.as_str()) && !self.failed.contains_key(at)
        });
        chosen.map(|(at, _)| at).collect()
    }

    /// A row for each peer and metric, and a notice for each peer that failed.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        let rows = self.gathered.iter().map(|((at, metric), (unit, values))| {
            let name = (
                self.workload.id,
                &self.point,
                self.runners[*at].name.as_str(),
            );
            Entry::Row(Row::gather(name, (metric.clone(), *unit), values.clone()))
        });
        let notices = self.failed.iter().map(|(at, reason)| {
            let (id, point, peer) = (self.workload.id, &self.point, &self.runners[*at].name);
            Entry::Notice(format!("{id} {point}: {peer} failed: {reason}"))
        });
        rows.chain(notices)
    }
}

/// Ours, and those that may be the best as far as the samples tell. None, if nothing is compared.
fn contenders<'a>(ranking: &Ranking<'a>) -> Vec<&'a Row> {
    let Some(best) = ranking.baseline else {
        return Vec::new();
    };
    let may_be_best = |row: &Row| match row.unit.better() {
        Better::Lower => row.span().low <= best.span().high,
        Better::Higher => row.span().high >= best.span().low,
        Better::Neither => false,
    };
    let rows = ranking.rows.iter().copied();
    let counts = |row: &&Row| row.is_ours() || (!row.is_reference() && may_be_best(row));
    rows.filter(counts).collect()
}

fn gather(gathered: &mut Gathered, at: usize, figures: Vec<Figure>) {
    for figure in figures {
        let entry = gathered.entry((at, figure.metric));
        let (_, values) = entry.or_insert_with(|| (figure.unit, Vec::new()));
        values.push(figure.value);
    }
}

#[cfg(test)]
mod tests {
    use super::contenders;
    use crate::harness::figure::Unit;
    use crate::harness::point::Point;
    use crate::harness::record::Row;
    use crate::harness::table::Ranking;
    use crate::harness::workload::Baseline;

    fn row(peer: &str, values: &[f64]) -> Row {
        let name = ("W1", &Point::parse("workers=2"), peer);
        Row::gather(name, ("x".to_owned(), Unit::Nanos), values.to_vec())
    }

    #[test]
    fn ours_and_those_that_may_be_the_best_contend() {
        let rows = [
            row("windlass", &[50.0, 50.0, 50.0]),
            row("rayon", &[10.0, 20.0, 30.0]),
            row("kanal", &[25.0, 25.0, 26.0]),
            row("tokio", &[31.0, 31.0, 31.0]),
            row("no-pool", &[1.0, 1.0, 1.0]),
        ];
        let ranking = Ranking::new(&rows, Baseline::BestPeer);
        let names: Vec<_> = contenders(&ranking)
            .iter()
            .map(|row| row.peer.as_str())
            .collect();
        assert_eq!(names, ["rayon", "kanal", "windlass"]);
    }
}

//! Takes the samples of one point, round by round.
//!
//! In each round every peer takes one sample, so that what disturbs the machine hits all alike. The
//! order shifts from round to round, so that nobody always follows the same neighbour.

use std::collections::{BTreeMap, HashMap};

use super::figure::{Figure, Unit};
use super::jdk::Jdk;
use super::point::Point;
use super::record::{Entry, Row};
use super::sample;
use super::workload::{Jvm, Workload};

/// How a point is measured.
pub(crate) struct Rounds<'a> {
    pub(crate) rounds: usize,
    /// Samples that each Java peer takes before those that count.
    pub(crate) warm_ups: usize,
    /// The peers that may take part; all, if there are none here.
    pub(crate) peers: &'a [String],
    pub(crate) jdk: Option<&'a mut Jdk>,
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
    /// All rows of one point, and a notice for each peer that failed.
    pub(crate) fn measure(&mut self, workload: &Workload, point: &Point) -> Vec<Entry> {
        let runners = self.runners(workload, point);
        let mut failed: HashMap<usize, String> = HashMap::new();
        let mut gathered = Gathered::new();
        self.warm_up(workload, point, &runners);
        for round in 0..self.rounds {
            for turn in 0..runners.len() {
                let at = (turn + round * 5) % runners.len();
                if failed.contains_key(&at) {
                    continue;
                }
                match self.take(workload, point, &runners[at]) {
                    Ok(figures) => gather(&mut gathered, at, figures),
                    Err(reason) => drop(failed.insert(at, reason)),
                }
            }
        }
        entries(workload, point, &runners, (gathered, failed))
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

    /// Lets the persistent Java process compile what it is about to run.
    fn warm_up(&mut self, workload: &Workload, point: &Point, runners: &[Runner]) {
        let persistent = |runner: &&Runner| runner.place == Place::Java(Jvm::Persistent);
        for _ in 0..self.warm_ups {
            for runner in runners.iter().filter(persistent) {
                // A failure shows again in the first round, and is noticed there.
                let _ = self.take(workload, point, runner);
            }
        }
    }

    fn take(
        &mut self,
        workload: &Workload,
        point: &Point,
        runner: &Runner,
    ) -> Result<Vec<Figure>, String> {
        match (runner.place, &mut self.jdk) {
            (Place::Here, _) => sample::take(workload.id, point, &runner.name),
            (Place::Java(Jvm::Persistent), Some(jdk)) => jdk.take(workload.id, point, &runner.name),
            (Place::Java(Jvm::Fresh), Some(jdk)) => {
                jdk.take_fresh(workload.id, point, &runner.name)
            }
            (Place::Java(_), None) => Err("there is no JDK".to_owned()),
        }
    }
}

fn gather(gathered: &mut Gathered, at: usize, figures: Vec<Figure>) {
    for figure in figures {
        let entry = gathered.entry((at, figure.metric));
        let (_, values) = entry.or_insert_with(|| (figure.unit, Vec::new()));
        values.push(figure.value);
    }
}

fn entries(
    workload: &Workload,
    point: &Point,
    runners: &[Runner],
    (gathered, failed): (Gathered, HashMap<usize, String>),
) -> Vec<Entry> {
    let rows = gathered.into_iter().map(|((at, metric), (unit, values))| {
        let name = (workload.id, point, runners[at].name.as_str());
        Entry::Row(Row::gather(name, (metric, unit), values))
    });
    let notices = failed.into_iter().map(|(at, reason)| {
        let peer = &runners[at].name;
        Entry::Notice(format!("{} {point}: {peer} failed: {reason}", workload.id))
    });
    rows.chain(notices).collect()
}

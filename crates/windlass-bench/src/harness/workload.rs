//! A workload: points to measure at, and the participants at each.

use super::figure::Figure;
use super::point::Point;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Just enough to see that it works.
    Tiny,
    /// All workloads within two minutes.
    Quick,
    /// For published figures.
    Full,
}

impl Size {
    /// One of three, by size.
    pub(crate) const fn pick<T: Copy>(self, tiny: T, quick: T, full: T) -> T {
        match self {
            Self::Tiny => tiny,
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// What is measured, at which points, and by whom.
pub(crate) struct Workload {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What is measured, for readers of the report.
    pub(crate) about: &'static str,
    pub(crate) points: fn(Size) -> Vec<Point>,
    /// The peers in this program.
    pub(crate) participants: fn(&Point) -> Vec<Participant>,
    /// The peers in the Java program.
    pub(crate) jdk: fn(&Point) -> Vec<&'static str>,
    /// What the ratio compares with.
    pub(crate) baseline: Baseline,
    pub(crate) jvm: Jvm,
    pub(crate) plot: Plot,
}

/// What the report draws of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plot {
    /// No plot.
    Nothing,
    /// Tasks per second, by peer.
    Throughput,
    /// Cost against one of these parameters.
    Scale(&'static [&'static str]),
}

/// What the figures of a workload are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// The best peer that is not Windlass.
    BestPeer,
    /// Plain Windlass: the workload measures what an addition costs.
    Plain,
}

/// Which Java process takes the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jvm {
    /// One that stays running, warmed up.
    Persistent,
    /// A fresh one each time, because the state of the process is what is measured.
    Fresh,
}

/// A peer at a workload.
#[derive(Clone)]
pub(crate) struct Participant {
    pub(crate) name: String,
    pub(crate) run: fn(&Point) -> Vec<Figure>,
}

/// Lists peers that take a sample of the same kind: `participants![sample; Windlass, Threadpool]`.
macro_rules! participants {
    ($run:ident; $($peer:ty),* $(,)?) => {
        vec![$(
            $crate::harness::workload::Participant {
                name: <$peer as $crate::peers::Peer>::name(),
                run: $run::<$peer>,
            }
        ),*]
    };
}
pub(crate) use participants;

/// Points from their texts.
pub(crate) fn points<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<Point> {
    let texts = texts.into_iter();
    texts.map(|text| Point::parse(text.as_ref())).collect()
}

//! The workloads, one file for each kind of sample.

mod additions;
mod bounded;
mod busy_tasks;
mod cached;
mod crowded;
mod empty_tasks;
mod fork_join;
mod frugality;
mod growth;
mod memory;
mod ping_pong;
mod results;
mod shutdown;
mod slices;
mod spawning;
mod stream;
mod timers;
mod wake_up;

use crate::harness::workload::Workload;

/// All of them, in the order of their ids.
pub(crate) fn all() -> Vec<Workload> {
    vec![
        empty_tasks::workload(),
        results::workload(),
        ping_pong::workload(),
        wake_up::workload(),
        bounded::workload(),
        cached::workload(),
        fork_join::workload(),
        spawning::workload(),
        timers::workload(),
        memory::workload(),
        busy_tasks::workload(),
        shutdown::workload(),
        additions::workload(),
        growth::workload(),
        frugality::workload(),
        crowded::workload(),
    ]
}

/// The peers that are a [`Pool`](crate::peers::Pool), for a sample of that name.
macro_rules! pools {
    ($run:ident) => {
        $crate::harness::workload::participants![
            $run;
            $crate::peers::Windlass,
            $crate::peers::WindlassForkJoin,
            $crate::peers::WindlassScheduled,
            $crate::peers::Threadpool,
            $crate::peers::Rayon,
            $crate::peers::RustyPool,
            $crate::peers::ExecutorsChannel,
            $crate::peers::ExecutorsStealing,
            $crate::peers::Tokio,
            $crate::peers::TokioBlocking,
            $crate::peers::Blocking,
            $crate::peers::AsyncExecutor,
            $crate::peers::FuturesPool,
            $crate::peers::Threadfin,
            $crate::peers::ScheduledPool,
            $crate::peers::ChannelPool<$crate::peers::Crossbeam>,
            $crate::peers::ChannelPool<$crate::peers::Kanal>,
        ]
    };
}
pub(crate) use pools;

/// The peers that are [`Returning`](crate::peers::Returning), for a sample of that name; pools
/// without handles have a oneshot channel for each task.
macro_rules! returning {
    ($run:ident) => {
        $crate::harness::workload::participants![
            $run;
            $crate::peers::Windlass,
            $crate::peers::WindlassForkJoin,
            $crate::peers::RustyPool,
            $crate::peers::ExecutorsChannel,
            $crate::peers::ExecutorsStealing,
            $crate::peers::Tokio,
            $crate::peers::TokioBlocking,
            $crate::peers::Blocking,
            $crate::peers::AsyncExecutor,
            $crate::peers::FuturesPool,
            $crate::peers::Threadfin,
            $crate::peers::WithOneshot<$crate::peers::Threadpool>,
            $crate::peers::WithOneshot<$crate::peers::Rayon>,
            $crate::peers::WithOneshot<$crate::peers::ChannelPool<$crate::peers::Crossbeam>>,
            $crate::peers::WithOneshot<$crate::peers::ChannelPool<$crate::peers::Kanal>>,
        ]
    };
}
pub(crate) use returning;

/// The pools of the Java side that answer to [`pools`].
pub(crate) const JDK_POOLS: [&str; 3] = ["jdk-linked", "jdk-fork-join", "jdk-scheduled"];

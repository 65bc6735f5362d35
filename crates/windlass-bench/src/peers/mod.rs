//! The peers: one file each, with its implementation of what workloads need.
//!
//! Each is used through its public interface, set up as its users would, with its threads started
//! beforehand where it offers that. A peer implements the families that it offers.

mod async_executor;
mod blocking;
mod channels;
mod chili;
mod condvar;
mod executors;
mod family;
mod futures_pool;
mod no_pool;
mod oneshot;
mod rayon;
mod rusty_pool;
mod scheduled_thread_pool;
mod sequential;
mod threadfin;
mod threadpool;
mod tokio;
mod tokio_blocking;
mod tokio_timers;
mod windlass;
mod windlass_additions;
mod windlass_fork_join;
mod windlass_scheduled;
mod windlass_watched;

pub(crate) use self::async_executor::AsyncExecutor;
pub(crate) use self::blocking::Blocking;
pub(crate) use self::channels::{ChannelPool, Crossbeam, Kanal};
pub(crate) use self::chili::Chili;
pub(crate) use self::condvar::CondvarPool;
pub(crate) use self::executors::{ExecutorsChannel, ExecutorsStealing};
pub(crate) use self::family::{
    Bounded, Cached, ForkJoin, Peer, Pool, Returning, Slices, StopsAtOnce, Timers, WhenFull,
};
pub(crate) use self::futures_pool::FuturesPool;
pub(crate) use self::no_pool::NoPool;
pub(crate) use self::oneshot::WithOneshot;
pub(crate) use self::rayon::Rayon;
pub(crate) use self::rusty_pool::RustyPool;
pub(crate) use self::scheduled_thread_pool::ScheduledPool;
pub(crate) use self::sequential::Sequential;
pub(crate) use self::threadfin::Threadfin;
pub(crate) use self::threadpool::Threadpool;
pub(crate) use self::tokio::Tokio;
pub(crate) use self::tokio_blocking::TokioBlocking;
pub(crate) use self::tokio_timers::{TokioDelayQueue, TokioSleep};
pub(crate) use self::windlass::{Windlass, WindlassArray, WindlassFairArray};
pub(crate) use self::windlass_additions::{Boxed, Hooked, Named, Untimed, Watched};
pub(crate) use self::windlass_fork_join::WindlassForkJoin;
pub(crate) use self::windlass_scheduled::WindlassScheduled;
pub(crate) use self::windlass_watched::{Consoled, Monitored};

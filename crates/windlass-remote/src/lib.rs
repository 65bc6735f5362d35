#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]

mod admin;
mod checkpoint;
mod client;
mod codec;
mod context;
pub mod engine;
pub mod envelope;
mod executor;
mod failure;
mod future;
mod id;
mod local;
mod metrics;
mod options;
mod pace;
mod rejected;
mod schedule;
mod service;
mod slot;
mod task;
mod turn;
mod wire;
mod worker;

pub use admin::QueueAdmin;
pub use checkpoint::CheckpointError;
pub use codec::{Codec, CodecError};
pub use context::TaskCx;
pub use envelope::SigningKey;
pub use executor::{AttachError, RemoteExecutor, RemoteExecutorBuilder};
pub use failure::{Failure, FailureKind};
pub use future::{RemoteError, RemoteFuture};
pub use id::{InvalidName, QueueName, TaskId, check_name};
pub use local::LocalExecutor;
pub use metrics::prometheus;
pub use options::{Priority, TaskOptions};
pub use rejected::{Rejected, RejectedReason};
pub use schedule::{Misfire, Schedule, ScheduleError, ScheduleHandle};
pub use service::{InvokeAnyError, TaskExecutorService};
pub use task::{OldPayload, RemoteTask, TaskError};
pub use wire::{MAX_PAYLOAD, MAX_RESULT};
pub use worker::{RemoteWorker, RemoteWorkerBuilder, StartError, WorkerStats};

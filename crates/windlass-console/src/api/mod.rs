//! What the routes do.

pub(crate) mod alerts;
pub(crate) mod commands;
pub(crate) mod config;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod metrics;
pub(crate) mod openapi;
mod parameters;
pub(crate) mod pools;
mod refusal;
pub(crate) mod remote;
mod segment;
pub(crate) mod session;

pub(crate) use segment::Segment;

//! What the routes do.

pub(crate) mod health;
pub(crate) mod openapi;
mod parameters;
pub(crate) mod remote;
mod segment;
pub(crate) mod session;

//! What stands between the network and the routes.

mod access;
mod headers;
mod hosts;
mod layer;
mod peers;
mod site;
mod writes;

pub use access::Access;
pub(crate) use access::{Guard, Presented};
pub(crate) use hosts::Hosts;
pub(crate) use layer::watch;
pub(crate) use peers::Peers;
pub(crate) use writes::Writes;

//! The parts of the command `windlass`.
//!
//! The binary parses its arguments with [`cli`] and calls one of the commands. This library exists so
//! that tests and fuzz targets reach what the program parses; it is not an interface to build on.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod attach;
pub mod cli;
mod count;
pub mod demo;
pub mod duration;
pub mod engine;
pub mod exit;
pub mod manual;
pub mod queue;
pub mod run;
pub mod size;
pub mod style;
pub mod top;
pub mod worker;

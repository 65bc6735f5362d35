//! Conformance with the JDK: what a real one did, replayed on a Windlass pool.
//!
//! A *scenario* is a list of steps on one pool; a *transcript* is a scenario together with what the
//! JDK answered to each step and the state of its pool once quiescent. The parts, lowest first:
//!
//! | module | what it is |
//! |---|---|
//! | [`mod@format`] | scenarios and transcripts as text |
//! | [`outcome`], [`state`] | what a step returns, and the state of a pool afterwards |
//! | [`subject`] | what the replay asks of a pool under test |
//! | [`quiescence`] | when a pool counts as quiescent |
//! | [`replay`] | runs transcripts and finds the first difference |
//! | [`generate`] | random scenarios from a seed |
//! | [`oracle`] | records scenarios on a JDK |
//! | [`driver`] | the Windlass pool as a subject |

pub mod driver;
pub mod format;
pub mod generate;
pub mod oracle;
pub mod outcome;
pub mod quiescence;
pub mod replay;
pub mod state;
pub mod subject;

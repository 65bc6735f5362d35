//! Parts shared by the tests of this crate and the soak.
//!
//! * `tests/*_state_machine.rs`: random calls, compared step by step with a plain model;
//! * `tests/linearizability.rs`: recorded histories of several threads are linearizable
//!   ([`history`]);
//! * `tests/faults_*.rs`: fault injection;
//! * `windlass-proof attack`: programs that a hostile or unlucky user could write ([`attack`]);
//! * `windlass-proof soak`: everything at once, for a given time ([`soak`]).
//!
//! `WINDLASS_PROOF_CASES` sets how many cases each random test tries.

pub mod attack;
pub mod history;
mod process;
pub mod seeded;
pub mod soak;

/// Returns how many cases a random test tries: `usual`, unless `WINDLASS_PROOF_CASES` is set.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    let wanted = std::env::var("WINDLASS_PROOF_CASES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

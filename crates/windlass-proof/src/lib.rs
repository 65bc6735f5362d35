//! What shows that Windlass can be trusted: the parts that the tests and the soak of this crate
//! share.
//!
//! * `tests/*_state_machine.rs`: random calls, compared step by step with a plain model;
//! * `tests/linearizability.rs`: what several threads saw, checked against an order that explains
//!   it ([`history`]);
//! * `tests/faults_*.rs`: what must not go wrong when everything else does;
//! * `windlass-proof soak`: everything at once, for as long as you like ([`soak`]).
//!
//! `WINDLASS_PROOF_CASES` says how many cases each random test tries.

pub mod history;
pub mod seeded;
pub mod soak;

/// How many cases a random test tries: `usual`, unless `WINDLASS_PROOF_CASES` says otherwise.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    let wanted = std::env::var("WINDLASS_PROOF_CASES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

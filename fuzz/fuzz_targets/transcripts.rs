//! The parser of scenarios and transcripts never panics, and what it has read it reads again from
//! its own print, to the letter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_conformance::format::{Line, Scenario, parse};

fn print(scenarios: &[Scenario]) -> String {
    scenarios.iter().map(Scenario::to_string).collect()
}

/// Without the numbers of lines, which a print in canonical form may change.
fn unnumbered(mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
    for line in scenarios.iter_mut().flat_map(|s| &mut s.lines) {
        if let Line::Step(step) = line {
            step.number = 0;
        }
    }
    scenarios
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let scenarios = match parse(&text) {
        Ok(scenarios) => scenarios,
        Err(error) => {
            let lines = text.lines().count();
            assert!((1..=lines).contains(&error.line), "{error}");
            return;
        }
    };
    let printed = print(&scenarios);
    let again = parse(&printed).expect("what was printed can be read");
    assert_eq!(print(&again), printed);
    assert_eq!(unnumbered(again), unnumbered(scenarios));
});

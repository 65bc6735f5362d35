//! Says that tests were left out.
#![expect(unreachable_pub, reason = "shared by test binaries as a module")]

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

/// Says on the terminal, once in a test binary, that tests were left out, and what they need. Written to the standard error
/// output itself: what a test that passes prints with a macro is captured, and never seen.
pub fn say_skipped(what: &str, needed: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let text = format!("skipped: {what}: needs {needed}");
    if SAID.lock().unwrap().insert(text.clone()) {
        let _ = writeln!(std::io::stderr(), "\n{text}");
    }
}

//! What a JDK did on the scenarios of the corpus, Windlass does too.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use windlass_conformance::driver;
use windlass_conformance::format::parse;
use windlass_conformance::replay::{Case, default_jobs, replay};

fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(file);
    let text = fs::read_to_string(path).expect("the corpus is in the repository");
    let scenarios = parse(&text).expect("the corpus is well-formed");
    let file: Arc<str> = file.into();
    scenarios
        .into_iter()
        .map(|scenario| Case {
            file: Arc::clone(&file),
            scenario,
        })
        .collect()
}

fn behaves_as_recorded(file: &str, at_least: usize) {
    let report = replay(
        cases(file),
        default_jobs(),
        Arc::new(|_| Ok(driver::subject())),
    );
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.passed >= at_least, "the corpus is there: {report}");
}

#[test]
fn the_thread_pool_behaves_as_the_jdk_did() {
    behaves_as_recorded("thread_pool.txt", 300);
}

#[test]
fn the_scheduled_pool_behaves_as_the_jdk_did() {
    behaves_as_recorded("scheduled.txt", 60);
}

//! The order of the house, checked on its source text: modules look down only, threads and time are
//! reached through one door, `unsafe` stays in its named files.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its sources has to fail"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. A module may use modules of lower layers only; those of one layer do
/// not use each other.
const LAYERS: &[&[&str]] = &[
    &["unwind", "sync"],
    &["interrupt"],
    &["waiting"],
    &["queue", "task", "termination", "thread_factory"],
    &["executor"],
    &["submit"],
    &["forkjoin", "pool"],
    &["completion", "scheduled"],
    &["executors"],
    &["models", "testing"],
];

/// Files in which `unsafe` is allowed, each with a reason in its header.
const UNSAFE: &[&str] = &[
    "forkjoin/deque.rs",
    "forkjoin/job.rs",
    "forkjoin/latch.rs",
    "forkjoin/local.rs",
    "forkjoin/models.rs",
    "forkjoin/scope.rs",
    "queue/block.rs",
    "task/cell.rs",
    "task/erased.rs",
    "task/memory.rs",
    "task/models.rs",
    "sync/once_box.rs",
    "sync/parker.rs",
];

/// What only the backends of `sync` may name, and who is excused.
const BEHIND_THE_DOOR: &[(&str, &[&str])] = &[
    // Counters that order nothing: task ids and pool numbers.
    ("std::sync::atomic", &["task/id.rs", "thread_factory.rs"]),
    // How many threads the machine runs is not a thread.
    ("std::thread::", &["forkjoin/join.rs"]),
    ("Instant::now", &[]),
    ("SystemTime::now", &[]),
    ("std::sync::Mutex", &[]),
    ("std::sync::Condvar", &[]),
    ("std::sync::RwLock", &[]),
];

struct Source {
    /// The path below `src`.
    path: String,
    /// The code, without comments, doc texts and in-file tests.
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let source = |path: PathBuf| Source {
        code: code(&fs::read_to_string(&path).unwrap()),
        path: path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/"),
    };
    files.into_iter().map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn code(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        // In-file tests and models stand at the end of a file.
        if line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test") {
            break;
        }
        let line = line.trim_start();
        if !line.starts_with("//") {
            code.push_str(line.split(" // ").next().unwrap());
            code.push('\n');
        }
    }
    code
}

fn module(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The top-level modules that a source names with `crate::…`.
fn uses(code: &str) -> Vec<String> {
    let name = |rest: &str| {
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect::<String>()
    };
    code.split("crate::").skip(1).map(name).collect()
}

#[test]
fn every_module_has_its_layer() {
    for source in sources() {
        let module = module(&source.path);
        assert!(
            module == "lib" || layer(module).is_some(),
            "{module} is in no layer"
        );
    }
}

#[test]
fn modules_look_down_only() {
    let mut seen = 0;
    for source in sources() {
        let own = module(&source.path);
        if own == "lib" {
            continue;
        }
        for used in uses(&source.code) {
            if used == own || layer(&used).is_none() {
                continue;
            }
            seen += 1;
            assert!(layer(&used) < layer(own), "{} uses {used}", source.path);
        }
    }
    assert!(seen > 50, "the check reads the sources");
}

#[test]
fn threads_locks_and_time_are_reached_through_sync() {
    for source in sources() {
        if source.path.starts_with("sync/") {
            continue;
        }
        for (name, excused) in BEHIND_THE_DOOR {
            let named = source.code.contains(name);
            assert!(
                !named || excused.contains(&source.path.as_str()),
                "{} names {name}",
                source.path
            );
        }
    }
}

#[test]
fn unsafe_stays_in_its_files() {
    for source in sources() {
        let has_unsafe = source.code.contains("unsafe {") || source.code.contains("unsafe impl");
        assert!(
            !has_unsafe || UNSAFE.contains(&source.path.as_str()),
            "{} has unsafe code",
            source.path
        );
    }
}

#[test]
fn the_library_neither_prints_nor_sleeps() {
    for source in sources() {
        for word in ["println", "thread::sleep", "todo", "unimplemented"] {
            assert!(!source.code.contains(word), "{} has {word}", source.path);
        }
    }
}

//! The rules that hold for the source text: modules use lower layers only, files inside a module do
//! not use each other in a circle, threads, locks and time come from `sync`, `unsafe` stays in the
//! listed files.
//!
//! The sources are parsed, and paths are followed through imports, renames and re-exports to the
//! file that defines what they name. `evasions.rs` shows on small sources what the checker sees.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its sources has to fail"
)]

mod attributes;
mod evasions;
mod graph;
mod resolve;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use graph::Cycle;
use source::{Crate, Role};

/// The layers, lowest first. A module may use modules of lower layers only; those of one layer do
/// not use each other.
const LAYERS: &[&[&str]] = &[
    &["sync", "unwind"],
    &["interrupt"],
    &["expiry", "waiting"],
    &["queue", "task", "termination", "thread_factory"],
    &["hooks", "times"],
    &["executor"],
    &["submit"],
    &["forkjoin", "pool"],
    &["completion", "scheduled"],
    &["executors", "shutdown"],
    &["monitor"],
    &["models", "testing"],
];

/// Files in which `unsafe` is allowed, each with its reason in its header.
const UNSAFE: &[&str] = &[
    "forkjoin/deque.rs",
    "forkjoin/job.rs",
    "forkjoin/join.rs",
    "forkjoin/latch.rs",
    "forkjoin/local.rs",
    "forkjoin/models.rs",
    "forkjoin/scope.rs",
    "queue/parts/block.rs",
    "submit/scope.rs",
    "sync/once_box.rs",
    "sync/prefetch.rs",
    "task/cell.rs",
    "task/cell_memory.rs",
    "task/cell_ref.rs",
    "task/completion.rs",
    "task/erased.rs",
    "task/models.rs",
    "task/recycled_box.rs",
    "task/running.rs",
    "task/timed_task.rs",
];

/// What only `sync` may name, and the files that are exempt.
const ONLY_IN_SYNC: &[(&str, &[&str])] = &[
    // Counters that order nothing: task ids, pool numbers, the times of tasks.
    (
        "std::sync::atomic",
        &[
            "task/id.rs",
            "thread_factory.rs",
            "task/stamp.rs",
            "times/compute.rs",
            "times/histogram.rs",
            "times/sampler.rs",
        ],
    ),
    ("std::sync::Barrier", &[]),
    ("std::sync::Condvar", &[]),
    ("std::sync::Mutex", &[]),
    ("std::sync::Once", &[]),
    ("std::sync::RwLock", &[]),
    ("std::sync::mpsc", &[]),
    // The result of a side of a join, not a thread.
    ("std::thread", &["forkjoin/join.rs"]),
    ("std::time::Instant::now", &[]),
    ("std::time::SystemTime::now", &[]),
    ("crossbeam_utils::Backoff", &[]),
    ("crossbeam_utils::sync", &[]),
    ("crossbeam_utils::thread", &[]),
    ("loom", &[]),
    ("shuttle", &[]),
];

/// Macros that have no place in a library.
const FORBIDDEN_MACROS: &[&str] = &[
    "dbg",
    "eprint",
    "eprintln",
    "print",
    "println",
    "todo",
    "unimplemented",
];

static LIBRARY: LazyLock<Crate> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let name = |path: &Path| {
        let below = path.strip_prefix(&root).unwrap();
        below.to_str().unwrap().replace('\\', "/")
    };
    let texts: Vec<_> = files
        .iter()
        .map(|path| (name(path), fs::read_to_string(path).unwrap()))
        .collect();
    Crate::read(texts.iter().map(|(path, text)| (&**path, &**text)))
});

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

/// Fails with all findings, not only the first.
fn assert_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n{}", findings.join("\n"));
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The uses of modules of the same layer, or of a higher one.
fn uses_of_higher_layers(krate: &Crate) -> Vec<String> {
    let mut findings = Vec::new();
    for (file, used, what) in krate.module_uses() {
        let file = &krate.files[file];
        let Some(own) = file.module.first() else {
            continue;
        };
        if layer(&used) >= layer(own) {
            let path = &file.path;
            findings.push(format!("{path}:{} uses {used} ({})", what.line, what.what));
        }
    }
    findings
}

/// The places outside `sync` that name what only `sync` may name.
fn uses_past_sync(krate: &Crate) -> Vec<String> {
    let mut findings = Vec::new();
    for (file, path, line) in krate.outside_uses() {
        let file = &krate.files[file];
        if file.module.first().is_some_and(|module| module == "sync") {
            continue;
        }
        let path = path.join("::").replacen("core::", "std::", 1);
        for (name, exempt) in ONLY_IN_SYNC {
            let is_named = path == *name || path.starts_with(&format!("{name}::"));
            if is_named && !exempt.contains(&file.path.as_str()) {
                findings.push(format!("{}:{line} names {path}", file.path));
            }
        }
    }
    findings
}

/// The calls that a library does not make.
fn prints_and_sleeps(krate: &Crate) -> Vec<String> {
    let mut findings = Vec::new();
    for file in &krate.files {
        for reference in &file.references {
            let last = reference.path.last().unwrap().as_str();
            let is_macro = matches!(reference.role, Role::Macro | Role::MacroBody);
            let is_sleep = last == "sleep" && reference.path.iter().any(|name| name == "thread");
            if is_sleep || is_macro && FORBIDDEN_MACROS.contains(&last) {
                findings.push(format!("{}:{} names {last}", file.path, reference.line));
            }
        }
    }
    findings
}

#[test]
fn every_file_is_declared_and_every_module_has_its_layer() {
    let mut findings = LIBRARY.orphans.clone();
    for file in &LIBRARY.files {
        let Some(module) = file.module.first() else {
            continue;
        };
        if layer(module).is_none() {
            findings.push(format!("{}: {module} is in no layer", file.path));
        }
    }
    assert_none("these files are in no module or in no layer", &findings);
}

#[test]
fn every_path_into_the_crate_is_understood() {
    let missing = LIBRARY.missing().into_iter().map(|(file, what)| {
        let path = &LIBRARY.files[file].path;
        format!("{path}:{} {}", what.line, what.what)
    });
    let findings: Vec<_> = missing.collect();
    assert_none("the checker does not find what these paths name", &findings);
}

#[test]
fn modules_use_lower_layers_only() {
    assert_none(
        "a module uses one of its own layer, or of a higher one",
        &uses_of_higher_layers(&LIBRARY),
    );
    let uses = LIBRARY.module_uses().len();
    assert!(uses > 500, "only {uses} uses seen: are the sources read?");
}

#[test]
fn files_inside_a_module_do_not_use_each_other_in_a_circle() {
    let cycles = LIBRARY.file_cycles();
    let findings: Vec<_> = cycles.iter().map(Cycle::describe).collect();
    assert_none("files of one module use each other", &findings);
}

#[test]
fn threads_locks_and_time_are_reached_through_sync() {
    assert_none("only `sync` names these", &uses_past_sync(&LIBRARY));
}

#[test]
fn unsafe_stays_in_its_files() {
    let mut findings = Vec::new();
    for file in &LIBRARY.files {
        if !UNSAFE.contains(&file.path.as_str()) {
            let lines = file.unsafe_lines.iter();
            findings.extend(lines.map(|line| format!("{}:{line} is unsafe", file.path)));
        }
    }
    for listed in UNSAFE {
        let mut files = LIBRARY.files.iter();
        if !files.any(|file| file.path == *listed && !file.unsafe_lines.is_empty()) {
            findings.push(format!("{listed} is listed and has no unsafe code"));
        }
    }
    assert_none("the list of files with unsafe code is not true", &findings);
}

#[test]
fn the_library_neither_prints_nor_sleeps() {
    assert_none("a library does not", &prints_and_sleeps(&LIBRARY));
}

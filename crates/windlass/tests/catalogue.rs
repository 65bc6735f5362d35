//! Every behaviour of the catalogue has the test that shows it, a reason why it differs, or the
//! issue that will build it; and every test that the catalogue names exists.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the catalogue has to fail"
)]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How many behaviours of the JDK there are, in all families but `WL`, which grows.
const ENTRIES: usize = 539;

/// Issues whose parts are built: nothing may be planned for them any more.
const BUILT: &[u32] = &[2, 3, 4];

struct Row {
    id: String,
    shown_by: String,
}

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn rows() -> Vec<Row> {
    let folder = library().join("../../docs/catalogue");
    let mut rows = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() == "README.md" {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let is_row = cells.len() == 6 && cells[1].contains('-') && !cells[1].starts_with('-');
            if is_row {
                rows.push(Row {
                    id: cells[1].to_owned(),
                    shown_by: cells[4].to_owned(),
                });
            }
        }
    }
    rows
}

/// The tests that a cell names, each as a file and a function.
fn references(shown_by: &str) -> Vec<(PathBuf, String)> {
    let quoted = shown_by.split('`').skip(1).step_by(2);
    let reference = |text: &str| {
        let (crate_folder, rest) = match text.split_once(':') {
            Some(("conformance", rest)) if !rest.starts_with(':') => {
                (library().join("../windlass-conformance"), rest)
            }
            _ => (library(), text),
        };
        let (file, function) = rest.split_once("::")?;
        Some((crate_folder.join(file), function.to_owned()))
    };
    quoted
        .filter(|text| text.contains(".rs::"))
        .filter_map(reference)
        .collect()
}

fn planned(shown_by: &str) -> Option<u32> {
    shown_by.strip_prefix("planned: #")?.parse().ok()
}

#[test]
fn every_behaviour_is_listed_once() {
    let mut seen = HashMap::new();
    for row in rows() {
        *seen.entry(row.id).or_insert(0) += 1;
    }
    let twice: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "listed more than once: {twice:?}");
    let of_the_jdk = seen.keys().filter(|id| !id.starts_with("WL-"));
    assert_eq!(of_the_jdk.count(), ENTRIES);
}

#[test]
fn every_behaviour_is_shown_or_differs_or_is_planned() {
    for row in rows() {
        let differs = row
            .shown_by
            .strip_prefix("differs: ")
            .is_some_and(|why| why.len() > 10);
        let is_shown = !references(&row.shown_by).is_empty();
        let is_planned = planned(&row.shown_by).is_some();
        assert!(
            differs || is_shown || is_planned,
            "{}: {:?}",
            row.id,
            row.shown_by
        );
    }
}

#[test]
fn nothing_is_planned_for_what_is_built() {
    for row in rows() {
        if let Some(issue) = planned(&row.shown_by) {
            assert!(
                !BUILT.contains(&issue),
                "{} is still planned for #{issue}",
                row.id
            );
        }
    }
}

#[test]
fn every_test_that_the_catalogue_names_exists() {
    let mut files: HashMap<PathBuf, String> = HashMap::new();
    for row in rows() {
        for (file, function) in references(&row.shown_by) {
            let text = files.entry(file.clone()).or_insert_with(|| {
                fs::read_to_string(&file).unwrap_or_else(|_| panic!("{}: no file {file:?}", row.id))
            });
            let name = function.rsplit("::").next().unwrap();
            let exists = [format!("fn {name}("), format!("fn {name}<")];
            assert!(
                exists.iter().any(|definition| text.contains(definition)),
                "{}: no {function} in {}",
                row.id,
                file.display()
            );
        }
    }
}

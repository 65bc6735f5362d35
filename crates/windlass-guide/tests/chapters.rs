//! The guide is complete: every chapter is listed, compiled and linked, and every program is named.

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the files of a folder that end so, without the end.
fn files(folder: &str, end: &str) -> Vec<String> {
    let entries = fs::read_dir(repository().join(folder));
    let entries = entries.unwrap_or_else(|error| panic!("{folder}: {error}"));
    let names = entries.flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(end)?.to_owned()));
    names.collect()
}

fn chapters() -> Vec<String> {
    let mut names = files("docs/guide", ".md");
    names.retain(|name| name != "SUMMARY");
    assert!(names.len() > 10, "the guide is read");
    names
}

#[test]
fn every_chapter_is_in_the_table_of_contents() {
    let contents = read("docs/guide/SUMMARY.md");
    for chapter in chapters() {
        assert!(contents.contains(&format!("({chapter}.md)")), "{chapter}");
    }
}

#[test]
fn every_chapter_with_code_is_compiled() {
    let list = read("crates/windlass-guide/src/lib.rs");
    for chapter in chapters() {
        let has_code = read(&format!("docs/guide/{chapter}.md")).contains("```rust");
        let is_listed = list.contains(&format!("\"{chapter}\""));
        assert!(
            is_listed || !has_code,
            "{chapter} has snippets that nobody compiles"
        );
    }
}

#[test]
fn every_program_is_named_in_the_guide() {
    let pages: String = chapters()
        .iter()
        .map(|chapter| read(&format!("docs/guide/{chapter}.md")))
        .collect();
    for program in files("crates/windlass/examples", ".rs") {
        assert!(
            pages.contains(&format!("examples/{program}.rs")),
            "{program}"
        );
    }
}

#[test]
fn every_picture_is_shown() {
    let pages: String = chapters()
        .iter()
        .map(|chapter| read(&format!("docs/guide/{chapter}.md")))
        .collect();
    for picture in files("docs/guide/pictures", ".svg") {
        assert!(
            pages.contains(&format!("](pictures/{picture}.svg)")),
            "{picture}"
        );
    }
}

#[test]
fn the_overview_is_that_of_the_record() {
    let copy = read("docs/guide/pictures/performance-overview.svg");
    let current = read("docs/performance/overview.svg");
    assert!(
        copy == current,
        "copy docs/performance/overview.svg to docs/guide/pictures"
    );
}

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
    for of in ["windlass", "windlass-console", "windlass-remote"] {
        let folder = format!("crates/{of}/examples");
        let programs = files(&folder, ".rs");
        assert!(!programs.is_empty(), "the programs of {of} are read");
        for program in programs {
            let path = format!("{folder}/{program}.rs");
            assert!(pages.contains(&path), "no page names {path}");
        }
    }
}

/// The names below `[features]` in the manifest of a crate.
fn features(of: &str) -> Vec<String> {
    let manifest = read(&format!("crates/{of}/Cargo.toml"));
    let lines = manifest.lines().skip_while(|line| *line != "[features]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
    let names = names.filter(|name| !name.starts_with('#') && *name != "default");
    names.map(ToOwned::to_owned).collect()
}

#[test]
fn every_feature_is_explained_on_the_page_of_its_crate() {
    let pages = [
        ("windlass", "crates/windlass/docs/crate.md"),
        ("windlass-console", "crates/windlass-console/README.md"),
        ("windlass-remote", "crates/windlass-remote/README.md"),
    ];
    for (of, page) in pages {
        let text = read(page);
        let features = features(of);
        assert!(!features.is_empty(), "the features of {of} are read");
        for feature in features {
            assert!(
                text.contains(&format!("`{feature}`")),
                "{page}: `{feature}`"
            );
        }
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

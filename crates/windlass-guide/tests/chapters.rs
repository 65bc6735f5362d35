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

/// The words after the three signs that begin each block of Rust, beside `rust` itself.
fn attributes(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut inside = false;
    for fence in text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("```"))
    {
        inside = !inside;
        if inside && fence.starts_with("rust") {
            found.extend(fence.split(',').skip(1).map(str::trim));
        }
    }
    found
}

#[test]
fn no_snippet_is_left_out_of_the_compilation() {
    let pages = chapters()
        .into_iter()
        .map(|chapter| format!("docs/guide/{chapter}.md"));
    let mut ignored = Vec::new();
    for page in pages.chain(["README.md".to_owned()]) {
        for attribute in attributes(&read(&page)) {
            // What needs a server is compiled, at least.
            if !["no_run", "should_panic", "compile_fail"].contains(&attribute) {
                ignored.push(format!("{page}: {attribute}"));
            }
        }
    }
    assert!(ignored.is_empty(), "{}", ignored.join("\n"));
    assert_eq!(
        attributes("```rust,no_run\n```\n```sh\n```\n```rust\n```"),
        ["no_run"]
    );
}

#[test]
fn the_pages_of_the_crates_with_code_are_compiled() {
    let list = read("crates/windlass-guide/src/lib.rs");
    for entry in files("crates", "") {
        let page = format!("crates/{entry}/README.md");
        if !repository().join(&page).exists() || !read(&page).contains("```rust") {
            continue;
        }
        let own = format!("crates/{entry}/src/lib.rs");
        let is_front_page = repository().join(&own).exists()
            && read(&own).contains("include_str!(\"../README.md\")");
        let is_listed = list.contains(&format!("../../{entry}/README.md"));
        assert!(
            is_front_page || is_listed,
            "{page} has snippets that nobody compiles"
        );
    }
}

/// The names by which items of the library are found, other than their own.
fn aliases(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in files(folder, "") {
        let path = format!("{folder}/{entry}");
        if repository().join(&path).is_dir() {
            found.extend(aliases(&path));
        } else if path.ends_with(".rs") {
            let text = read(&path);
            let names = text.split("doc(alias = \"").skip(1);
            found.extend(names.filter_map(|rest| Some(rest.split('"').next()?.to_owned())));
        }
    }
    found
}

/// Whether a name is of Java's grammar: `isDone`, `FutureTask`.
fn is_java(name: &str) -> bool {
    let has = |which: fn(&char) -> bool| name.chars().any(|sign| which(&sign));
    has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase) && !name.contains(' ')
}

/// Whether a page names something as a word of its own.
fn names(page: &str, name: &str) -> bool {
    let is_part = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric());
    page.match_indices(name).any(|(at, _)| {
        let (before, after) = (&page[..at], &page[at + name.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

#[test]
fn every_java_name_that_finds_an_item_is_on_the_page_for_java() {
    let page = read("docs/guide/from-java.md");
    let mut java = aliases("crates/windlass/src");
    java.retain(|name| is_java(name));
    java.sort();
    java.dedup();
    assert!(java.len() > 80, "only {} names: are they read?", java.len());
    java.retain(|name| !names(&page, name));
    assert!(java.is_empty(), "not on the page: {}", java.join(", "));
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

#[test]
fn every_program_says_how_it_is_run_and_checks_its_outcome() {
    let folder = "crates/windlass/examples";
    for program in files(folder, ".rs") {
        let text = read(&format!("{folder}/{program}.rs"));
        let command = format!("--example {program}");
        let mut head = text.lines().take_while(|line| line.starts_with("//!"));
        assert!(
            head.any(|line| line.contains("cargo run") && line.contains(&command)),
            "{program} does not say how it is run"
        );
        let checks = ["assert!(", "assert_eq!(", "expect_err("];
        assert!(
            checks.iter().any(|check| text.contains(check)),
            "{program} checks nothing"
        );
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

/// What the page on performance says about the record: all of its rows, so that no loss is left out.
fn summary(record: &str) -> String {
    let sentence = |start: &str| {
        let line = record
            .lines()
            .find_map(|line| line.strip_prefix("- ")?.strip_prefix(start));
        line.unwrap_or_else(|| panic!("no line that starts with {start:?}"))
    };
    let mut text = format!(
        "**Ahead:** {}\n\n**Level**, within 5 %, with {}\n\n",
        sentence("It leads in "),
        sentence("It is level, within 5 %, with ")
    );
    text += "**Behind**, by the median point, the worst first (times the figure of the fastest peer):\n\n";
    text += "| | of all | of those in Rust |\n|---|---:|---:|\n";
    let losses = record.split("### Where it loses").nth(1);
    let losses = losses.unwrap_or_else(|| panic!("no losses are on record"));
    let rows = losses
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1);
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        text += &format!("| {} | {} | {} |\n", cells[1], cells[2], cells[3]);
    }
    text
}

#[test]
fn the_page_on_performance_says_what_the_record_says() {
    const MARKS: [&str; 2] = ["<!-- the record -->\n", "<!-- end of the record -->"];
    let page = read("docs/guide/performance.md");
    let parts = page.split_once(MARKS[0]).and_then(|(before, rest)| {
        let (copy, after) = rest.split_once(MARKS[1])?;
        Some((before, copy, after))
    });
    let (before, copy, after) = parts.unwrap_or_else(|| panic!("the page has no marks"));
    let current = format!("\n{}\n", summary(&read("docs/performance.md")));
    if copy != current && std::env::var_os("BLESS").is_some() {
        let page = [before, MARKS[0], &current, MARKS[1], after].concat();
        fs::write(repository().join("docs/guide/performance.md"), page)
            .unwrap_or_else(|error| panic!("{error}"));
        return;
    }
    assert!(
        copy == current,
        "BLESS=1 cargo test -p windlass-guide --test chapters performance"
    );
}

const ON_THE_WEB: &str = "https://github.com/windlass-rs/windlass";
const PICTURES: &str = "https://raw.githubusercontent.com/windlass-rs/windlass/main";

/// Where a relative target of a link, from the root of the repository, is on the web.
fn on_the_web(target: &str, is_picture: bool) -> String {
    if is_picture {
        return format!("{PICTURES}/{target}");
    }
    let file = target.split('#').next().unwrap_or(target);
    let is_folder = repository().join(file).is_dir();
    let kind = if is_folder { "tree" } else { "blob" };
    format!("{ON_THE_WEB}/{kind}/main/{target}")
}

/// A page whose links work anywhere, made of one whose links are relative.
fn with_links_to_the_web(page: &str) -> String {
    let mut parts = page.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let label = text.rfind('[').unwrap_or(0);
        let is_picture = text[..label].ends_with('!');
        let (target, rest) = part
            .split_once(')')
            .unwrap_or_else(|| panic!("a link has no end: {part}"));
        let is_relative = !target.starts_with('#') && !target.contains("://");
        let target = if is_relative {
            on_the_web(target, is_picture)
        } else {
            target.to_owned()
        };
        text += &format!("]({target}){rest}");
    }
    text
}

#[test]
fn the_page_of_the_library_is_the_readme_with_links_to_the_web() {
    const COPY: &str = "crates/windlass/README.md";
    let current = with_links_to_the_web(&read("README.md"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(repository().join(COPY), &current).unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(
        read(COPY) == current,
        "BLESS=1 cargo test -p windlass-guide --test chapters readme"
    );
    assert_eq!(
        with_links_to_the_web(
            "[a](docs) ![b](docs/c.png), [d](README.md#e) [f](#g) [h](https://i)"
        ),
        format!(
            "[a]({ON_THE_WEB}/tree/main/docs) ![b]({PICTURES}/docs/c.png), \
             [d]({ON_THE_WEB}/blob/main/README.md#e) [f](#g) [h](https://i)"
        )
    );
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

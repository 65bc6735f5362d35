//! Every file and every heading that a page of the repository links to exists; and every file that
//! the pages for maintainers name does.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the pages has to fail"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The pages whose code spans name files as they are now. The others tell what was.
const CURRENT: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "docs/reliability.md",
];

/// Where a path in a code span may start.
const ROOTS: &[&str] = &[
    "",
    "crates/windlass",
    "crates/windlass/src",
    "crates/windlass-proof",
    "crates/windlass-conformance",
];

fn repository() -> PathBuf {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    library.parent().unwrap().parent().unwrap().to_path_buf()
}

/// The pages of the repository, as paths from its root.
fn pages() -> Vec<PathBuf> {
    fn collect(root: &Path, folder: &Path, pages: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            let path = folder.join(&name);
            let is_hidden = name.to_str().unwrap().starts_with('.');
            if is_hidden || name.to_str().unwrap().starts_with("target") {
                continue;
            }
            if entry.path().is_dir() {
                collect(root, &path, pages);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    let mut pages = Vec::new();
    collect(&repository(), Path::new(""), &mut pages);
    pages
}

/// The text without blocks of code.
fn prose(page: &Path) -> String {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    let blocks = text.split("```").step_by(2);
    blocks.collect()
}

/// The targets of `[text](target)` and `[text]: target`.
fn links(text: &str) -> Vec<&str> {
    let inline = text.split("](").skip(1);
    let inline = inline.filter_map(|rest| rest.split(')').next());
    let defined = text.lines().filter_map(|line| {
        let (_, target) = line.strip_prefix('[')?.split_once("]: ")?;
        Some(target.trim())
    });
    inline.chain(defined).collect()
}

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
    kept.collect::<String>()
        .trim()
        .to_lowercase()
        .replace(' ', "-")
}

fn has_heading(page: &Path, name: &str) -> bool {
    let text = prose(page);
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line.trim_start_matches('#')) == name)
}

/// Whether a link leads to a file or heading of the repository, and not to an item of the library,
/// which rustdoc checks, or to the web.
fn is_local(link: &str) -> bool {
    let is_path = |link: &str| link.contains('/') || link.ends_with(".md");
    !link.contains("://")
        && !link.contains("::")
        && !link.starts_with("mailto:")
        && (link.starts_with('#') || is_path(link.split('#').next().unwrap()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = prose(&page);
        for link in links(&text).into_iter().filter(|link| is_local(link)) {
            seen += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(file)
            };
            let exists = repository().join(&target).exists();
            if !exists || !heading.is_empty() && !has_heading(&target, heading) {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(seen > 10, "only {seen} links seen: are the pages read?");
}

/// Where the files of the repository are on the web: as a page, as a folder, as they are.
const ON_THE_WEB: [&str; 3] = [
    "https://github.com/windlass-rs/windlass/blob/main/",
    "https://github.com/windlass-rs/windlass/tree/main/",
    "https://raw.githubusercontent.com/windlass-rs/windlass/main/",
];

/// The pages that crates.io and docs.rs show, where a relative link leads elsewhere or nowhere.
fn published_readmes() -> Vec<PathBuf> {
    let is_readme = |page: &PathBuf| page.file_name().is_some_and(|name| name == "README.md");
    let in_crate = |page: &PathBuf| page.starts_with("crates") && page.components().count() == 3;
    let is_published = |page: &PathBuf| {
        let manifest = repository().join(page.with_file_name("Cargo.toml"));
        !fs::read_to_string(manifest)
            .unwrap()
            .contains("publish = false")
    };
    let mut readmes = pages();
    readmes.retain(|page| is_readme(page) && in_crate(page) && is_published(page));
    readmes
}

/// The targets of an HTML attribute, which a page may use beside its own syntax.
fn attributes<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let rest = text.split(name).skip(1);
    rest.filter_map(|rest| rest.strip_prefix("=\"")?.split('"').next())
        .collect()
}

#[test]
fn the_published_pages_have_links_that_work_anywhere() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in published_readmes() {
        let text = prose(&page);
        let mut links = links(&text);
        links.extend(attributes(&text, "href"));
        links.extend(attributes(&text, "src"));
        for link in links {
            let at = |why: &str| format!("{}: {link}: {why}", page.display());
            if is_local(link) && !link.starts_with('#') {
                wrong.push(at("relative"));
            }
            let Some(file) = ON_THE_WEB.iter().find_map(|web| link.strip_prefix(web)) else {
                if link.contains("windlass-rs/windlass/") {
                    wrong.push(at("another branch"));
                }
                continue;
            };
            seen += 1;
            let (file, heading) = file.split_once('#').unwrap_or((file, ""));
            let target = repository().join(file);
            if !target.exists() {
                wrong.push(at("no such file"));
            } else if !heading.is_empty() && !has_heading(Path::new(file), heading) {
                wrong.push(at("no such heading"));
            } else if target.is_dir() != link.starts_with(ON_THE_WEB[1]) {
                wrong.push(at("`tree` is for folders, `blob` for files"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 20, "only {seen} links seen: are the pages read?");
}

/// The paths of files in the code spans of a page; `{a,b}` stands for two.
fn named_files(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let paths = spans.filter(|span| {
        let is_path = |sign: char| sign.is_alphanumeric() || "/._-{},".contains(sign);
        let ends = [".rs", ".md", ".sh", ".toml", ".txt"];
        // `NAME` stands for any name.
        span.contains('/')
            && !span.contains("NAME")
            && span.chars().all(is_path)
            && ends.iter().any(|end| span.ends_with(end))
    });
    let mut files = Vec::new();
    for path in paths {
        let braces = path.split_once('{').and_then(|(before, rest)| {
            let (names, after) = rest.split_once('}')?;
            Some((before, names, after))
        });
        match braces {
            Some((before, names, after)) => {
                files.extend(
                    names
                        .split(',')
                        .map(|name| format!("{before}{name}{after}")),
                );
            }
            None => files.push(path.to_string()),
        }
    }
    files
}

#[test]
fn the_pages_for_maintainers_name_files_that_exist() {
    let mut missing = Vec::new();
    for page in CURRENT {
        for file in named_files(&prose(Path::new(page))) {
            let exists = |root: &&str| repository().join(root).join(&file).exists();
            if !ROOTS.iter().any(exists) {
                missing.push(format!("{page}: {file}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such file:\n{}", missing.join("\n"));
}

#[test]
fn a_link_is_told_from_an_item() {
    assert!(is_local("docs/catalogue"));
    assert!(is_local("#conformance"));
    assert!(is_local("0002-x.md#part"));
    assert!(!is_local("https://docs.rs/rayon"));
    assert!(!is_local("crate::pool::Hooks"));
    assert!(!is_local("fn@join"));
    assert_eq!(anchor(" `Shared`: what, and why?"), "shared-what-and-why");
    assert_eq!(links("see [a](b.md), [c][d]\n[d]: e.md"), ["b.md", "e.md"]);
    assert_eq!(
        named_files("`sync/{a,b}.rs` and `x.rs` and `pool/c.rs`"),
        ["sync/a.rs", "sync/b.rs", "pool/c.rs"]
    );
}

//! Prints the public interface that a file of rustdoc's JSON describes, one item a line.
//!
//! Left out is what a reader of a change does not need: what a type says about `Send` and the other
//! auto traits if it is a plain yes, the functions in impls of std's traits, the compiler's own
//! marker traits, and the second of two equal lines (of a type that is exported in two places).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

const AUTO_TRAITS: &[&str] = &[
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

const INTERNAL_TRAITS: &[&str] = &[
    "core::clone::TrivialClone",
    "core::marker::Freeze",
    "core::marker::StructuralPartialEq",
    "core::marker::UnsafeUnpin",
];

fn main() -> ExitCode {
    let Some(json) = std::env::args_os().nth(1) else {
        eprintln!("usage: public-api-list RUSTDOC_JSON");
        return ExitCode::FAILURE;
    };
    match list(Path::new(&json)) {
        Ok(lines) => {
            for line in lines {
                println!("{line}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", json.display());
            ExitCode::FAILURE
        }
    }
}

fn list(json: &Path) -> public_api::Result<Vec<String>> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .build()?;
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    let mut is_in_std_impl = false;
    for item in api.items() {
        let line = item.to_string();
        if line.starts_with("impl") {
            let implemented = trait_of(&line);
            is_in_std_impl = implemented.is_some_and(is_of_std);
            if !is_worth_a_line(&line, implemented) {
                continue;
            }
        } else if is_in_std_impl && is_method(&line) {
            continue;
        }
        if seen.insert(line.clone()) {
            lines.push(line);
        }
    }
    Ok(lines)
}

/// The trait in `impl<…> Trait<…> for Type`, with its path and without its parameters.
fn trait_of(line: &str) -> Option<&str> {
    let (head, _) = line.split_once(" for ")?;
    let mut depth = 0;
    // The first space outside the parameters of the impl.
    let start = head.char_indices().find_map(|(at, sign)| {
        match sign {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        (sign == ' ' && depth == 0).then_some(at + 1)
    })?;
    head[start..].split('<').next()
}

fn is_of_std(path: &str) -> bool {
    let path = path.trim_start_matches('!');
    ["core::", "alloc::", "std::"]
        .iter()
        .any(|root| path.starts_with(root))
}

fn is_worth_a_line(line: &str, implemented: Option<&str>) -> bool {
    let Some(path) = implemented else {
        return true;
    };
    let is_plain_yes = AUTO_TRAITS.contains(&path) && !line.contains(" where ");
    !is_plain_yes && !INTERNAL_TRAITS.contains(&path.trim_start_matches('!'))
}

/// Whether a line is of a function in a type, not in a module.
fn is_method(line: &str) -> bool {
    let Some((_, function)) = line.split_once("fn ") else {
        return false;
    };
    let path = function.split(['(', '<']).next().unwrap_or_default();
    let parent = path.rsplit("::").nth(1).unwrap_or_default();
    parent.starts_with(char::is_uppercase)
}

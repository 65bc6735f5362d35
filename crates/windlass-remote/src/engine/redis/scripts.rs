//! The scripts, each with what it uses of the common part before it.

use redis::Script;
use std::collections::HashSet;
use std::sync::LazyLock;

const COMMON: &str = include_str!("lua/common.lua");

macro_rules! scripts {
    ($($name:ident: $file:literal,)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(&with_definitions(COMMON, include_str!($file)))
        });)*
    };
}

scripts! {
    SUBMIT: "lua/submit.lua",
    TAKE: "lua/take.lua",
    REPORT: "lua/report.lua",
    CANCEL: "lua/cancel.lua",
    LOOK_UP: "lua/look_up.lua",
    CHECKPOINT: "lua/checkpoint.lua",
    LAST_CHECKPOINT: "lua/last_checkpoint.lua",
    BACKLOG: "lua/backlog.lua",
    BEAT: "lua/beat.lua",
    LEAVE: "lua/leave.lua",
    TICK: "lua/tick.lua",
    SCHEDULE: "lua/schedule.lua",
    UNSCHEDULE: "lua/unschedule.lua",
    FIRE: "lua/fire.lua",
    CONFIGURE: "lua/configure.lua",
    LIMIT: "lua/limit.lua",
    SETTLE_DEAD: "lua/settle_dead.lua",
    LIST: "lua/list.lua",
}

/// Returns a script with those definitions of the common part before it that it uses, directly or not. The server makes every
/// definition anew in each call, so those that are not needed cost time.
///
/// A definition is a line that begins with `local`, and the indented lines and the `end` that follow it. It is used if one of its names
/// is a word of what comes later; that a word may mean something else does no harm. Any other line is kept.
fn with_definitions(common: &str, script: &str) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for line in common.lines() {
        let continues = line.starts_with(' ') || line == "end" || line == "}";
        match pieces.last_mut() {
            _ if line.is_empty() || line.starts_with("--") => {}
            Some(piece) if continues => *piece = format!("{piece}\n{line}"),
            _ => pieces.push(line.to_owned()),
        }
    }
    let mut used: HashSet<&str> = words(script).collect();
    let mut kept = vec![script];
    // A definition uses only what is before it.
    for piece in pieces.iter().rev() {
        let mut names = names(piece).peekable();
        if names.peek().is_none() || names.any(|name| used.contains(name)) {
            used.extend(words(piece));
            kept.push(piece);
        }
    }
    kept.reverse();
    kept.join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// Returns the names that a piece defines; none if it is no definition.
fn names(piece: &str) -> impl Iterator<Item = &str> {
    let defined = piece.strip_prefix("local ").unwrap_or_default();
    let function = defined.strip_prefix("function ");
    let end = if function.is_some() { '(' } else { '=' };
    let names = function.unwrap_or(defined).split(end).next();
    words(names.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::with_definitions;

    const COMMON: &str = "-- What scripts share.\nlocal A, B = 1, 2\nlocal C = 3\n\n-- Adds.\nlocal function add(a)\n  if a then\n    \
        return a + A\n  end\nend\nlocal function twice(a) return add(a) + add(a) end\nassert(true)\nlocal T = {\n  1,\n}\n";

    #[test]
    fn a_script_has_the_definitions_that_it_uses() {
        let add = "local function add(a)\n  if a then\n    return a + A\n  end\nend";
        let twice = "local function twice(a) return add(a) + add(a) end";
        let with = |script| with_definitions(COMMON, script);
        assert_eq!(with("return 0"), "assert(true)\nreturn 0");
        assert_eq!(with("return C"), "local C = 3\nassert(true)\nreturn C");
        let both = format!("local A, B = 1, 2\n{add}\n{twice}\nassert(true)\nreturn twice(1)");
        assert_eq!(with("return twice(1)"), both);
        assert_eq!(
            with("return T"),
            "assert(true)\nlocal T = {\n  1,\n}\nreturn T"
        );
    }
}

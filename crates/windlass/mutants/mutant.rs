//! The switch for seeded bugs. `scripts/mutants.sh` adds this file to the copy that has the bugs; no
//! build that ships contains it.

/// `mutant!("name")` is true, and `mutant!("name", bad, good)` is `bad`, in a run that selects the
/// bug of that name.
macro_rules! mutant {
    ($name:literal) => {
        $crate::mutant::is_selected($name)
    };
    ($name:literal, $bad:expr, $good:expr) => {
        if $crate::mutant::is_selected($name) {
            $bad
        } else {
            $good
        }
    };
}

/// Returns whether the environment selects the bug of that name.
pub(crate) fn is_selected(name: &str) -> bool {
    static SELECTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let selected = SELECTED.get_or_init(|| std::env::var("WINDLASS_MUTANT").ok());
    selected.as_deref() == Some(name)
}

//! Seeded bugs, with which the models are tested.

/// A seeded bug: `mutant!("name")` is true, and `mutant!("name", bad, good)` is `bad`, in a run
/// that selects the bug of that name. Only a build with `--cfg windlass_mutants` can, and no build
/// that ships has it. `scripts/mutants.sh` runs the models with each, to show that they fail.
macro_rules! mutant {
    ($name:tt) => {
        cfg!(windlass_mutants) && $crate::sync::mutant::is_selected($name)
    };
    ($name:tt, $bad:expr, $good:expr) => {
        if $crate::sync::mutant!($name) {
            $bad
        } else {
            $good
        }
    };
}

pub(crate) use mutant;

/// Returns whether the environment selects the seeded bug of that name.
pub(crate) fn is_selected(mutant: &str) -> bool {
    static SELECTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let selected = SELECTED.get_or_init(|| std::env::var("WINDLASS_MUTANT").ok());
    selected.as_deref() == Some(mutant)
}

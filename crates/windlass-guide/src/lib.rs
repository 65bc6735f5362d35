//! The chapters of the guide, `docs/guide`, the README and that of the console: their snippets are the doctests of this crate.
//!
//! A chapter that is not here would be a page of code that nobody has compiled: `tests/chapters.rs` compares
//! this list with the table of contents.

/// Declares a module for each chapter.
macro_rules! chapters {
    ($($name:ident = $file:literal),* $(,)?) => {$(
        #[doc = include_str!(concat!("../../../docs/guide/", $file, ".md"))]
        pub mod $name {}
    )*};
}

chapters! {
    quick_start = "quick-start",
    choosing = "choosing",
    lifecycle = "lifecycle",
    results = "results",
    interruption = "interruption",
    schedules = "schedules",
    fork_join = "fork-join",
    scopes = "scopes",
    async_ = "async",
    fairness = "fairness",
    granularity = "granularity",
    starvation = "starvation",
    testing = "testing",
    observability = "observability",
    remote = "remote",
    run = "run",
    from_java = "from-java",
    from_others = "from-others",
    programs = "programs",
    faq = "faq",
    performance = "performance",
    how_it_is_tested = "how-it-is-tested",
}

// A copy of the one at the root; `tests/chapters.rs` compares them.
#[doc = include_str!("../../windlass/README.md")]
pub mod readme {}

#[doc = include_str!("../../windlass-console/README.md")]
pub mod console {}

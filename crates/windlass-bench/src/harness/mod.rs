//! How samples are taken, gathered and shown.

pub(crate) mod figure;
pub(crate) mod jdk;
pub(crate) mod machine;
pub(crate) mod merge;
pub(crate) mod point;
pub(crate) mod record;
pub(crate) mod rounds;
pub(crate) mod run;
pub(crate) mod sample;
pub(crate) mod span;
pub(crate) mod surroundings;
pub(crate) mod table;
pub(crate) mod workload;

//! Submission of closures to any executor.
//!
//! | file | role |
//! |---|---|
//! | `extension` | [`Submit`], the extension trait of every executor |
//! | `submission` | [`Submission`], the options of one submission |
//! | `invoke` | groups of tasks: all of them, or the first that succeeds |

mod extension;
mod invoke;
mod submission;

pub use extension::Submit;
pub use invoke::InvokeError;
pub use submission::Submission;

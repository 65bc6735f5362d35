//! Submission of closures to any executor.
//!
//! | file | role |
//! |---|---|
//! | `extension` | [`Submit`], the extension trait of every executor |
//! | `submission` | [`Submission`], the options of one submission |
//! | `spawn_async` | futures, each poll a task (feature `async`) |
//! | `invoke` | all of several tasks, or the first that succeeds |
//! | `scope` | [`Scope`]: closures that borrow |
//! | `members` | the tasks of one scope: counted, cancelled and awaited together |
//! | `scoped_handle` | [`ScopedHandle`], the handle of a task that borrows |
//! | `rejected_spawn` | [`RejectedSpawn`], a closure that was not accepted in a scope |
//! | `group` | [`TaskGroup`], the options of a scope |
//! | `map` | a closure on every item, in order |

mod extension;
mod group;
mod invoke;
mod map;
mod members;
mod rejected_spawn;
mod scope;
mod scoped_handle;
#[cfg(feature = "async")]
mod spawn_async;
mod submission;

pub use extension::Submit;
pub use group::TaskGroup;
pub use invoke::InvokeError;
pub use members::ScopeCounts;
pub use rejected_spawn::RejectedSpawn;
pub use scope::Scope;
pub use scoped_handle::ScopedHandle;
pub use submission::Submission;

//! The words between the library and an engine: tasks, a page at a time.

use crate::id::TaskId;

/// No page of [`Engine::list`](super::Engine::list) comes from more records than this, so that none holds up the others for long.
pub const MAX_PAGE: usize = 1_000;

/// A part of the tasks of a queue; see [`Engine::list`](super::Engine::list).
///
/// ```
/// use windlass_remote::{QueueAdmin, engine::MemoryEngine};
///
/// let queue = QueueAdmin::new(MemoryEngine::new(), "media".parse()?);
/// let (mut ids, mut next) = (Vec::new(), None);
/// loop {
///     let page = queue.list(&[], next.as_deref(), 100)?;
///     ids.extend(page.ids);
///     next = page.next;
///     if next.is_none() {
///         break;
///     }
/// }
/// assert!(ids.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// The ids of the tasks; their records are [looked up](super::Engine::look_up).
    pub ids: Vec<TaskId>,
    /// Where the next page begins; `None` after the last one. Only the engine can read it.
    pub next: Option<String>,
}

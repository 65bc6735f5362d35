//! A circle of waits, by the tasks in it.

use std::fmt;
use std::sync::Arc;

use super::id::TaskId;

/// Tasks that wait for each other in a circle, so that none of them can end by itself.
///
/// It is the error of the wait that closed the circle. That wait has ended; if its task ends too, the
/// others go on.
///
/// ```
/// use std::sync::mpsc;
/// use windlass::prelude::*;
/// use windlass::task::SharedHandle;
///
/// let pool = executors::fixed_thread_pool(1).unwrap();
/// let (sender, receiver) = mpsc::channel::<SharedHandle<String>>();
/// let waits_for_itself = move || {
///     let own = receiver.recv().unwrap();
///     let error = own.join().unwrap_err();
///     error.deadlock().unwrap().to_string()
/// };
/// let handle = pool.submit(waits_for_itself).unwrap().share();
/// sender.send(handle.clone()).unwrap();
/// assert_eq!(handle.clone().join().unwrap(), format!("{} waits for itself", handle.id()));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Deadlock(Arc<[TaskName]>);

/// The id of a task, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskName {
    pub(crate) id: TaskId,
    pub(crate) name: Option<Arc<str>>,
}

impl Deadlock {
    /// Creates the error; each task waits for the next, and the last for the first.
    pub(super) fn new(tasks: Vec<TaskName>) -> Self {
        Self(tasks.into())
    }

    /// Returns the ids and names of the tasks: each waits for the next, and the last for the first.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = (TaskId, Option<&str>)> {
        self.0.iter().map(|task| (task.id, task.name.as_deref()))
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} ({name})", self.id),
            None => self.id.fmt(f),
        }
    }
}

/// Displayed as `task-7 (load) waits for task-9 waits for task-7 (load)`.
impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = &*self.0 {
            return write!(f, "{only} waits for itself");
        }
        for task in &*self.0 {
            write!(f, "{task} waits for ")?;
        }
        self.0.first().map_or(Ok(()), |first| first.fmt(f))
    }
}

impl fmt::Debug for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deadlock({self})")
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{Deadlock, TaskName};
    use crate::task::TaskId;

    fn task(id: u64, name: Option<&str>) -> TaskName {
        TaskName {
            id: TaskId::from_u64(id),
            name: name.map(Into::into),
        }
    }

    #[test]
    fn a_circle_is_displayed_as_a_sentence() {
        let two = Deadlock::new(vec![task(7, Some("load")), task(9, None)]);
        let words = "task-7 (load) waits for task-9 waits for task-7 (load)";
        assert_eq!(two.to_string(), words);
        let one = Deadlock::new(vec![task(7, None)]);
        assert_eq!(one.to_string(), "task-7 waits for itself");
    }
}

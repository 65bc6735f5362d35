//! What a pool adds to each task: the sources of context that are registered with it, and its limits.

use std::fmt;
use std::sync::Arc;

use super::builder::TaskBuilder;
use super::context::{Captured, Propagate};

/// A function that adds to the builder of each task.
pub(crate) type Prepare = Arc<dyn Fn(TaskBuilder) -> TaskBuilder + Send + Sync>;

/// The sources that are registered with a pool, in the order of registration.
#[derive(Clone, Default)]
pub(crate) struct Sources(Vec<Arc<dyn Propagate>>);

impl Sources {
    pub(crate) fn add(&mut self, source: impl Propagate + 'static) {
        self.0.push(Arc::new(source));
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Captures the context of the current thread: that of the first source is entered first.
    pub(crate) fn capture(&self) -> Option<Captured> {
        let captured = self.0.iter().filter_map(|source| source.capture());
        captured.reduce(Captured::then)
    }

    /// Adds what is captured now to the builder of a task.
    pub(crate) fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        match self.capture() {
            None => task,
            Some(context) => task.context(context),
        }
    }

    /// Returns a function that calls `former` and adds what is captured; `former` itself if there are no
    /// sources.
    pub(crate) fn after(&self, former: Option<Prepare>) -> Option<Prepare> {
        if self.is_empty() {
            return former;
        }
        let sources = self.clone();
        Some(Arc::new(move |task| match &former {
            None => sources.prepare(task),
            Some(former) => sources.prepare(former(task)),
        }))
    }
}

/// Returns a function that adds the limits to the builder of each task, and then what `former` adds.
pub(crate) fn with_limits(limits: TaskBuilder, former: Option<Prepare>) -> Prepare {
    Arc::new(move |task| {
        let task = task.default_limits(&limits);
        match &former {
            None => task,
            Some(former) => former(task),
        }
    })
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sources").field(&self.0.len()).finish()
    }
}

//! Rejection policies by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::executor::RejectedExecution;
use crate::pool::{
    AbortPolicy, BlockPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy,
    RejectedExecutionHandler, Saturated,
};
use crate::task::Task;

/// The names of the policies of this library.
const BUILT_IN: [&str; 5] = ["abort", "block", "caller_runs", "discard", "discard_oldest"];

/// The policies that were registered, by name; those of the library need not be.
#[derive(Default)]
pub(super) struct Policies(BTreeMap<Arc<str>, Arc<dyn RejectedExecutionHandler>>);

impl Policies {
    /// Adds a policy; returns the one that had this name.
    #[must_use]
    pub(super) fn insert(
        &mut self,
        name: &str,
        handler: Arc<dyn RejectedExecutionHandler>,
    ) -> Option<Arc<dyn RejectedExecutionHandler>> {
        let name: Arc<str> = Arc::from(name);
        let named = Named {
            name: Arc::clone(&name),
            handler,
        };
        self.0.insert(name, Arc::new(named))
    }

    /// Returns the policy of this name. A registered one precedes that of the library.
    pub(super) fn get(&self, name: &str) -> Option<Arc<dyn RejectedExecutionHandler>> {
        if let Some(registered) = self.0.get(name) {
            return Some(Arc::clone(registered));
        }
        Some(match name {
            "abort" => Arc::new(AbortPolicy),
            "block" => Arc::new(BlockPolicy::new()),
            "caller_runs" => Arc::new(CallerRunsPolicy),
            "discard" => Arc::new(DiscardPolicy),
            "discard_oldest" => Arc::new(DiscardOldestPolicy),
            _ => return None,
        })
    }

    /// Returns all names, in order.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = BUILT_IN.into_iter().map(Arc::from).collect();
        names.extend(self.0.keys().cloned());
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The policy of an executor before a change.
#[derive(Clone)]
pub(super) struct FormerPolicy(pub(super) Arc<dyn RejectedExecutionHandler>);

impl fmt::Debug for FormerPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its own name is the user's to tell, and this may be printed under a lock.
        f.debug_struct("FormerPolicy").finish_non_exhaustive()
    }
}

/// A policy under the name that it was registered with.
struct Named {
    name: Arc<str>,
    handler: Arc<dyn RejectedExecutionHandler>,
}

impl RejectedExecutionHandler for Named {
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        self.handler.rejected(task, pool)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

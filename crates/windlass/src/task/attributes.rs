//! The attributes that a user can set on a task.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::unwind::discard;

/// The name, the priority and the attachment of a task.
#[derive(Clone, Default)]
pub(crate) struct Attributes {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) priority: i32,
    pub(crate) attachment: Option<Arc<dyn Any + Send + Sync>>,
}

impl Drop for Attributes {
    fn drop(&mut self) {
        if let Some(attachment) = self.attachment.take() {
            discard(attachment);
        }
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attributes")
            .field("name", &self.name)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

//! The attributes that a user can set on a task.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::context::Captured;
use super::limits::Limits;
use super::token::CancelToken;
use crate::unwind::discard;

/// The name, the priority, the attachment and the time limits of a task.
#[derive(Clone, Default)]
pub(crate) struct Attributes {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) priority: i32,
    pub(crate) attachment: Option<Arc<dyn Any + Send + Sync>>,
    pub(super) limits: Option<Limits>,
    /// Taken out when the task is built: its body has it from then on.
    pub(super) context: Option<Captured>,
    /// Whether this context enters a span of `tracing`.
    pub(crate) enters_span: bool,
    /// The tokens that cancel the task. Taken out too.
    pub(super) tokens: Vec<CancelToken>,
}

impl Attributes {
    /// Returns whether there is nothing in them.
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            name,
            priority,
            attachment,
            limits,
            context,
            enters_span,
            tokens,
        } = self;
        let named = name.is_some() || *priority != 0 || attachment.is_some();
        !named && !enters_span && limits.is_none() && context.is_none() && tokens.is_empty()
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        if let Some(attachment) = self.attachment.take() {
            discard(attachment);
        }
        if let Some(context) = self.context.take() {
            discard(context);
        }
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attributes")
            .field("name", &self.name)
            .field("priority", &self.priority)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

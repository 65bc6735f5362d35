//! The bounds within which settings may be changed from outside.

use std::ops::RangeInclusive;

use super::change_error::ChangeError;
use super::settings::{Field, FieldChange, Value};

/// The bounds, set in code, within which settings may be changed from outside.
///
/// ```
/// use windlass::monitor::{Registry, TuneLimits};
/// use windlass::prelude::*;
///
/// let registry = Registry::new();
/// let pool = ThreadPoolExecutor::builder().name("web").core_pool_size(4).build().unwrap();
/// registry.register(&pool);
/// registry.limit("web", TuneLimits::new().core(1..=16).max(1..=16));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "limits have no effect until they are registered"]
pub struct TuneLimits {
    /// The bounds of the core size.
    pub core: Option<RangeInclusive<usize>>,
    /// The bounds of the maximum size.
    pub max: Option<RangeInclusive<usize>>,
    /// The bounds of the queue's capacity.
    pub capacity: Option<RangeInclusive<usize>>,
    /// The bounds of the parallelism.
    pub parallelism: Option<RangeInclusive<usize>>,
}

impl TuneLimits {
    /// Creates limits that allow everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the bounds of the core size.
    pub const fn core(mut self, bounds: RangeInclusive<usize>) -> Self {
        self.core = Some(bounds);
        self
    }

    /// Sets the bounds of the maximum size.
    pub const fn max(mut self, bounds: RangeInclusive<usize>) -> Self {
        self.max = Some(bounds);
        self
    }

    /// Sets the bounds of the queue's capacity.
    pub const fn capacity(mut self, bounds: RangeInclusive<usize>) -> Self {
        self.capacity = Some(bounds);
        self
    }

    /// Sets the bounds of the parallelism.
    pub const fn parallelism(mut self, bounds: RangeInclusive<usize>) -> Self {
        self.parallelism = Some(bounds);
        self
    }

    /// Returns the bounds of a setting.
    #[must_use]
    pub const fn bounds(&self, field: Field) -> Option<&RangeInclusive<usize>> {
        match field {
            Field::Core => self.core.as_ref(),
            Field::Max => self.max.as_ref(),
            Field::Capacity => self.capacity.as_ref(),
            Field::Parallelism => self.parallelism.as_ref(),
            Field::KeepAlive | Field::AllowCoreTimeout | Field::Policy => None,
        }
    }

    /// Returns the error of a change that leaves the bounds.
    pub(super) fn check(&self, changes: &[FieldChange]) -> Result<(), ChangeError> {
        for change in changes {
            let value = match change.new {
                Value::Count(value) => value,
                // No bound at all is beyond each bound.
                Value::Unbounded => usize::MAX,
                _ => continue,
            };
            let Some(bounds) = self.bounds(change.field) else {
                continue;
            };
            if !bounds.contains(&value) {
                return Err(ChangeError::OutsideLimits {
                    field: change.field,
                    value,
                    bounds: (*bounds.start(), *bounds.end()),
                });
            }
        }
        Ok(())
    }
}

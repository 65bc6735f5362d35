//! The configuration of a monitor.

use std::io;
use std::sync::Arc;

use super::registry::Registry;
use super::sampler::Sampler;
use super::service::Monitor;
use super::shared::Shared;
use super::thresholds::Thresholds;

/// The configuration of a [`Monitor`].
///
/// ```
/// use windlass::monitor::{Monitor, Registry, Thresholds};
///
/// let mut thresholds = Thresholds::default();
/// thresholds.activity = 0.9;
/// let monitor = Monitor::builder()
///     .registry(&Registry::new())
///     .thresholds(thresholds)
///     .manual(true)
///     .start()
///     .unwrap();
/// monitor.sample();
/// assert_eq!(monitor.samples(), 1);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder starts nothing until `start`"]
pub struct MonitorBuilder {
    registry: Registry,
    thresholds: Thresholds,
    is_manual: bool,
}

impl MonitorBuilder {
    /// Sets whose executors are watched. Default: those of the global registry.
    pub fn registry(mut self, registry: &Registry) -> Self {
        self.registry = registry.clone();
        self
    }

    /// Sets the thresholds of executors that get none of their own.
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }

    /// Sets whether there is no thread: samples are taken by [`Monitor::sample`] alone.
    pub const fn manual(mut self, is_manual: bool) -> Self {
        self.is_manual = is_manual;
        self
    }

    /// Starts the monitor, on the clock of the current thread.
    ///
    /// # Errors
    ///
    /// That of the system, if no thread can be created.
    pub fn start(self) -> io::Result<Monitor> {
        let shared = Arc::new(Shared::new(self.registry, self.thresholds));
        let sampler = Sampler::new();
        if !self.is_manual {
            sampler.start(&shared)?;
        }
        Ok(Monitor::new(shared, sampler))
    }
}

impl Monitor {
    /// Returns a builder for the global registry and the default thresholds.
    pub fn builder() -> MonitorBuilder {
        MonitorBuilder {
            registry: Registry::global().clone(),
            thresholds: Thresholds::default(),
            is_manual: false,
        }
    }

    /// Starts a monitor with the default thresholds, on the clock of the current thread.
    ///
    /// # Errors
    ///
    /// That of the system, if no thread can be created.
    pub fn start(registry: &Registry) -> io::Result<Self> {
        Self::builder().registry(registry).start()
    }
}

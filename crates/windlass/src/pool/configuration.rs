//! Which settings can have no effect.

use super::no_effect::ConfigWarning;
use super::settings::SettingsSnapshot;
use crate::sync::physical_memory;
use crate::task::Task;

/// What the user has chosen explicitly: nobody is warned of a default.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chosen {
    pub(crate) maximum: bool,
    pub(crate) keep_alive: bool,
    pub(crate) capacity: bool,
    pub(crate) handler: bool,
}

/// All that warnings depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Configuration {
    pub(crate) settings: SettingsSnapshot,
    /// The bound of the queue; `None` if there is none.
    pub(crate) capacity: Option<usize>,
    /// Whether the queue has bounds for some tasks only.
    pub(crate) has_partial_bounds: bool,
    pub(crate) grows_eagerly: bool,
    /// How many spare workers there may be, which retire after the keep-alive time.
    pub(crate) spare_workers: usize,
    pub(crate) chosen: Chosen,
}

impl Configuration {
    /// Returns what can have no effect.
    pub(crate) fn warnings(&self) -> Vec<ConfigWarning> {
        let SettingsSnapshot {
            core,
            maximum,
            keep_alive,
            core_timeout,
        } = self.settings;
        let refuses_nothing = self.capacity.is_none() && !self.has_partial_bounds;
        // A pool without core workers has one worker nevertheless.
        let least = core.max(1);
        let stays_at_core = refuses_nothing && !self.grows_eagerly;
        let mut warnings = Vec::new();
        if self.chosen.maximum && stays_at_core && maximum > least {
            warnings.push(ConfigWarning::MaximumUnreachable {
                core: least,
                maximum,
            });
        }
        let largest = if stays_at_core { least } else { maximum };
        let has_surplus = largest > core || self.spare_workers > 0;
        if self.chosen.keep_alive && !core_timeout && !has_surplus {
            warnings.push(ConfigWarning::KeepAliveUnused { keep_alive });
        }
        if let Some(capacity) = self.capacity.filter(|_| self.chosen.capacity) {
            let most = most_queued();
            if capacity > most {
                warnings.push(ConfigWarning::QueueExceedsMemory { capacity, most });
            }
        }
        if self.chosen.handler && refuses_nothing {
            warnings.push(ConfigWarning::RejectionHandlerUnused);
        }
        if self.grows_eagerly && core == maximum {
            warnings.push(ConfigWarning::EagerGrowthUnused { size: core });
        }
        warnings
    }
}

/// Returns how many queued tasks fill the memory of the machine.
fn most_queued() -> usize {
    let bytes = physical_memory().unwrap_or(isize::MAX as usize);
    bytes / size_of::<Task>()
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::Duration;

    use super::{Chosen, ConfigWarning, Configuration, most_queued};
    use crate::pool::settings::SettingsSnapshot;

    const KEEP_ALIVE: Duration = Duration::from_secs(1);

    fn all_chosen() -> Chosen {
        Chosen {
            maximum: true,
            keep_alive: true,
            capacity: true,
            handler: true,
        }
    }

    /// All small configurations: a warning says of a setting that it has no effect exactly if it has none.
    #[test]
    fn a_warning_is_given_exactly_where_a_setting_has_no_effect() {
        let sizes = (1..4_usize).flat_map(|maximum| (0..=maximum).map(move |core| (core, maximum)));
        for (core, maximum) in sizes {
            for (core_timeout, eager) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let queues = [None, Some(0), Some(7)].map(|capacity| (capacity, false));
                for (capacity, partial) in queues.into_iter().chain([(None, true), (Some(7), true)])
                {
                    for spare_workers in [0, 2] {
                        let settings = SettingsSnapshot {
                            core,
                            maximum,
                            keep_alive: KEEP_ALIVE,
                            core_timeout,
                        };
                        let configuration = Configuration {
                            settings,
                            capacity,
                            has_partial_bounds: partial,
                            grows_eagerly: eager,
                            spare_workers,
                            chosen: all_chosen(),
                        };
                        let warnings = configuration.warnings();
                        let has =
                            |warning: fn(&ConfigWarning) -> bool| warnings.iter().any(warning);
                        // How many workers there can be.
                        let reach = match (capacity, partial, eager) {
                            (None, false, false) => core.max(1),
                            _ => maximum,
                        };
                        let is_unreachable = |w: &ConfigWarning| {
                            matches!(w, ConfigWarning::MaximumUnreachable { .. })
                        };
                        assert_eq!(has(is_unreachable), reach < maximum, "{configuration:?}");
                        let is_unused =
                            |w: &ConfigWarning| matches!(w, ConfigWarning::KeepAliveUnused { .. });
                        assert_eq!(
                            has(is_unused),
                            !core_timeout && reach <= core && spare_workers == 0,
                            "{configuration:?}"
                        );
                        let is_handler =
                            |w: &ConfigWarning| matches!(w, ConfigWarning::RejectionHandlerUnused);
                        assert_eq!(has(is_handler), capacity.is_none() && !partial);
                        let quiet = Configuration {
                            chosen: Chosen::default(),
                            grows_eagerly: false,
                            ..configuration
                        };
                        assert_eq!(quiet.warnings(), []);
                    }
                }
            }
        }
    }

    #[test]
    fn a_bound_beyond_the_memory_is_noticed() {
        let configuration = |capacity| Configuration {
            settings: SettingsSnapshot {
                core: 1,
                maximum: 1,
                keep_alive: KEEP_ALIVE,
                core_timeout: false,
            },
            capacity: Some(capacity),
            has_partial_bounds: false,
            grows_eagerly: false,
            spare_workers: 0,
            chosen: Chosen {
                capacity: true,
                ..Chosen::default()
            },
        };
        assert_eq!(configuration(1_000_000).warnings(), []);
        let warnings = configuration(usize::MAX).warnings();
        let expected = ConfigWarning::QueueExceedsMemory {
            capacity: usize::MAX,
            most: most_queued(),
        };
        assert_eq!(warnings, [expected]);
    }
}

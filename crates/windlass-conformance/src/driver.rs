//! The Windlass pool as a subject.

use crate::subject::Subject;

/// Makes a subject for one scenario.
///
/// # Errors
///
/// Why there is none.
pub fn subject() -> Result<Box<dyn Subject>, String> {
    Err("driver not linked".to_owned())
}

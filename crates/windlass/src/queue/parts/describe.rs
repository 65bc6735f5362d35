//! The `Debug` form of a queue.

use std::fmt;

use crate::queue::blocking_queue::BlockingQueue;

/// Writes a queue's name, its length and its first elements.
pub(crate) fn describe<T: Send + fmt::Debug>(
    queue: &dyn BlockingQueue<T>,
    name: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    const SHOWN: usize = 16;
    let mut first = Vec::new();
    let mut len = 0;
    queue.for_each(&mut |item| {
        len += 1;
        if len <= SHOWN {
            first.push(format!("{item:?}"));
        }
    });
    write!(f, "{name} {{ len: {len}, elements: [{}", first.join(", "))?;
    f.write_str(if len > SHOWN { ", ..] }" } else { "] }" })
}

//! What a step returns.

use std::fmt;

use crate::format::TaskId;

/// The result of one step; printed, it is the text after `> `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, without a value.
    Ok,
    /// The pool rejected the task.
    Rejected,
    /// The pool does not take such a value.
    InvalidArgument,
    /// A yes or a no: `cancel`, `remove`, `prestart`, `await`.
    Flag(bool),
    /// How many: `prestart all`.
    Count(usize),
    /// `get`: the task ended well. Its value is its own name.
    Value(TaskId),
    /// `get`: the task ended by a failure; `execute`: so did a run on the submitting thread.
    Failed,
    /// `get` and `future`: the handle was cancelled.
    Cancelled,
    /// `get`: not within its time.
    Timeout,
    /// `future`: not done yet.
    Pending,
    /// `future`: done, well or not.
    Done,
    /// `shutdown_now`: the tasks that never started, in queue order.
    Tasks(Vec<TaskId>),
    /// The driver could not carry out the step at all; never equal to anything recorded.
    Impossible(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ok => f.write_str("ok"),
            Outcome::Rejected => f.write_str("rejected"),
            Outcome::InvalidArgument => f.write_str("invalid-argument"),
            Outcome::Flag(yes) => yes.fmt(f),
            Outcome::Count(n) => n.fmt(f),
            Outcome::Value(id) => write!(f, "value {id}"),
            Outcome::Failed => f.write_str("failed"),
            Outcome::Cancelled => f.write_str("cancelled"),
            Outcome::Timeout => f.write_str("timeout"),
            Outcome::Pending => f.write_str("pending"),
            Outcome::Done => f.write_str("done"),
            Outcome::Tasks(ids) => list(f, ids),
            Outcome::Impossible(why) => write!(f, "! {why}"),
        }
    }
}

/// Prints `[a b c]`.
pub(crate) fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
) -> fmt::Result {
    f.write_str("[")?;
    for (i, item) in items.into_iter().enumerate() {
        let space = if i == 0 { "" } else { " " };
        write!(f, "{space}{item}")?;
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tasks_keeps_its_order() {
        let tasks = ["t2", "t10", "t1"].map(TaskId::new);
        assert_eq!(Outcome::Tasks(tasks.to_vec()).to_string(), "[t2 t10 t1]");
        assert_eq!(Outcome::Tasks(Vec::new()).to_string(), "[]");
    }
}

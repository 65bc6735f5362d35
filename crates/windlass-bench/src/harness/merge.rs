//! Puts the workloads of a new run into a record that has others.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::record::{Entry, Row};

/// The key of a setting that names the workloads measured in it.
pub(crate) const WORKLOADS: &str = "workloads";

/// The old record with all that is of the new run's workloads replaced, in the order of workloads.
pub(crate) fn merge(old: Vec<Entry>, new: Vec<Entry>) -> Vec<Entry> {
    let fresh = measured(&new);
    let left: BTreeSet<String> = measured(&old).difference(&fresh).cloned().collect();
    let kept = old.into_iter().filter_map(|entry| match entry {
        Entry::Setting(setting) => restrict(setting, &left).map(Entry::Setting),
        Entry::Row(row) => left.contains(&row.workload).then_some(Entry::Row(row)),
        Entry::Notice(text) => {
            let of_it = left.iter().any(|id| text.starts_with(&format!("{id} ")));
            of_it.then_some(Entry::Notice(text))
        }
    });
    let mut all: Vec<Entry> = kept.chain(new).collect();
    all.sort_by_key(place);
    all
}

/// The workloads that have rows.
pub(crate) fn measured(entries: &[Entry]) -> BTreeSet<String> {
    let rows = entries.iter().filter_map(|entry| match entry {
        Entry::Row(row) => Some(row.workload.clone()),
        Entry::Setting(_) | Entry::Notice(_) => None,
    });
    rows.collect()
}

/// A setting with those of its workloads that are still from it, if any are. Older settings name
/// none and so have all.
fn restrict(mut setting: Value, left: &BTreeSet<String>) -> Option<Value> {
    let named = setting.get(WORKLOADS).and_then(Value::as_array);
    let mut ids: Vec<String> = match named {
        None => left.iter().cloned().collect(),
        Some(ids) => {
            let ids = ids.iter().filter_map(Value::as_str).map(str::to_owned);
            ids.filter(|id| left.contains(id)).collect()
        }
    };
    ids.sort_by_key(|id| number(id));
    setting[WORKLOADS] = json!(ids);
    (!ids.is_empty()).then_some(setting)
}

/// Settings, then rows by workload, then notices.
fn place(entry: &Entry) -> (u8, u32) {
    match entry {
        Entry::Setting(_) => (0, 0),
        Entry::Row(Row { workload, .. }) => (1, number(workload)),
        Entry::Notice(_) => (2, 0),
    }
}

/// The number of a workload: 14 for `W14`.
pub(crate) fn number(id: &str) -> u32 {
    id.trim_start_matches('W').parse().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge;
    use crate::harness::figure::Unit;
    use crate::harness::point::Point;
    use crate::harness::record::{Entry, Row};

    fn row(workload: &str, value: f64) -> Entry {
        let name = (workload, &Point::parse("workers=1"), "windlass");
        let metric = ("x".to_owned(), Unit::Nanos);
        Entry::Row(Row::gather(name, metric, vec![value]))
    }

    fn lines(entries: &[Entry]) -> Vec<String> {
        entries.iter().map(Entry::to_line).collect()
    }

    #[test]
    fn measured_workloads_are_replaced_and_the_others_stay() {
        let old = vec![
            Entry::Setting(json!({ "date": "old" })),
            row("W2", 1.0),
            row("W10", 2.0),
            Entry::Notice("W2 workers=1: rayon failed: it hangs".to_owned()),
            Entry::Notice("W10 workers=1: rayon failed: it hangs".to_owned()),
        ];
        let new = vec![
            Entry::Setting(json!({ "date": "new", "workloads": ["W2"] })),
            row("W2", 3.0),
        ];
        let merged = merge(old, new);
        let expected = [
            Entry::Setting(json!({ "date": "old", "workloads": ["W10"] })),
            Entry::Setting(json!({ "date": "new", "workloads": ["W2"] })),
            row("W2", 3.0),
            row("W10", 2.0),
            Entry::Notice("W10 workers=1: rayon failed: it hangs".to_owned()),
        ];
        assert_eq!(lines(&merged), lines(&expected));
    }

    #[test]
    fn a_setting_of_which_nothing_is_left_goes() {
        let old = vec![Entry::Setting(json!({ "date": "old" })), row("W2", 1.0)];
        let new = vec![Entry::Setting(json!({ "date": "new" })), row("W2", 3.0)];
        assert_eq!(lines(&merge(old, new.clone())), lines(&new));
    }
}

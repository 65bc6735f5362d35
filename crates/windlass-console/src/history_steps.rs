//! A part of the past of a pool, in coarser steps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass::monitor::History;

use crate::json::milliseconds;

/// Keeps the points later than a time. A client has that time from an answer, in whole milliseconds.
pub(crate) fn keep_after(history: &mut History, since: SystemTime) {
    let since = milliseconds(since);
    let times = history.times.iter();
    let first = times
        .take_while(|time| milliseconds(**time) <= since)
        .count();
    history.times.drain(..first);
    for (_, values) in &mut history.series {
        values.drain(..first);
    }
}

/// Makes one point of all in a step; the steps are multiples of their length since 1970.
///
/// The last step is left out until a later point shows that it is over: who asks again for what is later than the last point
/// then gets no step in two parts. Percentiles and peaks become the highest, all else the mean of what was measured.
pub(crate) fn merge(history: &mut History, step: Duration) {
    let step_of = |time: &SystemTime| {
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        since_epoch.as_secs() / step.as_secs().max(1)
    };
    let times = std::mem::take(&mut history.times);
    let groups: Vec<&[SystemTime]> = times.chunk_by(|a, b| step_of(a) == step_of(b)).collect();
    let whole = groups.len().saturating_sub(1);
    let lengths: Vec<usize> = groups[..whole].iter().map(|group| group.len()).collect();
    history.step = step;
    history.times = groups[..whole]
        .iter()
        .filter_map(|group| group.last().copied())
        .collect();
    for (name, values) in &mut history.series {
        let is_highest = name.ends_with("_peak") || name.contains("_p");
        let mut rest = &**values;
        let mut merged = Vec::with_capacity(whole);
        for length in &lengths {
            let (group, after) = rest.split_at(*length);
            let measured: Vec<f64> = group.iter().copied().flatten().collect();
            merged.push(if is_highest {
                highest(&measured)
            } else {
                mean(&measured)
            });
            rest = after;
        }
        *values = merged;
    }
}

fn highest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

#[expect(clippy::cast_precision_loss, reason = "a few points")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use windlass::ThreadPoolExecutor;
    use windlass::monitor::{History, HistorySpan, Monitor, Registry};

    use super::{keep_after, merge};

    /// The past of ten seconds from 98 on: a mean, a peak and a percentile, of which the fifth was not measured.
    fn history() -> History {
        let registry = Registry::new();
        let pool = ThreadPoolExecutor::builder().name("web").build();
        let pool = pool.expect("a pool");
        registry.register(&pool);
        let monitor = Monitor::builder().registry(&registry).manual(true);
        let monitor = monitor.start().expect("a monitor without a thread");
        let mut history = monitor.history("web", HistorySpan::Seconds(1));
        let mut history = history.take().expect("the pool is registered");
        let second = |at: u64| UNIX_EPOCH + Duration::from_millis(98_250 + 1000 * at);
        history.times = (0..10).map(second).collect();
        let values: Vec<_> = (0..10_u32)
            .map(|at| (at != 4).then_some(f64::from(at)))
            .collect();
        history.series = ["active", "queue_peak", "wait_p99"]
            .map(|name| (name, values.clone()))
            .to_vec();
        history
    }

    #[test]
    fn what_is_later_than_a_point_begins_with_the_next() {
        let mut later = history();
        let fourth = history().times[3];
        // As a client has it: in whole milliseconds.
        keep_after(&mut later, fourth);
        assert_eq!(later.times, history().times[4..]);
        assert_eq!(later.series[0].1, history().series[0].1[4..]);
        keep_after(&mut later, UNIX_EPOCH + Duration::from_secs(1 << 40));
        assert!(later.times.is_empty() && later.series[2].1.is_empty());
    }

    #[test]
    fn a_step_has_the_mean_or_the_highest_and_is_left_out_until_it_is_over() {
        let mut coarse = history();
        merge(&mut coarse, Duration::from_secs(4));
        let all = history().times;
        // 98 and 99; 100 to 103; 104 to 107 may not be over.
        assert_eq!(coarse.times, [all[1], all[5]]);
        assert_eq!(coarse.step, Duration::from_secs(4));
        let of = |at: usize| coarse.series[at].1.clone();
        assert_eq!(of(0), [Some(0.5), Some(10.0 / 3.0)]);
        assert_eq!(of(1), [Some(1.0), Some(5.0)]);
        assert_eq!(of(2), [Some(1.0), Some(5.0)]);
    }

    #[test]
    fn nothing_stays_nothing() {
        let mut empty = history();
        keep_after(&mut empty, *history().times.last().expect("ten"));
        merge(&mut empty, Duration::from_secs(5));
        assert!(empty.times.is_empty() && empty.series[0].1.is_empty());
    }
}

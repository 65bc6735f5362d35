//! The text for Prometheus, read by a parser that accepts nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use windlass::monitor::Exposition;
use windlass::prelude::*;
use windlass::testing::until;

use crate::Watched;

/// One line with a value.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// All metrics of a text, by family: its type and its samples.
type Families = BTreeMap<String, (String, Vec<Sample>)>;

fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parses `{name="value",…}`; returns the labels and what follows.
fn labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let mut rest = text.strip_prefix('{').expect("labels");
    loop {
        let (name, value) = rest.split_once("=\"").expect("a label");
        assert!(is_name(name), "{name:?}");
        let (mut unescaped, mut characters) = (String::new(), value.char_indices());
        let end = loop {
            match characters.next().expect("the end of a value") {
                (at, '"') => break at,
                (_, '\\') => unescaped.push(match characters.next() {
                    Some((_, '\\')) => '\\',
                    Some((_, '"')) => '"',
                    Some((_, 'n')) => '\n',
                    other => panic!("{other:?} is escaped"),
                }),
                (_, character) => unescaped.push(character),
            }
        };
        assert_eq!(
            labels.insert(name.to_owned(), unescaped),
            None,
            "{name} is there twice"
        );
        rest = &value[end + 1..];
        match rest.split_at(1) {
            (",", more) => rest = more,
            ("}", more) => return (labels, more),
            other => panic!("{other:?} after a label"),
        }
    }
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        text => text
            .parse()
            .unwrap_or_else(|_| panic!("{text:?} is no number")),
    }
}

/// Parses a text strictly: each family once, with help and type before its samples, no sample twice.
fn parse(text: &str) -> Families {
    assert!(text.ends_with('\n'));
    let mut families = Families::new();
    let mut seen = BTreeSet::new();
    let (mut family, mut helped) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("help");
            assert!(is_name(name) && !words.is_empty());
            name.clone_into(&mut helped);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert_eq!(name, helped);
            assert!(["gauge", "counter", "histogram"].contains(&kind));
            let former = families.insert(name.to_owned(), (kind.to_owned(), Vec::new()));
            assert!(former.is_none(), "{name} is there twice");
            name.clone_into(&mut family);
        } else {
            let (name, rest) = line.split_at(line.find('{').expect("labels"));
            assert!(is_name(name));
            let (labels, rest) = labels(rest);
            let value = number(rest.strip_prefix(' ').expect("a space"));
            assert!(
                seen.insert(line[..line.len() - rest.len()].to_owned()),
                "{line} is there twice"
            );
            let (kind, samples) = families
                .get_mut(&family)
                .expect("a type before the samples");
            let suffix = name.strip_prefix(&*family).expect("the name of the family");
            match &**kind {
                "histogram" => assert!(["_bucket", "_sum", "_count"].contains(&suffix)),
                _ => assert_eq!(suffix, ""),
            }
            assert_eq!(
                kind == "counter",
                family.ends_with("_total"),
                "{family} is a {kind}"
            );
            let name = name.to_owned();
            samples.push(Sample {
                name,
                labels,
                value,
            });
        }
    }
    families
}

/// Returns the only value of a metric with these labels.
fn value(families: &Families, name: &str, labels: &[(&str, &str)]) -> f64 {
    let (_, samples) = &families[name];
    let fits = |sample: &&Sample| {
        labels
            .iter()
            .all(|(name, value)| sample.labels.get(*name).is_some_and(|label| label == value))
    };
    let fitting: Vec<_> = samples.iter().filter(fits).collect();
    assert_eq!(fitting.len(), 1, "{fitting:?}");
    fitting[0].value
}

fn exposed(watched: &Watched, exposition: Exposition) -> Families {
    parse(&watched.monitor.prometheus(exposition))
}

/// WL-421
#[test]
fn the_text_is_valid_and_has_the_figures_of_each_pool() {
    let watched = Watched::new();
    let sums = ForkJoinPool::new(3).unwrap();
    let timers = executors::scheduled_thread_pool(1);
    watched.registry.register_as("sums", &sums);
    watched.registry.register_as("timers", &timers);
    watched.pool.submit(|| ()).unwrap().join().unwrap();
    until("the task to be counted", || {
        watched.pool.completed_task_count() == 1
    });
    watched.seconds(1);
    let families = exposed(&watched, Exposition::Windlass);
    let of = |name, labels: &[_]| value(&families, name, labels);
    assert_eq!(of("windlass_pool_threads_core", &[("pool", "web")]), 2.0);
    assert_eq!(of("windlass_pool_queue_capacity", &[("pool", "web")]), 10.0);
    assert_eq!(
        of("windlass_pool_queue_capacity", &[("pool", "timers")]),
        f64::INFINITY
    );
    // A scheduled pool has no maximum, and one that is idle runs nothing.
    assert_eq!(
        of("windlass_pool_threads_max", &[("pool", "timers")]),
        f64::INFINITY
    );
    let idle = [("pool", "timers")];
    assert_eq!(of("windlass_pool_oldest_running_seconds", &idle), 0.0);
    let ok = [("pool", "web"), ("outcome", "ok")];
    assert_eq!(of("windlass_pool_tasks_completed_total", &ok), 1.0);
    assert_eq!(
        of(
            "windlass_pool_state",
            &[("pool", "web"), ("state", "running")]
        ),
        1.0
    );
    assert_eq!(of("windlass_fj_parallelism", &[]), 3.0);
    assert_eq!(of("windlass_scheduled_tasks", &[]), 0.0);
    assert_eq!(
        of(
            "windlass_pool_alert_active",
            &[("pool", "web"), ("kind", "stuck")]
        ),
        0.0
    );
    assert!(families.keys().all(|name| name.starts_with("windlass_")));
}

/// WL-421
#[test]
fn the_buckets_of_a_histogram_are_cumulative_and_end_with_infinity() {
    let watched = Watched::new();
    watched.pool.submit(|| ()).unwrap().join().unwrap();
    until("the run to be recorded", || {
        watched.pool.stats().run_times.count() == 1
    });
    let families = exposed(&watched, Exposition::Windlass);
    let (kind, samples) = &families["windlass_pool_task_run_seconds"];
    assert_eq!(kind, "histogram");
    let of = |suffix: &str| {
        let samples = samples
            .iter()
            .filter(move |sample| sample.name.ends_with(suffix));
        samples.cloned().collect::<Vec<_>>()
    };
    let buckets = of("_bucket");
    assert_eq!(buckets.len(), 25);
    let bounds: Vec<_> = buckets
        .iter()
        .map(|bucket| number(&bucket.labels["le"]))
        .collect();
    assert!(bounds.is_sorted() && bounds[0] == 1e-6 && bounds[24] == f64::INFINITY);
    assert!(buckets.is_sorted_by_key(|bucket| bucket.value));
    let count = of("_count")[0].value;
    assert_eq!(
        (buckets[24].value, count, of("_sum").len()),
        (count, 1.0, 1)
    );
}

/// WL-421
#[test]
fn counters_never_fall() {
    let watched = Watched::new();
    let counters = || {
        let families = exposed(&watched, Exposition::Micrometer).into_iter();
        let counters = families.filter(|(_, (kind, _))| kind == "counter");
        let samples = counters.flat_map(|(_, (_, samples))| samples);
        samples
            .map(|sample| ((sample.name, sample.labels), sample.value))
            .collect::<BTreeMap<_, _>>()
    };
    let mut before = counters();
    for round in 0..50 {
        let tasks: Vec<_> = (0..5).map(|_| watched.pool.submit(|| ())).collect();
        if round % 3 == 0 {
            for task in tasks.iter().flatten() {
                task.cancel();
            }
            watched.pool.purge();
        }
        let now = counters();
        for (which, value) in &before {
            assert!(now[which] >= *value, "{which:?} has fallen");
        }
        before = now;
    }
}

/// WL-421
#[test]
fn names_of_pools_are_escaped() {
    let watched = Watched::new();
    let name = "a \"quoted\" \\ name,\nin two lines{}";
    watched.registry.register_as(name, &watched.pool);
    let families = exposed(&watched, Exposition::Micrometer);
    assert_eq!(
        value(&families, "windlass_pool_threads_core", &[("pool", name)]),
        2.0
    );
    assert_eq!(
        value(&families, "executor_pool_core_threads", &[("name", name)]),
        2.0
    );
}

/// WL-421
#[test]
fn the_names_of_micrometer_are_added_when_asked_for() {
    let watched = Watched::new();
    let families = exposed(&watched, Exposition::Micrometer);
    for name in [
        "executor_active_threads",
        "executor_completed_tasks_total",
        "executor_queued_tasks",
        "executor_queue_remaining_tasks",
        "executor_pool_size_threads",
        "executor_pool_core_threads",
        "executor_pool_max_threads",
        "executor_seconds",
        "executor_idle_seconds",
    ] {
        assert!(families.contains_key(name), "{name}");
    }
    assert_eq!(
        value(&families, "executor_queue_remaining_tasks", &[]),
        10.0
    );
    assert!(families.contains_key("windlass_pool_threads"));
}

/// Micrometer gives some figures of a fork-join pool no unit, so they have other names than those of a thread pool.
///
/// WL-421
#[test]
fn a_fork_join_pool_has_the_names_that_micrometer_gives_to_one() {
    let watched = Watched::new();
    let sums = ForkJoinPool::new(3).unwrap();
    watched.registry.register_as("sums", &sums);
    let families = exposed(&watched, Exposition::Micrometer);
    let owners = |name: &str| {
        let (_, samples) = &families[name];
        let names = samples.iter().map(|sample| &*sample.labels["name"]);
        names.collect::<BTreeSet<_>>()
    };
    for name in [
        "executor_active",
        "executor_queued",
        "executor_running",
        "executor_steals_total",
        "executor_parallelism_threads",
    ] {
        assert_eq!(owners(name), BTreeSet::from(["sums"]), "{name}");
    }
    for name in ["executor_active_threads", "executor_queued_tasks"] {
        assert_eq!(owners(name), BTreeSet::from(["web"]), "{name}");
    }
    assert!(!families.contains_key("executor_running_threads"));
}

/// Has promtool check a text; returns its exit code and its remarks, or `None` if there is no promtool.
fn promtool(text: &str) -> Option<(i32, String)> {
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = promtool.ok()?;
    let mut input = promtool.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = promtool.wait_with_output().unwrap();
    let remarks = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.code().unwrap_or(-1), remarks))
}

/// WL-421
#[test]
fn promtool_accepts_the_text() {
    let watched = Watched::new();
    // One that has worked, one that waits for its time, one that steals.
    let registry = &watched.registry;
    let timers = executors::scheduled_thread_pool(1);
    let sums = ForkJoinPool::new(2).unwrap();
    registry.register_as("timers", &timers);
    registry.register_as("sums", &sums);
    for _ in 0..20 {
        watched.pool.submit(|| ()).unwrap().join().unwrap();
    }
    watched.pool.execute(|| panic!("on purpose")).unwrap();
    sums.submit(|| 1).unwrap().join().unwrap();
    watched.await_runs(21);
    watched.seconds(2);
    let text = watched.monitor.prometheus(Exposition::Windlass);
    let Some((code, remarks)) = promtool(&text) else {
        // Not by a macro: what those write is not shown when a test passes.
        let text = "promtool_accepts_the_text: left out: there is no promtool on this machine";
        let _ = writeln!(std::io::stderr(), "{text}");
        return;
    };
    assert_eq!((code, &*remarks), (0, ""));
    // Exit code 3 means remarks on style: on names that Micrometer has chosen, and on no other.
    let text = watched.monitor.prometheus(Exposition::Micrometer);
    let (code, remarks) = promtool(&text).unwrap();
    assert!(matches!(code, 0 | 3), "{remarks}");
    assert!(!remarks.contains("error while linting"), "{remarks}");
    assert!(!remarks.contains("windlass_"), "{remarks}");
}

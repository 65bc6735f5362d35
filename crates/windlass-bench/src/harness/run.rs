//! A whole run: all chosen workloads, shown as they come and recorded.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::jdk::Jdk;
use super::record::{Entry, Row};
use super::rounds::{Measured, Rounds};
use super::table::{self, Ranking};
use super::workload::{Size, Workload};
use super::{machine, merge};
use crate::workloads;

/// What the user chose.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The workloads by id; all, if there are none here.
    pub(crate) only: Vec<String>,
    /// The peers by name; all, if there are none here.
    pub(crate) peers: Vec<String>,
    pub(crate) size: Size,
    pub(crate) rounds: Rounding,
    pub(crate) jdk: bool,
    pub(crate) json: Option<PathBuf>,
    /// Whether the record keeps the workloads that are not measured now.
    pub(crate) merges: bool,
    /// The command as given, for the report.
    pub(crate) command: String,
}

/// How often samples are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounding {
    /// The rounds that every point gets.
    pub(crate) planned: usize,
    /// No point gets more rounds than these, however little its samples tell.
    pub(crate) most: usize,
    /// How long the whole run may take, if it is limited. The planned rounds are taken anyway.
    pub(crate) budget: Option<Duration>,
}

/// The further rounds that a point gets at a time.
const BATCH: usize = 2;

/// Measures, shows and records.
///
/// # Errors
///
/// Unknown workloads, and files that cannot be read or written.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let begun = Instant::now();
    let chosen = choose(&options.only)?;
    let path = options.json.clone().unwrap_or_else(last_record);
    // Read before hours of work, so that a mistake shows at once.
    let old = if options.merges {
        read(&path)?
    } else {
        Vec::new()
    };
    let mut jdk = find_jdk(options);
    let version = jdk.as_ref().ok().map(Jdk::version);
    let mut setting = machine::describe(&options.command, version);
    let ids: Vec<_> = chosen.iter().map(|workload| workload.id).collect();
    setting[merge::WORKLOADS] = json!(ids);
    let mut opening = vec![Entry::Setting(setting)];
    if let Err(reason) = &jdk {
        let notice = Entry::Notice(format!("the JDK's side is left out: {reason}"));
        show(&notice);
        opening.push(notice);
    }
    let mut rounds = Rounds {
        peers: &options.peers,
        jdk: jdk.as_mut().ok(),
    };
    let mut points = plan(&chosen, options, &mut rounds);
    let save = |points: &[Measured<'_>]| {
        let measured = points.iter().flat_map(Measured::entries);
        let entries: Vec<_> = opening.iter().cloned().chain(measured).collect();
        let entries = merge::merge(old.clone(), entries);
        write(&path, &entries).map_err(|error| format!("{}: {error}", path.display()))
    };
    save(&points)?;
    repeat(&mut points, options.rounds, begun, &mut rounds);
    save(&points)?;
    let left = points.iter().filter(|point| !point.unsteady().is_empty());
    println!(
        "\n{} of {} points have medians that are not steady",
        left.count(),
        points.len()
    );
    println!(
        "took {} s, recorded in {}",
        begun.elapsed().as_secs(),
        path.display()
    );
    Ok(())
}

/// Takes the planned rounds of all points.
fn plan<'w>(
    chosen: &'w [Workload],
    options: &Options,
    rounds: &mut Rounds<'_>,
) -> Vec<Measured<'w>> {
    // What the JDK has compiled for one point it runs at the next one of that kind.
    let warm_ups = options.size.pick((0, 0), (1, 1), (4, 1));
    let mut points = Vec::new();
    for workload in chosen {
        println!("\n== {} {}", workload.id, workload.title);
        let begun = Instant::now();
        let mut kinds = BTreeSet::new();
        for point in (workload.points)(options.size) {
            let is_first = kinds.insert(point.kind());
            let warm_ups = if is_first { warm_ups.0 } else { warm_ups.1 };
            let mut measured = rounds.prepare(workload, point);
            let everyone = measured.everyone();
            rounds.take(&mut measured, &everyone, (warm_ups, options.rounds.planned));
            show_point(&measured);
            points.push(measured);
        }
        println!("\n{} took {} s", workload.id, begun.elapsed().as_secs());
    }
    points
}

/// Takes further rounds where medians are not steady, a few at a time at each point in turn, so
/// that they spread over the time that is left.
fn repeat(
    points: &mut [Measured<'_>],
    rounding: Rounding,
    begun: Instant,
    rounds: &mut Rounds<'_>,
) {
    let is_late = || {
        rounding
            .budget
            .is_some_and(|budget| begun.elapsed() >= budget)
    };
    loop {
        let mut is_over = true;
        for point in points.iter_mut() {
            let who = point.unsteady();
            if who.is_empty() || point.rounds() >= rounding.most {
                continue;
            }
            if is_late() {
                return;
            }
            rounds.take(point, &who, (1, BATCH.min(rounding.most - point.rounds())));
            show_point(point);
            is_over = false;
        }
        if is_over {
            return;
        }
    }
}

/// Where a run is recorded if nothing else was asked for.
fn last_record() -> PathBuf {
    in_workspace("target/windlass-bench/last.jsonl")
}

/// The record behind `docs/performance.md`.
pub(crate) fn published_record() -> PathBuf {
    in_workspace("docs/performance/record.jsonl")
}

fn in_workspace(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.unwrap_or(Path::new(".")).join(path)
}

fn choose(only: &[String]) -> Result<Vec<Workload>, String> {
    let all = workloads::all();
    let known = |id: &String| all.iter().any(|workload| workload.id == id);
    if let Some(unknown) = only.iter().find(|id| !known(id)) {
        return Err(format!("there is no workload {unknown}"));
    }
    let wanted = |workload: &Workload| only.is_empty() || only.iter().any(|id| id == workload.id);
    Ok(all.into_iter().filter(wanted).collect())
}

fn find_jdk(options: &Options) -> Result<Jdk, String> {
    if options.jdk {
        Jdk::find()
    } else {
        Err("it was not asked for".to_owned())
    }
}

/// Prints the tables of a point and the lines of its record.
fn show_point(measured: &Measured<'_>) {
    let entries: Vec<Entry> = measured.entries().collect();
    let rows: Vec<Row> = entries
        .iter()
        .cloned()
        .filter_map(Entry::into_row)
        .collect();
    for group in table::groups(&rows) {
        let (id, words) = (measured.workload.id, measured.point.words());
        let title = format!(
            "\n{id} {words}: {}, {} rounds",
            group[0].metric,
            measured.rounds()
        );
        let ranking = Ranking::new(group, measured.workload.baseline);
        print!("{}", table::text(&title, &ranking));
    }
    entries.iter().for_each(show);
}

/// Prints the JSON line of a row, or the notice.
fn show(entry: &Entry) {
    match entry {
        Entry::Row(_) => println!("{}", entry.to_line()),
        Entry::Notice(text) => println!("notice: {text}"),
        Entry::Setting(_) => {}
    }
}

fn write(path: &Path, entries: &[Entry]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = BufWriter::new(File::create(path)?);
    for entry in entries {
        writeln!(file, "{}", entry.to_line())?;
    }
    file.flush()
}

/// Reads a record.
///
/// # Errors
///
/// Names what cannot be read.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{}: {error}; `run` makes it", path.display()))?;
    text.lines().map(Entry::from_line).collect()
}

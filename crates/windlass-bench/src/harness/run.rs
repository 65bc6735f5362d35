//! A whole run: all chosen workloads, shown as they come and recorded.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::jdk::Jdk;
use super::machine;
use super::record::{Entry, Row};
use super::rounds::Rounds;
use super::table::{self, Ranking};
use super::workload::{Size, Workload};
use crate::workloads;

/// What the user chose.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The workloads by id; all, if there are none here.
    pub(crate) only: Vec<String>,
    /// The peers by name; all, if there are none here.
    pub(crate) peers: Vec<String>,
    pub(crate) size: Size,
    pub(crate) rounds: Option<usize>,
    pub(crate) jdk: bool,
    pub(crate) json: Option<PathBuf>,
    /// The command as given, for the report.
    pub(crate) command: String,
}

/// Measures, shows and records.
///
/// # Errors
///
/// Unknown workloads, and files that cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let chosen = choose(&options.only)?;
    let mut jdk = find_jdk(options);
    let version = jdk.as_ref().ok().map(Jdk::version);
    let setting = machine::describe(&options.command, version);
    let mut entries = vec![Entry::Setting(setting)];
    if let Err(reason) = &jdk {
        let notice = Entry::Notice(format!("the JDK's side is left out: {reason}"));
        show(&notice);
        entries.push(notice);
    }
    for workload in &chosen {
        let mut rounds = Rounds {
            rounds: options.rounds.unwrap_or(options.size.pick(1, 3, 7)),
            warm_ups: options.size.pick(0, 1, 4),
            peers: &options.peers,
            jdk: jdk.as_mut().ok(),
        };
        entries.extend(measure(workload, options.size, &mut rounds));
    }
    let record = options.json.clone().unwrap_or_else(last_record);
    write(&record, &entries).map_err(|error| format!("{}: {error}", record.display()))?;
    println!("\nrecorded in {}", record.display());
    Ok(())
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

fn measure(workload: &Workload, size: Size, rounds: &mut Rounds<'_>) -> Vec<Entry> {
    println!("\n== {} {}", workload.id, workload.title);
    let mut all = Vec::new();
    for point in (workload.points)(size) {
        let entries = rounds.measure(workload, &point);
        let rows: Vec<Row> = entries.iter().filter_map(as_row).collect();
        for group in table::groups(&rows) {
            let words = point.words();
            let title = format!("\n{} {words}: {}", workload.id, group[0].metric);
            print!(
                "{}",
                table::text(&title, &Ranking::new(group, workload.baseline))
            );
        }
        entries.iter().for_each(show);
        all.extend(entries);
    }
    all
}

fn as_row(entry: &Entry) -> Option<Row> {
    match entry {
        Entry::Row(row) => Some(row.clone()),
        Entry::Setting(_) | Entry::Notice(_) => None,
    }
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

//! Every workload gives well-formed figures, with Windlass and with a peer. Nothing here looks at
//! how fast anything is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-bench");

/// The lines of a record of a tiny run.
fn run(name: &str, arguments: &[&str]) -> (Vec<Value>, PathBuf) {
    let record = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(PROGRAM)
        .args(["run", "--tiny", "--json"])
        .arg(&record)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(&record).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.collect(), record)
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn every_workload_gives_figures_for_windlass_and_a_peer() {
    let peers = "windlass,windlass-fork-join,windlass-scheduled,rayon,crossbeam-channel,rayon+oneshot,rusty_pool,\
                 scheduled-thread-pool,tokio-delay-queue,tokio";
    let (lines, _) = run("every.jsonl", &["--no-jdk", "--peers", peers]);
    let failed: Vec<_> = lines.iter().map(|line| text(line, "notice")).collect();
    let failed: Vec<_> = failed
        .iter()
        .filter(|notice| notice.contains("failed"))
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    for id in (1..=16).map(|number| format!("W{number}")) {
        let rows: Vec<_> = lines
            .iter()
            .filter(|line| text(line, "workload") == id)
            .collect();
        let of = |ours: bool| {
            let mut rows = rows.iter();
            rows.any(|row| text(row, "peer").starts_with("windlass") == ours)
        };
        // The additions of W13 are to Windlass alone.
        assert!(of(true), "{id} has no figures of Windlass");
        assert!(of(false) || id == "W13", "{id} has no figures of a peer");
    }
}

#[test]
fn every_figure_is_a_number_that_can_be() {
    let (lines, _) = run("numbers.jsonl", &["--no-jdk", "--only", "W1,W3,W9,W12"]);
    let rows = lines.iter().filter(|line| line.get("workload").is_some());
    for row in rows {
        for key in ["median", "p10", "p90"] {
            let number = row.get(key).and_then(Value::as_f64);
            assert!(number.is_some_and(|number| number >= 0.0), "{key} in {row}");
        }
        assert!(
            !text(row, "param").is_empty() && !text(row, "unit").is_empty(),
            "{row}"
        );
    }
}

#[test]
fn a_record_becomes_a_document_with_plots() {
    let (_, record) = run(
        "report.jsonl",
        &["--no-jdk", "--only", "W1", "--peers", "windlass,rayon"],
    );
    let document = record.with_file_name("performance.md");
    let arguments = ["report", "--from", record.to_str().unwrap(), "--to"];
    let output = Command::new(PROGRAM)
        .args(arguments)
        .arg(&document)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(&document).unwrap();
    assert!(
        text.contains("| **windlass** |") && text.contains("| rayon |"),
        "{text}"
    );
    assert!(
        text.contains("## Goals") && text.contains("not measured"),
        "{text}"
    );
    let plot = document.with_extension("").join("w1-throughput.svg");
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn a_workload_can_be_measured_into_a_record_of_others() {
    let narrow = ["--no-jdk", "--peers", "windlass,rayon", "--only"];
    let (first, record) = run("parts.jsonl", &[&narrow[..], &["W1,W3"]].concat());
    let output = Command::new(PROGRAM)
        .args(["run", "--tiny", "--into"])
        .arg(&record)
        .args(narrow)
        .arg("W3")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = fs::read_to_string(&record).unwrap();
    let settings = merged.lines().filter(|line| line.contains("\"setting\""));
    assert_eq!(settings.count(), 2);
    let of_first = first.iter().filter(|line| text(line, "workload") == "W1");
    for row in of_first {
        assert!(merged.contains(&row.to_string()), "{row} is lost");
    }
    let of_third = |line: &&Value| text(line, "workload") == "W3";
    let rows = merged.matches("\"workload\":\"W3\"").count();
    assert_eq!(rows, first.iter().filter(of_third).count());
}

#[test]
fn an_unknown_workload_is_an_error() {
    let output = Command::new(PROGRAM)
        .args(["run", "--only", "W99"])
        .output()
        .unwrap();
    assert!(!output.status.success());
}

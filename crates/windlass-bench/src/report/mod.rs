//! The document: tables and plots from a record.

mod bars;
mod goals;
mod lines;
mod markdown;
mod plots;
mod svg;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::record::{Entry, Row};

/// A record, read back.
struct Record {
    setting: Value,
    rows: Vec<Row>,
    notices: Vec<String>,
}

/// Writes the document, and its plots into a folder of the same name beside it.
///
/// # Errors
///
/// Names the file that cannot be read or written.
pub(crate) fn write(from: &Path, to: &Path) -> Result<(), String> {
    let record = read(from)?;
    let folder = to.with_extension("");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let plots = plots::draw(&record.rows);
    for plot in &plots {
        write_file(&folder.join(&plot.file), &plot.drawing)?;
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    write_file(to, &markdown::document(&record, &plots, &name))?;
    println!("wrote {} and {} plots", to.display(), plots.len());
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Record, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{}: {error}; `run` makes it", path.display()))?;
    let mut record = Record {
        setting: Value::Null,
        rows: Vec::new(),
        notices: Vec::new(),
    };
    for line in text.lines() {
        match Entry::from_line(line)? {
            Entry::Setting(setting) => record.setting = setting,
            Entry::Row(row) => record.rows.push(row),
            Entry::Notice(notice) => record.notices.push(notice),
        }
    }
    Ok(record)
}

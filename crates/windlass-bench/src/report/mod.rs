//! The document: tables and plots from a record.

mod bars;
mod goal;
mod goals;
mod lines;
mod markdown;
mod overview;
mod plots;
mod ranges;
mod svg;

use std::fs;
use std::path::Path;

use serde_json::Value;

use self::plots::Plot;
use crate::harness::record::{Entry, Row};
use crate::harness::run;

/// A record, read back.
struct Record {
    /// Those of the runs that it was made in.
    settings: Vec<Value>,
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
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let (document, plots) = compose(&record, &name);
    for plot in &plots {
        write_file(&folder.join(&plot.file), &plot.drawing)?;
    }
    write_file(to, &document)?;
    println!("wrote {} and {} plots", to.display(), plots.len());
    Ok(())
}

/// The document, and the plots that it shows from the folder of that name.
fn compose(record: &Record, folder: &str) -> (String, Vec<Plot>) {
    let plots = plots::draw(&record.rows);
    (markdown::document(record, &plots, folder), plots)
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Record, String> {
    let mut record = Record {
        settings: Vec::new(),
        rows: Vec::new(),
        notices: Vec::new(),
    };
    for entry in run::read(path)? {
        match entry {
            Entry::Setting(setting) => record.settings.push(setting),
            Entry::Row(row) => record.rows.push(row),
            Entry::Notice(notice) => record.notices.push(notice),
        }
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{compose, read};
    use crate::harness::run::published_record;

    #[test]
    fn the_published_document_and_its_plots_are_made_of_the_published_record() {
        let path = published_record();
        let folder = path.parent().unwrap();
        let (document, plots) = compose(&read(&path).unwrap(), "performance");
        let published = fs::read_to_string(folder.with_extension("md")).unwrap();
        assert!(
            document == published,
            "`windlass-bench report` writes something else"
        );
        for plot in plots {
            let published = fs::read_to_string(folder.join(&plot.file)).unwrap();
            assert!(plot.drawing == published, "{}", plot.file);
        }
    }
}

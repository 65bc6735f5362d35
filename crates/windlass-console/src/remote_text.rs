//! What the metrics of an engine have in common in the text format of Prometheus.

use std::fmt::{self, Display, Write};

use crate::remote::Distribution;

pub(crate) fn head(text: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(text, "# HELP windlass_remote_{name} {help}")?;
    writeln!(text, "# TYPE windlass_remote_{name} {kind}")
}

/// Appends the samples of a histogram; `labels` are without braces.
pub(crate) fn histogram(
    text: &mut String,
    name: &str,
    labels: impl Display,
    values: &Distribution,
) -> fmt::Result {
    let mut below = 0;
    for (bound, count) in &values.buckets {
        below += count;
        writeln!(
            text,
            "windlass_remote_{name}_bucket{{{labels},le=\"{bound}\"}} {below}"
        )?;
    }
    let Distribution { count, sum, .. } = values;
    writeln!(
        text,
        "windlass_remote_{name}_bucket{{{labels},le=\"+Inf\"}} {count}"
    )?;
    writeln!(text, "windlass_remote_{name}_sum{{{labels}}} {sum}")?;
    writeln!(text, "windlass_remote_{name}_count{{{labels}}} {count}")
}

/// The value of a label, escaped.
pub(crate) struct Label<'a>(pub(crate) &'a str);

impl Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

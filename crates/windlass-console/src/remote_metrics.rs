//! The figures of an attached engine in the text format of Prometheus.

use std::fmt::{self, Display, Write};

use crate::remote::{Overview, Queue};

/// A figure of a queue, and how it is read.
type Gauge = (&'static str, &'static str, fn(&Queue) -> Option<f64>);

#[expect(
    clippy::cast_precision_loss,
    reason = "Prometheus has no other numbers"
)]
const fn number(count: u64) -> Option<f64> {
    Some(count as f64)
}

const GAUGES: [Gauge; 7] = [
    ("scheduled", "Tasks that wait for their time.", |queue| {
        number(queue.scheduled)
    }),
    ("running", "Tasks that run.", |queue| number(queue.running)),
    ("dead", "Dead letters.", |queue| number(queue.dead)),
    (
        "oldest_ready_seconds",
        "How long the oldest ready task has waited.",
        |queue| queue.oldest_ready_seconds,
    ),
    ("workers", "Workers that serve the queue.", |queue| {
        number(queue.workers)
    }),
    (
        "slots",
        "Tasks that the workers can run at a time.",
        |queue| number(queue.slots),
    ),
    (
        "slots_free",
        "Tasks that the workers could take now.",
        |queue| number(queue.slots_free),
    ),
];

/// Appends the figures of an engine; of one that did not answer, that it is down.
pub(crate) fn write(text: &mut String, overview: Option<&Overview>) {
    // A string takes every write.
    let _ = try_write(text, overview);
}

fn try_write(text: &mut String, overview: Option<&Overview>) -> fmt::Result {
    let is_up = overview.is_some_and(|overview| overview.engine.up);
    head(text, "engine_up", "Whether the engine answers.")?;
    writeln!(text, "windlass_remote_engine_up {}", u8::from(is_up))?;
    let queues = overview
        .map(|overview| &*overview.queues)
        .unwrap_or_default();
    if queues.is_empty() {
        return Ok(());
    }
    head(
        text,
        "ready",
        "Tasks that are ready, by priority; 0 is the highest.",
    )?;
    for queue in queues {
        let name = Label(&queue.name);
        for (priority, ready) in queue.ready.iter().enumerate() {
            writeln!(
                text,
                "windlass_remote_ready{{queue=\"{name}\",priority=\"{priority}\"}} {ready}"
            )?;
        }
    }
    for (gauge, help, read) in GAUGES {
        head(text, gauge, help)?;
        for queue in queues {
            if let Some(value) = read(queue) {
                let name = Label(&queue.name);
                writeln!(text, "windlass_remote_{gauge}{{queue=\"{name}\"}} {value}")?;
            }
        }
    }
    Ok(())
}

fn head(text: &mut String, gauge: &str, help: &str) -> fmt::Result {
    writeln!(text, "# HELP windlass_remote_{gauge} {help}")?;
    writeln!(text, "# TYPE windlass_remote_{gauge} gauge")
}

/// The value of a label, escaped.
struct Label<'a>(&'a str);

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

#[cfg(test)]
mod tests {
    use super::write;
    use crate::remote::{Engine, Overview, Queue};

    #[test]
    fn an_engine_that_did_not_answer_is_down() {
        let mut text = String::new();
        write(&mut text, None);
        assert!(text.ends_with("windlass_remote_engine_up 0\n"), "{text}");
    }

    #[test]
    fn the_name_of_a_queue_cannot_end_its_label() {
        let engine = Engine {
            kind: "memory".to_owned(),
            up: true,
            latency_seconds: None,
        };
        let queue = Queue {
            name: "a\"b\\c\nd".to_owned(),
            ready: vec![1, 2],
            scheduled: 0,
            running: 0,
            dead: 0,
            oldest_ready_seconds: None,
            paused: false,
            workers: 0,
            slots: 0,
            slots_free: 0,
        };
        let mut text = String::new();
        write(
            &mut text,
            Some(&Overview {
                engine,
                queues: vec![queue],
                workers: Vec::new(),
            }),
        );
        assert!(
            text.contains("windlass_remote_ready{queue=\"a\\\"b\\\\c\\nd\",priority=\"1\"} 2\n"),
            "{text}"
        );
        assert!(!text.contains("oldest_ready_seconds{"), "{text}");
    }
}

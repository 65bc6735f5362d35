//! The figures of an attached engine in the text format of Prometheus.

use std::fmt::{self, Write};

use crate::remote::{Overview, Queue, QueueTotals};
use crate::remote_text::{Label, head};

/// A figure of a queue, and how it is read.
type Gauge = (&'static str, &'static str, fn(&Queue) -> Option<f64>);

#[expect(
    clippy::cast_precision_loss,
    reason = "Prometheus has no other numbers"
)]
const fn number(count: u64) -> Option<f64> {
    Some(count as f64)
}

const GAUGES: [Gauge; 6] = [
    ("scheduled", "Tasks that wait for their time.", |queue| {
        number(queue.scheduled)
    }),
    ("running", "Tasks that run.", |queue| number(queue.running)),
    ("dead", "Dead letters.", |queue| number(queue.dead)),
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

/// The outcome that a total is of, if it is of one, and how it is read.
type Counter = (Option<&'static str>, fn(&QueueTotals) -> u64);

/// Counters: their names, what they are, and the totals of each.
const COUNTERS: [(&str, &str, &[Counter]); 6] = [
    (
        "submitted_total",
        "Tasks that were submitted and accepted.",
        &[(None, |totals| totals.submitted)],
    ),
    (
        "completed_total",
        "Tasks that have ended, by outcome.",
        &[
            (Some("ok"), |totals| totals.done),
            (Some("failed"), |totals| totals.failed),
            (Some("cancelled"), |totals| totals.cancelled),
            (Some("dead"), |totals| totals.dead),
        ],
    ),
    (
        "redelivered_total",
        "Deliveries to a further worker, since the one before vanished.",
        &[(None, |totals| totals.redelivered)],
    ),
    (
        "retried_total",
        "Attempts that failed and were followed by another.",
        &[(None, |totals| totals.retried)],
    ),
    (
        "stale_results_total",
        "Results that came too late and were dropped.",
        &[(None, |totals| totals.stale)],
    ),
    (
        "poisoned_total",
        "Tasks that became dead letters.",
        &[(None, |totals| totals.dead)],
    ),
];

/// Appends the figures of an engine; of one that did not answer, that it is down.
pub(crate) fn write(text: &mut String, overview: Option<&Overview>) {
    // A string takes every write.
    let _ = try_write(text, overview);
}

fn try_write(text: &mut String, overview: Option<&Overview>) -> fmt::Result {
    let is_up = overview.is_some_and(|overview| overview.engine.up);
    head(text, "engine_up", "Whether the engine answers.", "gauge")?;
    writeln!(text, "windlass_remote_engine_up {}", u8::from(is_up))?;
    let queues = overview
        .map(|overview| &*overview.queues)
        .unwrap_or_default();
    if queues.is_empty() {
        return Ok(());
    }
    try_write_ready(text, queues)?;
    for (gauge, help, read) in GAUGES {
        head(text, gauge, help, "gauge")?;
        for queue in queues {
            if let Some(value) = read(queue) {
                let name = Label(&queue.name);
                writeln!(text, "windlass_remote_{gauge}{{queue=\"{name}\"}} {value}")?;
            }
        }
    }
    if queues.iter().any(|queue| queue.totals.is_some()) {
        try_write_totals(text, queues)?;
    }
    Ok(())
}

/// Ready tasks and their age: by priority, or of the queue as a whole where that is all that is known.
fn try_write_ready(text: &mut String, queues: &[Queue]) -> fmt::Result {
    let help =
        "Tasks that are ready, by priority if the engine tells them apart; 0 is the highest.";
    head(text, "ready", help, "gauge")?;
    for queue in queues {
        let name = Label(&queue.name);
        let by_level = queue.levels.iter().map(|level| level.ready);
        let ready: Vec<u64> = match (&*queue.levels, &*queue.ready) {
            ([], [all]) => {
                writeln!(text, "windlass_remote_ready{{queue=\"{name}\"}} {all}")?;
                continue;
            }
            ([], ready) => ready.to_vec(),
            _ => by_level.collect(),
        };
        for (priority, ready) in ready.iter().enumerate() {
            writeln!(
                text,
                "windlass_remote_ready{{queue=\"{name}\",priority=\"{priority}\"}} {ready}"
            )?;
        }
    }
    let help = "How long the oldest ready task has waited.";
    head(text, "oldest_ready_seconds", help, "gauge")?;
    let metric = "windlass_remote_oldest_ready_seconds";
    for queue in queues {
        let name = Label(&queue.name);
        if queue.levels.is_empty()
            && let Some(age) = queue.oldest_ready_seconds
        {
            writeln!(text, "{metric}{{queue=\"{name}\"}} {age}")?;
        }
        for (priority, level) in queue.levels.iter().enumerate() {
            // Of no task there is no age; a gap would look like a scrape that failed.
            let age = level.oldest_ready_seconds.unwrap_or(0.0);
            writeln!(
                text,
                "{metric}{{queue=\"{name}\",priority=\"{priority}\"}} {age}"
            )?;
        }
    }
    Ok(())
}

fn try_write_totals(text: &mut String, queues: &[Queue]) -> fmt::Result {
    for (name, help, counters) in COUNTERS {
        head(text, name, help, "counter")?;
        for queue in queues {
            let Some(totals) = &queue.totals else {
                continue;
            };
            for (outcome, read) in counters {
                write!(
                    text,
                    "windlass_remote_{name}{{queue=\"{}\"",
                    Label(&queue.name)
                )?;
                if let Some(outcome) = outcome {
                    write!(text, ",outcome=\"{outcome}\"")?;
                }
                writeln!(text, "}} {}", read(totals))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::remote::{Engine, Overview, Queue, QueueTotals};

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
            levels: Vec::new(),
            oldest_ready_seconds: None,
            paused: false,
            workers: 0,
            slots: 0,
            slots_free: 0,
            totals: Some(QueueTotals {
                done: 5,
                dead: 2,
                ..QueueTotals::default()
            }),
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
        let name = "queue=\"a\\\"b\\\\c\\nd\"";
        for line in [
            format!("windlass_remote_completed_total{{{name},outcome=\"ok\"}} 5\n"),
            format!("windlass_remote_poisoned_total{{{name}}} 2\n"),
            "# TYPE windlass_remote_retried_total counter\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
    }
}

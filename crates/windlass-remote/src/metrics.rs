//! The counts of queues as Prometheus reads them.

use crate::engine::{Engine, EngineError, QueueStats};
use crate::id::QueueName;
use std::fmt::Write;

/// Returns the counts of all queues of an engine in the text format of Prometheus.
///
/// ```
/// let engine = windlass_remote::engine::MemoryEngine::new();
/// windlass_remote::QueueAdmin::new(engine.clone(), "media".parse()?).stats()?;
/// let text = windlass_remote::prometheus(&engine)?;
/// assert!(text.contains("windlass_remote_tasks{queue=\"media\",state=\"ready\"} 0\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the engine does not answer.
pub fn prometheus(engine: &dyn Engine) -> Result<String, EngineError> {
    let queues = engine.queues()?;
    let all: Vec<(QueueName, QueueStats, usize)> = queues
        .into_iter()
        .map(|queue| {
            Ok((
                queue.clone(),
                engine.stats(&queue)?,
                engine.workers(&queue)?.len(),
            ))
        })
        .collect::<Result<_, EngineError>>()?;
    let mut text = String::from(
        "# HELP windlass_remote_tasks Tasks of a queue by state.\n# TYPE windlass_remote_tasks gauge\n",
    );
    for (queue, stats, _) in &all {
        let states = [
            ("scheduled", stats.scheduled),
            ("ready", stats.ready),
            ("running", stats.running),
            ("dead", stats.dead_letters),
        ];
        for (state, count) in states {
            let _ = writeln!(
                text,
                "windlass_remote_tasks{{queue=\"{queue}\",state=\"{state}\"}} {count}"
            );
        }
    }
    text.push_str(
        "# HELP windlass_remote_workers Workers of a queue.\n# TYPE windlass_remote_workers gauge\n",
    );
    for (queue, _, workers) in &all {
        let _ = writeln!(
            text,
            "windlass_remote_workers{{queue=\"{queue}\"}} {workers}"
        );
    }
    text.push_str(
        "# HELP windlass_remote_events_total What has happened to tasks of a queue.\n\
         # TYPE windlass_remote_events_total counter\n",
    );
    for (queue, stats, _) in &all {
        for (event, count) in events(stats) {
            let _ = writeln!(
                text,
                "windlass_remote_events_total{{queue=\"{queue}\",event=\"{event}\"}} {count}"
            );
        }
    }
    Ok(text)
}

const fn events(stats: &QueueStats) -> [(&'static str, u64); 9] {
    [
        ("submitted", stats.submitted),
        ("refused", stats.refused),
        ("done", stats.done),
        ("failed", stats.failed),
        ("cancelled", stats.cancelled),
        ("dead", stats.dead),
        ("retried", stats.retried),
        ("redelivered", stats.redelivered),
        ("stale", stats.stale),
    ]
}

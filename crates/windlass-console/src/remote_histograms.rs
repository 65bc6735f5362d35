//! What this process has measured of its engine, in the text format of Prometheus.

use std::fmt::{self, Write};

use crate::remote::{Distribution, Figures, Operation, Traffic};
use crate::remote_text::{Label, head, histogram};

/// Appends what was measured. A metric without a value is left out.
pub(crate) fn write(text: &mut String, figures: &Figures) {
    // A string takes every write.
    let _ = operations(text, &figures.operations);
    let _ = traffic(text, &figures.traffic);
}

fn operations(text: &mut String, operations: &[Operation]) -> fmt::Result {
    if operations.is_empty() {
        return Ok(());
    }
    let help = "Calls to the engine that failed, by operation.";
    head(text, "engine_errors_total", help, "counter")?;
    for Operation { name, errors, .. } in operations {
        let op = Label(name);
        writeln!(
            text,
            "windlass_remote_engine_errors_total{{op=\"{op}\"}} {errors}"
        )?;
    }
    // An operation that waits for something to happen has errors and no time.
    let timed = operations.iter().filter(|of| of.seconds.count > 0);
    let help = "How long calls to the engine take, by operation.";
    head(text, "engine_op_seconds", help, "histogram")?;
    for Operation { name, seconds, .. } in timed {
        let labels = format!("op=\"{}\"", Label(name));
        histogram(text, "engine_op_seconds", labels, seconds)?;
    }
    Ok(())
}

fn traffic(text: &mut String, queues: &[Traffic]) -> fmt::Result {
    if queues.is_empty() {
        return Ok(());
    }
    let help = "From the submission of a task in this process to its outcome.";
    head(text, "roundtrip_seconds", help, "histogram")?;
    for Traffic {
        queue, round_trips, ..
    } in queues
    {
        let labels = format!("queue=\"{}\"", Label(queue));
        histogram(text, "roundtrip_seconds", labels, round_trips)?;
    }
    let help = "Sizes of payloads and results that went out of this process and came in.";
    head(text, "payload_bytes", help, "histogram")?;
    for Traffic {
        queue,
        sent,
        received,
        ..
    } in queues
    {
        let both: [(&str, &Distribution); 2] = [("out", sent), ("in", received)];
        for (dir, sizes) in both {
            let labels = format!("queue=\"{}\",dir=\"{dir}\"", Label(queue));
            histogram(text, "payload_bytes", labels, sizes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::remote::{Distribution, Figures, Operation, Traffic};

    #[test]
    fn buckets_add_up_and_what_is_above_the_last_bound_is_in_the_count() {
        let seconds = Distribution {
            buckets: vec![(0.5, 2), (1.0, 3)],
            count: 7,
            sum: 9.5,
        };
        let mut text = String::new();
        let fetch = Operation {
            name: "fetch".to_owned(),
            errors: 4,
            ..Operation::default()
        };
        let submit = Operation {
            name: "submit".to_owned(),
            seconds: seconds.clone(),
            errors: 0,
        };
        let media = Traffic {
            queue: "me\"dia".to_owned(),
            round_trips: seconds,
            ..Traffic::default()
        };
        write(
            &mut text,
            &Figures {
                operations: vec![fetch, submit],
                traffic: vec![media],
            },
        );
        for line in [
            "windlass_remote_engine_errors_total{op=\"fetch\"} 4\n",
            "windlass_remote_engine_op_seconds_bucket{op=\"submit\",le=\"0.5\"} 2\n",
            "windlass_remote_engine_op_seconds_bucket{op=\"submit\",le=\"1\"} 5\n",
            "windlass_remote_engine_op_seconds_bucket{op=\"submit\",le=\"+Inf\"} 7\n",
            "windlass_remote_engine_op_seconds_sum{op=\"submit\"} 9.5\n",
            "windlass_remote_roundtrip_seconds_count{queue=\"me\\\"dia\"} 7\n",
            "windlass_remote_payload_bytes_count{queue=\"me\\\"dia\",dir=\"in\"} 0\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(!text.contains("op_seconds_count{op=\"fetch\"}"), "{text}");
    }
}

//! `windlass size`: the formula, the simulation, and that it agrees with queueing theory.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::process::Output;

use support::{stderr, stdout, windlass};
use windlass_cli::size::{
    Arrivals, Figures, Load, OnSaturation, PoolModel, Service, Theory, erlang_c, mmck, simulate,
};

fn markov(per_second: f64, mean_seconds: f64) -> Load {
    Load {
        per_second,
        arrivals: Arrivals::Poisson,
        mean_seconds,
        service: Service::Exponential,
        variation: 1.0,
    }
}

fn fixed(threads: usize, queue: Option<usize>, policy: OnSaturation) -> PoolModel {
    PoolModel {
        core: threads,
        max: threads,
        queue,
        policy,
        keep_alive: 60.0,
    }
}

/// One number of a simulation.
type Figure = fn(&Figures) -> f64;

/// Simulates with several seeds.
fn simulations(pool: &PoolModel, load: &Load) -> Vec<Figures> {
    (1..=10)
        .map(|seed| simulate(pool, load, 50_000, seed))
        .collect()
}

/// Returns the mean of a figure, and three times the error of that mean.
fn noise(simulations: &[Figures], of: Figure) -> (f64, f64) {
    let count = simulations.len() as f64;
    let mean = simulations.iter().map(of).sum::<f64>() / count;
    let squares = simulations
        .iter()
        .map(|figures| (of(figures) - mean).powi(2));
    let variance = squares.sum::<f64>() / (count - 1.0);
    (mean, 3.0 * (variance / count).sqrt())
}

/// Fails unless the simulation agrees with the theory within its noise, which has to be small itself.
fn agree(pool: &PoolModel, load: &Load, theory: Theory) {
    let figures: [(&str, Figure, f64); 3] = [
        ("mean wait", |figures| figures.wait.mean, theory.mean_wait),
        (
            "share that waits",
            |figures| figures.delayed,
            theory.delayed,
        ),
        (
            "share that is rejected",
            Figures::rejection,
            theory.rejection,
        ),
    ];
    let simulations = simulations(pool, load);
    for (name, of, expected) in figures {
        let (mean, error) = noise(&simulations, of);
        // A mean that happens to be right says nothing if its error is as large as itself.
        assert!(
            error <= 0.2 * expected.max(1e-3),
            "{name}: {mean} ± {error}"
        );
        let allowed = error.max(1e-3 * expected);
        assert!(
            (mean - expected).abs() <= allowed,
            "{name}: {mean} ± {error}, but {expected} in theory, for {pool:?} and {load:?}"
        );
    }
}

#[test]
fn an_unbounded_queue_agrees_with_erlang_c() {
    for (rate, threads) in [(70.0, 1), (300.0, 4), (680.0, 8)] {
        let load = markov(rate, 0.01);
        let theory = erlang_c(rate, 0.01, threads).unwrap();
        agree(&fixed(threads, None, OnSaturation::Abort), &load, theory);
    }
}

#[test]
fn a_bounded_queue_agrees_with_the_theory_of_losses() {
    for (rate, threads, queue) in [(500.0, 8, 0), (500.0, 8, 10), (900.0, 8, 100), (90.0, 1, 5)] {
        let load = markov(rate, 0.01);
        let theory = mmck(rate, 0.01, threads, queue);
        agree(
            &fixed(threads, Some(queue), OnSaturation::Abort),
            &load,
            theory,
        );
    }
}

#[test]
fn a_blocked_submitter_makes_the_queue_unbounded() {
    let load = markov(300.0, 0.01);
    let theory = erlang_c(300.0, 0.01, 4).unwrap();
    agree(&fixed(4, Some(3), OnSaturation::Block), &load, theory);
}

#[test]
fn constant_times_halve_the_wait_of_one_thread() {
    // Pollaczek and Khinchine: M/D/1 waits half as long as M/M/1.
    let load = Load {
        service: Service::Constant,
        ..markov(80.0, 0.01)
    };
    let expected = erlang_c(80.0, 0.01, 1).unwrap().mean_wait / 2.0;
    let simulations = simulations(&fixed(1, None, OnSaturation::Abort), &load);
    let (mean, error) = noise(&simulations, |figures| figures.wait.mean);
    assert!(
        (mean - expected).abs() <= error,
        "{mean} ± {error}, but {expected} in theory"
    );
}

fn size(arguments: &[&str]) -> Output {
    windlass().arg("size").args(arguments).output().unwrap()
}

#[test]
fn the_formula_comes_with_its_explanation() {
    let output = size(&["--wait", "90ms", "--compute", "10ms", "--cores", "8"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("80 threads") && text.contains("W/C"),
        "{text}"
    );
    let output = size(&[
        "--wait",
        "90ms",
        "--compute",
        "10ms",
        "--cores",
        "8",
        "--json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(value["threads"], 80);
}

#[test]
fn a_command_that_sleeps_is_measured_to_wait() {
    let output = size(&[
        "--measure",
        "sleep 0.2",
        "--runs",
        "2",
        "--cores",
        "2",
        "--json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let (wait, compute) = (
        value["wait"].as_f64().unwrap(),
        value["compute"].as_f64().unwrap(),
    );
    assert!(wait > 0.1 && compute < wait, "{value}");
    let output = size(&["--measure", "exit 3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("failed"));
}

#[test]
fn a_simulation_answers_with_figures_theory_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pool.svg");
    let common = [
        "--rate",
        "700",
        "--service",
        "15ms",
        "-j",
        "8",
        "-q",
        "100",
        "--tasks",
        "30000",
    ];
    let mut arguments = common.to_vec();
    arguments.extend(["--svg", file.to_str().unwrap()]);
    let text = stdout(&size(&arguments));
    for part in [
        "8 threads and a queue of 100",
        "p99",
        "rejected",
        "theory",
        "█",
        "×",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let svg = std::fs::read_to_string(file).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("polygon"));
    assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    // The same seed, the same answer.
    assert_eq!(stdout(&size(&common)), stdout(&size(&common)));
}

#[test]
fn the_target_is_met_and_one_thread_less_does_not_meet_it() {
    let output = size(&[
        "--rate",
        "500",
        "--service",
        "15ms",
        "--target",
        "5ms",
        "--json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let threads = value["core"].as_u64().unwrap();
    assert!(value["figures"]["wait"]["p99"].as_f64().unwrap() <= 0.005);
    let fewer = (threads - 1).to_string();
    let output = size(&[
        "--rate",
        "500",
        "--service",
        "15ms",
        "-j",
        &fewer,
        "--tasks",
        "30000",
        "--json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(value["figures"]["wait"]["p99"].as_f64().unwrap() > 0.005);
}

#[test]
fn missing_figures_are_asked_for() {
    for (arguments, text) in [
        (&[][..], "--wait and --compute"),
        (&["--rate", "5"], "--service"),
        (&["--rate", "5", "--service", "1s"], "--target"),
        (&["--rate", "0"], "from 1e-9"),
        (
            &[
                "--rate",
                "5",
                "--service",
                "1s",
                "-j",
                "4",
                "--max-threads",
                "2",
            ],
            "less than",
        ),
    ] {
        let output = size(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(text), "{}", stderr(&output));
    }
}

#[test]
fn an_overloaded_pool_makes_tasks_wait_ever_longer() {
    // 150 threads' worth of work for 8: the tasks that have not started when the last one arrives wait too.
    let load = markov(10_000.0, 0.015);
    for policy in [OnSaturation::Abort, OnSaturation::Block] {
        let queue = (policy == OnSaturation::Block).then_some(10);
        let figures = simulate(&fixed(8, queue, policy), &load, 20_000, 1);
        assert_eq!(figures.started, figures.arrived, "{policy:?}");
        // The tasks take 300 s, which 8 threads do in 37.5 s; they arrive in 2 s.
        let [p50, max] = [figures.wait.p50, figures.wait.max];
        assert!((15.0..25.0).contains(&p50), "{policy:?}: p50 {p50}");
        assert!((30.0..40.0).contains(&max), "{policy:?}: max {max}");
        assert!(figures.delayed > 0.99 && figures.utilisation <= 1.0 + 1e-9);
    }
}

#[test]
fn every_task_that_arrives_is_started_or_rejected() {
    let load = markov(1000.0, 0.02);
    for policy in [
        OnSaturation::Abort,
        OnSaturation::Discard,
        OnSaturation::Block,
        OnSaturation::CallerRuns,
    ] {
        let figures = simulate(&fixed(8, Some(20), policy), &load, 20_000, 3);
        assert_eq!(
            figures.started + figures.rejected,
            figures.arrived,
            "{policy:?}"
        );
    }
}

#[test]
fn large_numbers_are_answered_or_refused() {
    let largest = u64::MAX.to_string();
    let base = ["--rate", "500", "--service", "15ms", "--tasks", "1000"];
    let with = |more: &[&str]| size(&[&base[..], more].concat());
    for queue in ["10000000000", largest.as_str()] {
        let output = with(&["-j", "8", "-q", queue]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains("theory"), "{}", stdout(&output));
    }
    for refused in [
        &["-j", largest.as_str()][..],
        &["-j", "8", "--max-threads", &largest],
        &["-j", "8", "--tasks", &largest],
        &["-j", "8", "--rate", "1e300"],
        &["-j", "8", "--rate", "1e-300"],
        &["--rate", "1e9", "--service", "10000d", "--target", "1s"],
        &["--cores", &largest, "--compute", "1ms", "--wait", "1d"],
    ] {
        let output = with(refused);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{refused:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn the_theory_of_losses_is_the_same_by_terms_and_by_closed_form() {
    // The closed form begins where adding up the terms would take long.
    for offered in [0.5, 7.9, 8.0, 8.1, 100.0] {
        let by_terms = mmck(offered, 1.0, 8, 4096);
        let closed = mmck(offered, 1.0, 8, 4097);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b.abs().max(1e-6);
        assert!(close(by_terms.delayed, closed.delayed), "{offered}");
        assert!(close(by_terms.mean_wait, closed.mean_wait), "{offered}");
        assert!(close(by_terms.rejection, closed.rejection), "{offered}");
    }
    let large = mmck(500.0, 0.015, 8, usize::MAX);
    let unbounded = erlang_c(500.0, 0.015, 8).unwrap();
    assert!((large.mean_wait - unbounded.mean_wait).abs() < 1e-9);
}

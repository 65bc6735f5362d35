//! Text to steps on a pool: whatever is asked of it in whatever order, it comes to an end when it
//! is shut down, and its counters balance.
//!
//! The steps are those of the conformance scenarios, one a line; a line that is none is skipped.
//! Figures are brought down to a size that a run can afford. A pool that hangs is found by
//! libFuzzer's own time limit (`-timeout`), or by the wait for its end.

#![no_main]

use std::collections::BTreeSet;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use windlass_conformance::driver;
use windlass_conformance::format::{
    KeepAlive, Policy, PoolSpec, QueueKind, Setting, Step, TaskId, parse_step,
};
use windlass_conformance::outcome::Outcome;
use windlass_conformance::state::{Phase, State};

const STEPS: usize = 40;
const PLAIN: &str = "pool core=1 max=2 keep_alive=5 queue=linked:3 policy=abort";
const END: Duration = Duration::from_secs(20);

/// A size that a run can afford; zero stays, which is invalid in places.
fn small(size: &mut usize) {
    *size %= 6;
}

fn short(time: &mut Duration, below: u64) {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    *time = Duration::from_millis(millis % below);
}

/// Brings the figures of a step down.
fn tame(step: &mut Step) {
    match step {
        Step::Pool(PoolSpec::ThreadPool(spec)) => {
            small(&mut spec.core);
            small(&mut spec.max);
            if let KeepAlive::After(time) = &mut spec.keep_alive {
                short(time, 10);
            }
            if let QueueKind::LinkedBounded(room) | QueueKind::Array(room) = &mut spec.queue {
                small(room);
            }
        }
        Step::Pool(PoolSpec::Scheduled(spec)) => small(&mut spec.core),
        Step::Schedule { delay, .. } => short(delay, 6),
        Step::FixedRate {
            initial, period, ..
        } => {
            short(initial, 6);
            short(period, 4);
        }
        Step::FixedDelay { initial, delay, .. } => {
            short(initial, 6);
            short(delay, 4);
        }
        Step::Get { timeout, .. } | Step::Await { timeout } => short(timeout, 3),
        Step::Set(Setting::Core(size) | Setting::Max(size)) => small(size),
        Step::Set(Setting::KeepAlive(time)) => short(time, 10),
        _ => {}
    }
}

fn name(step: &Step) -> Option<&TaskId> {
    match step {
        Step::Execute(task)
        | Step::Submit(task)
        | Step::Schedule { task, .. }
        | Step::FixedRate { task, .. }
        | Step::FixedDelay { task, .. } => Some(&task.id),
        _ => None,
    }
}

/// The steps of the text, in an order that a driver can carry out: the pool first and once, each
/// name for one task.
fn steps(text: &str) -> Vec<Step> {
    let mut read: Vec<Step> = text
        .lines()
        .filter_map(|line| parse_step(line).ok())
        .collect();
    if !matches!(read.first(), Some(Step::Pool(_))) {
        read.insert(0, parse_step(PLAIN).expect("a step"));
    }
    let mut names = BTreeSet::new();
    let mut at = 0;
    read.retain(|step| {
        at += 1;
        match (step, name(step)) {
            (Step::Pool(_), _) => at == 1,
            (_, Some(name)) => names.insert(name.clone()),
            _ => true,
        }
    });
    read.truncate(STEPS);
    read.iter_mut().for_each(tame);
    read
}

/// Where tasks went, as far as the answers tell.
#[derive(Default)]
struct Book {
    taken: usize,
    given_back: usize,
    /// Whether the answers tell everything: some policies and `purge` drop tasks in silence.
    complete: bool,
}

impl Book {
    fn of(steps: &[Step]) -> Book {
        let tells_all = |step: &Step| match step {
            Step::Pool(PoolSpec::ThreadPool(spec)) => spec.policy == Policy::Abort,
            Step::Pool(PoolSpec::Scheduled(_)) | Step::Purge => false,
            Step::Set(Setting::Policy(policy)) => *policy == Policy::Abort,
            _ => true,
        };
        Book {
            complete: steps.iter().all(tells_all),
            ..Book::default()
        }
    }

    fn note(&mut self, step: &Step, outcome: &Outcome) {
        match (step, outcome) {
            (Step::Execute(_) | Step::Submit(_), Outcome::Ok) => self.taken += 1,
            (Step::Remove(_), Outcome::Flag(true)) => self.given_back += 1,
            (Step::ShutdownNow, Outcome::Tasks(tasks)) => self.given_back += tasks.len(),
            _ => {}
        }
    }

    fn balance(&self, end: &State) {
        assert_eq!((end.pool, end.active), (0, 0), "{end}");
        assert!(end.queue.is_empty() && end.running.is_empty(), "{end}");
        assert_eq!(end.completed, end.total, "{end}");
        assert_eq!(end.hooks.before, end.hooks.after, "{end}");
        assert_eq!(end.hooks.after, end.completed, "{end}");
        assert_eq!(end.hooks.terminated, 1, "{end}");
        if self.complete {
            let completed = usize::try_from(end.completed).expect("few tasks");
            assert_eq!(self.taken, completed + self.given_back, "{end}");
        }
    }
}

/// Whether a plain shutdown need not come to an end: tasks that go on, or no thread to run them.
fn may_go_on(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Pool(PoolSpec::ThreadPool(spec)) => spec.factory_limit.is_some(),
        Step::FixedRate { .. } | Step::FixedDelay { .. } => true,
        _ => false,
    })
}

fn play(steps: &[Step]) {
    let mut subject = driver::subject();
    let mut book = Book::of(steps);
    let mut last = State::default();
    for step in steps {
        let outcome = subject.step(step);
        book.note(step, &outcome);
        let now = subject.state();
        assert!(last.completed <= now.completed, "{last}\n{now}");
        assert!(last.largest <= now.largest, "{last}\n{now}");
        last = now;
    }
    if last.phase == Phase::Unbuilt {
        return;
    }
    for id in steps.iter().filter_map(name) {
        subject.step(&Step::Finish(id.clone()));
    }
    let ending = if may_go_on(steps) {
        Step::ShutdownNow
    } else {
        Step::Shutdown
    };
    let outcome = subject.step(&ending);
    book.note(&ending, &outcome);
    let ended = subject.step(&Step::Await { timeout: END });
    assert_eq!(ended, Outcome::Flag(true), "{}", subject.state());
    book.balance(&subject.state());
}

fuzz_target!(|data: &[u8]| play(&steps(&String::from_utf8_lossy(data))));

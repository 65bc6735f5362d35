//! A request to cancel, and another transition of the same task at the same time.

use crate::engines::UnderTest;
use crate::support::tasks::Add;
use crate::support::{LONG, eventually};
use std::sync::Barrier;
use std::time::Duration;
use windlass_remote::engine::{
    CancelMode, Cancelled, Delivery, FetchRequest, Report, Reported, TaskFeed, TaskState, Verdict,
};
use windlass_remote::{Failure, FailureKind, Priority, TaskId, TaskOptions};

const WORKER: &str = "racer";
const ROUNDS: usize = 24;

/// A queue in which every task is cancelled beside something else.
struct Races<'a> {
    engine: &'a UnderTest,
    feed: Box<dyn TaskFeed>,
    rounds: usize,
    cancelled: u64,
}

fn fetch(feed: &mut dyn TaskFeed) -> Vec<Delivery> {
    let request = FetchRequest {
        count: 4,
        wait: Duration::ZERO,
        lease: LONG,
        first: Priority::High,
    };
    feed.fetch(&request).unwrap().deliveries
}

impl<'a> Races<'a> {
    fn new(engine: &'a UnderTest) -> Self {
        Self {
            engine,
            feed: engine.tasks(&engine.queue, WORKER).unwrap(),
            rounds: 0,
            cancelled: 0,
        }
    }

    fn submit(&mut self, delay: Duration) -> TaskId {
        self.rounds += 1;
        let (engine, name) = (self.engine, format!("race-{}", self.rounds));
        let mut task = engine.new_task(&name, &Add(1, 1), TaskOptions::default());
        task.delay = delay;
        let id = task.id.clone();
        engine.submit(&engine.queue, &[task]).unwrap();
        id
    }

    fn state(&self, id: &TaskId) -> TaskState {
        let (engine, ids) = (self.engine, std::slice::from_ref(id));
        let mut found = engine.look_up(&engine.queue, ids, None).unwrap();
        found.remove(0).unwrap().state
    }

    fn report(&self, delivery: Delivery, verdict: Verdict) -> Reported {
        let lease = delivery.lease;
        let reports = [Report { lease, verdict }];
        self.engine.report(&self.engine.queue, &reports).unwrap()[0]
    }

    /// Ends the delivery of a task that nobody cancels any more.
    fn finish(&self, delivery: Delivery) {
        assert_eq!(self.state(&delivery.lease.id), TaskState::Running);
        let done = Verdict::Done(Vec::new());
        assert_eq!(self.report(delivery, done), Reported::Accepted);
    }

    /// Fetches until the task comes; what other rounds have left ends here.
    fn start(&mut self, id: &TaskId) -> Delivery {
        let mut started = None;
        eventually("it is delivered", || {
            for delivery in fetch(&mut *self.feed) {
                if delivery.lease.id == *id {
                    started = Some(delivery);
                } else {
                    self.finish(delivery);
                }
            }
            started.is_some()
        });
        started.unwrap()
    }

    /// Cancels a task beside `other`, which returns what it has started; in every second round only if it has not started. The answer, the
    /// record and what becomes of a delivery have to agree.
    fn race(
        &mut self,
        id: &TaskId,
        other: impl FnOnce(&UnderTest, &mut dyn TaskFeed) -> Vec<Delivery> + Send,
    ) {
        let (engine, round) = (self.engine, self.rounds);
        let mode = [CancelMode::Now, CancelMode::IfNotStarted][round % 2];
        let (together, feed) = (Barrier::new(2), &mut *self.feed);
        let (answer, started) = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                together.wait();
                other(engine, feed)
            });
            together.wait();
            let answer = engine.cancel(&engine.queue, std::slice::from_ref(id), mode);
            (answer.unwrap()[0], other.join().unwrap())
        });
        let state = self.state(id);
        let what = format!("round {round}: {answer:?}, {state:?}");
        let cancelled = matches!(answer, Cancelled::BeforeStart | Cancelled::WhileRunning);
        assert_eq!(state == TaskState::Cancelled, cancelled, "{what}");
        let ended = matches!(state, TaskState::Done | TaskState::Failed | TaskState::Dead);
        match answer {
            Cancelled::Finished => assert!(ended, "{what}"),
            Cancelled::WhileRunning => assert_eq!(mode, CancelMode::Now, "{what}"),
            Cancelled::Running => assert_eq!(mode, CancelMode::IfNotStarted, "{what}"),
            Cancelled::BeforeStart => {
                let it_started = started.iter().any(|delivery| delivery.lease.id == *id);
                assert!(!it_started, "{what}, and started");
            }
        }
        for delivery in started {
            if delivery.lease.id == *id && cancelled {
                let late = self.report(delivery, Verdict::Done(Vec::new()));
                assert_eq!(late, Reported::Stale, "{what}");
            } else {
                self.finish(delivery);
            }
        }
        self.cancelled += u64::from(cancelled);
    }

    /// Ends what is left: nothing of it was cancelled, and the counts say so.
    fn settle(mut self) {
        let engine = self.engine;
        eventually("nothing is left", || {
            engine.tick(&engine.queue, LONG, LONG).unwrap();
            // What runs on, since it was to be cancelled before its start only.
            engine.leave(&engine.queue, WORKER).unwrap();
            for delivery in fetch(&mut *self.feed) {
                self.finish(delivery);
            }
            engine.is_empty()
        });
        let stats = engine.stats(&engine.queue).unwrap();
        assert_eq!(
            (stats.submitted, stats.cancelled),
            (self.rounds as u64, self.cancelled)
        );
        let ended = stats.done + stats.failed + stats.dead;
        assert_eq!(stats.submitted, stats.cancelled + ended);
    }
}

pub(crate) fn cancelling_races_with_a_start(engine: &UnderTest) {
    let mut races = Races::new(engine);
    for _ in 0..ROUNDS {
        let id = races.submit(Duration::ZERO);
        races.race(&id, |_, feed| fetch(feed));
    }
    races.settle();
}

pub(crate) fn cancelling_races_with_the_end_of_a_delay(engine: &UnderTest) {
    let mut races = Races::new(engine);
    for round in 0..ROUNDS {
        // Due before the request, at the same time, or after it.
        let id = races.submit(Duration::from_millis(1 + round as u64 % 6));
        let then = engine.now().unwrap() + 3;
        eventually("a moment passes", || engine.now().unwrap() >= then);
        races.race(&id, |engine, feed| {
            engine.tick(&engine.queue, LONG, LONG).unwrap();
            fetch(feed)
        });
    }
    races.settle();
}

pub(crate) fn cancelling_races_with_every_report(engine: &UnderTest) {
    let failure = || Failure::new(FailureKind::Task, "no");
    let put_back = |unknown| Verdict::PutBack {
        delay: Duration::ZERO,
        unknown,
    };
    let mut races = Races::new(engine);
    for verdict in [
        Verdict::Done(b"x".to_vec()),
        Verdict::Failed(failure()),
        Verdict::Dead(failure()),
        Verdict::Retry(failure(), Duration::ZERO),
        Verdict::Retry(failure(), Duration::from_millis(5)),
        put_back(false),
        put_back(true),
    ] {
        for _ in 0..ROUNDS / 4 {
            let id = races.submit(Duration::ZERO);
            let lease = races.start(&id).lease;
            let verdict = verdict.clone();
            races.race(&id, move |engine, _| {
                let report = Report { lease, verdict };
                engine.report(&engine.queue, &[report]).unwrap();
                Vec::new()
            });
        }
    }
    races.settle();
}

pub(crate) fn cancelling_races_with_the_loss_of_a_worker(engine: &UnderTest) {
    let mut races = Races::new(engine);
    for round in 0..ROUNDS {
        let id = races.submit(Duration::ZERO);
        races.start(&id);
        let then = engine.now().unwrap() + 2;
        eventually("its lease ends", || engine.now().unwrap() > then);
        races.race(&id, |engine, feed| {
            // It vanished, or it leaves in good order; then another one fetches.
            if round % 4 < 2 {
                let lease = Duration::from_millis(1);
                engine.tick(&engine.queue, lease, LONG).unwrap();
            } else {
                engine.leave(&engine.queue, WORKER).unwrap();
            }
            fetch(feed)
        });
    }
    races.settle();
}

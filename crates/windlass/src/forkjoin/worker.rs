//! The run loop of a worker.

use std::cell::Cell;
use std::sync::Arc;

use super::deque::Deque;
use super::job::Work;
use super::local::{Local, TaskPolicy};
use super::roster::WorkerInfo;
use super::shared::Shared;
use super::sleep::Awake;
use super::state::State;
use crate::interrupt::ThreadContext;
use crate::sync::{AdaptiveSpin, Deadline, Spun, spin_until, yield_until};
use crate::task::with_wait_helper;

/// Runs the loop of a worker: its own work, then stolen work, then submissions. If there is none, the
/// worker sleeps, and retires after its keep-alive time.
///
/// After a submission it takes the next ones before it looks at the other workers' deques again. Each look
/// takes a cache line from a worker that is about to push or pop there.
pub(super) fn run(shared: &Arc<Shared>, worker: &Arc<WorkerInfo>, deque: Deque<Work>) {
    shared.clock.adopt();
    worker.set_context(ThreadContext::current());
    worker.set_thread();
    let local = Local::new(shared, worker, deque);
    let mut spin = SubmissionSpin::default();
    let mut pause = JobPause::default();
    let after_job = Cell::new(false);
    let search = Search::begun(shared);
    let run_and_count = |work, policy| {
        after_job.set(matches!(work, Work::Job(_)));
        search.end();
        local.begin_unrelated();
        local.run_in_loop(work, policy);
        worker.count_steal();
    };
    let run_loop = || {
        loop {
            local.run_own();
            let submitted = shared.submission_count();
            let policy = local.task_policy();
            let sticks = spin.submissions % SUBMISSIONS_IN_A_ROW != 0;
            let next = if sticks {
                shared.take_submission()
            } else {
                None
            };
            if let Some(submission) = next {
                spin.submissions += 1;
                run_and_count(submission, TaskPolicy::Run);
            } else if let Some(stolen) = local.steal() {
                spin.submissions = 0;
                run_and_count(stolen, policy);
            } else if let Some(submission) = (!sticks).then(|| shared.take_submission()).flatten() {
                spin.submissions += 1;
                run_and_count(submission, TaskPolicy::Run);
            } else if !spin.finds(&search, || shared.submission_count() != submitted)
                && !pause.finds(&search, &after_job, &local, submitted)
            {
                local.forget_victims();
                let idle = sleep_or_retire(shared, worker, &search);
                local.stopwatch.wait_ended(&local.context);
                match idle {
                    Idle::Run(submission) => {
                        spin.submissions += 1;
                        run_and_count(submission, TaskPolicy::Run);
                    }
                    Idle::Search => {}
                    Idle::Retire => break,
                }
            }
        }
    };
    with_wait_helper(shared.assist(), || local.enter(run_loop));
}

/// The next action of a worker that has found no work.
enum Idle {
    Run(Work),
    Search,
    Retire,
}

/// Puts a worker that has found no work to sleep, until it is woken or its keep-alive time is over.
fn sleep_or_retire(shared: &Shared, worker: &Arc<WorkerInfo>, search: &Search<'_>) -> Idle {
    let mut state = shared.lock();
    if let Some(work) = state.injector.pop() {
        return Idle::Run(work);
    }
    if state.must_retire_idle() {
        return Idle::Retire;
    }
    search.end_under_lock(&mut state);
    shared.sleep.enlist(&mut state.census, worker);
    shared.try_terminate(state);
    let deadline = Deadline::after(shared.config.keep_alive);
    let has_queued = || {
        let workers = shared.roster.snapshot();
        let has_queued = workers.queued() > 0;
        if !has_queued {
            workers.ask_all();
        }
        has_queued
    };
    let awake = shared
        .sleep
        .wait(&shared.state, worker, deadline, has_queued);
    match awake {
        Awake::Search => {
            search.is_on.set(true);
            Idle::Search
        }
        Awake::Retire => Idle::Retire,
    }
}

/// Whether a worker searches for work, as the census counts it.
struct Search<'a> {
    shared: &'a Arc<Shared>,
    is_on: Cell<bool>,
}

impl<'a> Search<'a> {
    /// Creates the search of a worker that was just started, and was counted then.
    fn begun(shared: &'a Arc<Shared>) -> Self {
        let is_on = Cell::new(true);
        Self { shared, is_on }
    }

    fn begin(&self) {
        if !self.is_on.replace(true) {
            let mut state = self.shared.lock();
            self.shared.sleep.begin_search(&mut state.census);
        }
    }

    /// Ends the search with work that was found; another worker searches next if there is more.
    fn end(&self) {
        if self.is_on.get() {
            self.end_under_lock(&mut self.shared.lock());
            self.shared.notify_more();
        }
    }

    fn end_under_lock(&self, state: &mut State) {
        if self.is_on.replace(false) {
            self.shared.sleep.end_search(&mut state.census);
        }
    }
}

impl Drop for Search<'_> {
    /// The worker retires, and wakes others for what is queued.
    fn drop(&mut self) {
        self.end_under_lock(&mut self.shared.lock());
    }
}

/// The spin of a worker that has run a submission and waits briefly for the next one.
///
/// A short spin costs less than falling asleep and being woken; it stops when it rarely succeeds. After
/// stolen work the worker does not spin: forks are not counted, and a thread that forks wakes a worker. After
/// a job there is a [`JobPause`].
#[derive(Debug, Default)]
struct SubmissionSpin {
    /// Submissions run since the last spin, without stolen work in between.
    submissions: usize,
    spin: AdaptiveSpin,
}

impl SubmissionSpin {
    /// Spins until `has_come` returns true, for a bounded number of rounds; returns whether it did.
    ///
    /// Meanwhile the worker counts as one that searches, and no other is woken.
    fn finds(&mut self, search: &Search<'_>, has_come: impl Fn() -> bool) -> bool {
        let rounds = match std::mem::take(&mut self.submissions) {
            0 => return false,
            1 => ROUNDS_AFTER_ONE,
            _ => ROUNDS_IN_STREAM,
        };
        if !self.spin.should_spin() {
            return false;
        }
        search.begin();
        let spun = spin_until(self.spin.length(), rounds, &has_come);
        self.spin.record(spun == Spun::Promptly);
        spun != Spun::InVain
    }
}

/// The pause of a worker that has run the job of a join, and yields for a while before it sleeps.
///
/// Parallel loops often follow each other: a worker that has to be woken for the next one comes late, and often on
/// the core of the one that wakes it. The pause stops when it rarely succeeds.
#[derive(Debug, Default)]
struct JobPause {
    pays: AdaptiveSpin,
}

impl JobPause {
    /// Yields after a job, but not for long, until there is work to steal or another submission than so many;
    /// returns whether there is.
    ///
    /// Meanwhile the worker counts as one that searches, and no other is woken. After a success, which another
    /// worker may have been first to take, the next pause follows without another job.
    fn finds(
        &mut self,
        search: &Search<'_>,
        after_job: &Cell<bool>,
        local: &Local,
        submitted: usize,
    ) -> bool {
        if !after_job.take() || !self.pays.should_spin() {
            return false;
        }
        search.begin();
        local.ask_victims();
        let shared = search.shared;
        let found = yield_until(|| shared.submission_count() != submitted || local.has_victim());
        self.pays.record(found);
        after_job.set(found);
        found
    }
}

/// How many submissions a worker takes before it looks at the other workers' deques again.
const SUBMISSIONS_IN_A_ROW: usize = 32;

/// How often a spinning worker checks: often after a single submission, whose submitter may wait for it
/// before it submits the next; rarely in a stream, where each check finds more.
const ROUNDS_AFTER_ONE: u32 = 24;
const ROUNDS_IN_STREAM: u32 = 4;

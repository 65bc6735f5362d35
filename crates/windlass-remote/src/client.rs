//! What the futures of one executor share: the tasks that have no outcome yet, and the thread that hears of outcomes.
//!
//! Outcomes come on the reply feed. What may be lost there (a cut connection, a client that was away for long) is
//! found by looking the tasks up: all of them after an error, and one that has had no outcome for long now and then, ever more
//! rarely. So nothing polls in the normal case, and no future waits for an outcome that was lost.

use crate::engine::{
    CancelMode, Cancelled, Engine, EngineError, MAX_BATCH, NewTask, Outcome, Reply, ReplyFeed,
    Submitted, TaskRecord,
};
use crate::id::{QueueName, TaskId};
use crate::pace::Backoff;
use crate::slot::{Arrived, Slot};
use crate::turn::Turn;
use crate::wire::Wire;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use windlass::interrupt::{self, Interrupted};

/// How long the listener waits for outcomes before it sees whether anybody is left to hear them.
const LISTEN: Duration = Duration::from_millis(500);
/// How often the listener sees whether a task has had no outcome for long.
const SWEEP: Duration = Duration::from_secs(15);
/// How long a thread that waits reads outcomes itself before it leaves that to the listener. An interrupt is noticed after this time at
/// the latest.
const READ: Duration = Duration::from_millis(4);

pub(crate) struct Client {
    engine: Arc<dyn Engine>,
    pub(crate) queue: QueueName,
    id: Arc<str>,
    wire: Wire,
    submit_timeout: Duration,
    pending: Mutex<Pending>,
    /// Notified when none of the own tasks is pending any more.
    drained: Condvar,
    listening: AtomicBool,
    turn: Arc<Turn>,
}

/// Tasks without an outcome.
#[derive(Default)]
struct Pending {
    /// Those that this client has submitted.
    own: HashMap<TaskId, Arc<Slot>>,
    /// Those that it was only asked for: they are others', so it neither cancels nor waits for them when it is shut down.
    attached: HashMap<TaskId, Arc<Slot>>,
}

impl Pending {
    fn get(&self, id: &TaskId) -> Option<&Arc<Slot>> {
        self.own.get(id).or_else(|| self.attached.get(id))
    }

    fn remove(&mut self, id: &TaskId) -> Option<Arc<Slot>> {
        self.own.remove(id).or_else(|| self.attached.remove(id))
    }

    fn len(&self) -> usize {
        self.own.len() + self.attached.len()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        queue: QueueName,
        wire: Wire,
        submit_timeout: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine,
            queue,
            id: TaskId::random().as_str().into(),
            wire,
            submit_timeout,
            pending: Mutex::default(),
            drained: Condvar::new(),
            listening: AtomicBool::new(false),
            turn: Arc::default(),
        })
    }

    pub(crate) const fn wire(&self) -> &Wire {
        &self.wire
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub(crate) const fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn with_pending<R>(&self, act: impl FnOnce(&mut Pending) -> R) -> R {
        act(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the slot for a task that is to be submitted, shared with other futures of it that have no outcome yet.
    pub(crate) fn slot(self: &Arc<Self>, id: &TaskId) -> Result<Arc<Slot>, EngineError> {
        self.pending_slot(|pending| {
            let attached = pending.attached.remove(id);
            let slot = || attached.unwrap_or_else(|| Slot::new(id.clone()));
            Arc::clone(pending.own.entry(id.clone()).or_insert_with(slot))
        })
    }

    /// The same for a task that somebody has submitted.
    pub(crate) fn attached_slot(self: &Arc<Self>, id: &TaskId) -> Result<Arc<Slot>, EngineError> {
        self.pending_slot(|pending| {
            if let Some(slot) = pending.get(id) {
                return Arc::clone(slot);
            }
            let slot = Slot::new(id.clone());
            pending.attached.insert(id.clone(), Arc::clone(&slot));
            slot
        })
    }

    fn pending_slot(
        self: &Arc<Self>,
        slot: impl FnOnce(&mut Pending) -> Arc<Slot>,
    ) -> Result<Arc<Slot>, EngineError> {
        self.listen()?;
        let (slot, count) = self.with_pending(|pending| (slot(pending), pending.len()));
        // Only a single outcome is left to the thread that waits for it.
        if count > 1 {
            self.turn.demand();
        }
        Ok(slot)
    }

    /// Says that somebody looks for outcomes who does not read them: the listener has to.
    pub(crate) fn demand(&self) {
        self.turn.demand();
    }

    /// Waits until the outcome is there or the time is over.
    pub(crate) fn wait(
        &self,
        slot: &Slot,
        until: Option<Instant>,
    ) -> Result<Option<Arrived>, Interrupted> {
        let now = Instant::now();
        slot.note_wait(now);
        let end = now + READ;
        if until.is_none_or(|until| until >= end) && !interrupt::is_interrupted() {
            self.read_until(end, || slot.arrived().is_some());
        }
        // Whoever has no outcome by now needs the listener.
        if slot.arrived().is_none() {
            self.demand();
        }
        slot.wait(until)
    }

    /// Reads outcomes, if it is not the listener's turn, until there is the one that is looked for.
    fn read_until(&self, end: Instant, found: impl Fn() -> bool) {
        while !found() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let Some(mut borrowed) = self.turn.borrow() else {
                return;
            };
            let replies = borrowed.feed().map(|feed| feed.next(left));
            match replies.map(|replies| replies.and_then(|replies| self.deliver(replies))) {
                Some(Ok(_)) => borrowed.give_back(),
                // The listener meets the error again, and looks all tasks up.
                Some(Err(_)) | None => return,
            }
        }
    }

    /// Completes tasks. Returns whether that was the only one without an outcome, and a thread has waited for it, and briefly.
    fn deliver(&self, replies: Vec<Reply>) -> Result<bool, EngineError> {
        let (count, mut brief) = (replies.len(), false);
        let mut to_look_up = Vec::new();
        for reply in replies {
            match reply.outcome {
                Some(outcome) => {
                    brief = self.complete(&reply.id, Arrived::Outcome(Arc::new(outcome)));
                }
                None => to_look_up.push(reply.id),
            }
        }
        for ids in to_look_up.chunks(MAX_BATCH) {
            self.look_up(ids)?;
        }
        Ok(count == 1 && brief && !self.has_pending())
    }

    fn has_pending(&self) -> bool {
        self.with_pending(|pending| pending.len() > 0)
    }

    /// Forgets a task that the engine did not take.
    pub(crate) fn forget(&self, id: &TaskId) {
        self.with_pending(|pending| pending.remove(id));
        self.drained.notify_all();
    }

    /// Submits tasks, and again with pauses while the engine cannot be reached, until the time to submit is over.
    pub(crate) fn submit(&self, tasks: &[NewTask]) -> Result<Vec<Submitted>, SubmitError> {
        // Without an end, if the limit is longer than time can be told.
        let until = Instant::now().checked_add(self.submit_timeout);
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(500));
        loop {
            let error = match self.engine.submit(&self.queue, tasks) {
                Ok(answers) => return Ok(answers),
                Err(error) => error,
            };
            let pause = backoff.next_pause();
            let is_over = until.is_some_and(|until| Instant::now() + pause >= until);
            if !error.is_transient() || is_over {
                return Err(SubmitError::Engine(error));
            }
            windlass::interrupt::sleep(pause).map_err(|_| SubmitError::Interrupted)?;
        }
    }

    pub(crate) fn cancel(
        &self,
        ids: &[TaskId],
        mode: CancelMode,
    ) -> Result<Vec<Cancelled>, EngineError> {
        let answers = self.engine.cancel(&self.queue, ids, mode)?;
        for (id, answer) in ids.iter().zip(&answers) {
            // The reply says the same, but whoever cancels finds the future done when the call returns.
            if matches!(answer, Cancelled::BeforeStart | Cancelled::WhileRunning) {
                self.complete(id, Arrived::Outcome(Arc::new(Outcome::Cancelled)));
            }
        }
        Ok(answers)
    }

    /// Completes a task. Returns whether a thread has waited for it, and briefly.
    pub(crate) fn complete(&self, id: &TaskId, arrived: Arrived) -> bool {
        let (slot, empty) = self.with_pending(|pending| {
            let slot = pending.remove(id);
            (slot, pending.own.is_empty())
        });
        let brief = slot.is_some_and(|slot| slot.complete(arrived));
        if empty {
            self.drained.notify_all();
        }
        brief
    }

    /// Looks tasks up and completes those with an outcome; the others are watched from now on.
    pub(crate) fn look_up(&self, ids: &[TaskId]) -> Result<Vec<Option<TaskRecord>>, EngineError> {
        let records = self.engine.look_up(&self.queue, ids, Some(&self.id))?;
        for (id, record) in ids.iter().zip(&records) {
            match record {
                Some(TaskRecord {
                    outcome: Some(outcome),
                    ..
                }) => {
                    self.complete(id, Arrived::Outcome(Arc::new(outcome.clone())));
                }
                Some(_) => {}
                None => {
                    self.complete(id, Arrived::Gone);
                }
            }
        }
        Ok(records)
    }

    /// Returns the own tasks that have no outcome.
    pub(crate) fn pending_ids(&self) -> Vec<TaskId> {
        self.with_pending(|pending| pending.own.keys().cloned().collect())
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.demand();
        self.with_pending(|pending| pending.own.is_empty())
    }

    /// Waits until no own task is without an outcome; returns whether that is so.
    pub(crate) fn wait_drained(&self, limit: Duration) -> bool {
        self.demand();
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .drained
            .wait_timeout_while(pending, limit, |pending| !pending.own.is_empty());
        let pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        pending.own.is_empty()
    }

    /// Looks up the tasks that the engine has confirmed and that are `wanted`.
    fn sweep(&self, wanted: impl Fn(&Slot) -> bool) -> Result<(), EngineError> {
        let ids: Vec<TaskId> = self.with_pending(|pending| {
            let all = pending.own.values().chain(pending.attached.values());
            let wanted = all.filter(|slot| slot.is_confirmed() && wanted(slot));
            wanted.map(|slot| slot.id.clone()).collect()
        });
        ids.chunks(MAX_BATCH)
            .try_for_each(|ids| self.look_up(ids).map(drop))
    }

    /// Starts the thread that hears of outcomes, once.
    fn listen(self: &Arc<Self>) -> Result<(), EngineError> {
        if self.listening.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let (engine, client) = (Arc::clone(&self.engine), Arc::downgrade(self));
        let (queue, id) = (self.queue.clone(), Arc::clone(&self.id));
        let thread = std::thread::Builder::new().name("windlass-reply".into());
        let listener = Listener {
            engine,
            queue,
            id,
            client,
            turn: Arc::clone(&self.turn),
        };
        let spawned = thread.spawn(move || listener.run());
        if let Err(error) = spawned {
            self.listening.store(false, Ordering::SeqCst);
            return Err(EngineError::Unavailable(format!(
                "no thread for outcomes: {error}"
            )));
        }
        Ok(())
    }
}

/// Why the engine has not confirmed a submission.
#[derive(Debug)]
pub(crate) enum SubmitError {
    Engine(EngineError),
    Interrupted,
}

/// The thread that hears of outcomes. It ends when the executor and all its futures are gone.
struct Listener {
    engine: Arc<dyn Engine>,
    queue: QueueName,
    id: Arc<str>,
    client: Weak<Client>,
    turn: Arc<Turn>,
}

impl Listener {
    fn run(self) {
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
        let mut feed: Option<Box<dyn ReplyFeed>> = None;
        let mut sweeps = Sweeps {
            next: Instant::now() + SWEEP,
            troubled: false,
        };
        while self.client.strong_count() > 0 {
            match self.step(&mut feed, &mut sweeps) {
                Ok(()) => backoff.reset(),
                Err(_) => {
                    sweeps.troubled = true;
                    // Only an interrupt could end this wait early, and nobody has a handle of this thread.
                    let _ = windlass::interrupt::sleep(backoff.next_pause());
                }
            }
        }
    }

    fn step(
        &self,
        feed: &mut Option<Box<dyn ReplyFeed>>,
        sweeps: &mut Sweeps,
    ) -> Result<(), EngineError> {
        let open = match feed {
            Some(feed) => feed,
            None => feed.insert(self.engine.replies(&self.queue, &self.id)?),
        };
        let replies = open.next(LISTEN)?;
        let Some(client) = self.client.upgrade() else {
            return Ok(());
        };
        let alone = client.deliver(replies)?;
        let now = Instant::now();
        if sweeps.troubled {
            client.sweep(|_| true)?;
            sweeps.troubled = false;
        } else if now >= sweeps.next {
            client.sweep(|slot| slot.is_overdue(now))?;
            sweeps.next = now + SWEEP;
        }
        if let Some(lent) = feed.take_if(|_| alone) {
            self.turn.lend(lent, || client.has_pending());
            drop(client);
            let (back, troubled) = self.turn.take_back();
            *feed = Some(back);
            sweeps.troubled |= troubled;
        }
        Ok(())
    }
}

/// What the listener has to look up.
struct Sweeps {
    next: Instant,
    /// The feed has failed since the last look: whatever was on it may be lost.
    troubled: bool,
}

#[cfg(test)]
mod tests {
    use crate::engine::MemoryEngine;
    use crate::turn::Turn;
    use crate::{
        RemoteError, RemoteExecutor, RemoteFuture, RemoteTask, RemoteWorker, TaskCx, TaskError,
        TaskExecutorService,
    };
    use serde::{Deserialize, Serialize};
    use std::pin::pin;
    use std::sync::{Arc, Condvar, Mutex};
    use std::task::{Context, Waker};
    use std::time::{Duration, Instant};

    const LONG: Duration = Duration::from_secs(10);

    /// Names whose tasks may end.
    static OPEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static OPENED: Condvar = Condvar::new();

    fn open(name: &str) {
        OPEN.lock().unwrap().push(name.into());
        OPENED.notify_all();
    }

    #[derive(Serialize, Deserialize)]
    struct Held(String);

    impl RemoteTask for Held {
        const NAME: &'static str = "client.held";
        type Output = u64;

        fn run(self, _: &TaskCx) -> Result<u64, TaskError> {
            let is_held = |open: &mut Vec<String>| !open.contains(&self.0);
            let open = OPEN.lock().unwrap();
            drop(OPENED.wait_timeout_while(open, 3 * LONG, is_held).unwrap());
            Ok(1)
        }
    }

    #[derive(Serialize, Deserialize)]
    struct Next(u64);

    impl RemoteTask for Next {
        const NAME: &'static str = "client.next";
        type Output = u64;

        fn run(self, _: &TaskCx) -> Result<u64, TaskError> {
            Ok(self.0 + 1)
        }
    }

    type Look = fn(&RemoteExecutor, &RemoteFuture<u64>);

    fn eventually(what: &str, is_so: impl Fn() -> bool) {
        let until = Instant::now() + LONG;
        while !is_so() {
            assert!(Instant::now() < until, "{what}");
            std::thread::yield_now();
        }
    }

    /// Returns an executor whose listener takes a feed back only when it is demanded, and a worker.
    fn executor() -> (RemoteExecutor, RemoteWorker) {
        let engine = MemoryEngine::new();
        let worker = RemoteWorker::builder(engine.clone())
            .pool(windlass::executors::fixed_thread_pool(4).unwrap())
            .register::<Next>()
            .register::<Held>()
            .start();
        let mut executor = RemoteExecutor::new(engine);
        let client = Arc::get_mut(&mut executor.client).unwrap();
        client.turn = Arc::new(Turn::with_moment(3600 * LONG));
        (executor, worker.unwrap())
    }

    /// Waits for tasks, one at a time, until the listener has lent its feed.
    fn lend(executor: &RemoteExecutor) {
        eventually("the feed is lent", || {
            let future = executor.submit_task(Next(1)).unwrap();
            assert_eq!(future.get_timeout(LONG), Ok(2));
            executor.client.turn.is_lent()
        });
    }

    #[test]
    fn outcomes_arrive_however_they_are_waited_for() {
        let (executor, _worker) = executor();
        let rounds = |thread: u64| {
            for n in 0..2_000 {
                let future = executor.submit_task(Next(n)).unwrap();
                match (n / 4 + thread) % 5 {
                    0 => eventually("it is done", || future.is_done()),
                    1 => eventually("it is not pending", || {
                        !executor.client.pending_ids().contains(future.id())
                            || executor.client.is_drained()
                    }),
                    _ => {}
                }
                assert_eq!(future.get_timeout(LONG), Ok(n + 1));
            }
        };
        rounds(0);
        std::thread::scope(|scope| (0..3).for_each(|at| drop(scope.spawn(move || rounds(at)))));
    }

    #[test]
    fn whoever_looks_for_an_outcome_demands_the_listener() {
        let (executor, _worker) = executor();
        let looks: [(&str, Look); 5] = [
            ("is_done", |_, future| assert!(!future.is_done())),
            ("try_get", |_, future| assert!(future.try_get().is_none())),
            ("poll", |executor, future| {
                let attached = executor.attach::<Held>(future.id()).unwrap();
                let mut cx = Context::from_waker(Waker::noop());
                assert!(pin!(attached).poll(&mut cx).is_pending());
            }),
            ("await_termination", |executor, _| {
                assert!(!executor.client.wait_drained(Duration::ZERO));
            }),
            ("a second task", |executor, _| {
                executor.submit_task(Next(1)).unwrap().get().unwrap();
            }),
        ];
        for (name, look) in looks {
            lend(&executor);
            let future = executor.submit_task(Held(name.into())).unwrap();
            look(&executor, &future);
            eventually(name, || !executor.client.turn.is_lent());
            open(name);
            assert_eq!(future.get_timeout(LONG), Ok(1), "{name}");
        }
    }

    #[test]
    fn whoever_waits_for_long_leaves_reading_to_the_listener() {
        let (executor, _worker) = executor();
        lend(&executor);
        let future = executor.submit_task(Held("long".into())).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| future.get_timeout(LONG));
            eventually("the listener reads", || !executor.client.turn.is_lent());
            open("long");
            assert_eq!(waiter.join().unwrap(), Ok(1));
        });
    }

    #[test]
    fn whoever_reads_outcomes_can_be_interrupted() {
        let (executor, _worker) = executor();
        lend(&executor);
        let future = executor.submit_task(Held("interrupted".into())).unwrap();
        let waiter = windlass::interrupt::spawn(move || future.get_timeout(LONG));
        waiter.interrupt();
        let ended = waiter.join().unwrap_or_else(|_| panic!("interrupted"));
        open("interrupted");
        assert_eq!(ended.unwrap(), Err(RemoteError::Interrupted));
    }
}

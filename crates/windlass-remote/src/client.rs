//! What the futures of one executor share: the tasks that have no outcome yet, and the thread that hears of outcomes.
//!
//! Outcomes come on the reply feed. What may be lost there (a cut connection, a client that was away for long) is
//! found by looking the tasks up: all of them after an error, and one that has had no outcome for long now and then, ever more
//! rarely. So nothing polls in the normal case, and no future waits for an outcome that was lost.

use crate::engine::{
    CancelMode, Cancelled, Engine, EngineError, MAX_BATCH, NewTask, Outcome, ReplyFeed, Submitted,
    TaskRecord,
};
use crate::id::{QueueName, TaskId};
use crate::pace::Backoff;
use crate::slot::{Arrived, Slot};
use crate::wire::Wire;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long the listener waits for outcomes before it sees whether anybody is left to hear them.
const LISTEN: Duration = Duration::from_millis(500);
/// How often the listener sees whether a task has had no outcome for long.
const SWEEP: Duration = Duration::from_secs(15);

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
        self.listen()?;
        Ok(self.with_pending(|pending| {
            let attached = pending.attached.remove(id);
            let slot = || attached.unwrap_or_else(|| Slot::new(id.clone()));
            Arc::clone(pending.own.entry(id.clone()).or_insert_with(slot))
        }))
    }

    /// The same for a task that somebody has submitted.
    pub(crate) fn attached_slot(self: &Arc<Self>, id: &TaskId) -> Result<Arc<Slot>, EngineError> {
        self.listen()?;
        Ok(self.with_pending(|pending| {
            if let Some(slot) = pending.get(id) {
                return Arc::clone(slot);
            }
            let slot = Slot::new(id.clone());
            pending.attached.insert(id.clone(), Arc::clone(&slot));
            slot
        }))
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

    pub(crate) fn complete(&self, id: &TaskId, arrived: Arrived) {
        let (slot, empty) = self.with_pending(|pending| {
            let slot = pending.remove(id);
            (slot, pending.own.is_empty())
        });
        if let Some(slot) = slot {
            slot.complete(arrived);
        }
        if empty {
            self.drained.notify_all();
        }
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
                None => self.complete(id, Arrived::Gone),
            }
        }
        Ok(records)
    }

    /// Returns the own tasks that have no outcome.
    pub(crate) fn pending_ids(&self) -> Vec<TaskId> {
        self.with_pending(|pending| pending.own.keys().cloned().collect())
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.with_pending(|pending| pending.own.is_empty())
    }

    /// Waits until no own task is without an outcome; returns whether that is so.
    pub(crate) fn wait_drained(&self, limit: Duration) -> bool {
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
        let feed = match feed {
            Some(feed) => feed,
            None => feed.insert(self.engine.replies(&self.queue, &self.id)?),
        };
        let replies = feed.next(LISTEN)?;
        let Some(client) = self.client.upgrade() else {
            return Ok(());
        };
        let mut to_look_up = Vec::new();
        for reply in replies {
            match reply.outcome {
                Some(outcome) => client.complete(&reply.id, Arrived::Outcome(Arc::new(outcome))),
                None => to_look_up.push(reply.id),
            }
        }
        for ids in to_look_up.chunks(MAX_BATCH) {
            client.look_up(ids)?;
        }
        let now = Instant::now();
        if sweeps.troubled {
            client.sweep(|_| true)?;
            sweeps.troubled = false;
        } else if now >= sweeps.next {
            client.sweep(|slot| slot.is_overdue(now))?;
            sweeps.next = now + SWEEP;
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

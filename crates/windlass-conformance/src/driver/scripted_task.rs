//! The tasks of one scenario: what they do, and the log of what became of them.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use windlass::pool::{Hooks, Outcome as Ended, TaskInfo};
use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
use windlass::task::{ExecutionError, SharedHandle, Task};

use crate::format::{Ending, TaskId, TaskSpec};
use crate::outcome::Outcome;
use crate::state::State;

/// All tasks of a scenario, by name.
pub(super) struct ScriptedTasks {
    log: Arc<Log>,
    by_name: HashMap<TaskId, Entry>,
}

struct Entry {
    script: Arc<ScriptedTask>,
    task: windlass::task::TaskId,
    handle: Option<Handle>,
}

/// A handle, whatever its task's value.
pub(super) enum Handle {
    Value(SharedHandle<TaskId>),
    /// Of a task that runs again and again.
    Periodic(SharedHandle<()>),
}

/// What the tasks and hooks write down, as the state shows it.
struct Log {
    submitter: ThreadId,
    seen: Mutex<State>,
}

/// What one task does in each of its runs.
pub(super) struct ScriptedTask {
    id: TaskId,
    waits: bool,
    fails: AtomicBool,
    permits: LinkedBlockingQueue<()>,
    log: Arc<Log>,
}

impl Default for ScriptedTasks {
    fn default() -> Self {
        let submitter = thread::current().id();
        let log = Log {
            submitter,
            seen: Mutex::new(State::default()),
        };
        Self {
            log: Arc::new(log),
            by_name: HashMap::new(),
        }
    }
}

impl ScriptedTasks {
    pub(super) fn hooks(&self) -> Arc<dyn Hooks> {
        Arc::clone(&self.log) as _
    }

    /// What has been written down so far.
    pub(super) fn state(&self) -> State {
        self.log.write().clone()
    }

    pub(super) fn task(&mut self, spec: &TaskSpec) -> Task {
        let script = self.script(spec);
        let body = Arc::clone(&script);
        let task = builder(spec).build(move || {
            body.run();
        });
        self.register(spec, script, task.id(), None);
        task
    }

    pub(super) fn task_with_handle(&mut self, spec: &TaskSpec) -> Task {
        let script = self.script(spec);
        let body = Arc::clone(&script);
        let (task, handle) = builder(spec).build_with_handle(move || body.run());
        self.register(spec, script, task.id(), Some(Handle::Value(handle.share())));
        task
    }

    pub(super) fn script(&self, spec: &TaskSpec) -> Arc<ScriptedTask> {
        Arc::new(ScriptedTask {
            id: spec.id.clone(),
            waits: spec.ending == Ending::Held,
            fails: AtomicBool::new(spec.ending == Ending::Failing),
            permits: LinkedBlockingQueue::new(),
            log: Arc::clone(&self.log),
        })
    }

    pub(super) fn register(
        &mut self,
        spec: &TaskSpec,
        script: Arc<ScriptedTask>,
        task: windlass::task::TaskId,
        handle: Option<Handle>,
    ) {
        self.by_name.insert(
            spec.id.clone(),
            Entry {
                script,
                task,
                handle,
            },
        );
    }

    pub(super) fn finish(&self, id: &TaskId) -> Outcome {
        self.permit(id, |_| ())
    }

    pub(super) fn fail(&self, id: &TaskId) -> Outcome {
        self.permit(id, |script| script.fails.store(true, Ordering::SeqCst))
    }

    fn permit(&self, id: &TaskId, first: impl FnOnce(&ScriptedTask)) -> Outcome {
        let Some(entry) = self.by_name.get(id) else {
            return Outcome::Impossible(format!("there is no task {id}"));
        };
        first(&entry.script);
        entry.script.give_permit();
        Outcome::Ok
    }

    pub(super) fn handle(&self, id: &TaskId) -> Option<&Handle> {
        self.by_name.get(id)?.handle.as_ref()
    }

    pub(super) fn id_of(&self, id: &TaskId) -> Option<windlass::task::TaskId> {
        self.by_name.get(id).map(|entry| entry.task)
    }

    /// Lets every task go that waits, now or later.
    pub(super) fn release_all(&self) {
        for entry in self.by_name.values() {
            entry.script.give_permit();
        }
    }
}

impl Handle {
    pub(super) fn id(&self) -> windlass::task::TaskId {
        match self {
            Handle::Value(handle) => handle.id(),
            Handle::Periodic(handle) => handle.id(),
        }
    }

    pub(super) fn cancel(&self) -> bool {
        match self {
            Handle::Value(handle) => handle.cancel(),
            Handle::Periodic(handle) => handle.cancel(),
        }
    }

    pub(super) fn cancel_now(&self) -> bool {
        match self {
            Handle::Value(handle) => handle.cancel_now(),
            Handle::Periodic(handle) => handle.cancel_now(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Handle::Value(handle) => handle.is_done(),
            Handle::Periodic(handle) => handle.is_done(),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        match self {
            Handle::Value(handle) => handle.is_cancelled(),
            Handle::Periodic(handle) => handle.is_cancelled(),
        }
    }

    pub(super) fn get_timeout(&self, timeout: Duration) -> Result<TaskId, ExecutionError> {
        match self {
            Handle::Value(handle) => handle.get_timeout(timeout),
            // A periodic task never has a value.
            Handle::Periodic(handle) => {
                handle.get_timeout(timeout).map(|()| TaskId::new("nothing"))
            }
        }
    }
}

fn builder(spec: &TaskSpec) -> windlass::task::TaskBuilder {
    Task::builder()
        .name(spec.id.as_str())
        .priority(spec.priority.unwrap_or(0))
}

impl Log {
    fn write(&self) -> MutexGuard<'_, State> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScriptedTask {
    fn give_permit(&self) {
        self.permits
            .offer(())
            .expect("a queue without a bound takes everything");
    }

    pub(super) fn run(&self) -> TaskId {
        if thread::current().id() == self.log.submitter {
            self.log.write().caller.count(&self.id);
            return if self.fails.load(Ordering::SeqCst) {
                fail()
            } else {
                self.id.clone()
            };
        }
        self.log.write().running.insert(self.id.clone());
        let interrupted = self.waits && self.permits.take().is_err();
        let fails = self.fails.load(Ordering::SeqCst);
        let mut seen = self.log.write();
        seen.running.remove(&self.id);
        let list = if interrupted {
            &mut seen.interrupted
        } else if fails {
            &mut seen.failed
        } else {
            &mut seen.finished
        };
        list.count(&self.id);
        drop(seen);
        if interrupted || fails {
            fail()
        } else {
            self.id.clone()
        }
    }
}

/// Ends a run by a panic, without the message that a panic prints.
fn fail() -> ! {
    resume_unwind(Box::new("as the scenario wants it"))
}

impl Hooks for Log {
    fn before_execute(&self, _task: &TaskInfo) {
        self.write().hooks.before += 1;
    }

    fn after_execute(&self, task: &TaskInfo, outcome: &Ended) {
        let mut seen = self.write();
        seen.hooks.after += 1;
        // The JDK shows its hook the failure of a task without a handle only.
        if outcome.failure().is_some() && !task.has_handle() {
            seen.hooks.after_failed += 1;
        }
    }

    fn terminated(&self) {
        self.write().hooks.terminated += 1;
    }
}

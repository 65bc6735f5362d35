//! Holds tasks until the sample lets them go.

use std::sync::{Arc, Condvar, Mutex};

/// A gate: closed until opened, once for all.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    is_open: bool,
    waiting: usize,
}

impl Gate {
    /// Waits until the gate is open.
    pub(crate) fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().expect("nobody panics with it");
        state.waiting += 1;
        changed.notify_all();
        while !state.is_open {
            state = changed.wait(state).expect("nobody panics with it");
        }
    }

    /// Waits until so many stand before the gate.
    pub(crate) fn await_waiting(&self, count: usize) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().expect("nobody panics with it");
        while state.waiting < count {
            state = changed.wait(state).expect("nobody panics with it");
        }
    }

    /// Lets all pass.
    pub(crate) fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().expect("nobody panics with it").is_open = true;
        changed.notify_all();
    }
}

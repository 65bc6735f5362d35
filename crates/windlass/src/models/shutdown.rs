//! Shutdown plans on whole pools, racing with submitters, with each other and with interrupts.

use std::sync::Arc;
use std::time::Duration;

use super::{Ledger, producers, spawn};
use crate::interrupt;
use crate::pool::ThreadPoolExecutor;
use crate::shutdown::{PoolEnd, ShutdownPlan};
use crate::sync::{Deadline, Mutex, model};
use crate::termination::Termination;

const LONG: Duration = Duration::from_secs(60);

fn pool() -> ThreadPoolExecutor {
    let builder = ThreadPoolExecutor::builder().core_pool_size(1);
    builder.build().unwrap()
}

#[test]
fn two_plans_while_tasks_are_submitted() {
    model(|| {
        let (pool, ledger) = (pool(), Ledger::default());
        let plans = [Duration::ZERO, LONG].map(|drain| {
            let (pool, ledger) = (pool.clone(), ledger.clone());
            spawn(move || {
                let plan = ShutdownPlan::new().pool("pool", &pool);
                let report = plan.drain_for(drain).wait_for(LONG).run();
                ledger.take_back(report.into_tasks());
            })
        });
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            theirs.1.submit(&theirs.0, || ());
            theirs.1.execute(&theirs.0, || ());
        });
        for plan in plans {
            plan.join().unwrap();
        }
        ledger.close_pool(&pool);
    });
}

#[test]
fn a_plan_that_is_interrupted_ends_tasks_that_wait() {
    model(|| {
        let (pool, ledger) = (pool(), Ledger::default());
        ledger.submit(&pool, || {
            // Ends by an interrupt only.
            let _ = Termination::default().wait(Duration::MAX);
        });
        ledger.submit(&pool, || ());
        let (theirs, me) = (pool.clone(), spawn_interrupter());
        let plan = spawn(move || {
            me.send();
            let plan = ShutdownPlan::new().pool("pool", &theirs);
            let report = plan.drain_for(Duration::MAX).wait_for(Duration::MAX).run();
            assert!(interrupt::interrupted(), "it is pending again");
            assert_eq!(report.pools[0].end, PoolEnd::Interrupted);
            report
        });
        ledger.take_back(plan.join().unwrap().into_tasks());
        ledger.close_pool(&pool);
    });
}

/// A thread that interrupts the one that tells it about itself.
fn spawn_interrupter() -> Interrupter {
    let (slot, told) = (Arc::new(Mutex::new(None)), Arc::new(Termination::default()));
    let theirs = (Arc::clone(&slot), Arc::clone(&told));
    drop(spawn(move || {
        theirs.1.wait_uninterruptibly(Deadline::Never);
        let plan: Option<interrupt::InterruptHandle> = theirs.0.lock().take();
        if let Some(plan) = plan {
            plan.interrupt();
        }
    }));
    Interrupter { slot, told }
}

struct Interrupter {
    slot: Arc<Mutex<Option<interrupt::InterruptHandle>>>,
    told: Arc<Termination>,
}

impl Interrupter {
    fn send(&self) {
        *self.slot.lock() = Some(interrupt::current());
        self.told.signal();
    }
}

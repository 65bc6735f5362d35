//! Changes of settings: checked, versioned, recorded, undone.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use windlass::error::{CapacityError, ConfigError};
use windlass::monitor::{
    Action, Change, ChangeError, ChangeOptions, ChangeSource, Event, Field, Monitor, TuneLimits,
};
use windlass::pool::{BlockPolicy, DiscardPolicy};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;
use windlass::testing::PATIENCE;

use crate::{SECOND, Watched};

fn any() -> ChangeOptions {
    ChangeOptions::new()
}

/// WL-417
#[test]
fn a_change_is_applied_as_a_whole_and_tells_what_has_changed() {
    let watched = Watched::new();
    let change = Change::new()
        .core(4)
        .max(8)
        .keep_alive(Duration::from_secs(30))
        .capacity(20)
        .policy("caller_runs");
    let version = watched.view().version;
    let changed = watched
        .monitor
        .change("web", &change, &any().actor("me"))
        .unwrap();
    let texts: Vec<_> = changed.changes.iter().map(ToString::to_string).collect();
    let expected = [
        "core 2 -> 4",
        "max 2 -> 8",
        "keep_alive_seconds 60s -> 30s",
        "capacity 10 -> 20",
        "policy abort -> caller_runs",
    ];
    assert_eq!(texts, expected);
    assert_eq!(changed.version, version + 1);
    let settings = watched.view().snapshot.settings;
    assert_eq!(
        (settings.core, settings.max, settings.capacity),
        (Some(4), Some(8), Some(20))
    );
    assert_eq!(watched.pool.rejection_handler().name(), "caller_runs");
    let audit = watched.monitor.audit();
    assert_eq!((audit.len(), audit[0].source), (1, ChangeSource::Api));
    assert_eq!(
        (&audit[0].actor, &audit[0].changes),
        (&Some("me".to_owned()), &changed.changes)
    );
    assert_eq!(watched.view().reconfigured.api, 1);
}

/// WL-417
#[test]
fn a_change_that_is_refused_changes_nothing_and_says_why() {
    let watched = Watched::new();
    let refused = |change: Change| watched.monitor.change("web", &change, &any()).unwrap_err();
    let error = refused(Change::new().core(4).capacity(20));
    let expected = ConfigError::CoreExceedsMaximum {
        core: 4,
        maximum: 2,
    };
    assert_eq!(
        (error.field(), error),
        (Some(Field::Core), ChangeError::Config(expected))
    );
    assert_eq!(
        refused(Change::new().core(1).max(0)),
        ChangeError::Config(ConfigError::ZeroMaximum)
    );
    assert_eq!(
        refused(Change::new().capacity(0)),
        ChangeError::Capacity(CapacityError::Zero)
    );
    assert_eq!(
        refused(Change::new().parallelism(2)),
        ChangeError::NotTunable(Field::Parallelism)
    );
    assert_eq!(
        refused(Change::new().policy("nice")),
        ChangeError::UnknownPolicy("nice".into())
    );
    let unknown = watched
        .monitor
        .change("other", &Change::new(), &any())
        .unwrap_err();
    assert_eq!(unknown, ChangeError::UnknownPool);
    let settings = watched.view().snapshot.settings;
    assert_eq!((settings.core, settings.capacity), (Some(2), Some(10)));
    assert_eq!(
        (watched.view().version, watched.monitor.audit().len()),
        (1, 0)
    );
}

/// WL-417
#[test]
fn the_capacity_of_a_queue_that_is_fixed_and_the_maximum_of_a_scheduled_pool_stay() {
    let registry = windlass::monitor::Registry::new();
    let fixed = executors::fixed_thread_pool(1).unwrap();
    let timers = executors::scheduled_thread_pool(1);
    let sums = ForkJoinPool::new(2).unwrap();
    registry.register_as("fixed", &fixed);
    registry.register_as("timers", &timers);
    registry.register_as("sums", &sums);
    let monitor = Monitor::builder()
        .registry(&registry)
        .manual(true)
        .start()
        .unwrap();
    let refused = |name, change| monitor.change(name, &change, &any()).unwrap_err();
    let error = refused("fixed", Change::new().capacity(5));
    assert_eq!(error, ChangeError::NotTunable(Field::Capacity));
    let error = refused("timers", Change::new().max(5));
    assert_eq!(error, ChangeError::NotTunable(Field::Max));
    assert!(refused("sums", Change::new().parallelism(0)).field() == Some(Field::Parallelism));
    monitor
        .change("sums", &Change::new().parallelism(3), &any())
        .unwrap();
    assert_eq!(sums.parallelism(), 3);
    assert_eq!(
        monitor.prestart("sums", None),
        Err(ChangeError::Unsupported("prestart"))
    );
}

/// WL-418
#[test]
fn a_change_for_another_version_is_refused_also_if_the_program_made_the_change() {
    let watched = Watched::new();
    let version = watched.view().version;
    watched.pool.set_core_pool_size(1).unwrap();
    let change = Change::new().max(3);
    let stale = watched
        .monitor
        .change("web", &change, &any().version(version));
    assert_eq!(
        stale,
        Err(ChangeError::Conflict {
            version: version + 1
        })
    );
    let audit = watched.monitor.audit();
    assert_eq!(
        (audit[0].source, audit[0].changes[0].field),
        (ChangeSource::Code, Field::Core)
    );
    let changed = watched
        .monitor
        .change("web", &change, &any().version(version + 1))
        .unwrap();
    assert_eq!(changed.version, version + 2);
    // A sample notices it too, once.
    watched.pool.set_core_pool_size(2).unwrap();
    watched.seconds(2);
    assert_eq!(
        (watched.view().version, watched.view().reconfigured.code),
        (version + 3, 2)
    );
}

/// WL-418
#[test]
fn limits_a_factor_of_four_and_a_dry_run_are_kept() {
    let watched = Watched::new();
    assert!(watched.registry.limit("web", TuneLimits::new().max(1..=32)));
    let beyond = Change::new().max(33);
    let error = watched
        .monitor
        .change("web", &beyond, &any().force(true))
        .unwrap_err();
    assert!(matches!(
        error,
        ChangeError::OutsideLimits {
            value: 33,
            bounds: (1, 32),
            ..
        }
    ));
    let far = Change::new().max(9);
    let error = watched.monitor.change("web", &far, &any()).unwrap_err();
    assert!(matches!(error, ChangeError::TooLarge(_)));
    let dry = watched
        .monitor
        .change("web", &far, &any().force(true).dry_run(true))
        .unwrap();
    assert_eq!((dry.applied, dry.changes.len(), dry.version), (false, 1, 1));
    assert_eq!(watched.pool.maximum_pool_size(), 2);
    let invalid = Change::new().core(5);
    let error = watched
        .monitor
        .change("web", &invalid, &any().dry_run(true))
        .unwrap_err();
    assert!(matches!(error, ChangeError::Config(_)));
    watched
        .monitor
        .change("web", &far, &any().force(true))
        .unwrap();
    assert_eq!(watched.pool.maximum_pool_size(), 9);
    watched
        .monitor
        .change("web", &Change::new().max(3), &any())
        .unwrap();
    assert_eq!(watched.pool.maximum_pool_size(), 3);
}

/// WL-418
#[test]
fn a_bound_that_goes_or_comes_is_further_than_a_factor_of_four() {
    let watched = Watched::new();
    let open = unbounded(&watched);
    for (name, capacity) in [("web", usize::MAX), ("open", 5)] {
        let change = Change::new().capacity(capacity);
        let error = watched.monitor.change(name, &change, &any()).unwrap_err();
        assert!(matches!(error, ChangeError::TooLarge(_)), "{error:?}");
        let forced = any().force(true);
        watched.monitor.change(name, &change, &forced).unwrap();
    }
    assert_eq!(watched.pool.queue().capacity(), None);
    assert_eq!(open.queue().capacity(), Some(5));
}

/// WL-418
#[test]
fn settings_without_effect_are_warned_of_before_they_are_set() {
    let registry = windlass::monitor::Registry::new();
    let pool = executors::fixed_thread_pool(2).unwrap();
    registry.register_as("fixed", &pool);
    let monitor = Monitor::builder()
        .registry(&registry)
        .manual(true)
        .start()
        .unwrap();
    let dry = any().dry_run(true).force(true);
    let warned = monitor
        .change("fixed", &Change::new().max(8), &dry)
        .unwrap()
        .warnings;
    assert!(warned[0].contains("the queue is unbounded"), "{warned:?}");
    let many = Change::new().core(30_000).max(30_000);
    let warned = monitor.change("fixed", &many, &dry).unwrap().warnings;
    assert!(
        warned
            .iter()
            .any(|text| text.contains("number of processors")),
        "{warned:?}"
    );
}

/// WL-419
#[test]
fn a_change_is_undone_after_its_time_unless_it_is_confirmed() {
    let watched = Watched::new();
    let change = Change::new().core(4).max(4).policy("discard");
    let changed = watched
        .monitor
        .change("web", &change, &any().revert_after(10 * SECOND));
    assert_eq!(
        changed.unwrap().revert_at,
        Some(watched.monitor.now() + 10 * SECOND)
    );
    let pending = watched.view().pending_revert.unwrap();
    assert_eq!(pending.changes[0].to_string(), "core 4 -> 2");
    watched.seconds(9);
    assert_eq!(watched.pool.core_pool_size(), 4);
    watched.seconds(1);
    assert_eq!(
        (
            watched.pool.core_pool_size(),
            watched.pool.maximum_pool_size()
        ),
        (2, 2)
    );
    assert_eq!(watched.pool.rejection_handler().name(), "abort");
    let audit = watched.monitor.audit();
    assert_eq!(
        (audit[0].source, audit[0].action),
        (ChangeSource::Revert, Action::Revert)
    );
    assert_eq!(audit[1].reverted, Some(watched.monitor.now()));
    assert_eq!(
        (watched.view().version, watched.view().pending_revert),
        (3, None)
    );

    watched
        .monitor
        .change("web", &change, &any().revert_after(10 * SECOND))
        .unwrap();
    watched.monitor.confirm("web", Some("me")).unwrap();
    assert_eq!(
        watched.monitor.confirm("web", None),
        Err(ChangeError::NothingPending)
    );
    watched.seconds(20);
    assert_eq!(watched.pool.core_pool_size(), 4);
    assert_eq!(watched.view().reconfigured.revert, 1);
}

/// WL-419
#[test]
fn the_last_change_is_undone_when_asked_to_and_only_once() {
    let watched = Watched::new();
    assert_eq!(
        watched.monitor.revert("web", None).unwrap_err(),
        ChangeError::NothingPending
    );
    watched
        .monitor
        .change("web", &Change::new().capacity(12), &any())
        .unwrap();
    let undone = watched.monitor.revert("web", Some("me")).unwrap();
    assert_eq!(undone.changes[0].to_string(), "capacity 12 -> 10");
    assert_eq!(
        watched.monitor.revert("web", None).unwrap_err(),
        ChangeError::NothingPending
    );
}

/// WL-418
#[test]
fn the_audit_keeps_the_last_256_and_others_are_told() {
    let watched = Watched::new();
    let (tell, told) = mpsc::channel();
    let receive = move |event: &Event| {
        if let Event::Audit(entry) = event {
            tell.send(entry.clone()).unwrap();
        }
    };
    watched.monitor.on_event(receive).unwrap();
    for round in 0..300 {
        let change = Change::new().capacity(11 + round % 2);
        watched.monitor.change("web", &change, &any()).unwrap();
        assert_eq!(told.recv_timeout(PATIENCE).unwrap().id, round as u64 + 1);
    }
    let audit = watched.monitor.audit();
    assert_eq!((audit.len(), audit[0].id, audit[255].id), (256, 300, 45));
}

/// WL-417
#[test]
fn a_policy_of_the_user_is_set_by_the_name_it_was_registered_with() {
    let watched = Watched::new();
    watched.registry.register_policy("quiet", DiscardPolicy);
    assert!(watched.registry.policies().contains(&"quiet".into()));
    watched
        .monitor
        .change("web", &Change::new().policy("quiet"), &any())
        .unwrap();
    assert_eq!(
        watched.view().snapshot.settings.policy.as_deref(),
        Some("quiet")
    );
    watched.monitor.revert("web", None).unwrap();
    assert_eq!(
        watched.view().snapshot.settings.policy.as_deref(),
        Some("abort")
    );
}

/// The name of a policy is not all of it: there are two of the same name, and one that is nowhere registered.
///
/// WL-419
#[test]
fn the_rejection_policy_that_a_change_has_replaced_comes_back_itself() {
    let watched = Watched::new();
    let (monitor, pool) = (&watched.monitor, &watched.pool);
    let set = |name: &str, options: &ChangeOptions| {
        let change = Change::new().policy(name);
        monitor.change("web", &change, options).unwrap();
    };
    pool.set_rejection_handler(BlockPolicy::with_timeout(5 * SECOND));
    let timed = pool.rejection_handler();
    set("discard", &any());
    monitor.revert("web", None).unwrap();
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &timed));

    // By itself too, after two changes of which the second one names the policy that there was.
    let soon = any().revert_after(2 * SECOND);
    set("discard", &soon);
    set("abort", &any());
    watched.seconds(2);
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &timed));
    set("discard", &soon);
    set("block", &any());
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &timed));
    watched.seconds(2);
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &timed));

    // One that was not registered.
    pool.set_rejection_handler(|task, _: &dyn windlass::pool::Saturated| {
        drop(task);
        Ok(())
    });
    let custom = pool.rejection_handler();
    set("discard", &any());
    let undone = monitor.revert("web", None).unwrap();
    assert_eq!(undone.warnings, [""; 0]);
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &custom));
}

/// WL-419
#[test]
fn a_policy_that_a_change_names_and_does_not_change_stays_itself() {
    let watched = Watched::new();
    let handler = BlockPolicy::with_timeout(5 * SECOND);
    watched.pool.set_rejection_handler(handler);
    let timed = watched.pool.rejection_handler();
    let change = Change::new().core(1).policy("block");
    let changed = watched.monitor.change("web", &change, &any()).unwrap();
    assert_eq!(changed.changes.len(), 1);
    assert!(Arc::ptr_eq(&watched.pool.rejection_handler(), &timed));
}

/// WL-417
#[test]
fn commands_are_carried_out_and_recorded() {
    let watched = Watched::new();
    assert_eq!(watched.monitor.prestart("web", Some("me")), Ok(2));
    watched.monitor.pause("web", 60 * SECOND, None).unwrap();
    assert!(watched.clock.await_sleepers(2, PATIENCE));
    let cancelled = watched.pool.submit(|| ()).unwrap();
    cancelled.cancel();
    assert_eq!(watched.monitor.purge("web", None), Ok(1));
    watched.monitor.resume("web", None).unwrap();
    watched.monitor.shutdown("web", None).unwrap();
    assert!(watched.pool.is_shutdown());
    let actions: Vec<_> = watched
        .monitor
        .audit()
        .iter()
        .map(|entry| entry.action)
        .collect();
    let expected = [
        Action::Shutdown,
        Action::Resume,
        Action::Purge,
        Action::Pause,
        Action::Prestart,
    ];
    assert_eq!(actions, expected);
}

/// The capacity is read while tasks come and go.
///
/// WL-418
#[test]
fn load_does_not_look_like_a_change_of_settings() {
    let watched = Watched::new();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                drop(watched.pool.execute(|| ()));
            }
        });
        for _ in 0..2_000 {
            watched.monitor.sample();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(watched.monitor.audit(), []);
    assert_eq!(watched.view().version, 1);
}

/// WL-480
#[test]
fn a_change_while_one_is_to_be_undone_is_undone_with_it() {
    let watched = Watched::new();
    let first = Change::new().max(3);
    watched
        .monitor
        .change("web", &first, &any().revert_after(10 * SECOND))
        .unwrap();
    // No time of its own: it goes back with the first, and the answer says so.
    let keep_alive = Change::new().keep_alive(30 * SECOND);
    let changed = watched.monitor.change("web", &keep_alive, &any()).unwrap();
    assert_eq!(changed.revert_at, Some(watched.monitor.now() + 10 * SECOND));
    assert!(
        changed.warnings.iter().any(|text| text.contains("undone")),
        "{changed:?}"
    );
    // The first old value and the earliest time are kept.
    let again = Change::new().max(4);
    watched
        .monitor
        .change("web", &again, &any().revert_after(5 * SECOND))
        .unwrap();
    let pending = watched.view().pending_revert.unwrap();
    assert_eq!(pending.at, watched.monitor.now() + 5 * SECOND);
    let texts: Vec<_> = pending.changes.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["max 4 -> 2", "keep_alive_seconds 30s -> 60s"]);
    watched.seconds(4);
    assert_eq!(watched.pool.maximum_pool_size(), 4);
    watched.seconds(1);
    assert_eq!(watched.pool.maximum_pool_size(), 2);
    assert_eq!(watched.pool.keep_alive(), 60 * SECOND);
    let audit = watched.monitor.audit();
    assert_eq!(audit.len(), 4);
    assert!(audit[1..].iter().all(|entry| entry.reverted.is_some()));
    assert_eq!(watched.view().pending_revert, None);
}

/// WL-480
#[test]
fn confirming_keeps_all_changes_that_were_to_be_undone() {
    let watched = Watched::new();
    for (max, time) in [(3, 10 * SECOND), (4, 20 * SECOND)] {
        let options = any().revert_after(time);
        let change = Change::new().max(max);
        watched.monitor.change("web", &change, &options).unwrap();
    }
    watched.monitor.confirm("web", None).unwrap();
    watched.seconds(30);
    assert_eq!(watched.pool.maximum_pool_size(), 4);
    let audit = watched.monitor.audit();
    assert!(audit.iter().all(|entry| entry.revert_at.is_none()));
}

/// A pool without a bound, whose queue can get one.
fn unbounded(watched: &Watched) -> ThreadPoolExecutor {
    let pool = ThreadPoolExecutor::builder()
        .name("open")
        .core_pool_size(1)
        .work_queue(ResizableBlockingQueue::new())
        .build()
        .unwrap();
    watched.registry.register(&pool);
    pool
}

/// WL-481
#[test]
fn a_bound_of_a_queue_that_had_none_is_undone() {
    let watched = Watched::new();
    let pool = unbounded(&watched);
    let change = Change::new().capacity(5);
    let options = any().force(true).revert_after(2 * SECOND);
    watched.monitor.change("open", &change, &options).unwrap();
    assert_eq!(pool.queue().remaining_capacity(), Some(5));
    let pending = watched.monitor.pool("open").unwrap().pending_revert;
    assert_eq!(
        pending.unwrap().changes[0].to_string(),
        "capacity 5 -> unbounded"
    );
    watched.seconds(2);
    assert_eq!(pool.queue().remaining_capacity(), None);
    let audit = watched.monitor.audit();
    assert_eq!(audit[0].changes[0].to_string(), "capacity 5 -> unbounded");
    assert!(audit[1].reverted.is_some());
}

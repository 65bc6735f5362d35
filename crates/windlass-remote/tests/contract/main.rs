//! One contract for the local pool and for every engine: a test is a sentence, and holds everywhere.
//!
//! What is a verb of `TaskExecutorService` is in `verbs`, and runs on the local pool too; the rest needs to see the engine.
//! An engine joins with a line in `contract!`: a name and a function that makes a fresh, empty engine. Where its
//! server is not installed the function returns `None` and has said so; its tests then pass without having run.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(all(unix, feature = "postgres"))]
#[path = "../support/postgres.rs"]
mod postgres_server;

mod batches;
mod checkpoints;
mod engines;
mod failures;
mod lifecycle;
mod limits;
mod listing;
mod races;
mod schedules;
mod submission;
mod tasks;
mod verbs;
mod workers;

/// Declares every test of the contract for one engine.
macro_rules! contract {
    ($engine:ident, $make:expr) => {
        mod $engine {
            contract!(@verbs ($make));
            contract!(@tests $make; submission:
                a_second_submission_of_an_id_is_the_first
                a_result_is_picked_up_by_id_from_another_client
                a_watcher_gets_no_payload
                an_unknown_id_cannot_be_attached
                a_payload_beyond_the_limit_comes_back
                a_result_beyond_the_limit_fails_the_future);
            contract!(@tests $make; lifecycle:
                a_queued_task_is_cancelled_before_it_starts
                cancel_now_stops_a_running_task_and_drops_its_result
                a_scheduled_task_is_cancelled
                cancelling_races_with_starting_without_contradiction
                cancelling_now_races_with_the_outcome_without_contradiction
                shutdown_rejects_and_lets_run
                shutdown_now_cancels_and_returns_what_had_not_started
                shutdown_now_leaves_attached_tasks_alone
                the_longest_wait_is_no_panic);
            contract!(@tests $make; races:
                cancelling_races_with_a_start
                cancelling_races_with_the_end_of_a_delay
                cancelling_races_with_every_report
                cancelling_races_with_the_loss_of_a_worker);
            contract!(@tests $make; failures:
                a_failed_attempt_is_repeated_when_asked
                attempts_end
                an_expired_lease_is_delivered_again
                an_at_most_once_task_fails_with_its_worker
                a_task_that_ends_three_workers_is_a_dead_letter
                a_late_result_is_stale_and_counted
                the_first_success_counts_even_if_late
                a_dead_letter_is_retried_or_dropped
                an_unknown_type_is_put_back_and_then_dead
                a_task_that_ran_is_not_unknown_any_more
                a_newer_version_waits_for_an_upgraded_worker
                an_older_version_is_upgraded
                a_bad_payload_is_a_dead_letter
                a_task_that_waits_too_long_fails
                a_task_that_runs_too_long_fails
                a_signed_task_runs_and_an_unsigned_one_is_refused);
            contract!(@tests $make; batches:
                an_id_twice_in_a_batch_is_taken_once
                of_reports_on_one_delivery_in_a_batch_the_first_counts
                outcomes_of_older_deliveries_in_a_batch_are_judged_one_by_one
                a_large_payload_stays_with_its_task);
            contract!(@tests $make; limits:
                a_full_queue_rejects
                a_closed_queue_rejects
                a_paused_queue_starts_nothing
                urgent_tasks_start_first
                no_more_of_a_type_run_than_allowed
                a_cancelled_task_does_not_use_up_the_end_it_waited_for
                a_task_that_waited_too_long_does_not_use_up_the_end_it_waited_for
                cancelled_tasks_hold_up_nobody
                tasks_at_their_limit_hold_up_no_other_type
                starts_of_a_type_keep_their_distance
                the_longest_times_are_no_short_ones
                counts_agree_with_what_happened);
            contract!(@tests $make; listing:
                an_empty_queue_has_one_empty_page
                every_task_of_a_queue_is_on_a_page_and_no_other
                tasks_are_listed_by_their_state
                what_comes_and_goes_hides_nothing_that_stays
                a_page_begins_where_one_of_this_engine_ended);
            contract!(@tests $make; schedules:
                a_delayed_task_starts_in_time
                a_fixed_rate_submits_again_and_again
                a_fixed_delay_waits_for_the_outcome
                a_fixed_delay_survives_a_time_that_was_left_out
                a_schedule_that_overlaps_leaves_a_time_out
                a_cancelled_schedule_submits_nothing_more
                a_time_is_fired_once);
            #[cfg(feature = "cron")]
            contract!(@tests $make; schedules:
                a_cron_schedule_submits_by_its_name);
            contract!(@tests $make; workers:
                a_worker_takes_no_more_than_it_has_room_for
                a_worker_drains_on_shutdown
                a_worker_gives_back_what_still_runs
                a_worker_that_leaves_fails_what_may_run_once
                a_worker_leaves_with_thousands_of_tasks
                thousands_of_lost_tasks_fail_and_their_client_hears_of_it
                workers_have_time_to_come_back_after_an_outage
                two_workers_of_one_name_are_two
                workers_are_listed_with_what_they_know
                a_vanished_worker_loses_its_tasks_before_their_lease_ends);
        }
    };
    (local) => {
        mod local {
            contract!(@verbs local);
        }
    };
    // The verbs of the trait, with an executor of some kind and a way to make keys.
    (@verbs $how:tt) => {
        contract!(@verbs_of $how:
                a_task_returns_its_result
                a_failed_task_fails_its_future
                a_panic_fails_its_future_and_nothing_else
                a_future_is_awaited
                a_timed_wait_leaves_the_task_alone
                many_tasks_return_in_order
                invoke_all_returns_when_all_are_done
                invoke_all_cancels_what_is_unfinished_at_its_limit
                invoke_any_returns_the_first_success
                invoke_any_fails_when_all_fail
                a_running_task_is_not_cancelled_by_cancel
                a_finished_task_is_not_cancelled
                await_termination_waits_for_every_task
                a_task_has_its_own_id_and_rules
                a_schedule_runs_until_it_is_cancelled
                an_executor_that_is_shut_down_rejects);
    };
    (@verbs_of $how:tt: $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                contract!(@verb $how $test);
            }
        )*
    };
    (@verb local $test:ident) => {
        let executor = windlass_remote::LocalExecutor::fixed(4).unwrap();
        let id = windlass_remote::TaskId::random();
        super::verbs::$test(&executor, &|name| format!("{id}/{name}"))
    };
    (@verb ($make:expr) $test:ident) => {
        if let Some(engine) = $make {
            let (executor, _worker) = (engine.executor(), engine.worker(4));
            super::verbs::$test(&executor, &|name| engine.key(name));
        }
    };
    // What an engine may do without; those that have it have it like this.
    (additions $engine:ident, $make:expr) => {
        mod $engine {
            contract!(@tests $make; schedules:
                a_schedule_that_queues_runs_one_after_the_other);
            contract!(@tests $make; checkpoints:
                a_checkpoint_reaches_the_next_run
                a_checkpoint_of_an_older_delivery_is_refused);
            contract!(@tests $make; limits:
                what_waits_is_told_by_priority_with_its_age);
        }
    };
    (@tests $make:expr; $module:ident: $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                if let Some(engine) = $make {
                    super::$module::$test(&engine);
                }
            }
        )*
    };
}

contract!(local);
contract!(memory, crate::engines::memory());
contract!(additions memory_additions, crate::engines::memory());
contract!(measured, crate::engines::measured());
contract!(additions measured_additions, crate::engines::measured());
#[cfg(feature = "redis")]
contract!(redis, crate::engines::redis());
#[cfg(all(unix, feature = "postgres"))]
contract!(postgres, crate::engines::postgres(None));
#[cfg(all(unix, feature = "postgres"))]
contract!(
    postgres_without_notices,
    crate::engines::postgres(Some(std::time::Duration::from_millis(10)))
);
#[cfg(feature = "redis")]
contract!(additions redis_additions, crate::engines::redis());
#[cfg(all(unix, feature = "postgres"))]
contract!(additions postgres_additions, crate::engines::postgres(None));

/// Not on PostgreSQL: 50 MiB in one statement may take longer there than a call may.
#[cfg(feature = "redis")]
mod redis_large {
    contract!(@tests crate::engines::redis(); batches:
        many_large_payloads_are_fetched
        many_large_payloads_reach_a_worker_that_waits);
}

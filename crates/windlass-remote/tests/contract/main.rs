//! One contract for the local pool and for every engine: a test is a sentence, and holds everywhere.
//!
//! An engine joins with a line in `contract!`: a name and a function that makes a fresh, empty engine. Where its
//! server is not installed the function returns `None` and has said so; its tests then pass without having run.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(all(unix, feature = "postgres"))]
#[path = "../support/postgres.rs"]
mod postgres_server;

mod checkpoints;
mod engines;
mod failures;
mod lifecycle;
mod limits;
mod schedules;
mod submission;
mod tasks;
mod workers;

/// Declares every test of the contract for one engine.
macro_rules! contract {
    ($engine:ident, $make:expr) => {
        mod $engine {
            contract!(@tests $make; submission:
                a_task_returns_its_result
                a_failed_task_fails_its_future
                a_panic_fails_its_future_and_nothing_else
                a_future_is_awaited
                a_timed_wait_leaves_the_task_alone
                a_second_submission_of_an_id_is_the_first
                a_result_is_picked_up_by_id_from_another_client
                an_unknown_id_cannot_be_attached
                many_tasks_return_in_order
                a_payload_beyond_the_limit_comes_back
                a_result_beyond_the_limit_fails_the_future
                invoke_all_returns_when_all_are_done
                invoke_all_cancels_what_is_unfinished_at_its_limit
                invoke_any_returns_the_first_success
                invoke_any_fails_when_all_fail);
            contract!(@tests $make; lifecycle:
                a_queued_task_is_cancelled_before_it_starts
                a_running_task_is_not_cancelled_by_cancel
                cancel_now_stops_a_running_task_and_drops_its_result
                a_finished_task_is_not_cancelled
                a_scheduled_task_is_cancelled
                cancelling_races_with_starting_without_contradiction
                shutdown_rejects_and_lets_run
                shutdown_now_cancels_and_returns_what_had_not_started
                await_termination_waits_for_every_task);
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
                a_newer_version_waits_for_an_upgraded_worker
                an_older_version_is_upgraded
                a_bad_payload_is_a_dead_letter
                a_task_that_waits_too_long_fails
                a_task_that_runs_too_long_fails
                a_signed_task_runs_and_an_unsigned_one_is_refused);
            contract!(@tests $make; limits:
                a_full_queue_rejects
                a_closed_queue_rejects
                a_paused_queue_starts_nothing
                urgent_tasks_start_first
                no_more_of_a_type_run_than_allowed
                starts_of_a_type_keep_their_distance
                counts_agree_with_what_happened);
            contract!(@tests $make; schedules:
                a_delayed_task_starts_in_time
                a_fixed_rate_submits_again_and_again
                a_fixed_delay_waits_for_the_outcome
                a_schedule_that_overlaps_leaves_a_time_out
                a_cancelled_schedule_submits_nothing_more
                a_time_is_fired_once);
            contract!(@tests $make; workers:
                a_worker_takes_no_more_than_it_has_room_for
                a_worker_drains_on_shutdown
                a_worker_gives_back_what_still_runs
                two_workers_of_one_name_are_two
                workers_are_listed_with_what_they_know
                a_vanished_worker_loses_its_tasks_before_their_lease_ends);
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

contract!(memory, crate::engines::memory());
contract!(additions memory_additions, crate::engines::memory());
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

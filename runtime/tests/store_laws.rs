//! What every store does, as laws: each is held by SQLite, and by PostgreSQL where there is one (`support/postgres.rs` says where it looks).

#[path = "store/claims.rs"]
mod claims;
#[path = "store/escalations.rs"]
mod escalations;
#[path = "store/faults.rs"]
mod faults;
#[path = "store/journal.rs"]
mod journal;
#[path = "store/place.rs"]
mod place;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "store/restart.rs"]
mod restart;
#[path = "store/runs.rs"]
mod runs;
#[path = "store/servers.rs"]
mod servers;
#[path = "store/statistics.rs"]
mod statistics;
#[path = "store/traces.rs"]
mod traces;
#[path = "store/versions.rs"]
mod versions;
#[path = "store/ways.rs"]
mod ways;

/// A test of each law for each kind of store.
macro_rules! laws {
    ($($module:ident :: $law:ident,)*) => {
        mod in_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $law() {
                    super::$module::$law(super::place::Place::sqlite()).await;
                }
            )*
        }
        mod in_postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $law() {
                    if let Some(place) = super::place::Place::postgres() {
                        super::$module::$law(place).await;
                    }
                }
            )*
        }
    };
}

laws! {
    runs::creating_twice_changes_nothing,
    runs::a_run_is_read_as_it_was_written,
    runs::pages_have_neither_gap_nor_double,
    runs::cancelling_ends_what_nobody_has,
    runs::pruning_takes_old_runs_with_all_that_is_theirs,
    runs::ten_thousand_runs_are_listed_quickly,
    journal::values_keep_their_digits_and_bytes,
    journal::a_step_ends_once_unless_it_is_done_again,
    journal::answers_that_came_meanwhile_are_not_slept_through,
    journal::an_end_closes_questions_and_the_journal,
    journal::a_commit_that_fails_leaves_nothing,
    claims::each_run_goes_to_one_worker,
    claims::each_run_goes_to_one_process,
    claims::a_lease_that_ran_out_goes_to_another,
    claims::a_lease_that_nobody_took_is_still_ours,
    claims::what_is_due_can_be_claimed,
    claims::one_run_can_be_claimed,
    claims::renewing_tells_of_cancellation,
    claims::a_worker_that_is_gone_lets_go_of_its_runs_and_of_no_others,
    claims::a_worker_can_ask_which_of_its_runs_are_unwanted,
    escalations::one_of_many_answers_counts,
    escalations::claims_hold_until_they_run_out,
    escalations::lists_are_in_order_of_urgency,
    escalations::opening_twice_is_opening_once,
    versions::numbers_are_given_once,
    versions::one_version_is_active,
    versions::versions_are_listed_in_order,
    versions::a_version_says_what_it_was_made_of,
    versions::a_step_has_one_solution,
    versions::ten_thousand_workflows_are_listed_quickly,
    servers::a_server_is_read_as_it_was_written,
    servers::a_name_is_given_once,
    servers::servers_are_found_by_what_is_known_of_them,
    servers::a_change_keeps_what_it_leaves_out,
    servers::what_was_found_belongs_to_what_was_asked_for,
    servers::ten_thousand_servers_are_found_quickly,
    traces::a_recording_is_one_document,
    traces::calls_have_one_order,
    traces::nothing_is_written_twice_or_after_the_end,
    traces::recordings_are_found_and_go,
    statistics::runs_are_counted_as_they_stand,
    statistics::workflows_are_compared_by_how_their_runs_ended,
    statistics::percentiles_are_durations_that_were_there,
    statistics::failures_come_newest_first,
    statistics::events_of_the_newest_runs_come_run_by_run,
    statistics::questions_are_summed_up_by_role,
    statistics::ten_thousand_runs_are_counted_quickly,
    faults::newer_tables_are_refused,
    faults::older_tables_are_brought_up_to_date,
    faults::many_open_one_store,
    faults::a_killed_process_loses_nothing_that_was_told,
    faults::what_cannot_be_read_is_broken,
    faults::calls_that_are_given_up_leave_no_lock,
}

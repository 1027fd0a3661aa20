//! The MCP servers, through real clients: over stdio to a child process, over HTTP, and in both eras of the protocol.
//!
//! This program is its own fixture: with `LTC_TEST_BE` in its environment it is a server instead of a list of tests.

mod changes;
mod client;
mod documents;
mod ends;
mod hostile;
mod http;
mod people;
mod runs;
mod server;
mod tasks;
mod typed;
#[path = "../../../fixtures/servers/unruly.rs"]
mod unruly;
#[path = "../../../fixtures/servers/wire.rs"]
mod wire;
mod world;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

macro_rules! trials {
    ($($module:ident :: $test:ident,)*) => {
        vec![$(
            Trial::test(concat!(stringify!($module), "::", stringify!($test)), || {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
                runtime.map_err(|error| error.to_string())?.block_on($module::$test());
                Ok(())
            }),
        )*]
    };
}

fn main() -> ExitCode {
    if let Ok(mode) = std::env::var("LTC_TEST_BE") {
        return server::be(&mode);
    }
    let trials = trials![
        typed::every_operation_and_every_active_workflow_is_a_tool_and_nothing_else_is,
        typed::annotations_follow_from_what_is_known,
        typed::a_workflow_can_call_a_workflow_through_the_server_with_its_digits,
        typed::a_typed_client_of_the_newer_era_gets_a_task_and_polls_it,
        typed::many_tools_come_in_pages,
        runs::a_workflow_is_a_tool_whose_result_is_its_output,
        runs::a_run_that_fails_says_where_and_why,
        runs::a_refused_input_says_every_place_and_leaves_nothing,
        runs::an_unknown_tool_is_an_error_of_the_protocol,
        runs::every_operation_on_runs_works_and_fails_as_it_should,
        runs::a_workflow_named_as_an_operation_is_told_apart,
        runs::a_run_that_waits_for_a_person_is_answered_with,
        runs::progress_names_the_steps_in_their_order,
        runs::a_cancelled_request_cancels_its_run,
        runs::who_hangs_up_cancels_the_run_in_the_newer_era_and_leaves_it_alone_in_the_older,
        tasks::a_quick_run_is_answered_directly_and_a_slow_one_becomes_a_task,
        tasks::a_task_outlives_its_server_and_any_other_answers_for_it,
        tasks::a_client_that_does_not_declare_tasks_gets_none,
        tasks::an_open_question_is_an_input_request_and_is_answered_once,
        tasks::a_question_that_no_form_can_say_is_left_to_the_queue,
        tasks::a_cancelled_task_is_a_cancelled_run,
        tasks::who_listens_to_a_task_hears_of_its_end,
        people::every_tool_of_the_queue_works_and_fails_as_it_should,
        people::of_twenty_answers_one_wins,
        people::an_answer_wakes_who_waits,
        changes::a_deployment_in_another_process_is_heard_of_in_both_eras,
        changes::a_deployment_is_heard_of_over_http_too,
        documents::documents_are_resources_of_one_server,
        hostile::odd_arguments_change_nothing_and_stay_what_they_are,
        hostile::what_is_no_message_is_answered_and_the_next_one_works,
        http::without_the_token_nobody_gets_anywhere,
        http::a_page_of_somebody_else_is_refused,
        http::a_message_that_is_too_large_is_refused,
        http::an_address_that_others_reach_wants_a_token,
        http::health_is_told_to_anybody,
        ends::the_first_answer_comes_at_once,
        ends::a_closed_stdin_releases_the_run_and_ends_the_process,
        ends::a_polite_request_to_end_begins_no_step_any_more,
        ends::who_calls_over_http_is_told_that_the_server_ends,
    ];
    let mut arguments = Arguments::from_args();
    // They mostly wait.
    arguments.test_threads.get_or_insert(6);
    libtest_mimic::run(&arguments, trials).exit_code()
}

//! The program in the hands of the real clients: each runs headless with the hooks registered, and a scripted model
//! plays what the agent does. Checked on what the model was sent and on what the program recorded.
//!
//! `cargo xtask test` installs the clients and tells where they are; without them these tests say so and do nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod facts;
mod network;
mod packages;
mod workplace;

/// The same facts for every client.
macro_rules! for_every_client {
    ($($place:ident::$fact:ident)*) => {
        for_every_client!(@ claude Claude $($place $fact)*);
        for_every_client!(@ gemini Gemini $($place $fact)*);
        for_every_client!(@ codex Codex $($place $fact)*);
        for_every_client!(@ codex_plain_tools CodexPlainTools $($place $fact)*);
    };
    (@ $client:ident $variant:ident $($place:ident $fact:ident)*) => {
        mod $client {
            $(
                #[test]
                fn $fact() {
                    crate::workplace::with(scripted_model::Client::$variant, crate::$place::$fact);
                }
            )*
        }
    };
}

for_every_client! {
    facts::an_edit_without_a_test_is_held_once_and_passes_after_the_test
    facts::all_clear_is_not_held
    facts::an_ignored_failure_is_an_observation
    facts::only_prose_is_silent
    facts::work_committed_in_the_turn_counts
    facts::a_new_untracked_file_counts
    facts::parallel_calls_are_told_apart
    facts::two_prompts_in_one_session_are_two_turns
    facts::what_cannot_be_done_is_not_asked_for_again
    facts::a_broken_journal_holds_nobody
}

/// What does not depend on how a model calls its tools.
macro_rules! for_every_program {
    ($($fact:ident)*) => {
        for_every_client!(@ claude_package Claude $(packages $fact)*);
        for_every_client!(@ gemini_package Gemini $(packages $fact)*);
        for_every_client!(@ codex_package CodexPlainTools $(packages $fact)*);
    };
}

for_every_program! {
    a_package_is_accepted_installed_and_holds
    a_package_beside_the_settings_holds_once
    doctor_proves_that_the_hook_fires
}

//! The program in the hands of the real clients: each runs headless, or at a screen, with the hooks registered, and a
//! scripted model plays what the agent does. Checked on what the model was sent and on what the program recorded.
//!
//! `cargo xtask test` installs the clients and tells where they are; without them these tests say so and do nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod autosave;
mod facts;
mod ledger;
#[cfg(feature = "mcp")]
mod mcp;
mod network;
mod packages;
mod subagents;
mod tmux;
mod workplace;

/// The same facts for every client.
macro_rules! for_every_client {
    ($($variant:ident $client:ident,)*) => {
        $(facts_of! {
            $variant $client
            an_edit_without_a_test_is_held_once_and_passes_after_the_test
            all_clear_is_not_held
            an_ignored_failure_is_an_observation
            only_prose_is_silent
            work_committed_in_the_turn_counts
            a_new_untracked_file_counts
            parallel_calls_are_told_apart
            two_prompts_in_one_session_are_two_turns
            what_cannot_be_done_is_not_asked_for_again
            a_broken_journal_holds_nobody
            unfinished_work_is_told_when_a_session_begins
            what_init_wrote_is_taken_back
        })*
    };
}

macro_rules! facts_of {
    ($variant:ident $client:ident $($fact:ident)*) => {
        mod $client {
            $(
                #[test]
                fn $fact() {
                    crate::workplace::with(scripted_model::Client::$variant, crate::facts::$fact);
                }
            )*
        }
    };
}

transcript::each_host!(for_every_client);
for_every_client!(CodexPlainTools codex_plain_tools,);

/// What a person lives through at the screen of each client.
mod screen {
    macro_rules! for_every_screen {
        ($($client:ident $variant:ident)*) => {
            $(
                mod $client {
                    #[test]
                    fn l1_l2_l3_l4_nothing_slips_through() {
                        crate::workplace::with_screen(
                            scripted_model::Client::$variant,
                            crate::ledger::l1_l2_l3_l4_nothing_slips_through,
                        );
                    }
                }
            )*
        };
    }

    for_every_screen! {
        claude Claude
        gemini Gemini
        codex Codex
    }
}

/// The context of each client fills up.
macro_rules! a_full_context_is_saved {
    ($($client:ident $variant:ident)*) => {
        $(
            mod $client {
                #[test]
                fn a_full_context_is_saved_and_the_agent_goes_on() {
                    crate::workplace::with(
                        scripted_model::Client::$variant,
                        crate::autosave::a_full_context_is_saved_and_the_agent_goes_on,
                    );
                }

                #[test]
                fn the_gate_and_the_save_share_one_hold() {
                    crate::workplace::with(
                        scripted_model::Client::$variant,
                        crate::autosave::the_gate_and_the_save_share_one_hold,
                    );
                }
            }
        )*
    };
}

a_full_context_is_saved! {
    claude_autosave Claude
    gemini_autosave Gemini
    codex_autosave CodexPlainTools
}

/// The tools of the MCP server.
#[cfg(feature = "mcp")]
mod tools {
    use crate::{mcp, workplace};
    use scripted_model::Client;

    #[test]
    fn claude() {
        workplace::with(Client::Claude, mcp::every_tool_is_offered_and_answers);
    }

    #[test]
    fn gemini() {
        workplace::with(Client::Gemini, mcp::every_tool_is_offered_and_answers);
    }

    #[test]
    fn codex() {
        workplace::with(Client::CodexPlainTools, mcp::every_tool_is_offered_and_answers);
    }
}

/// What does not depend on how a model calls its tools.
macro_rules! for_every_package {
    ($($client:ident $variant:ident)*) => {
        $(
            mod $client {
                use crate::{packages, workplace};
                use scripted_model::Client::$variant;

                #[test]
                fn a_package_is_accepted_installed_and_holds() {
                    workplace::with($variant, packages::is_accepted_installed_and_holds);
                }

                #[test]
                fn a_package_beside_the_settings_holds_once() {
                    workplace::with($variant, packages::beside_the_settings_holds_once);
                }

                #[test]
                fn a_person_asks_what_the_gate_would_say() {
                    workplace::with($variant, packages::shows_what_the_gate_would_say);
                }

                #[test]
                fn doctor_proves_that_the_hook_fires() {
                    workplace::with($variant, packages::doctor_proves_that_the_hook_fires);
                }
            }
        )*
    };
}

for_every_package! {
    claude_package Claude
    gemini_package Gemini
    codex_package CodexPlainTools
}

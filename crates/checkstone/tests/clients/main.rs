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
mod screens;
mod server;
mod subagents;
mod tmux;
mod workplace;

/// A module for each client, with these facts.
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

/// What `cargo xtask test` runs. All the rest is in `cargo xtask clients` and in `cargo xtask soak`.
mod sample {
    macro_rules! for_every_host {
        ($($variant:ident $client:ident,)*) => {
            $(facts_of! { $variant $client from_init_to_uninstall })*
        };
    }

    transcript::each_host!(for_every_host);

    /// Each of the other facts, with one of the clients.
    mod with_one_client {
        facts_of! { Claude claude two_prompts_in_one_session_are_two_turns unfinished_work_is_told_once_in_a_session }
        facts_of! { Codex codex work_committed_in_the_turn_counts a_broken_journal_holds_nobody }
        facts_of! { Opencode opencode a_new_untracked_file_counts what_cannot_be_done_is_not_asked_for_again }
        facts_of! { Copilot copilot an_ignored_failure_is_an_observation all_clear_is_not_held }
        facts_of! { Droid droid parallel_calls_are_told_apart only_prose_is_silent }

        use crate::{autosave, ledger, packages, screens, subagents, workplace};
        use scripted_model::Client;

        #[test]
        fn l1_l2_l3_l4_nothing_slips_through_at_a_screen() {
            workplace::with_screen(Client::Claude, ledger::l1_l2_l3_l4_nothing_slips_through);
        }

        #[test]
        fn a_turn_is_held_at_a_screen_without_a_stop_hook() {
            workplace::with_screen(Client::Opencode, screens::a_turn_is_held_once_and_passes_after_the_test);
        }

        #[test]
        fn a_full_context_is_saved() {
            workplace::with(Client::CodexPlainTools, autosave::a_full_context_is_saved_and_the_agent_goes_on);
        }

        #[test]
        fn a_package_is_installed_and_holds() {
            workplace::with(Client::Claude, packages::is_accepted_installed_and_holds);
        }

        #[test]
        fn the_tests_of_a_subagent_count() {
            subagents::droid();
        }

        #[cfg(feature = "mcp")]
        #[test]
        fn every_tool_is_offered_and_answers() {
            workplace::with(Client::CodexPlainTools, crate::mcp::every_tool_is_offered_and_answers);
        }
    }
}

/// The same facts for every client.
macro_rules! for_every_client {
    ($($variant:ident $client:ident,)*) => {
        $(facts_of! {
            $variant $client
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
            unfinished_work_is_told_once_in_a_session
        })*
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

    macro_rules! for_every_other_screen {
        ($($client:ident $variant:ident)*) => {
            $(
                mod $client {
                    #[test]
                    fn a_turn_is_held_once_and_passes_after_the_test() {
                        crate::workplace::with_screen(
                            scripted_model::Client::$variant,
                            crate::screens::a_turn_is_held_once_and_passes_after_the_test,
                        );
                    }
                }
            )*
        };
    }

    for_every_other_screen! {
        qwen Qwen
        opencode Opencode
        copilot Copilot
        droid Droid
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
mod mcp_table {
    macro_rules! for_every_client_with_mcp {
        ($($client:ident $variant:ident)*) => {
            $(
                #[test]
                fn $client() {
                    crate::workplace::with(
                        scripted_model::Client::$variant,
                        crate::mcp::every_tool_is_offered_and_answers,
                    );
                }
            )*
        };
    }

    for_every_client_with_mcp! {
        claude Claude
        gemini Gemini
        codex CodexPlainTools
        qwen Qwen
        opencode Opencode
        copilot Copilot
        droid Droid
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

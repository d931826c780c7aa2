//! Gemini CLI, as 0.61.0 and 0.44.0 were seen to be.
//!
//! - It has no turn id, clears `stop_hook_active` when the continuation used a tool, and sends the end of the session twice
//!   when its TUI is left with `/quit`.
//! - It takes it for a refusal that a program is missing: the agent is kept from stopping again and again. Hence `|| true`;
//!   our own hook always succeeds.
//! - `PreCompress` comes before every request to the model, so it is left alone.
//! - It drops a prompt with a hook's words in it from a session that it goes on with (0.61.0).
//! - It accepts settings with comments, and does not start on trailing commas or a byte order mark.

mod extension;
mod rehearsed;
mod transcript_places;

use serde_json::Value;

use super::{
    Abilities, CallForm, FolderVariable, HookShell, Host, HostFiles, HostVariables, PayloadForm,
    RegistrationFile, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

const TRUST: Option<&str> = Some("Gemini CLI runs hooks only in folders that you trust");

pub(super) static HOST: Host = Host {
    title: "Gemini CLI",
    short_title: "Gemini CLI",
    package_folder: "gemini-cli",
    marks: CallerMarks { fields: &[], variable: None },
    payload: PayloadForm {
        events: &[
            ("BeforeAgent", EventKind::PromptSubmitted),
            ("AfterAgent", EventKind::Stop),
            ("SessionStart", EventKind::SessionStart),
            ("SessionEnd", EventKind::SessionEnd),
        ],
        unnamed_events: &[],
        silent_prompts_with: None,
        turn: None,
        last_text: Some("prompt_response"),
        has_empty_prompts: false,
        wraps_context: true,
        has_nameless_subagents: false,
        forgets_at: &["clear", "compact", "resume"],
    },
    can: Abilities {
        holds_subagents: false,
        tells_person_before_compaction: false,
        tells_person_beside_hold: false,
        holds_by_context: None,
        takes_bare_context: false,
        takes_account_of_save: false,
        has_status_line: false,
        writes_late: false,
        records_stops: false,
        records_holds: true,
        writes_window: false,
    },
    registration: RegistrationForm {
        events: &["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"],
        matcher: Some("*"),
        name: Some("checkstone"),
        call: CallForm::Line(" || true"),
        in_package: "\"${extensionPath}/bin/checkstone\"",
        timeout: 120_000,
        session_end_timeout: None,
        note_for_user: TRUST,
        note_for_project: TRUST,
        shell: HookShell::At("bash"),
        file: RegistrationFile::Settings,
    },
    files: HostFiles {
        folder: ".gemini",
        user_folders: None,
        folder_in_repository: None,
        folder_variable: Some(FolderVariable { name: "GEMINI_CLI_HOME", is_home: true }),
        settings: "settings.json",
        local_settings: None,
        managed_settings: Some("/etc/gemini-cli/settings.json"),
        allows_comments: true,
        allows_byte_order_mark: false,
        only_keys: None,
        switches: &[
            Switch {
                pointer: "/hooksConfig/enabled",
                name: "hooksConfig.enabled",
                is_off: |value| *value == Value::Bool(false),
            },
            Switch {
                pointer: "/hooksConfig/disabled",
                name: "hooksConfig.disabled",
                is_off: |value| {
                    value.as_array().is_some_and(|names| names.iter().any(|name| name == "checkstone"))
                },
            },
        ],
        files_with_switches: &[],
        package: Some(extension::EXTENSION),
        hand_written: None,
        has_execution_switches: false,
    },
    variables: HostVariables {
        session: None,
        calls: Some("GEMINI_CLI"),
        // Without this it starts itself a second time.
        quiet: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
    },
    transcripts: TranscriptPlaces {
        of_session: None,
        all: transcript_places::all,
        of_folder: transcript_places::of_folder,
        is_folder_inside: false,
        introduction: transcript_places::introduction,
        is_subagent_file: |_| false,
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    notes_file: "GEMINI.md",
    co_author: "Gemini CLI <noreply@google.com>",
    notify: None,
    trust: None,
};

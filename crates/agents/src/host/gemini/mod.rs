//! Gemini CLI, as 0.61.0 and 0.44.0 were seen to be.
//!
//! - It has no turn id, clears `stop_hook_active` when the continuation used a tool, and sends the end of the session twice
//!   when its TUI is left with `/quit`.
//! - It takes it for a refusal that a program is missing: the agent is kept from stopping again and again. Hence `|| true`;
//!   our own hook always succeeds.
//! - `PreCompress` comes before every request to the model, so it is left alone.
//! - It drops a prompt with a hook's words in it from a session that it goes on with (0.61.0). 0.44.0 keeps it; payload, environment and
//!   transcript are the same in both when the session goes on, so both are told again.
//! - It accepts settings with comments, and does not start on trailing commas or a byte order mark.

mod extension;
mod rehearsed;
mod transcript_places;

use serde_json::{Value, json};

use super::{
    Abilities, CallForm, FolderVariable, HookShell, Host, HostFiles, HostVariables, McpFile, McpForm,
    McpText, PayloadForm, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};
use crate::payload::EventKind;

const TRUST: Option<&str> = Some("Gemini CLI runs hooks only in folders that you trust");

pub(super) static HOST: Host = Host {
    title: "Gemini CLI",
    short_title: "Gemini CLI",
    package_folder: "gemini-cli",
    payload: PayloadForm {
        events: &[
            ("BeforeAgent", EventKind::PromptSubmitted),
            ("AfterAgent", EventKind::Stop),
            ("SessionStart", EventKind::SessionStart),
            ("SessionEnd", EventKind::SessionEnd),
        ],
        last_text: Some("prompt_response"),
        wraps_context: true,
        forgets_at: &["clear", "compact", "resume"],
        ..PayloadForm::BASE
    },
    can: Abilities { holds_subagents: false, tells_person_beside_hold: false, ..Abilities::BASE },
    registration: RegistrationForm {
        events: &["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"],
        matcher: Some("*"),
        name: Some("checkstone"),
        call: CallForm::Line(" || true"),
        in_package: "\"${extensionPath}/bin/checkstone\"",
        timeout: 120_000,
        note_for_user: TRUST,
        note_for_project: TRUST,
        shell: HookShell::At("bash"),
        ..RegistrationForm::BASE
    },
    files: HostFiles {
        folder: ".gemini",
        folder_variable: Some(FolderVariable { name: "GEMINI_CLI_HOME", is_home: true }),
        managed_settings: Some("/etc/gemini-cli/settings.json"),
        allows_comments: true,
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
        package: Some(extension::EXTENSION),
        ..HostFiles::BASE
    },
    variables: HostVariables {
        calls: Some("GEMINI_CLI"),
        // Without this it starts itself a second time.
        quiet: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
        ..HostVariables::BASE
    },
    transcripts: TranscriptPlaces {
        all: transcript_places::all,
        of_folder: transcript_places::of_folder,
        introduction: transcript_places::introduction,
        ..TranscriptPlaces::BASE
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    notes_file: "GEMINI.md",
    co_author: "Gemini CLI <noreply@google.com>",
    silent_in: &["Gemini Code Assist in an IDE"],
    mcp: Some(McpForm {
        user_file: McpFile::InFolder("settings.json"),
        project_file: ".gemini/settings.json",
        text: McpText::Json {
            servers: "mcpServers",
            entry: |program| json!({"command": program, "args": ["mcp"]}),
        },
    }),
    ..Host::BASE
};

//! Codex CLI, as 0.166.0 and 0.144.6 were seen to be.
//!
//! - Its trust covers the event, the matcher, the command line and the time limit. So none of them may ever change, and what
//!   a later version will want to hear of is registered from the beginning.
//! - It cuts the time limit at the end of a session to 3 seconds and warns where more is asked for. Versions that do not know
//!   an event ignore it (0.144.6 and `SessionEnd`).
//! - It tells a sub-agent's stop with the session of its parent and a turn id of its own.
//! - It ignores a `hooks.json` with comments, trailing commas, a byte order mark or keys that it does not know.

mod config;
mod notify;
mod rehearsed;
mod transcript_places;
mod trust;

use super::{
    Abilities, FolderVariable, HookShell, Host, HostFiles, HostPackage, HostVariables, McpFile, McpForm,
    McpText, PayloadForm, RegistrationForm, RehearsalForm, TranscriptPlaces,
};
use crate::caller::CallerMarks;

pub(super) static HOST: Host = Host {
    title: "Codex CLI",
    short_title: "Codex",
    package_folder: "codex",
    marks: CallerMarks { fields: &["turn_id"], ..CallerMarks::BASE },
    payload: PayloadForm {
        turn: Some("turn_id"),
        last_text: Some("last_assistant_message"),
        ..PayloadForm::BASE
    },
    can: Abilities { tells_person_before_compaction: true, writes_window: true, ..Abilities::BASE },
    registration: RegistrationForm {
        // It gives its plugins the variable by Claude Code's name.
        in_package: "\"${CLAUDE_PLUGIN_ROOT}/bin/checkstone\"",
        session_end_timeout: Some(3),
        note_for_user: Some(
            "Codex runs no hook that you have not allowed: start `codex` and choose “Trust all and continue” when \
             it shows “Hooks need review”, or type `/hooks`",
        ),
        note_for_project: Some(
            "Codex runs no hook that you have not allowed: start `codex` here, trust the folder, and choose “Trust \
             all and continue” when it shows “Hooks need review”, or type `/hooks`",
        ),
        shell: HookShell::OfPerson,
        ..RegistrationForm::BASE
    },
    files: HostFiles {
        folder: ".codex",
        folder_variable: Some(FolderVariable { name: "CODEX_HOME", is_home: false }),
        settings: "hooks.json",
        only_keys: Some(&["description", "hooks"]),
        package: Some(HostPackage {
            kind: "plugin",
            variable: "CLAUDE_PLUGIN_ROOT",
            is_unpacked_folder: false,
            has_hooks_beside: true,
            // The client itself is asked for its plugins.
            is_enabled: |_| false,
            is_installed: |_| false,
            list: None,
            listed: |_| Vec::new(),
            folders: |_, _| Vec::new(),
        }),
        hand_written: Some(config::HAND_WRITTEN),
        ..HostFiles::BASE
    },
    variables: HostVariables { session: Some("CODEX_SESSION_ID"), ..HostVariables::BASE },
    transcripts: TranscriptPlaces {
        of_session: Some(transcript_places::of_thread),
        all: transcript_places::all,
        of_folder: |home, _| transcript_places::all(home),
        is_folder_inside: true,
        introduction: transcript_places::introduction,
        ..TranscriptPlaces::BASE
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    co_author: "Codex <noreply@openai.com>",
    notify: Some(notify::NOTIFY),
    trust: Some(trust::QUESTION),
    silent_in: &["Codex on the web"],
    untried_in: &["the IDE extension and the desktop app"],
    mcp: Some(McpForm {
        user_file: McpFile::InFolder("config.toml"),
        project_file: ".codex/config.toml",
        text: McpText::Toml { table: "mcp_servers" },
    }),
    ..Host::BASE
};

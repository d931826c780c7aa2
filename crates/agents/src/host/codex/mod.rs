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
    Abilities, CallForm, FolderVariable, HookShell, Host, HostFiles, HostPackage, HostVariables, PayloadForm,
    RegistrationFile, RegistrationForm, RehearsalForm, TranscriptPlaces,
};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

pub(super) static HOST: Host = Host {
    title: "Codex CLI",
    short_title: "Codex",
    package_folder: "codex",
    marks: CallerMarks { fields: &["turn_id"], variable: None },
    payload: PayloadForm {
        events: &[
            ("UserPromptSubmit", EventKind::PromptSubmitted),
            ("Stop", EventKind::Stop),
            ("SubagentStop", EventKind::SubagentStop),
            ("SessionStart", EventKind::SessionStart),
            ("PreCompact", EventKind::BeforeCompaction),
            ("SessionEnd", EventKind::SessionEnd),
        ],
        unnamed_events: &[],
        silent_prompts_with: None,
        turn: Some("turn_id"),
        last_text: Some("last_assistant_message"),
        has_empty_prompts: false,
        wraps_context: false,
        has_nameless_subagents: false,
        forgets_at: &["clear", "compact"],
    },
    can: Abilities {
        holds_subagents: true,
        tells_person_before_compaction: true,
        tells_person_beside_hold: true,
        holds_by_context: None,
        takes_bare_context: false,
        takes_account_of_save: false,
        has_status_line: false,
        writes_late: false,
        records_stops: false,
        records_holds: true,
        writes_window: true,
    },
    registration: RegistrationForm {
        events: &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        matcher: None,
        name: None,
        call: CallForm::Line(""),
        // It gives its plugins the variable by Claude Code's name.
        in_package: "\"${CLAUDE_PLUGIN_ROOT}/bin/checkstone\"",
        timeout: 120,
        session_end_timeout: Some(3),
        note_for_user: Some(
            "Codex runs no hook that you have not allowed: start `codex` and choose “Trust all and continue” where \
             it says “Hooks need review”, or type `/hooks`",
        ),
        note_for_project: Some(
            "Codex runs no hook that you have not allowed: start `codex` here, trust the folder, and choose “Trust \
             all and continue” where it says “Hooks need review”, or type `/hooks`",
        ),
        shell: HookShell::OfPerson,
        file: RegistrationFile::Settings,
    },
    files: HostFiles {
        folder: ".codex",
        user_folders: None,
        folder_in_repository: None,
        folder_variable: Some(FolderVariable { name: "CODEX_HOME", is_home: false }),
        settings: "hooks.json",
        local_settings: None,
        managed_settings: None,
        allows_comments: false,
        allows_byte_order_mark: false,
        only_keys: Some(&["description", "hooks"]),
        switches: &[],
        files_with_switches: &[],
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
        has_execution_switches: false,
    },
    variables: HostVariables { session: Some("CODEX_SESSION_ID"), calls: None, quiet: &[] },
    transcripts: TranscriptPlaces {
        of_session: Some(transcript_places::of_thread),
        all: transcript_places::all,
        of_folder: |home, _| transcript_places::all(home),
        is_folder_inside: true,
        introduction: transcript_places::introduction,
        is_subagent_file: |_| false,
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    notes_file: "AGENTS.md",
    co_author: "Codex <noreply@openai.com>",
    notify: Some(notify::NOTIFY),
    trust: Some(trust::QUESTION),
};

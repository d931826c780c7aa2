//! Copilot CLI, as 1.0.102 was seen to be.
//!
//! - The names of events decide what a hook is told: `Stop` gets Claude Code's fields, `agentStop` the same in camel case and without the
//!   name of the event. `init` registers the first; the second is understood too.
//! - It runs the hooks of a repository's `.claude/settings.json` as well.
//! - The transcript is there up to 150 ms after the hook was called, and then has a line about this very call.
//! - A hold is a prompt that the client sends itself: `UserPromptSubmit` comes with our own text, and the transcript has it as a message
//!   of the user.

mod rehearsed;
mod transcript_places;

use serde_json::Value;

use super::{
    Abilities, CallForm, FolderVariable, HookShell, Host, HostFiles, HostVariables, PayloadForm,
    RegistrationFile, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

const TRUST: Option<&str> = Some("Copilot CLI runs the hooks of a repository only in folders that you trust");

pub(super) static HOST: Host = Host {
    title: "Copilot CLI",
    short_title: "Copilot",
    package_folder: "copilot",
    marks: CallerMarks {
        fields: &["stop_reason", "stopReason", "initial_prompt", "initialPrompt"],
        variable: Some("COPILOT_CLI"),
    },
    payload: PayloadForm {
        events: &[
            ("UserPromptSubmit", EventKind::PromptSubmitted),
            ("Stop", EventKind::Stop),
            ("SubagentStop", EventKind::SubagentStop),
            ("SessionStart", EventKind::SessionStart),
            ("PreCompact", EventKind::BeforeCompaction),
            ("SessionEnd", EventKind::SessionEnd),
        ],
        unnamed_events: &[
            ("agent_name", EventKind::SubagentStop),
            ("stop_reason", EventKind::Stop),
            ("source", EventKind::SessionStart),
            ("trigger", EventKind::BeforeCompaction),
            ("prompt", EventKind::PromptSubmitted),
            ("reason", EventKind::SessionEnd),
        ],
        silent_prompts_with: None,
        turn: None,
        last_text: None,
        wraps_context: false,
        has_empty_prompts: false,
        has_nameless_subagents: false,
        // What a hook said is not in the transcript, so a session that is gone on with does not have it.
        forgets_at: &["clear", "compact", "resume"],
    },
    can: Abilities {
        holds_subagents: true,
        tells_person_before_compaction: false,
        tells_person_beside_hold: false,
        holds_by_context: None,
        takes_bare_context: true,
        takes_account_of_save: false,
        has_status_line: false,
        writes_late: true,
        records_stops: true,
        records_holds: true,
        writes_window: true,
    },
    registration: RegistrationForm {
        events: &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        matcher: None,
        name: None,
        call: CallForm::Line(""),
        in_package: "checkstone",
        timeout: 120,
        session_end_timeout: None,
        note_for_user: None,
        note_for_project: TRUST,
        shell: HookShell::At("bash"),
        file: RegistrationFile::Settings,
    },
    files: HostFiles {
        folder: ".copilot",
        user_folders: None,
        folder_in_repository: Some(".github"),
        folder_variable: Some(FolderVariable { name: "COPILOT_HOME", is_home: false }),
        settings: "hooks/checkstone.json",
        local_settings: None,
        managed_settings: None,
        allows_comments: false,
        allows_byte_order_mark: false,
        only_keys: None,
        switches: &[Switch {
            pointer: "/disableAllHooks",
            name: "disableAllHooks",
            is_off: |value| *value == Value::Bool(true),
        }],
        files_with_switches: &["settings.json", "copilot/settings.json", "copilot/settings.local.json"],
        package: None,
        hand_written: None,
        has_execution_switches: false,
    },
    variables: HostVariables {
        session: Some("COPILOT_AGENT_SESSION_ID"),
        calls: Some("COPILOT_CLI"),
        quiet: &[("COPILOT_AUTO_UPDATE", "false")],
    },
    transcripts: TranscriptPlaces {
        of_session: Some(transcript_places::of_session),
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
    co_author: "Copilot <223556219+Copilot@users.noreply.github.com>",
    notify: None,
    trust: None,
};

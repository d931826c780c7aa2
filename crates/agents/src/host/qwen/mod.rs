//! Qwen Code, as 0.24.4 was seen to be.
//!
//! - `UserPromptSubmit` comes before every request to the model, all but the first time without a prompt. The key of the
//!   turn is the same, also after a hold.
//! - Its hooks take seconds; from 1000 on it takes them for milliseconds.
//! - The transcript is whole 50 ms after the hook was called. A hold is not in it, nor in a session that is gone on with.
//! - A hold can also be told by exit code 2; other exit codes, and a missing program, let the agent stop.

mod rehearsed;
mod transcript_places;

use serde_json::Value;

use super::{
    Abilities, CallForm, FolderVariable, HookShell, Host, HostFiles, HostVariables, PayloadForm,
    RegistrationFile, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

const TRUST: Option<&str> = Some("Qwen Code runs the hooks of a repository only in folders that you trust");

pub(super) static HOST: Host = Host {
    title: "Qwen Code",
    short_title: "Qwen Code",
    package_folder: "qwen-code",
    marks: CallerMarks {
        fields: &["crons", "submitted_prompt", "context_limit"],
        variable: Some("QWEN_CODE_SESSION_ID"),
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
        unnamed_events: &[],
        silent_prompts_with: None,
        turn: Some("prompt_id"),
        last_text: Some("last_assistant_message"),
        wraps_context: false,
        has_empty_prompts: true,
        has_nameless_subagents: false,
        forgets_at: &["clear", "compact", "resume"],
    },
    can: Abilities {
        holds_subagents: true,
        tells_person_before_compaction: false,
        tells_person_beside_hold: true,
        holds_by_context: None,
        takes_bare_context: false,
        takes_account_of_save: false,
        has_status_line: false,
        writes_late: true,
        records_stops: false,
        records_holds: false,
        writes_window: false,
    },
    registration: RegistrationForm {
        events: &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        matcher: None,
        name: Some("checkstone"),
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
        folder: ".qwen",
        user_folders: None,
        folder_in_repository: None,
        folder_variable: Some(FolderVariable { name: "QWEN_HOME", is_home: false }),
        settings: "settings.json",
        local_settings: None,
        managed_settings: Some("/etc/qwen-code/settings.json"),
        allows_comments: true,
        allows_byte_order_mark: false,
        only_keys: None,
        switches: &[Switch {
            pointer: "/disableAllHooks",
            name: "disableAllHooks",
            is_off: |value| *value == Value::Bool(true),
        }],
        files_with_switches: &[],
        package: None,
        hand_written: None,
        has_execution_switches: false,
    },
    variables: HostVariables {
        session: Some("QWEN_CODE_SESSION_ID"),
        calls: None,
        quiet: &[("QWEN_CODE_NO_RELAUNCH", "true")],
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
    notes_file: "QWEN.md",
    co_author: "Qwen-Coder <noreply@alibabacloud.com>",
    notify: None,
    trust: None,
};

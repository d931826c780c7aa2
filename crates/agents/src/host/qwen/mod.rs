//! Qwen Code, as 0.24.4 was seen to be.
//!
//! - `UserPromptSubmit` comes before every request to the model, all but the first time without a prompt. The key of the
//!   turn is the same, also after a hold.
//! - Its hooks take seconds; from 1000 on it takes them for milliseconds.
//! - The transcript is whole 50 ms after the hook was called. A hold is not in it, nor in a session that is gone on with.
//! - A hold can also be told by exit code 2; other exit codes, and a missing program, let the agent stop.

mod rehearsed;
mod transcript_places;

use serde_json::{Value, json};

use super::{
    Abilities, FolderVariable, HookShell, Host, HostFiles, HostVariables, McpFile, McpForm, McpText,
    PayloadForm, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};
use crate::caller::CallerMarks;

const TRUST: Option<&str> = Some("Qwen Code runs the hooks of a repository only in folders that you trust");

pub(super) static HOST: Host = Host {
    title: "Qwen Code",
    short_title: "Qwen Code",
    package_folder: "qwen-code",
    marks: CallerMarks {
        fields: &["crons", "submitted_prompt", "context_limit"],
        variable: Some("QWEN_CODE_SESSION_ID"),
        ..CallerMarks::BASE
    },
    payload: PayloadForm {
        turn: Some("prompt_id"),
        last_text: Some("last_assistant_message"),
        has_empty_prompts: true,
        forgets_at: &["clear", "compact", "resume"],
        ..PayloadForm::BASE
    },
    can: Abilities { writes_late: true, records_holds: false, ..Abilities::BASE },
    registration: RegistrationForm {
        name: Some("checkstone"),
        note_for_project: TRUST,
        shell: HookShell::At("bash"),
        ..RegistrationForm::BASE
    },
    files: HostFiles {
        folder: ".qwen",
        folder_variable: Some(FolderVariable { name: "QWEN_HOME", is_home: false }),
        managed_settings: Some("/etc/qwen-code/settings.json"),
        allows_comments: true,
        switches: &[Switch {
            pointer: "/disableAllHooks",
            name: "disableAllHooks",
            is_off: |value| *value == Value::Bool(true),
        }],
        ..HostFiles::BASE
    },
    variables: HostVariables {
        session: Some("QWEN_CODE_SESSION_ID"),
        quiet: &[("QWEN_CODE_NO_RELAUNCH", "true")],
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
    notes_file: "QWEN.md",
    co_author: "Qwen-Coder <noreply@alibabacloud.com>",
    untried_in: &["the companion in an IDE"],
    mcp: Some(McpForm {
        user_file: McpFile::InFolder("settings.json"),
        project_file: ".qwen/settings.json",
        text: McpText::Json {
            servers: "mcpServers",
            entry: |program| json!({"command": program, "args": ["mcp"]}),
        },
    }),
    ..Host::BASE
};

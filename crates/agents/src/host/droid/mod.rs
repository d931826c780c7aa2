//! Droid, as 0.215.0 was seen to be.
//!
//! - `droid exec` fires no `UserPromptSubmit`, so that the beginning of the session opens the turn; the screen does.
//! - A hold is a prompt in the transcript, unmarked. A turn has no id in payloads.
//! - A sub-agent is a session of its own, in a process of its own, and calls the hooks as such; only the first line of its transcript and
//!   its `SessionStart` say whose it is.
//! - `hooks.json` beside the settings has the events at its top, and each event in it replaces that of `settings.json`.
//! - What it tells its tools says nothing of the session.

mod rehearsed;
mod transcript_places;

use serde_json::{Value, json};

use super::{
    FolderVariable, Host, HostFiles, HostVariables, McpFile, McpForm, McpText, RehearsalForm, Switch,
    TranscriptPlaces,
};
use crate::caller::CallerMarks;

pub(super) static HOST: Host = Host {
    title: "Droid",
    short_title: "Droid",
    package_folder: "droid",
    marks: CallerMarks {
        fields: &["tool_execution_count", "session_duration_ms"],
        variable: Some("DROID_PROJECT_DIR"),
        ..CallerMarks::BASE
    },
    files: HostFiles {
        folder: ".factory",
        folder_variable: Some(FolderVariable { name: "FACTORY_HOME_OVERRIDE", is_home: true }),
        local_settings: Some("settings.local.json"),
        allows_comments: true,
        switches: &[
            Switch { pointer: "/hooks/hooksDisabled", name: "hooksDisabled", is_off: is_true },
            Switch { pointer: "/hooksDisabled", name: "hooksDisabled", is_off: is_true },
            // Of `hooks.json`, in which the events stand at the top; in the settings they stand under `hooks`.
            Switch { pointer: "/Stop", name: "Stop", is_off: Value::is_array },
        ],
        files_with_switches: &["hooks.json"],
        ..HostFiles::BASE
    },
    variables: HostVariables { calls: Some("FACTORY_EXEC_TARGET_AUTONOMY"), ..HostVariables::BASE },
    transcripts: TranscriptPlaces {
        all: transcript_places::all,
        of_folder: transcript_places::of_folder,
        introduction: transcript_places::introduction,
        is_subagent_file: transcript_places::is_subagent,
        ..TranscriptPlaces::BASE
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    co_author: "factory-droid[bot] <138933559+factory-droid[bot]@users.noreply.github.com>",
    silent_in: &["Factory on the web"],
    untried_in: &["the desktop app"],
    mcp: Some(McpForm {
        user_file: McpFile::InFolder("mcp.json"),
        project_file: ".factory/mcp.json",
        text: McpText::Json {
            servers: "mcpServers",
            entry: |program| json!({"type": "stdio", "command": program, "args": ["mcp"], "disabled": false}),
        },
    }),
    ..Host::BASE
};

fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true)
}

//! Copilot CLI, as 1.0.102 and 1.0.92 were seen to be.
//!
//! - The names of events decide what a hook is told: `Stop` gets Claude Code's fields, `agentStop` the same in camel case and without the
//!   name of the event. `init` registers the first; the second is understood too.
//! - It runs the hooks of a repository's `.claude/settings.json` as well.
//! - The transcript is there up to 150 ms after the hook was called, and then has a line about this very call.
//! - A hold is a prompt that the client sends itself: `UserPromptSubmit` comes with our own text, and the transcript has it as a message
//!   of the user.
//! - A sub-agent calls the hooks with a session of its own and the transcript of its parent. 1.0.102 names the parent beside that; 1.0.92
//!   does not, so that the path of the transcript tells, and at its prompt, which comes without one, nothing does.
//! - The beginning of a session names the prompt that the session begins with. In 1.0.92 it comes after the event of that prompt.

mod rehearsed;
mod transcript_places;

use serde_json::{Value, json};

use super::{
    Abilities, FolderVariable, HookShell, Host, HostFiles, HostVariables, McpFile, McpForm, McpText,
    PayloadForm, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};
use crate::answer::{AnswerForm, Output};
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
        ..CallerMarks::BASE
    },
    payload: PayloadForm {
        unnamed_events: &[
            ("agent_name", EventKind::SubagentStop),
            ("stop_reason", EventKind::Stop),
            ("source", EventKind::SessionStart),
            ("trigger", EventKind::BeforeCompaction),
            ("prompt", EventKind::PromptSubmitted),
            ("reason", EventKind::SessionEnd),
        ],
        // What a hook said is not in the transcript, so a session that is gone on with does not have it.
        forgets_at: &["clear", "compact", "resume"],
        ..PayloadForm::BASE
    },
    can: Abilities {
        tells_person_beside_hold: false,
        writes_late: true,
        records_stops: true,
        writes_window: true,
        ..Abilities::BASE
    },
    answer: AnswerForm {
        context: |to_agent, _| Output::text("additionalContext", to_agent),
        ..AnswerForm::BASE
    },
    registration: RegistrationForm {
        note_for_project: TRUST,
        shell: HookShell::At("bash"),
        ..RegistrationForm::BASE
    },
    files: HostFiles {
        folder: ".copilot",
        folder_in_repository: Some(".github"),
        folder_variable: Some(FolderVariable { name: "COPILOT_HOME", is_home: false }),
        settings: "hooks/checkstone.json",
        switches: &[Switch {
            pointer: "/disableAllHooks",
            name: "disableAllHooks",
            is_off: |value| *value == Value::Bool(true),
        }],
        files_with_switches: &["settings.json", "copilot/settings.json", "copilot/settings.local.json"],
        ..HostFiles::BASE
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
        session_of_path: transcript_places::session_of_path,
        ..TranscriptPlaces::BASE
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    co_author: "Copilot <223556219+Copilot@users.noreply.github.com>",
    silent_in: &["the coding agent on github.com", "Copilot in IDEs other than VS Code"],
    mcp: Some(McpForm {
        user_file: McpFile::InFolder("mcp-config.json"),
        project_file: ".mcp.json",
        text: McpText::Json {
            servers: "mcpServers",
            entry: |program| json!({"type": "local", "command": program, "args": ["mcp"], "tools": ["*"]}),
        },
    }),
    ..Host::BASE
};

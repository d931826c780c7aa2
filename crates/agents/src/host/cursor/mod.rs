//! Cursor, by its documentation of hooks and by what others say of its files. It was never run here.
//!
//! - A hold is a message that Cursor submits itself when the hook at the stop names one; the event of a prompt comes with our own text
//!   then. `loop_limit` bounds how often, 5 times by default; our own count is stricter, so it is switched off.
//! - A stop tells how it came about (`status`) and how many follow-ups there were in a row (`loop_count`).
//! - The transcript may be null, and shows no results. The person cannot be told anything at a stop.
//! - It runs the hooks in Claude Code's settings where that is switched on, with its own fields beside Claude Code's names of events.

mod rehearsed;
mod transcript_places;

use serde_json::Value;

use super::{
    Abilities, Host, HostFiles, HostVariables, PayloadForm, RegistrationForm, RehearsalForm, TranscriptPlaces,
};
use crate::answer::{AnswerForm, Output};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

const UNTRIED: &str =
    "follows Cursor's documentation, not tried: check that “Hooks” in its settings lists them";

pub(super) static HOST: Host = Host {
    title: "Cursor",
    short_title: "Cursor",
    package_folder: "cursor",
    marks: CallerMarks {
        fields: &["cursor_version", "conversation_id", "generation_id"],
        variable: Some("CURSOR_VERSION"),
        ..CallerMarks::BASE
    },
    payload: PayloadForm {
        events: &[
            ("beforeSubmitPrompt", EventKind::PromptSubmitted),
            ("stop", EventKind::Stop),
            ("subagentStop", EventKind::SubagentStop),
            ("sessionStart", EventKind::SessionStart),
            ("preCompact", EventKind::BeforeCompaction),
            ("sessionEnd", EventKind::SessionEnd),
            // In Claude Code's settings.
            ("UserPromptSubmit", EventKind::PromptSubmitted),
            ("Stop", EventKind::Stop),
            ("SubagentStop", EventKind::SubagentStop),
            ("SessionStart", EventKind::SessionStart),
            ("PreCompact", EventKind::BeforeCompaction),
            ("SessionEnd", EventKind::SessionEnd),
        ],
        other_names: &[
            ("session_id", "conversation_id"),
            ("cwd", "workspace_roots"),
            ("stop_hook_active", "loop_count"),
        ],
        only_stops: Some(("status", "completed")),
        ..PayloadForm::BASE
    },
    can: Abilities {
        holds_subagents: false,
        tells_person_beside_hold: false,
        shows_results: false,
        ..Abilities::BASE
    },
    answer: AnswerForm {
        hold: |told| Output::text("followup_message", told.reason),
        held: |answer| answer.get("followup_message").and_then(Value::as_str),
        context: |to_agent, _| Output::text("additional_context", to_agent),
        notify: None,
    },
    registration: RegistrationForm {
        events: &["sessionStart", "beforeSubmitPrompt", "stop", "preCompact", "sessionEnd"],
        is_flat: true,
        head: &[("version", 1)],
        at_stop: &[("loop_limit", "null")],
        only_if_named: true,
        note_for_user: Some(UNTRIED),
        note_for_project: Some(UNTRIED),
        ..RegistrationForm::BASE
    },
    files: HostFiles { folder: ".cursor", settings: "hooks.json", ..HostFiles::BASE },
    variables: HostVariables { calls: Some("CURSOR_AGENT"), ..HostVariables::BASE },
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
    co_author: "Cursor <cursoragent@cursor.com>",
    silent_in: &["cloud agents", "Tab, the completion"],
    untried_in: &["the editor and its command line"],
    ..Host::BASE
};

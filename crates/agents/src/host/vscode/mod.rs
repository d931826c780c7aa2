//! VS Code's agent, by its documentation of hooks (a preview). It was never run here.
//!
//! - Its names of events are Claude Code's, its names of fields stand in either spelling, and a decision stands in a part for the event.
//! - It runs the hooks in `.github/hooks` and in the folder of Copilot CLI, and those in Claude Code's settings. A file of its own in the first
//!   two is run by Copilot CLI as well, which is known by its own marks.
//! - The format of its transcripts is not documented.

mod rehearsed;

use serde_json::Value;

use super::{Abilities, Host, HostFiles, PayloadForm, RegistrationForm, RehearsalForm};
use crate::answer::{AnswerForm, Output};
use crate::caller::CallerMarks;
use crate::payload::Event;

const UNTRIED: &str =
    "follows VS Code's documentation, not tried: check that “Configure Hooks” in its chat lists them";

pub(super) static HOST: Host = Host {
    title: "VS Code",
    short_title: "VS Code",
    program: Some("code"),
    package_folder: "code",
    marks: CallerMarks {
        fields: &["hookEventName"],
        // The folder of its settings is called as people call theirs.
        transcript_folder: Some("workspaceStorage"),
        ..CallerMarks::BASE
    },
    payload: PayloadForm {
        other_names: &[("session_id", "sessionId"), ("hook_event_name", "hookEventName")],
        ..PayloadForm::BASE
    },
    can: Abilities { shows_results: false, ..Abilities::BASE },
    answer: AnswerForm {
        hold: |told| {
            let name = if *told.event == Event::SubagentStop { "SubagentStop" } else { "Stop" };
            let decision = Output::text("hookEventName", name).and("decision", "block".to_owned());
            let decision = decision.and("reason", told.reason);
            let person = told.to_person.map(|to_person| Output::text("systemMessage", to_person));
            person.unwrap_or_default().and("hookSpecificOutput", decision)
        },
        held: |answer| {
            let decision = answer.get("hookSpecificOutput")?;
            decision
                .get("reason")
                .filter(|_| decision.get("decision") == Some(&Value::from("block")))?
                .as_str()
        },
        ..AnswerForm::BASE
    },
    registration: RegistrationForm {
        events: &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact"],
        is_flat: true,
        only_if_named: true,
        note_for_user: Some(UNTRIED),
        note_for_project: Some(UNTRIED),
        ..RegistrationForm::BASE
    },
    files: HostFiles {
        folder: ".copilot",
        folder_in_repository: Some(".github"),
        settings: "hooks/checkstone-vscode.json",
        ..HostFiles::BASE
    },
    rehearsal: RehearsalForm { payload: rehearsed::payload, ..RehearsalForm::BASE },
    co_author: "Copilot <223556219+Copilot@users.noreply.github.com>",
    silent_in: &["completions and inline chat", "agents in the cloud"],
    untried_in: &["the editor"],
    ..Host::BASE
};

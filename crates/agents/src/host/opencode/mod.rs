//! opencode, as 1.18.33 was seen to be.
//!
//! - It has no stop hook. A plugin of ours, one file of JavaScript, calls this program at its events, with a payload in our own words,
//!   and a hold is a prompt that the plugin sends.
//! - The server, and so the screen, is asked when the session is idle. `opencode run` exits then, and waits for its plugins while it does:
//!   there the plugin decides at the very end, and after a hold another `opencode run` goes on with the session before the first one ends.
//! - `opencode github run` commits and pushes at the end of a turn; nothing is asked there.
//! - The plugin is loaded without a question, from the person's folder and from a repository's.
//! - It tells its tools nothing of the session; the plugin does.

mod rehearsed;
mod transcript_places;

use serde_json::json;

use super::{
    Abilities, CallForm, HookShell, Host, HostFiles, HostVariables, McpFile, McpForm, McpText, PayloadForm,
    RegistrationFile, RegistrationForm, RehearsalForm, TranscriptPlaces, UserFolders,
};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

pub(super) static HOST: Host = Host {
    title: "opencode",
    short_title: "opencode",
    package_folder: "opencode-ai",
    marks: CallerMarks { variable: Some("OPENCODE"), ..CallerMarks::BASE },
    payload: PayloadForm {
        events: &[
            ("chat.message", EventKind::PromptSubmitted),
            ("session.idle", EventKind::Stop),
            ("session.created", EventKind::SessionStart),
            ("experimental.session.compacting", EventKind::BeforeCompaction),
            ("dispose", EventKind::SessionEnd),
        ],
        turn: Some("prompt_id"),
        last_text: Some("last_assistant_message"),
        forgets_at: &[],
        ..PayloadForm::BASE
    },
    can: Abilities { holds_subagents: false, tells_person_before_compaction: true, ..Abilities::BASE },
    registration: RegistrationForm {
        events: &[
            "session.created",
            "chat.message",
            "session.idle",
            "experimental.session.compacting",
            "dispose",
        ],
        call: CallForm::Arguments,
        timeout: 60,
        shell: HookShell::At("/bin/sh"),
        file: RegistrationFile::Own(include_str!("plugin.js")),
        ..RegistrationForm::BASE
    },
    files: HostFiles {
        folder: ".opencode",
        user_folders: Some(UserFolders { name: "opencode" }),
        settings: "plugins/checkstone.js",
        allows_comments: true,
        ..HostFiles::BASE
    },
    variables: HostVariables {
        session: Some("OPENCODE_SESSION_ID"),
        calls: Some("OPENCODE"),
        quiet: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
    },
    transcripts: TranscriptPlaces {
        of_session: Some(transcript_places::of_session),
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
    co_author: "opencode <noreply@opencode.ai>",
    untried_in: &["the desktop app"],
    mcp: Some(McpForm {
        user_file: McpFile::InFolder("opencode.json"),
        project_file: "opencode.json",
        text: McpText::Json {
            servers: "mcp",
            entry: |program| json!({"type": "local", "command": [program, "mcp"], "enabled": true}),
        },
    }),
    ..Host::BASE
};

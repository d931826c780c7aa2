//! opencode, as 1.18.33 was seen to be.
//!
//! - It has no stop hook. A plugin of ours, one file of JavaScript, calls this program at its events, with a payload in our own words,
//!   and a hold is a prompt that the plugin sends.
//! - The server, and so the screen, is asked when the session is idle. `opencode run` exits then, so its plugin decides when the last
//!   step has finished: events are delivered synchronously, and while the plugin waits for us, nothing else happens in that process.
//! - The plugin is loaded without a question, from the person's folder and from a repository's.
//! - It tells its tools nothing of the session; the plugin does.

mod rehearsed;
mod transcript_places;

use super::{
    Abilities, CallForm, HookShell, Host, HostFiles, HostVariables, PayloadForm, RegistrationFile,
    RegistrationForm, RehearsalForm, TranscriptPlaces, UserFolders,
};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

pub(super) static HOST: Host = Host {
    title: "opencode",
    short_title: "opencode",
    package_folder: "opencode-ai",
    marks: CallerMarks { fields: &[], variable: Some("OPENCODE") },
    payload: PayloadForm {
        events: &[
            ("chat.message", EventKind::PromptSubmitted),
            ("session.idle", EventKind::Stop),
            ("session.created", EventKind::SessionStart),
            ("experimental.session.compacting", EventKind::BeforeCompaction),
            ("dispose", EventKind::SessionEnd),
        ],
        unnamed_events: &[],
        silent_prompts_with: None,
        turn: Some("prompt_id"),
        last_text: Some("last_assistant_message"),
        wraps_context: false,
        has_empty_prompts: false,
        has_nameless_subagents: false,
        forgets_at: &[],
    },
    can: Abilities {
        holds_subagents: false,
        tells_person_before_compaction: true,
        tells_person_beside_hold: true,
        holds_by_context: None,
        takes_bare_context: false,
        takes_account_of_save: false,
        has_status_line: false,
        writes_late: false,
        records_stops: false,
        records_holds: true,
        writes_window: false,
    },
    registration: RegistrationForm {
        events: &[
            "session.created",
            "chat.message",
            "session.idle",
            "experimental.session.compacting",
            "dispose",
        ],
        matcher: None,
        name: None,
        call: CallForm::Arguments,
        in_package: "checkstone",
        timeout: 60,
        session_end_timeout: None,
        note_for_user: None,
        note_for_project: None,
        shell: HookShell::At("/bin/sh"),
        file: RegistrationFile::Own(include_str!("plugin.js")),
    },
    files: HostFiles {
        folder: ".opencode",
        user_folders: Some(UserFolders { name: "opencode" }),
        folder_in_repository: None,
        folder_variable: None,
        settings: "plugins/checkstone.js",
        local_settings: None,
        managed_settings: None,
        allows_comments: true,
        allows_byte_order_mark: false,
        only_keys: None,
        switches: &[],
        files_with_switches: &[],
        package: None,
        hand_written: None,
        has_execution_switches: false,
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
        is_folder_inside: false,
        introduction: transcript_places::introduction,
        is_subagent_file: |_| false,
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    notes_file: "AGENTS.md",
    co_author: "opencode <noreply@opencode.ai>",
    notify: None,
    trust: None,
};

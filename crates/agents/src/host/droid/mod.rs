//! Droid, as 0.215.0 was seen to be.
//!
//! - `droid exec` fires no `UserPromptSubmit`, so that the beginning of the session opens the turn. It sets a variable for its hooks that
//!   the screen does not set.
//! - A hold is a prompt in the transcript, unmarked. A turn has no id in payloads.
//! - `hooks.json` beside the settings has the events at its top, and each event in it replaces that of `settings.json`.
//! - What it tells its tools says nothing of the session.

mod rehearsed;
mod transcript_places;

use serde_json::Value;

use super::{
    Abilities, CallForm, FolderVariable, HookShell, Host, HostFiles, HostVariables, PayloadForm,
    RegistrationFile, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};
use crate::caller::CallerMarks;
use crate::payload::EventKind;

pub(super) static HOST: Host = Host {
    title: "Droid",
    short_title: "Droid",
    package_folder: "droid",
    marks: CallerMarks {
        fields: &["tool_execution_count", "session_duration_ms"],
        variable: Some("DROID_PROJECT_DIR"),
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
        silent_prompts_with: Some("FACTORY_DISABLE_SETTINGS_PERSISTENCE"),
        turn: None,
        last_text: None,
        wraps_context: false,
        has_empty_prompts: false,
        has_nameless_subagents: false,
        forgets_at: &["clear", "compact"],
    },
    can: Abilities {
        holds_subagents: true,
        tells_person_before_compaction: false,
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
        events: &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        matcher: None,
        name: None,
        call: CallForm::Line(""),
        in_package: "checkstone",
        timeout: 120,
        session_end_timeout: None,
        note_for_user: None,
        note_for_project: None,
        shell: HookShell::At("sh"),
        file: RegistrationFile::Settings,
    },
    files: HostFiles {
        folder: ".factory",
        user_folders: None,
        folder_in_repository: None,
        folder_variable: Some(FolderVariable { name: "FACTORY_HOME_OVERRIDE", is_home: true }),
        settings: "settings.json",
        local_settings: Some("settings.local.json"),
        managed_settings: None,
        allows_comments: true,
        allows_byte_order_mark: false,
        only_keys: None,
        switches: &[
            Switch { pointer: "/hooks/hooksDisabled", name: "hooksDisabled", is_off: is_true },
            Switch { pointer: "/hooksDisabled", name: "hooksDisabled", is_off: is_true },
            // Of `hooks.json`, in which the events stand at the top; in the settings they stand under `hooks`.
            Switch { pointer: "/Stop", name: "Stop", is_off: Value::is_array },
        ],
        files_with_switches: &["hooks.json"],
        package: None,
        hand_written: None,
        has_execution_switches: false,
    },
    variables: HostVariables { session: None, calls: Some("FACTORY_EXEC_TARGET_AUTONOMY"), quiet: &[] },
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
    notes_file: "AGENTS.md",
    co_author: "factory-droid[bot] <138933559+factory-droid[bot]@users.noreply.github.com>",
    notify: None,
    trust: None,
};

fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true)
}

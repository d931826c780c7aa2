//! Claude Code, as 2.1.325 and 2.1.197 were seen to be.
//!
//! - It submits the end of a background task as a prompt with an id of its own, and answers a command that the person runs
//!   with `!` in a stop whose prompt id no prompt event announced.
//! - It runs `command` with `args` without a shell (2.1.197 and later), and any other line with `/bin/sh`.
//! - It ignores settings with comments or trailing commas without a word, and accepts a byte order mark.

mod harness;
mod plugin;
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
    title: "Claude Code",
    short_title: "Claude Code",
    package_folder: "claude-code",
    marks: CallerMarks { fields: &[], variable: None },
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
        has_empty_prompts: false,
        wraps_context: false,
        has_nameless_subagents: true,
        forgets_at: &["clear", "compact"],
    },
    can: Abilities {
        holds_subagents: true,
        tells_person_before_compaction: false,
        tells_person_beside_hold: true,
        holds_by_context: Some(harness::holds_by_context),
        takes_bare_context: false,
        takes_account_of_save: true,
        has_status_line: true,
        writes_late: true,
        records_stops: false,
        records_holds: true,
        writes_window: false,
    },
    registration: RegistrationForm {
        events: &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        matcher: None,
        name: None,
        call: CallForm::Arguments,
        in_package: "${CLAUDE_PLUGIN_ROOT}/bin/checkstone",
        timeout: 120,
        session_end_timeout: None,
        note_for_user: None,
        note_for_project: Some("Claude Code runs them once you trust the folder"),
        shell: HookShell::At("/bin/sh"),
        file: RegistrationFile::Settings,
    },
    files: HostFiles {
        folder: ".claude",
        user_folders: None,
        folder_in_repository: None,
        folder_variable: Some(FolderVariable { name: "CLAUDE_CONFIG_DIR", is_home: false }),
        settings: "settings.json",
        local_settings: Some("settings.local.json"),
        managed_settings: Some("/etc/claude-code/managed-settings.json"),
        allows_comments: false,
        allows_byte_order_mark: true,
        only_keys: None,
        switches: &[
            Switch {
                pointer: "/disableAllHooks",
                name: "disableAllHooks",
                is_off: |value| *value == Value::Bool(true),
            },
            Switch {
                pointer: "/allowManagedHooksOnly",
                name: "allowManagedHooksOnly",
                is_off: |value| *value == Value::Bool(true),
            },
        ],
        files_with_switches: &[],
        package: Some(plugin::PLUGIN),
        hand_written: None,
        has_execution_switches: true,
    },
    variables: HostVariables {
        session: Some("CLAUDE_CODE_SESSION_ID"),
        calls: None,
        quiet: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")],
    },
    transcripts: TranscriptPlaces {
        of_session: None,
        all: transcript_places::all,
        of_folder: transcript_places::of_folder,
        is_folder_inside: false,
        introduction: transcript_places::introduction,
        is_subagent_file: transcript_places::is_subagent,
    },
    rehearsal: RehearsalForm {
        payload: rehearsed::payload,
        stop: rehearsed::stop,
        records: rehearsed::records,
    },
    notes_file: "CLAUDE.md",
    co_author: "Claude <noreply@anthropic.com>",
    notify: None,
    trust: None,
};

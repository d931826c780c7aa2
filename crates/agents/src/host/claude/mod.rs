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

use serde_json::{Value, json};

use super::{
    Abilities, CallForm, FolderVariable, HookShell, Host, HostFiles, HostVariables, McpFile, McpForm,
    McpText, PayloadForm, RegistrationForm, RehearsalForm, Switch, TranscriptPlaces,
};

pub(super) static HOST: Host = Host {
    title: "Claude Code",
    short_title: "Claude Code",
    package_folder: "claude-code",
    payload: PayloadForm {
        turn: Some("prompt_id"),
        last_text: Some("last_assistant_message"),
        has_nameless_subagents: true,
        ..PayloadForm::BASE
    },
    can: Abilities {
        holds_by_context: Some(harness::holds_by_context),
        takes_account_of_save: true,
        has_status_line: true,
        writes_late: true,
        ..Abilities::BASE
    },
    registration: RegistrationForm {
        call: CallForm::Arguments,
        in_package: "${CLAUDE_PLUGIN_ROOT}/bin/checkstone",
        note_for_project: Some("Claude Code runs them once you trust the folder"),
        shell: HookShell::At("/bin/sh"),
        ..RegistrationForm::BASE
    },
    files: HostFiles {
        folder: ".claude",
        folder_variable: Some(FolderVariable { name: "CLAUDE_CONFIG_DIR", is_home: false }),
        local_settings: Some("settings.local.json"),
        managed_settings: Some("/etc/claude-code/managed-settings.json"),
        allows_byte_order_mark: true,
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
        package: Some(plugin::PLUGIN),
        has_execution_switches: true,
        ..HostFiles::BASE
    },
    variables: HostVariables {
        session: Some("CLAUDE_CODE_SESSION_ID"),
        // Older versions set this one alone.
        calls: Some("CLAUDECODE"),
        quiet: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")],
    },
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
    notes_file: "CLAUDE.md",
    co_author: "Claude <noreply@anthropic.com>",
    silent_in: &["claude.ai and the chat of the desktop app", "Claude Code on the web"],
    untried_in: &["the extensions for VS Code and JetBrains"],
    mcp: Some(McpForm {
        user_file: McpFile::InHome(".claude.json"),
        project_file: ".mcp.json",
        text: McpText::Json {
            servers: "mcpServers",
            entry: |program| json!({"type": "stdio", "command": program, "args": ["mcp"], "env": {}}),
        },
    }),
    ..Host::BASE
};

//! What most hosts have in common. A host's row names only what is different there, so that a field that one host needs is no change
//! of the others. Most clients took over Claude Code's events and their names.

use serde_json::json;

use crate::answer::AnswerForm;
use crate::caller::CallerMarks;
use crate::host::{
    Abilities, CallForm, HookShell, Host, HostFiles, HostVariables, PayloadForm, RegistrationFile,
    RegistrationForm, RehearsalForm, TranscriptPlaces,
};
use crate::payload::EventKind;
use crate::transcripts::Introduction;

impl Host {
    /// A row gives at least its names, its folder, and a rehearsal; a unit test asks for them.
    pub(crate) const BASE: Self = Self {
        title: "",
        short_title: "",
        program: None,
        package_folder: "",
        marks: CallerMarks::BASE,
        payload: PayloadForm::BASE,
        can: Abilities::BASE,
        answer: AnswerForm::BASE,
        registration: RegistrationForm::BASE,
        files: HostFiles::BASE,
        variables: HostVariables::BASE,
        transcripts: TranscriptPlaces::BASE,
        rehearsal: RehearsalForm::BASE,
        notes_file: "AGENTS.md",
        co_author: "",
        silent_in: &[],
        untried_in: &[],
        notify: None,
        trust: None,
        mcp: None,
    };
}

impl CallerMarks {
    pub(crate) const BASE: Self = Self { fields: &[], variable: None, transcript_folder: None };
}

impl PayloadForm {
    pub(crate) const BASE: Self = Self {
        events: &[
            ("UserPromptSubmit", EventKind::PromptSubmitted),
            ("Stop", EventKind::Stop),
            ("SubagentStop", EventKind::SubagentStop),
            ("SessionStart", EventKind::SessionStart),
            ("PreCompact", EventKind::BeforeCompaction),
            ("SessionEnd", EventKind::SessionEnd),
        ],
        unnamed_events: &[],
        other_names: &[],
        only_stops: None,
        turn: None,
        last_text: None,
        has_empty_prompts: false,
        wraps_context: false,
        has_nameless_subagents: false,
        forgets_at: &["clear", "compact"],
    };
}

impl Abilities {
    pub(crate) const BASE: Self = Self {
        holds_subagents: true,
        tells_person_before_compaction: false,
        tells_person_beside_hold: true,
        holds_by_context: None,
        takes_account_of_save: false,
        has_status_line: false,
        shows_results: true,
        writes_late: false,
        records_stops: false,
        records_holds: true,
        writes_window: false,
    };
}

impl RegistrationForm {
    pub(crate) const BASE: Self = Self {
        events: &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        matcher: None,
        name: None,
        call: CallForm::Line(""),
        is_flat: false,
        head: &[],
        at_stop: &[],
        in_package: "checkstone",
        timeout: 120,
        session_end_timeout: None,
        only_if_named: false,
        note_for_user: None,
        note_for_project: None,
        shell: HookShell::At("sh"),
        file: RegistrationFile::Settings,
    };
}

impl HostFiles {
    pub(crate) const BASE: Self = Self {
        folder: "",
        user_folders: None,
        folder_in_repository: None,
        folder_variable: None,
        settings: "settings.json",
        local_settings: None,
        managed_settings: None,
        allows_comments: false,
        allows_byte_order_mark: false,
        only_keys: None,
        switches: &[],
        files_with_switches: &[],
        package: None,
        hand_written: None,
        has_execution_switches: false,
    };
}

impl HostVariables {
    pub(crate) const BASE: Self = Self { session: None, calls: None, quiet: &[] };
}

impl TranscriptPlaces {
    pub(crate) const BASE: Self = Self {
        of_session: None,
        all: |_| Vec::new(),
        of_folder: |_, _| Vec::new(),
        is_folder_inside: false,
        introduction: |_| Introduction::default(),
        is_subagent_file: |_| false,
        session_of_path: |_| None,
    };
}

impl RehearsalForm {
    pub(crate) const BASE: Self =
        Self { payload: |_| json!({}), stop: || json!({}), records: |_| Vec::new() };
}

//! The tools that agents are offered, one row each: which command it is, which of its arguments are offered under which name,
//! whether it writes, and the schema of what it prints.

/// What a call does to the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Writes,
    /// Writes over what a person may want to keep: the person is asked each time.
    Overwrites,
}

/// Which arguments of the command an agent may give, by their ids. Never offered are `--json`, which every call has, and
/// `--repo`, which is the client's to say.
#[derive(Clone, Copy, Debug)]
pub(super) enum Offered {
    AllBut(&'static [&'static str]),
    Only(&'static [&'static str]),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ToolRow {
    pub(super) name: &'static str,
    /// The words of the command, and the options that every call has.
    pub(super) words: &'static [&'static str],
    pub(super) options: &'static [&'static str],
    pub(super) offered: Offered,
    /// Arguments whose name here is not that of the command line: the id, and the name.
    pub(super) names: &'static [(&'static str, &'static str)],
    /// The argument that names a file in which the command would read what the agent has in hand.
    pub(super) text_instead_of_file: Option<&'static str>,
    /// The argument whose files may come with their sizes and hashes, which then have to be right.
    pub(super) hashed_files: Option<&'static str>,
    pub(super) effect: Effect,
    /// Left out where the command prints one of several documents.
    pub(super) output_schema: Option<&'static str>,
}

/// The names of the arguments that tools of this field have for checkpoints.
const CHECKPOINT_NAMES: &[(&str, &str)] = &[
    ("title", "reportTitle"),
    ("run", "runId"),
    ("stage", "stageId"),
    ("id", "checkpointId"),
    ("session", "researchSessionID"),
    ("trust", "trustLevel"),
    ("execution_count", "executionCount"),
    ("notebook", "notebookPathOverride"),
    ("keep", "keepCount"),
];

macro_rules! schema {
    ($name:literal) => {
        Some(include_str!(concat!("../../../../schemas/", $name, ".schema.json")))
    };
}

pub(super) const TOOLS: &[ToolRow] = &[
    reads("check", &["check"], schema!("check")),
    ToolRow { offered: Offered::AllBut(&["list"]), ..reads("explain", &["explain"], schema!("explain")) },
    reads("status", &["status"], schema!("status")),
    ToolRow {
        offered: Offered::AllBut(&["plain", "max_bytes"]),
        ..reads("timeline", &["timeline"], schema!("timeline"))
    },
    ToolRow { offered: Offered::AllBut(&["hook"]), ..reads("unproven", &["verify"], schema!("verify")) },
    writes("snapshot_create", &["snapshot", "create"], schema!("snapshot-create")),
    reads("snapshot_list", &["snapshot", "list"], schema!("snapshot-list")),
    ToolRow {
        offered: Offered::AllBut(&["patch"]),
        ..reads("snapshot_diff", &["snapshot", "diff"], schema!("snapshot-diff"))
    },
    ToolRow {
        options: &["--yes"],
        offered: Offered::AllBut(&["yes"]),
        effect: Effect::Overwrites,
        ..writes("snapshot_restore", &["snapshot", "restore"], schema!("snapshot-restore"))
    },
    writes("workflow_start", &["workflow", "start"], schema!("workflow")),
    writes("workflow_phase", &["workflow", "phase"], schema!("workflow")),
    reads("workflow_resume_point", &["workflow", "resume-point"], schema!("workflow-resume-point")),
    // Its answer is kept in the workflow's file.
    writes("workflow_gate", &["workflow", "gate"], schema!("workflow-gate")),
    reads("handoff_new", &["handoff", "new"], None),
    ToolRow {
        names: &[("file", "document")],
        text_instead_of_file: Some("file"),
        ..reads("handoff_check", &["handoff", "check"], schema!("handoff-check"))
    },
    ToolRow {
        offered: Offered::AllBut(&["full", "warn_size", "max_size"]),
        names: CHECKPOINT_NAMES,
        hashed_files: Some("artifacts"),
        ..writes("checkpoint_save", &["checkpoint", "save"], schema!("checkpoint-save"))
    },
    ToolRow {
        names: CHECKPOINT_NAMES,
        ..reads("checkpoint_list", &["checkpoint", "list"], schema!("checkpoint-list"))
    },
    ToolRow {
        names: CHECKPOINT_NAMES,
        ..reads("checkpoint_validate", &["checkpoint", "validate"], schema!("checkpoint-validate"))
    },
    ToolRow {
        names: CHECKPOINT_NAMES,
        ..reads("checkpoint_resume", &["checkpoint", "resume"], schema!("checkpoint-resume"))
    },
    ToolRow {
        options: &["--detach"],
        offered: Offered::Only(&["plan", "fresh", "set", "params", "resources", "jobs", "id"]),
        ..writes("run_start", &["run"], schema!("run-detached"))
    },
    ToolRow {
        options: &["--list"],
        offered: Offered::Only(&[]),
        ..reads("run_status", &["run"], schema!("run-list"))
    },
    writes("run_abort", &["abort"], schema!("abort")),
];

const fn reads(
    name: &'static str,
    words: &'static [&'static str],
    output_schema: Option<&'static str>,
) -> ToolRow {
    ToolRow {
        name,
        words,
        options: &[],
        offered: Offered::AllBut(&[]),
        names: &[],
        text_instead_of_file: None,
        hashed_files: None,
        effect: Effect::Reads,
        output_schema,
    }
}

const fn writes(
    name: &'static str,
    words: &'static [&'static str],
    output_schema: Option<&'static str>,
) -> ToolRow {
    ToolRow { effect: Effect::Writes, ..reads(name, words, output_schema) }
}

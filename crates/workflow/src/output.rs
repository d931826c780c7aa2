//! What the commands print with `--json`. The published schemas are made from these types.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::archive::ArchivedWorkflow;
use crate::diff::Difference;
use crate::format::Gate;
use crate::issue_record::IssueRecord;
use crate::list::Summary;
use crate::name::Name;
use crate::resume_point::ResumePoint;

/// `workflow start`, `phase`, `complete` and `show`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowOutput {
    #[serde(flatten)]
    pub name: Name,
    /// The file; null for one in the archive.
    pub path: Option<String>,
    /// `start` found it unfinished.
    pub resumed: bool,
    /// The id of what `start` replaced.
    pub archived: Option<String>,
    pub resume_point: ResumePoint,
    /// The issue of Linear that it is about, if it is known.
    pub issue: Option<KnownIssue>,
    /// Sentences for a person; also on stderr.
    pub warnings: Vec<String>,
    /// The whole file.
    #[cfg_attr(feature = "schema", schemars(with = "crate::format::WorkflowFile"))]
    pub workflow: Map<String, Value>,
}

/// An issue of Linear.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnownIssue {
    pub issue: String,
    pub url: Option<String>,
    /// The name of the branch for it.
    pub branch: Option<String>,
}

impl KnownIssue {
    /// `None` if it was not created, or nobody knows whether it was.
    pub fn of(record: IssueRecord) -> Option<Self> {
        let IssueRecord { issue, url, branch, .. } = record;
        Some(Self { issue: issue?, url, branch })
    }
}

/// `workflow list`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListOutput {
    /// What is in the state directory, the one that was updated last first.
    pub workflows: Vec<Summary>,
    /// Files that cannot be read, and why.
    pub problems: Vec<UnreadableFile>,
    /// With `--archived`, the one that was archived last first.
    pub archived: Vec<ArchivedWorkflow>,
}

/// A file that cannot be read.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadableFile {
    pub file: String,
    pub problem: String,
}

/// `workflow diff`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffOutput {
    /// How many saves are kept.
    pub saves: usize,
    pub from: SaveName,
    pub to: SaveName,
    pub differences: Vec<Difference>,
}

/// One save.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SaveName {
    /// Its number; 1 is the oldest that is kept, 0 is before it.
    pub save: usize,
    /// ISO 8601; null if another tool saved it.
    pub saved_at: Option<String>,
}

/// `workflow gate`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateOutput {
    #[serde(flatten)]
    pub name: Name,
    #[serde(flatten)]
    pub gate: Gate,
    /// Sentences for a person; also on stderr.
    pub warnings: Vec<String>,
}

/// `workflow archive`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArchiveOutput {
    pub archived: Vec<ArchivedWorkflow>,
}

/// `tokens`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokensOutput {
    /// The words between white space: what decides.
    pub tokens: usize,
    /// The most words allowed.
    pub limit: usize,
    /// Whether `tokens` are within the limit.
    pub valid: bool,
    /// About how many tokens a model's tokenizer makes of it.
    pub estimate: usize,
    /// An estimate above this is worth a warning.
    pub warn_above: usize,
    /// Whether it is.
    pub long: bool,
    /// What a real tokenizer counts (`o200k`); null in a program that was built without one.
    pub o200k: Option<usize>,
    /// What is wrong, in a sentence.
    pub error: Option<String>,
}

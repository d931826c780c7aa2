//! What the checkpoint commands print with `--json`: the results that tools of this format expect, and a little more. The
//! published schemas are made from these types.

use std::fmt;

use serde::Serialize;

use crate::layout::Layout;
use crate::manifest::{Reason, Sealed, Status};
use crate::{CheckpointSearch, SavedCheckpoint, Validation};

pub use crate::list::ListOutput;
pub use crate::prune::PruneOutput;

/// `checkpoint save`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SaveOutput {
    pub success: bool,
    /// `save`
    pub action: &'static str,
    #[serde(flatten)]
    pub checkpoint: CheckpointOutput,
    /// Artifacts whose content was not in the store.
    pub new_artifacts: usize,
    /// Artifacts that had to be read; the others have not been touched since they were.
    pub read_artifacts: usize,
    /// The older checkpoints that were removed afterwards.
    pub pruned_ids: Vec<String>,
    /// Sentences for a person; also on stderr.
    pub warnings: Vec<String>,
}

/// `checkpoint emergency`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EmergencyOutput {
    pub success: bool,
    /// `emergency`
    pub action: &'static str,
    #[serde(flatten)]
    pub checkpoint: CheckpointOutput,
    pub reason: Option<Reason>,
    /// Whether a cell for it was added to the notebook.
    pub cell_append_succeeded: bool,
    /// Always false: the artifacts are those of the checkpoint before, and have not been looked at.
    pub artifacts_validated: bool,
}

/// What both say about the checkpoint.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckpointOutput {
    pub checkpoint_id: String,
    pub report_title: String,
    pub run_id: String,
    pub stage_id: String,
    pub status: Status,
    /// Relative to the project root.
    pub manifest_path: String,
    pub notebook_path: String,
    pub checkpoint_cell_id: String,
    pub artifact_count: usize,
    pub manifest_sha256: String,
}

impl CheckpointOutput {
    pub fn new(layout: &Layout, saved: &SavedCheckpoint) -> Self {
        let Sealed { manifest, manifest_sha256, .. } = &saved.sealed;
        Self {
            checkpoint_id: manifest.checkpoint_id.clone(),
            report_title: manifest.report_title.clone(),
            run_id: manifest.run_id.clone(),
            stage_id: manifest.stage_id.clone(),
            status: manifest.status,
            manifest_path: layout.relative(&saved.path),
            notebook_path: manifest.notebook.path.clone(),
            checkpoint_cell_id: manifest.notebook.checkpoint_cell_id.clone(),
            artifact_count: manifest.artifacts.len(),
            manifest_sha256: manifest_sha256.clone(),
        }
    }
}

/// `checkpoint validate`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValidateOutput {
    pub checkpoint_id: String,
    pub run_id: String,
    /// The manifest is whole, and every artifact is in its place as it was.
    pub valid: bool,
    pub issues: Vec<String>,
    /// Valid, or the store has every artifact that is not in its place: a run can continue from it.
    pub restorable: bool,
    pub trust_warning: Option<&'static str>,
}

impl ValidateOutput {
    pub fn new(run: &str, id: &str, validated: &Validation) -> Self {
        Self {
            checkpoint_id: id.to_owned(),
            run_id: run.to_owned(),
            valid: validated.is_valid(),
            issues: validated.issues.iter().map(ToString::to_string).collect(),
            restorable: validated.is_usable(),
            trust_warning: validated.manifest.as_ref().and_then(|sealed| sealed.manifest.trust().warning()),
        }
    }
}

/// `checkpoint resume`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResumeOutput {
    pub found: bool,
    /// The whole manifest; null if none can be used.
    pub checkpoint: Option<serde_json::Value>,
    /// What a new kernel runs first; empty if the checkpoint is not trusted or had no kernel.
    pub rehydration_cells: Vec<String>,
    /// The same stage again after an interruption, the beginning of the next one's id after a saved one; null after the last.
    pub next_stage_id: Option<String>,
    pub searched_count: usize,
    /// Artifacts that are not in their place as they were, and that the store has.
    pub to_restore: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust_warning: Option<&'static str>,
    /// Why newer checkpoints cannot be used.
    pub validation_issues: Vec<SkippedOutput>,
    /// If no checkpoint can be used, and a run of this report has executed cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_executed_cell: Option<LastExecutedCell>,
}

/// The cell of a notebook that ran last: without a checkpoint, a person continues after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastExecutedCell {
    pub notebook: String,
    /// The first one is 1.
    pub number: usize,
    pub cell_id: String,
}

impl fmt::Display for LastExecutedCell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cell {} of `{}`", self.number, self.notebook)
    }
}

/// A checkpoint that cannot be used.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkippedOutput {
    pub checkpoint_id: String,
    pub run_id: String,
    pub issues: Vec<String>,
}

impl From<&CheckpointSearch> for ResumeOutput {
    fn from(found: &CheckpointSearch) -> Self {
        let usable = found.checkpoint.as_ref();
        let manifest = usable.map(|usable| &usable.sealed.manifest);
        let trust_warning = manifest.and_then(|manifest| manifest.trust().warning());
        let cells = manifest.filter(|_| trust_warning.is_none());
        Self {
            found: usable.is_some(),
            checkpoint: usable.and_then(|usable| serde_json::from_str(&usable.sealed.text).ok()),
            rehydration_cells: cells
                .map(|manifest| manifest.rehydration.rehydration_cell_source.clone())
                .unwrap_or_default(),
            next_stage_id: manifest.and_then(|manifest| manifest.next_stage_id()),
            searched_count: found.searched,
            to_restore: usable
                .iter()
                .flat_map(|usable| &usable.to_restore)
                .map(|artifact| artifact.relative_path.clone())
                .collect(),
            trust_warning,
            last_executed_cell: None,
            validation_issues: found
                .skipped
                .iter()
                .map(|skipped| SkippedOutput {
                    checkpoint_id: skipped.id.clone(),
                    run_id: skipped.run.clone(),
                    issues: skipped.issues.iter().map(ToString::to_string).collect(),
                })
                .collect(),
        }
    }
}

//! Which checkpoints a run makes, and what is in them: after a stage what it made and what a session is brought back from, at a stage's own
//! word what it has so far, and after an interrupt or a failure what there is of the attempt and its output.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use checkpoint::layout::{DISPLAYS_FILE, Layout, NameError, VARIABLES_FOLDER};
use checkpoint::manifest::{Artifact, Manifest, NONE, Reason, Status};
use checkpoint::{
    FileContent, FolderMove, Identity, PathError, RestoreError, SaveError, SaveRequest, SaveWarning,
    SavedCheckpoint,
};
use jiff::Timestamp;
use text::error_chain;

use crate::attempt::EarlierArtifact;
use crate::attempt_artifacts;
use crate::event::What;
use crate::plan::{Stage, Storing};
use crate::publish::{self, PublishError};
use crate::stage_work::SessionState;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StageCheckpointError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Save(#[from] SaveError),
    #[error(transparent)]
    Files(#[from] PublishError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

#[derive(Clone, Debug)]
pub(crate) struct StageCheckpoint {
    pub(crate) manifest: Manifest,
    /// Of its artifacts, in their order.
    identities: Vec<Option<Identity>>,
}

/// What somebody should know of a checkpoint that was saved.
#[derive(Debug, PartialEq)]
pub(crate) enum CheckpointWarning {
    CopiesArtifacts,
    Other(String),
}

pub(crate) type WithWarnings = (StageCheckpoint, Vec<CheckpointWarning>);

/// The stage is done: what it publishes, and what a session is brought back from.
pub(crate) fn after_stage(
    layout: &Layout,
    stage: &Stage,
    published: &[PathBuf],
    moves: Option<FolderMove>,
    earlier: &[EarlierArtifact],
    execution_count: u64,
    session: Option<SessionState>,
) -> Result<WithWarnings, StageCheckpointError> {
    let (mut artifacts, mut references) = still_there(earlier);
    let own = if stage.store == Storing::Reference { &mut references } else { &mut artifacts };
    own.splice(..0, published.iter().cloned());
    let mut request = SaveRequest {
        artifacts,
        references,
        moves,
        session: layout.run().to_owned(),
        execution_count,
        ..SaveRequest::new(&stage.id, Timestamp::now())
    };
    if let Some(session) = session {
        session.note_in(&mut request);
    }
    let (checkpoint, mut warnings) = with_warnings(checkpoint::save(layout, &request)?);
    warnings.extend(append_cell(layout, &checkpoint.manifest));
    Ok((checkpoint, warnings))
}

impl SessionState {
    fn note_in(self, request: &mut SaveRequest) {
        request.notebook = self.notebook;
        request.python_env = self.environment;
        request.execution_count = self.execution_count;
        request.rehydrate = crate::REHYDRATE;
    }
}

/// Puts the cell of a checkpoint into its notebook, where it has one. A notebook that cannot be written costs nobody a stage:
/// why is answered.
fn append_cell(layout: &Layout, manifest: &Manifest) -> Option<CheckpointWarning> {
    if manifest.notebook.path == NONE {
        return None;
    }
    let error = crate::append_checkpoint_cell(layout, manifest).err()?;
    Some(CheckpointWarning::Other(error_chain(&error)))
}

/// The stage says that what it has written so far is worth keeping. It is not done, so that whoever resumes from here
/// runs it again: `interrupted`, never `saved`, which would mean the stage after it (R4).
pub(crate) fn mid_stage(
    layout: &Layout,
    stage: &str,
    artifacts: &Path,
    earlier: &[EarlierArtifact],
    execution_count: u64,
) -> Result<WithWarnings, StageCheckpointError> {
    let mut files = publish::files(artifacts)?;
    // What a Python session has is saved once its stage is done, which may be now: half of it would be taken for all.
    files.retain(|file| !Path::new(file).starts_with(VARIABLES_FOLDER));
    let (earlier, references) = still_there(earlier);
    // What is half-way is copied in any case: the stage goes on writing it.
    let partial = files.iter().map(|file| artifacts.join(file)).chain(earlier);
    let mut request = SaveRequest {
        status: Status::Interrupted,
        reason: Some(Reason::Abort),
        mid_stage: true,
        artifacts: partial.collect(),
        references,
        session: layout.run().to_owned(),
        execution_count,
        ..SaveRequest::new(stage, Timestamp::now())
    };
    let mut left_out = Vec::new();
    loop {
        let error = match checkpoint::save(layout, &request) {
            Ok(saved) => {
                let (checkpoint, mut warnings) = with_warnings(saved);
                warnings.extend(left_out);
                return Ok((checkpoint, warnings));
            }
            Err(error) => error,
        };
        // The stage is at work: a log that grows, or a file that was renamed meanwhile, is no reason to lose the rest.
        let (SaveError::Changing { path } | SaveError::Artifact(PathError::NotFound { path })) = &error
        else {
            return Err(error.into());
        };
        let before = request.artifacts.len();
        request.artifacts.retain(|artifact| layout.relative(artifact) != *path);
        if request.artifacts.len() == before {
            return Err(error.into());
        }
        left_out.push(CheckpointWarning::Other(format!(
            "a checkpoint does not contain `{path}`, which changed while it was being saved"
        )));
    }
}

/// First that it happened, which waits for nobody; then what there is of the attempt, which may fail. Old ones go then, as
/// after any other: a stage may fail many times.
pub(crate) fn emergency(
    layout: &Layout,
    stage: &str,
    attempt: u32,
    reason: Reason,
    session: Option<SessionState>,
) -> Result<WithWarnings, StageCheckpointError> {
    let mut request = SaveRequest {
        session: layout.run().to_owned(),
        ..SaveRequest::emergency(stage, reason, Timestamp::now())
    };
    if let Some(session) = session {
        session.note_in(&mut request);
    }
    let (checkpoint, mut warnings) = with_partial(layout, attempt, &request)?;
    warnings.extend(append_cell(layout, &checkpoint.manifest));
    if let Err(error) = checkpoint::prune_after_save(layout, checkpoint::DEFAULT_KEEP, None) {
        warnings.push(not_pruned(&error_chain(&error)));
    }
    Ok((checkpoint, warnings))
}

fn with_partial(
    layout: &Layout,
    attempt: u32,
    request: &SaveRequest,
) -> Result<WithWarnings, StageCheckpointError> {
    let (made, mut warnings) = with_warnings(checkpoint::emergency(layout, request)?);
    let Ok(folder) = layout.attempt(&request.stage, attempt) else { return Ok((made, warnings)) };
    let artifacts = attempt_artifacts::find(&folder);
    let mut partial: Vec<PathBuf> =
        publish::files_as_far_as_possible(&artifacts).iter().map(|file| artifacts.join(file)).collect();
    let logs = ["output.log", DISPLAYS_FILE, "verify.log"].map(|name| folder.join(name));
    partial.extend(
        logs.into_iter().filter(|log| log.symlink_metadata().is_ok_and(|metadata| metadata.is_file())),
    );
    if partial.is_empty() {
        return Ok((made, warnings));
    }
    match checkpoint::add_partial(layout, &made.manifest.checkpoint_id, &partial) {
        Ok(saved) => {
            let (with_partial, more) = with_warnings(saved);
            warnings.extend(more);
            Ok((with_partial, warnings))
        }
        Err(error) => {
            warnings.push(CheckpointWarning::Other(format!(
                "the emergency checkpoint holds no partial artifacts: {}",
                error_chain(&error)
            )));
            Ok((made, warnings))
        }
    }
}

/// Puts the files of a checkpoint into another folder: those below `.attempts/{stage}/{number}/artifacts/` go below
/// `prefix`.
pub(crate) fn bring_back(
    layout: &Layout,
    artifacts: &[Artifact],
    prefix: &str,
) -> Result<(), StageCheckpointError> {
    let moved: Vec<Artifact> = artifacts
        .iter()
        .filter_map(|artifact| {
            let (_, attempt) = artifact.relative_path.split_once("/.attempts/")?;
            let inner = attempt.splitn(4, '/').nth(3)?;
            Some(Artifact { relative_path: format!("{prefix}{inner}"), ..artifact.clone() })
        })
        .collect();
    checkpoint::restore(layout, &moved)?;
    Ok(())
}

/// Those that checkpoints hold copies of, and the others. What was there before and is there no more cannot be in a checkpoint;
/// it is made anew where it is needed.
fn still_there(earlier: &[EarlierArtifact]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_there = |artifact: &&EarlierArtifact| {
        artifact.path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
    };
    let paths = |is_reference: bool| {
        let wanted = earlier.iter().filter(is_there).filter(|artifact| artifact.is_reference == is_reference);
        wanted.map(|artifact| artifact.path.clone()).collect()
    };
    (paths(false), paths(true))
}

fn with_warnings(saved: SavedCheckpoint) -> WithWarnings {
    let warnings = saved
        .warnings
        .iter()
        .map(|warning| match warning {
            SaveWarning::Large { total, limit } => CheckpointWarning::Other(format!(
                "the artifacts of one checkpoint have {total} bytes in total, more than {limit}"
            )),
            SaveWarning::Copied { .. } => CheckpointWarning::CopiesArtifacts,
            SaveWarning::NotPruned { why } => not_pruned(why),
        })
        .collect();
    (StageCheckpoint { manifest: saved.sealed.manifest, identities: saved.identities }, warnings)
}

fn not_pruned(why: &str) -> CheckpointWarning {
    CheckpointWarning::Other(format!("old checkpoints were not removed: {why}"))
}

impl StageCheckpoint {
    /// What its artifacts held when it was saved, by their paths below the root.
    pub(crate) fn contents(&self) -> HashMap<String, FileContent> {
        let known = self.manifest.artifacts.iter().zip(&self.identities).map(|(artifact, identity)| {
            let (sha256, bytes) = (artifact.sha256.clone(), artifact.size_bytes);
            let content =
                FileContent { sha256, bytes, identity: *identity, permissions: artifact.permissions };
            (artifact.relative_path.clone(), content)
        });
        known.collect()
    }

    pub(crate) fn event(&self, stage_id: String, attempt: u32) -> What {
        What::Checkpoint {
            stage_id,
            attempt,
            checkpoint_id: self.manifest.checkpoint_id.clone(),
            status: self.manifest.status.name().to_owned(),
            reason: self.manifest.reason.map(|reason| reason.name().to_owned()),
            created_at: self.manifest.created(),
            artifacts: self.manifest.artifacts.len(),
            mid_stage: self.manifest.mid_stage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last word of a stage and the saving of its session's variables can come at the same moment.
    #[test]
    fn what_a_stage_has_so_far_is_without_the_variables_of_its_session() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path(), "houses", "run-001").unwrap();
        let artifacts = layout.attempt("S01_train", 1).unwrap().join("artifacts");
        for file in ["model.json", "checkstone-variables/v1.parquet", "checkstone-variables/index.json"] {
            let path = artifacts.join(file);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "half").unwrap();
        }
        let (saved, warnings) = mid_stage(&layout, "S01_train", &artifacts, &[], 0).unwrap();
        let saved: Vec<Artifact> = saved.manifest.artifacts.iter().flat_map(Artifact::in_attempt).collect();
        let paths: Vec<&str> = saved.iter().map(|artifact| artifact.relative_path.as_str()).collect();
        assert_eq!(paths, ["reports/houses/run-001/.attempts/S01_train/1/artifacts/model.json"]);
        assert_eq!(warnings, []);
    }
}

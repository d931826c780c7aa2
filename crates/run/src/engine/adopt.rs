//! Takes over what an earlier run of the title made with the same command and inputs, so that it is not made again. Each file
//! is read on its way, so that nothing is taken over that was changed since.

use std::fs::File;
use std::io;
use std::path::Path;

use checkpoint::hash;
use checkpoint::layout::DISPLAYS_FILE;
use text::error_chain;

use super::{Engine, EngineError};
use crate::attempt_artifacts::{self, ARTIFACTS};
use crate::earlier_runs::EarlierStage;
use crate::event::{Accepted, AcceptedArtifact, What};
use crate::fingerprint;
use crate::plan::{Kind, Storing};
use crate::planted_fault::{Oversight, overlooks};
use crate::publish::{self, PublishError};
use crate::stage_checkpoint::StageCheckpointError;
use crate::state::StageState;

#[derive(Debug, thiserror::Error)]
enum AdoptError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Checkpoint(#[from] StageCheckpointError),
}

impl Engine<'_> {
    /// Says so in the record where it is. Python stages are if all of them are: what they left in their session is not here.
    pub(super) fn is_made_by_earlier_run(&mut self, index: usize) -> Result<bool, EngineError> {
        let Some(stage) = self.stage(index) else { return Ok(false) };
        let is_new = self.state(index) == StageState::Pending && self.attempt_number(index) == 0;
        // A run that is resumed makes its own results, save those that must not be made twice.
        let is_new = is_new && (!self.is_resumed || !stage.is_retryable) && !self.is_wanted_again(index);
        let is_usable =
            stage.kind == Kind::Command || self.is_session_made || overlooks(Oversight::SessionOfEarlierRun);
        let earlier = self.earlier_runs.of_stage(stage).filter(|_| is_new && is_usable);
        let Some((nearest, candidates)) = earlier else { return Ok(false) };
        let Some(now) = self.look(index, &nearest.accepted) else { return Ok(false) };
        let same = candidates.iter().find(|made| made.accepted.fingerprint == now.fingerprint);
        let Some(made) = same.cloned() else { return Ok(false) };
        let attempt = self.next_attempt(index)?;
        let told = self.earlier_runs.markers_of(&made);
        match self.taken_over(index, attempt, &made, told.attempt) {
            Ok(artifacts) => {
                let accepted = Accepted { inputs: now.inputs, artifacts, ..made.accepted };
                let stage_id = self.id(index);
                let completed = What::StageState {
                    stage_id: stage_id.clone(),
                    attempt,
                    from: StageState::Pending,
                    to: StageState::Completed,
                    token: None,
                    reason: Some(format!("made by run `{}`", made.run.run())),
                    ending: None,
                    accepted: Some(accepted),
                    refused: false,
                };
                let said = told.markers.into_iter();
                let said = said.map(|marker| What::Marker { stage_id: stage_id.clone(), attempt, marker });
                self.append_all([completed].into_iter().chain(said).collect())?;
                Ok(true)
            }
            Err(error) => {
                let because = match self.stage(index).is_some_and(|stage| stage.is_retryable) {
                    true => "it runs again, because ",
                    false => "",
                };
                let (run, why) = (made.run.run(), error_chain(&error));
                let text = format!("{because}the results of run `{run}` cannot be reused: {why}");
                self.warn(Some(index), text)?;
                Ok(false)
            }
        }
    }

    fn taken_over(
        &self,
        index: usize,
        attempt: u32,
        made: &EarlierStage,
        made_by: u32,
    ) -> Result<Vec<AcceptedArtifact>, AdoptError> {
        let (id, root) = (self.id(index), self.layout.root());
        let name = EngineError::from;
        let folder = self.layout.attempt(&id, attempt).map_err(name)?;
        let artifacts = folder.join(ARTIFACTS);
        publish::make_new_folder(root, &folder)?;
        publish::make_new_folder(root, &artifacts)?;
        let source = made.run.published(&made.id).map_err(name)?;
        // Whoever wants no second copy of it for a checkpoint wants none for a run.
        let is_reference = self.stage(index).is_some_and(|stage| stage.store == Storing::Reference);
        let take = if is_reference { linked } else { copied };
        let mut gone = Vec::new();
        for artifact in &made.accepted.artifacts {
            let target = artifacts.join(&artifact.path);
            if let Some(parent) = target.parent() {
                publish::make_folder(root, parent)?;
            }
            if take(&source.join(&artifact.path), &target, Some(&artifact.sha256)).is_err() {
                gone.push(artifact.to_restore(self.layout.relative(&target)));
            }
        }
        publish::make_missing_folders(root, &artifacts, &made.accepted.folders)?;
        // The pictures and tables that it showed belong to its result; without them it is still whole.
        let shown = made.run.attempt(&made.id, made_by).map_err(name)?.join(DISPLAYS_FILE);
        let _ = copied(&shown, &folder.join(DISPLAYS_FILE), None);
        checkpoint::restore(&self.layout, &gone).map_err(StageCheckpointError::from)?;
        let published = self.layout.published(&id).map_err(name)?;
        // After a power cut it would be taken over again, or come back from the store.
        let taken = self.recorder.hold().token().map(|token| attempt_artifacts::take(&folder, token));
        let taken = taken.transpose().map_err(PublishError::from)?.flatten();
        publish::put_in_place(root, &taken.unwrap_or(artifacts), &published)?;
        // A file that was written just now could change once more without a trace.
        let here = made.accepted.artifacts.iter();
        Ok(here.map(|artifact| AcceptedArtifact { identity: String::new(), ..artifact.clone() }).collect())
    }
}

/// As [`copied`], with a second name for the same file if the file system can give it one.
fn linked(source: &Path, target: &Path, sha256: Option<&str>) -> io::Result<()> {
    if fs_err::hard_link(source, target).is_err() {
        return copied(source, target, sha256);
    }
    let hashed = fingerprint::open_regular(target).and_then(|file| hash::of_file(&file));
    match hashed {
        Ok(hashed) if sha256.is_none_or(|expected| hashed.sha256 == expected) => Ok(()),
        _ => {
            fs_err::remove_file(target)?;
            Err(io::Error::other("it was changed"))
        }
    }
}

/// Copies a file that still has the content it had, where that is known; without it nothing is left in its place.
fn copied(source: &Path, target: &Path, sha256: Option<&str>) -> io::Result<()> {
    let from = fingerprint::open_regular(source)?;
    // Until it has the permissions of the other, nobody else may read it.
    let to: File = fs_err::os::unix::fs::OpenOptionsExt::mode(
        fs_err::OpenOptions::new().write(true).create_new(true),
        0o600,
    )
    .open(target)?
    .into();
    let (hashed, _) = hash::clone_or_copy(&from, &to)?;
    if sha256.is_some_and(|expected| hashed.sha256 != expected) {
        fs_err::remove_file(target)?;
        return Err(io::Error::other("it was changed"));
    }
    to.set_permissions(from.metadata()?.permissions())
}

//! Whether a stage that completed before need not be run again: its command, its inputs and its outputs are what they
//! were. Outputs that are missing or were changed are brought back from the store.

use text::error_chain;

use super::{Engine, EngineError};
use crate::event::{Accepted, What};
use crate::fingerprint::Preceding;
use crate::publish;
use crate::stage_checkpoint::StageCheckpointError;
use crate::stage_now::{Known, StageNow, is_in_place};
use crate::stage_parts;

impl Engine<'_> {
    /// Says so in the record where it is.
    pub(super) fn is_as_it_was(&mut self, index: usize) -> Result<bool, EngineError> {
        let stage_id = self.id(index);
        let accepted = self.recorded(index).and_then(|stage| stage.accepted.clone());
        let Some(accepted) = accepted else { return Ok(false) };
        if self.fingerprint_now(index, &accepted).as_ref() != Some(&accepted.fingerprint) {
            return Ok(false);
        }
        match self.outputs_restored(&stage_id, &accepted) {
            Ok(restored) => {
                self.append(What::StageReused { stage_id, restored })?;
                Ok(true)
            }
            Err(error) => {
                self.warn(Some(index), format!("its outputs are gone: {}", error_chain(&error)))?;
                Ok(false)
            }
        }
    }

    /// A stage that must not be repeated stays completed with what it made then, whatever has changed since. Without that it is
    /// not complete, nor with what was made for other parameters.
    pub(super) fn stays_as_it_was(&mut self, index: usize) -> Result<bool, EngineError> {
        let stage_id = self.id(index);
        let accepted = self.recorded(index).and_then(|stage| stage.accepted.clone());
        let Some(accepted) = accepted else { return Ok(false) };
        if self.stage(index).is_some_and(|stage| stage_parts::is_for_other_parameters(&accepted, stage)) {
            return Ok(false);
        }
        if self.outputs_restored(&stage_id, &accepted).is_err() {
            return Ok(false);
        }
        let text = "something in it has changed, but it is not retryable, so its earlier results stay; `--again` \
                    runs it anyway";
        self.warn(Some(index), text.to_owned())?;
        Ok(true)
    }

    fn fingerprint_now(&self, index: usize, accepted: &Accepted) -> Option<String> {
        Some(self.look(index, accepted)?.fingerprint)
    }

    /// The stage as it is now; `before` is what it or another run's was known by.
    pub(super) fn look(&self, index: usize, before: &Accepted) -> Option<StageNow> {
        let accepted = |place: usize| self.recorded(place)?.accepted.as_ref();
        let Self { plan, layout, hashes, code, .. } = self;
        let known = Known { plan, layout, hashes, code, accepted: &accepted };
        known.look(self.stage(index)?, before, &self.preceding(index)?)
    }

    /// What the stage comes after, where that is done.
    pub(super) fn preceding(&self, index: usize) -> Option<Preceding> {
        let session = self.session_before(index).map(|before| before.session);
        let known_by = |place: usize| Some(self.recorded(place)?.accepted.as_ref()?.known_by());
        Some(Preceding::of(&self.plan, self.stage(index)?, session, known_by))
    }

    /// The paths that had to be brought back.
    fn outputs_restored(
        &self,
        stage: &str,
        accepted: &Accepted,
    ) -> Result<Vec<String>, StageCheckpointError> {
        let folder = self.layout.published(stage)?;
        let mut missing = Vec::new();
        for artifact in &accepted.artifacts {
            let path = folder.join(&artifact.path);
            if !is_in_place(&self.layout, &self.hashes, &path, artifact) {
                missing.push(artifact.to_restore(self.layout.relative(&path)));
            }
        }
        let mut restored = checkpoint::restore(&self.layout, &missing)?;
        let made = publish::make_missing_folders(self.layout.root(), &folder, &accepted.folders)?;
        restored.extend(made.into_iter().map(|made| self.layout.relative(&folder.join(made))));
        Ok(restored)
    }
}

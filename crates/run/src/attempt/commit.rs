//! The half of an attempt that counts: what was prepared is published and checkpointed, or what there is of it is kept in an
//! emergency checkpoint.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use checkpoint::{FileContent, FolderMove};
use text::error_chain;

use super::{AttemptOutcome, AttemptProgress, PreparedResult, RunningAttempt, Unaccepted, failed};
use crate::attempt_artifacts::{self, ARTIFACTS};
use crate::event::{Accepted, AcceptedArtifact};
use crate::fingerprint;
use crate::publish;
use crate::stage_checkpoint;
use crate::stage_work::SessionState;

impl RunningAttempt<'_> {
    /// Checkpointed, published as the last deed, and described such that a later run knows whether it is still so. If anything
    /// fails, what was published before stays.
    pub(super) fn published(&mut self, prepared: PreparedResult) -> Result<Accepted, Unaccepted> {
        let PreparedResult { accepted, files, hashed, session } = prepared;
        let layout = &self.job.layout;
        let attempt = layout.attempt(&self.stage.id, self.job.attempt)?;
        let published = layout.published(&self.stage.id)?;
        if self.job.hold.has_successor() {
            return Err(failed("the run was taken over"));
        }
        let usual = attempt.join(ARTIFACTS);
        let source = match self.job.hold.token() {
            Some(token) => attempt_artifacts::take(&attempt, token)?,
            None => Some(usual.clone()).filter(|usual| usual.symlink_metadata().is_ok()),
        };
        // An engine that was lost in the middle of this had published it already.
        let is_published = source.is_none() && hashed.is_some();
        let source = source.unwrap_or(if is_published { published.clone() } else { usual });
        if !is_published {
            publish::check(&source, &published)?;
        }
        let artifacts = self.checkpointed(&source, &published, &files, session)?;
        let is_other = |(one, other): &(&AcceptedArtifact, &AcceptedArtifact)| one.sha256 != other.sha256;
        if let Some((other, _)) = hashed.iter().flatten().zip(&artifacts).find(is_other) {
            return Err(failed(format!(
                "`{}` differs here from what the node wrote; check the shared file system",
                other.path
            )));
        }
        if !is_published {
            // What travelled by its contents came without them.
            publish::make_missing_folders(layout.root(), &source, &accepted.folders)?;
            publish::publish(layout.root(), &source, &published)?;
        }
        Ok(Accepted { artifacts, ..accepted })
    }

    /// What the stage has written so far.
    pub(super) fn save_half_way(&self, artifacts: &Path) {
        let Self { job, stage, tell, .. } = *self;
        let (earlier, count) = (&job.earlier, job.execution_count);
        match stage_checkpoint::mid_stage(&job.layout, &stage.id, artifacts, earlier, count) {
            Ok(saved) => tell(AttemptProgress::Checkpoint(Box::new(self.without_warnings(saved)))),
            Err(error) => self.warn(format!("no checkpoint: {}", error_chain(&error))),
        }
    }

    /// What becomes of an attempt that was not accepted: what there is of it is kept.
    pub(super) fn concluded(
        mut self,
        result: Result<Accepted, Unaccepted>,
        session: impl FnOnce() -> Option<SessionState>,
    ) -> AttemptOutcome {
        let Self { job, stage, .. } = self;
        // What an engine that has its run no more would keep is nobody's.
        if let Err(unaccepted) = &result
            && !job.hold.has_successor()
        {
            let reason = unaccepted.cause.checkpoint_reason();
            match stage_checkpoint::emergency(&job.layout, &stage.id, job.attempt, reason, session()) {
                Ok(emergency) => self.checkpoint = Some(self.without_warnings(emergency)),
                Err(error) => self.warn(format!("no emergency checkpoint: {}", error_chain(&error))),
            }
        }
        AttemptOutcome { ending: self.ending, result, checkpoint: self.checkpoint }
    }

    fn checkpointed(
        &mut self,
        source: &Path,
        published: &Path,
        files: &[String],
        session: Option<SessionState>,
    ) -> Result<Vec<AcceptedArtifact>, Unaccepted> {
        let Self { job, stage, .. } = *self;
        let paths: Vec<PathBuf> = files.iter().map(|file| published.join(file)).collect();
        let mut known: HashMap<String, FileContent> = HashMap::new();
        if stage.checkpoint_after {
            let (layout, count) = (&job.layout, job.execution_count);
            let (from, to) = (source.to_owned(), published.to_owned());
            let moves = (from != to).then_some(FolderMove { from, to });
            let saved =
                stage_checkpoint::after_stage(layout, stage, &paths, moves, &job.earlier, count, session);
            let unsaved = |error| failed(format!("its checkpoint cannot be saved: {}", error_chain(&error)));
            let saved = self.without_warnings(saved.map_err(unsaved)?);
            known = saved.contents();
            self.checkpoint = Some(saved);
        }
        let mut described = Vec::new();
        for (file, path) in files.iter().zip(&paths) {
            let (name, lies_at) = (job.layout.relative(path), source.join(file));
            let content = known.remove(&name).map_or_else(
                || job.hashes.content(&name, &fingerprint::open_regular(&lies_at)?, &|| true),
                Ok,
            );
            let content = content
                .map_err(|error| failed(format!("`{}` cannot be read: {error}", lies_at.display())))?;
            described.push(AcceptedArtifact {
                path: file.clone(),
                sha256: content.sha256,
                size_bytes: content.bytes,
                identity: content.identity.map(|identity| identity.to_string()).unwrap_or_default(),
                permissions: content.permissions,
            });
        }
        Ok(described)
    }
}

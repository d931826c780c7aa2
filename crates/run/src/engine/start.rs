//! What can begin is begun: a stage whose turn has come, with what it needs of those before it.

use std::sync::Arc;

use checkpoint::manifest::Artifact;
use files::atomic_file::Replaced;
use text::error_chain;

use super::session::SessionToBeginWith;
use super::{Engine, EngineError, Standing};
use crate::attempt::{CheckpointsBy, EarlierArtifact, Job, SessionBefore};
use crate::event::{Accepted, What};
use crate::executor::AttemptTicket;
use crate::plan::{Kind, Stage, Storing};
use crate::state::StageState;
use crate::turns::{LastTurn, PresentFingerprint};

/// A checkpoint of a Python stage holds all artifacts of the run up to this many, and beyond it those that are still needed.
const ARTIFACTS_IN_CHECKPOINT: usize = 2000;

/// Whether a stage that must not be repeated is this run's to begin.
enum Turn {
    /// If nobody begins it after the last turn. Without one it may be repeated.
    Free(Option<LastTurn>),
    /// Another run has made it meanwhile.
    Made,
    Refused(String),
}

impl Engine<'_> {
    pub(super) fn start_what_is_ready(&mut self) -> Result<(), EngineError> {
        while !self.is_aborting && self.running < self.settings.jobs.max(1) {
            let Some(index) = self.next_to_begin() else { return Ok(()) };
            self.ready.remove(&index);
            if self.is_adopted(index)? {
                continue;
            }
            let may_run = self.may_run(index);
            if self.state(index) == StageState::Completed {
                if self.is_as_it_was(index)? || (!may_run && self.stays_as_it_was(index)?) {
                    self.complete(index)?;
                    continue;
                }
                if may_run {
                    let why = Some("something in it has changed".to_owned());
                    self.stage_to(index, StageState::Pending, why)?;
                }
            }
            if !may_run {
                self.give_up(index, self.reason_not_to_repeat(index))?;
                continue;
            }
            if self.is_made_by_earlier_run(index)? {
                self.complete(index)?;
                continue;
            }
            self.start(index)?;
        }
        Ok(())
    }

    /// What must not be repeated is not, unless somebody says so.
    pub(super) fn may_run(&self, index: usize) -> bool {
        let Some(stage) = self.stage(index) else { return false };
        // Whatever state it is in: a stage that was blocked after its first attempt has been begun all the same.
        let began = self.attempt_number(index) > 0;
        stage.is_retryable || !began || self.is_wanted_again(index)
    }

    /// As `may_run`, by what other runs of the title have done.
    fn turn(&mut self, index: usize) -> Result<Turn, EngineError> {
        let Some(stage) = self.stage(index).filter(|stage| !stage.is_retryable).cloned() else {
            return Ok(Turn::Free(None));
        };
        let last = self.turns.last(&stage);
        if self.settings.earlier_runs.is_none() || self.is_wanted_again(index) {
            return Ok(Turn::Free(Some(last)));
        }
        let present = self.present_fingerprint(index, &stage);
        if let PresentFingerprint::Is(now) = &present
            && let Some(run) = self.turns.completed_as(&last, now)
            && (self.settings.is_own_run)(&run)
            && self.earlier_runs.has_read_again(&run, &stage, now)
            && self.is_made_by_earlier_run(index)?
        {
            return Ok(Turn::Made);
        }
        let reason = self.turns.reason_not_to_begin(&last, &stage, &present);
        Ok(reason.map_or(Turn::Free(Some(last)), Turn::Refused))
    }

    fn present_fingerprint(&self, index: usize, stage: &Stage) -> PresentFingerprint {
        let nearest = self.earlier_runs.of_stage(stage).map(|(nearest, _)| &nearest.accepted);
        let now = self.look(index, nearest.unwrap_or(&Accepted::default()));
        now.map_or(PresentFingerprint::Unknown, |now| PresentFingerprint::Is(now.fingerprint))
    }

    pub(super) fn is_wanted_again(&self, index: usize) -> bool {
        let again = &self.settings.again;
        self.stage(index).is_some_and(|stage| again.contains(&stage.id) || again.contains(&stage.template))
    }

    pub(super) fn start(&mut self, index: usize) -> Result<(), EngineError> {
        // Before other stages are run again for the session that it needs.
        let last = match self.turn(index)? {
            Turn::Free(last) => last,
            Turn::Made => return self.complete(index),
            Turn::Refused(reason) => return self.give_up(index, reason),
        };
        let SessionToBeginWith::Now(session) = self.session_to_begin_with(index)? else { return Ok(()) };
        let last_ending = self.recorded(index).and_then(|stage| stage.ending.as_ref());
        let is_after_change = last_ending.is_some_and(|ending| ending.changed_meanwhile);
        if self.state(index) == StageState::Failed {
            self.stage_to(index, StageState::Resumable, None)?;
        }
        let attempt = self.next_attempt(index)?;
        let ticket = self.executor.ticket().map_err(EngineError::Controls)?;
        let to_resume = self.saved_half_way(index)?;
        let token = ticket.token.clone();
        let job = Job { is_after_change, ..self.job(index, attempt, ticket, session, to_resume) };
        if let (Some(last), Some(stage)) = (last, self.stage(index))
            && self.turns.take(stage, &last)? == Replaced::Changed
        {
            // Another run was faster: what it does with its turn decides.
            self.ready.insert(index);
            return Ok(());
        }
        // On the disk first: after this a lost supervisor's successor looks for what it left running.
        self.append(What::StageState {
            stage_id: self.id(index),
            attempt,
            from: self.state(index),
            to: StageState::Running,
            reason: None,
            token,
            ending: None,
            accepted: None,
            refused: false,
        })?;
        self.executor.submit(job).map_err(EngineError::Submit)?;
        self.note_begun(index);
        Ok(())
    }

    pub(super) fn job(
        &self,
        index: usize,
        attempt: u32,
        ticket: AttemptTicket,
        session: Option<SessionBefore>,
        to_resume: Vec<Artifact>,
    ) -> Job {
        Job {
            plan: Arc::clone(&self.plan),
            stage: index,
            attempt,
            layout: self.layout.clone(),
            environment: Arc::clone(&self.environment),
            isolation: self.settings.isolation,
            kept_output: self.settings.kept_output,
            longest_unchecked: self.settings.longest_unchecked,
            controls: ticket.controls,
            token: ticket.token,
            python: Arc::clone(&self.python),
            hashes: Arc::clone(&self.hashes),
            hold: Arc::clone(self.recorder.hold()),
            code: Arc::clone(&self.code),
            earlier: self.earlier_artifacts(index),
            preceding: self.preceding(index).unwrap_or_default(),
            made: self.made_inputs(index),
            session,
            to_resume,
            is_after_change: false,
            execution_count: self.recorder.record().checkpoints + 1,
            checkpoints: CheckpointsBy::Attempt,
            kernel: self.layout.kernel(),
        }
    }

    /// An attempt of it is under way.
    pub(super) fn note_begun(&mut self, index: usize) {
        self.running += 1;
        if let (Some(free), Some(stage)) = (&mut self.free, self.plan.stages.get(index)) {
            free.take(&stage.resources);
        }
        if let Some(stage) = self.stages.get_mut(index) {
            stage.standing = Standing::Running;
            stage.attempts += 1;
        }
    }

    /// One that has no folder yet: where the record was lost or is an older one, there are attempts that it does not know,
    /// and what they left must not be taken for this one's.
    pub(super) fn next_attempt(&self, index: usize) -> Result<u32, EngineError> {
        let id = self.id(index);
        let mut attempt = self.attempt_number(index) + 1;
        while self.layout.attempt(&id, attempt)?.symlink_metadata().is_ok() {
            attempt += 1;
        }
        Ok(attempt)
    }

    /// What a checkpoint should hold besides what its stage makes: what a session is brought back from, and nothing where there is
    /// none. The record holds on to what the other stages published, so that a checkpoint costs what its stage made, not what the
    /// run has.
    pub(super) fn earlier_artifacts(&self, starting: usize) -> Vec<EarlierArtifact> {
        let completed = |index: &usize| {
            *index != starting
                && self.stages.get(*index).is_some_and(|stage| stage.standing == Standing::Completed)
        };
        if self.stage(starting).is_none_or(|stage| stage.kind == Kind::Command) {
            let session = self.session_order.before(starting).filter(completed);
            return session.flat_map(|index| self.published_artifacts(index)).collect();
        }
        let before = self.session_before(starting).map(|before| before.stage);
        let is_needed = |index: &usize| {
            before == Some(*index)
                || self.stages.get(*index).is_some_and(|stage| {
                    stage.dependents.iter().any(|dependent| {
                        self.stages.get(*dependent).is_some_and(|next| next.standing != Standing::Completed)
                    })
                })
        };
        let all: Vec<usize> = (0..self.stages.len()).filter(completed).collect();
        let count = |index: &usize| {
            self.recorded(*index)
                .and_then(|stage| stage.accepted.as_ref())
                .map_or(0, |accepted| accepted.artifacts.len())
        };
        let is_few = all.len() <= ARTIFACTS_IN_CHECKPOINT
            && all.iter().map(count).sum::<usize>() <= ARTIFACTS_IN_CHECKPOINT;
        let wanted = all.into_iter().filter(|index| is_few || is_needed(index));
        wanted.flat_map(|index| self.published_artifacts(index)).collect()
    }

    /// What the stage published when it was last accepted.
    pub(super) fn published_artifacts(&self, index: usize) -> Vec<EarlierArtifact> {
        let accepted = self.recorded(index).and_then(|stage| stage.accepted.as_ref());
        let folder = self.stage(index).and_then(|stage| self.layout.published(&stage.id).ok());
        let (Some(accepted), Some(folder)) = (accepted, folder) else { return Vec::new() };
        let is_reference = self.stage(index).is_some_and(|stage| stage.store == Storing::Reference);
        let earlier = accepted.artifacts.iter().map(|artifact| EarlierArtifact {
            path: folder.join(&artifact.path),
            sha256: artifact.sha256.clone(),
            is_reference,
        });
        earlier.collect()
    }

    /// The files of the stage's last own checkpoint. Where it cannot be used, that is told: work is lost.
    pub(super) fn saved_half_way(&mut self, index: usize) -> Result<Vec<Artifact>, EngineError> {
        let Some(id) = self.recorded(index).and_then(|stage| stage.mid_stage_checkpoint.clone()) else {
            return Ok(Vec::new());
        };
        let own = format!("/.attempts/{}/", self.id(index));
        let owned = |artifact: &Artifact| {
            let mut paths = artifact.in_attempt();
            paths.retain(|artifact| artifact.relative_path.contains(&own));
            paths
        };
        let lost = match checkpoint::validate(&self.layout, &id, checkpoint::Depth::Quick) {
            Ok(checked) => match checked.manifest {
                Some(sealed) if checked.lost.iter().all(|lost| owned(lost).is_empty()) => {
                    return Ok(sealed.manifest.artifacts.iter().flat_map(owned).collect());
                }
                _ => checked.issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            },
            Err(error) => error_chain(&error),
        };
        let text = format!("it starts over, because what it had saved in `{id}` cannot be restored: {lost}");
        self.warn(Some(index), text)?;
        Ok(Vec::new())
    }
}

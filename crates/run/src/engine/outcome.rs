//! What an attempt tells while it runs and when it ends, and what becomes of its stage then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use checkpoint::manifest::Status;
use supervise::Signal;
use text::error_chain;

use super::{BackingOff, Engine, EngineError, Standing};
use crate::attempt::{AttemptOutcome, AttemptProgress, Cause};
use crate::event::What;
use crate::executor::AttemptReport;
use crate::plan::WaitingStage;
use crate::session_order::SessionOrder;
use crate::stage_checkpoint::StageCheckpoint;
use crate::stage_parts;
use crate::state::{NOT_RETRYABLE, StageState};

/// A stage is begun again so often because its machine was lost.
const MOST_LOSSES: u32 = 10;

const COPIES: &str = "large artifacts are copied into checkpoints, since this file system cannot clone files; \
     `store = \"reference\"` in a stage keeps them in one place";

/// No retry waits longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

impl Engine<'_> {
    pub(super) fn reason_not_to_repeat(&self, index: usize) -> String {
        let accepted = self.recorded(index).and_then(|stage| stage.accepted.as_ref());
        let is_other = self
            .stage(index)
            .zip(accepted)
            .is_some_and(|(stage, accepted)| stage_parts::is_for_other_parameters(accepted, stage));
        let begun = if is_other { "was run for other parameters" } else { "was started before" };
        format!("{NOT_RETRYABLE}, and {begun}; `--again` runs it anyway")
    }

    /// A stage that must not be repeated, and that has nothing to go on with. One that completed stays so in the record:
    /// what it made may come back.
    pub(super) fn give_up(&mut self, index: usize, reason: String) -> Result<(), EngineError> {
        self.warn(Some(index), reason.clone())?;
        if self.state(index) == StageState::Pending {
            let (stage_id, attempt, from) = (self.id(index), self.attempt_number(index), self.state(index));
            self.append(What::stage_refused(stage_id, attempt, from, reason))?;
        }
        self.has_failed = true;
        self.settle(index, Standing::GivenUp);
        Ok(())
    }

    /// Its outputs are there: what waits for it may run, and fan-outs over them are known.
    pub(super) fn complete(&mut self, index: usize) -> Result<(), EngineError> {
        self.settle(index, Standing::Completed);
        if self.plan.is_whole() {
            return Ok(());
        }
        let published = self.layout.published(&self.id(index))?;
        match self.plan.grown(index, &published) {
            Ok(None) => Ok(()),
            Ok(Some(plan)) => {
                for warning in plan.warnings.iter().skip(self.plan.warnings.len()) {
                    self.warn(None, warning.to_string())?;
                }
                self.session_order = SessionOrder::of(&plan);
                self.plan = Arc::new(plan);
                self.take_in_stages();
                self.tell_instances()
            }
            Err(problems) => {
                self.has_failed = true;
                let reason = problems.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                let id = self.stage(index).map(|stage| stage.template.clone()).unwrap_or_default();
                let is_it = |waiting: &WaitingStage| waiting.waits_for.contains(&id);
                let waiting: Vec<WaitingStage> = self.plan.waiting().into_iter().filter(is_it).collect();
                self.append_all(self.blocked_fan_outs(&waiting, &reason))
            }
        }
    }

    pub(super) fn settle(&mut self, index: usize, standing: Standing) {
        let Some(stage) = self.stages.get_mut(index) else { return };
        stage.standing = standing;
        if standing != Standing::Completed {
            return;
        }
        if std::mem::take(&mut stage.is_to_be_checked) {
            stage.standing = Standing::Waiting;
            self.session_order.go_back_to(index);
            self.ready.insert(index);
            return;
        }
        let is_again = std::mem::replace(&mut stage.has_released, true);
        for dependent in stage.dependents.clone() {
            if let Some(next) = self.stages.get_mut(dependent) {
                // It may have read something else.
                match next.standing {
                    Standing::Completed if is_again => {
                        next.standing = Standing::Waiting;
                        self.session_order.go_back_to(dependent);
                        self.ready.insert(dependent);
                    }
                    Standing::Running if is_again => next.is_to_be_checked = true,
                    _ => {}
                }
                if is_again {
                    continue;
                }
                next.waits_for -= 1;
                if next.waits_for == 0 {
                    self.ready.insert(dependent);
                }
            }
        }
    }

    pub(super) fn receive(&mut self, report: AttemptReport) -> Result<(), EngineError> {
        match report {
            AttemptReport::Progress(index, told) => self.hear(index, told),
            AttemptReport::Ended(index, outcome) => {
                self.running -= 1;
                if let (Some(free), Some(stage)) = (&mut self.free, self.plan.stages.get(index)) {
                    free.give_back(&stage.resources);
                }
                self.end(index, *outcome)
            }
            AttemptReport::Unreachable(why) => Err(EngineError::Unreachable { why }),
        }
    }

    pub(super) fn hear(&mut self, index: usize, told: AttemptProgress) -> Result<(), EngineError> {
        let (stage_id, attempt) = (self.id(index), self.attempt_number(index));
        match told {
            AttemptProgress::Marker(marker) => self.append(What::Marker { stage_id, attempt, marker }),
            AttemptProgress::Stall(signal) => self.append(What::Stall { stage_id, attempt, signal }),
            AttemptProgress::Signalled(signal) => {
                // The watchdog does not wait for a disk: this is the one transition that is recorded right after its deed.
                let is_first = self.state(index) == StageState::Running;
                if is_first && matches!(signal, Signal::Interrupt | Signal::Terminate) {
                    self.stage_to(index, StageState::Interrupting, None)?;
                }
                self.append(What::Signal { stage_id, attempt, signal: signal.name().to_owned() })
            }
            AttemptProgress::Suspended { milliseconds } => {
                self.append(What::Suspended { stage_id, attempt, milliseconds })
            }
            // Whoever carries the attempt out saves it.
            AttemptProgress::WantsCheckpoint => Ok(()),
            AttemptProgress::Checkpoint(checkpoint) => self.note_checkpoint(index, &checkpoint),
            AttemptProgress::CopiesArtifacts => self.tell_of_copies(),
            AttemptProgress::Warning(text) => self.warn(Some(index), text),
        }
    }

    pub(super) fn tell_of_copies(&mut self) -> Result<(), EngineError> {
        let is_first = !std::mem::replace(&mut self.has_told_of_copies, true);
        if is_first { self.warn(None, COPIES.to_owned()) } else { Ok(()) }
    }

    pub(super) fn note_checkpoint(
        &mut self,
        index: usize,
        checkpoint: &StageCheckpoint,
    ) -> Result<(), EngineError> {
        self.may_free |= checkpoint.manifest.status != Status::Saved;
        let what = checkpoint.event(self.id(index), self.attempt_number(index));
        self.append(what)
    }

    pub(super) fn end(&mut self, index: usize, outcome: AttemptOutcome) -> Result<(), EngineError> {
        let AttemptOutcome { ending, result, checkpoint } = outcome;
        if let Some(checkpoint) = &checkpoint {
            self.note_checkpoint(index, checkpoint)?;
        }
        let unaccepted = match result {
            Ok(accepted) => {
                if let Some(stage) = self.stage(index).filter(|stage| !stage.is_retryable)
                    && let Err(error) = self.turns.complete(stage, &accepted.fingerprint)
                {
                    // It did what must not be repeated; other runs will not know that it completed, and will not begin it either.
                    let why = format!("other runs cannot be told that it completed: {}", error_chain(&error));
                    self.warn(Some(index), why)?;
                }
                self.may_free |= self.recorded(index).is_some_and(|before| before.accepted.is_some());
                self.stage_ended(index, StageState::Completed, None, ending, Some(accepted))?;
                return self.complete(index);
            }
            Err(unaccepted) => unaccepted,
        };
        let reason = unaccepted.reason;
        if unaccepted.cause == Cause::Failed && self.state(index) == StageState::Running {
            self.stage_ended(index, StageState::Failed, Some(reason.clone()), ending, None)?;
        } else {
            self.stage_ended(index, StageState::Interrupted, Some(reason.clone()), ending, None)?;
        }
        let is_aborted = unaccepted.cause == Cause::Aborted;
        if let Some(stage) = self.stages.get_mut(index) {
            stage.is_aborted |= is_aborted;
            // Not the stage's doing, so that it is no attempt of its own that went wrong.
            if unaccepted.cause == Cause::Lost && stage.losses < MOST_LOSSES {
                stage.losses += 1;
                stage.attempts = stage.attempts.saturating_sub(1);
            }
        }
        if checkpoint.is_none() {
            let why = format!("{reason}; and there is no checkpoint of it");
            self.stage_to(index, StageState::Blocked, Some(why))?;
            // Its state no longer says so.
            self.has_failed |= unaccepted.cause == Cause::Failed;
            self.settle(index, Standing::GivenUp);
            return Ok(());
        }
        if self.may_retry(index) {
            let pause = self.pause_before_retry(index);
            let in_time = match pause.as_secs() {
                0 => String::new(),
                seconds => format!(" in {seconds} s"),
            };
            let why = format!("it is tried again{in_time}: {reason}");
            self.stage_to(index, StageState::Resumable, Some(why))?;
            if pause.is_zero() {
                return self.start(index);
            }
            self.backing_off.push(BackingOff { until: Instant::now() + pause, index, cause: reason });
            return Ok(());
        }
        if self.state(index) == StageState::Interrupted {
            self.stage_to(index, StageState::Resumable, Some(reason))?;
        }
        self.settle(index, Standing::GivenUp);
        Ok(())
    }

    pub(super) fn may_retry(&self, index: usize) -> bool {
        let (Some(stage), Some(here)) = (self.stage(index), self.stages.get(index)) else { return false };
        !self.is_aborting && !here.is_aborted && stage.is_retryable && here.attempts <= stage.retries
    }

    /// Twice as long each time.
    pub(super) fn pause_before_retry(&self, index: usize) -> Duration {
        let attempts = self.stages.get(index).map_or(1, |stage| stage.attempts);
        let backoff = self.stage(index).map(|stage| stage.backoff).unwrap_or_default();
        backoff.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1))).min(LONGEST_PAUSE)
    }
}

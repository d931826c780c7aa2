//! How a run comes to its end: what is aborted, what can no longer begin, and the state that all of it amounts to.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::{BackingOff, Engine, EngineError, Standing};
use crate::event::What;
use crate::plan::WaitingStage;
use crate::state::{RunState, StageState};

/// So many stages are named in one sentence.
const MOST_NAMED: usize = 10;

impl Engine<'_> {
    /// What stages made that are no longer in the plan is still there, and could be taken for what the others made.
    pub(super) fn tell_what_is_left(&mut self) -> Result<(), EngineError> {
        let planned: HashSet<&str> = self.plan.stages.iter().map(|stage| stage.id.as_str()).collect();
        let is_left = |id: &&String| {
            !planned.contains(id.as_str()) && self.layout.published(id).is_ok_and(|folder| folder.is_dir())
        };
        let mut left: Vec<String> = self.recorder.record().stages.keys().filter(is_left).cloned().collect();
        if left.is_empty() {
            return Ok(());
        }
        left.sort();
        let count = left.len().saturating_sub(MOST_NAMED);
        left.truncate(MOST_NAMED);
        let more = if count > 0 { format!(" and {count} more") } else { String::new() };
        let folder = self.layout.relative(&self.layout.run_directory());
        let names = left.join("`, `");
        self.warn(None, format!("no longer in the plan, and still in `{folder}`: `{names}`{more}"))
    }

    pub(super) fn blocked_fan_outs(&self, waiting: &[WaitingStage], reason: &str) -> Vec<What> {
        let record = self.recorder.record();
        let is_pending = |waiting: &&WaitingStage| record.stage(&waiting.id).state == StageState::Pending;
        let blocked = waiting.iter().filter(is_pending).map(|waiting| {
            let (id, reason) = (waiting.id.clone(), Some(reason.to_owned()));
            What::stage_state(id, 0, StageState::Pending, StageState::Blocked, reason)
        });
        blocked.collect()
    }

    pub(super) fn look_for_requests(&mut self) -> Result<(), EngineError> {
        let mut wanted = self.requests.new_ones();
        if self.settings.interrupt.swap(false, Ordering::SeqCst) {
            wanted.push(None);
        }
        for stage in wanted {
            self.append(What::AbortRequested { stage_id: stage.clone() })?;
            match stage {
                None => {
                    self.is_aborting = true;
                    for index in 0..self.stages.len() {
                        self.executor.cancel(index);
                    }
                    for BackingOff { index, cause, .. } in std::mem::take(&mut self.backing_off) {
                        self.abort_waiting(index, &format!("aborted before it was tried again: {cause}"))?;
                    }
                }
                Some(id) => {
                    let index = self.plan.stage(&id);
                    match index {
                        Some(index) if self.executor.cancel(index) => {}
                        // It waits for nothing but its turn.
                        Some(index) if self.ready.remove(&index) => self.abort_unbegun(index)?,
                        _ => self.warn(None, format!("`{id}` is not running, so it cannot be aborted"))?,
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn abort_unbegun(&mut self, index: usize) -> Result<(), EngineError> {
        self.abort_waiting(index, "aborted before it began")
    }

    fn abort_waiting(&mut self, index: usize, why: &str) -> Result<(), EngineError> {
        if self.state(index) != StageState::Completed {
            self.stage_to(index, StageState::Blocked, Some(why.to_owned()))?;
        }
        self.stages.get_mut(index).into_iter().for_each(|stage| stage.is_aborted = true);
        self.settle(index, Standing::GivenUp);
        Ok(())
    }

    /// Stages behind one that did not complete cannot run; those of an aborted run could, and stay as they are.
    pub(super) fn block_the_rest(&mut self) -> Result<(), EngineError> {
        if self.is_aborting {
            return Ok(());
        }
        let mut blocked = Vec::new();
        for (index, stage) in self.stages.iter().enumerate() {
            let from = self.state(index);
            let can_be = matches!(from, StageState::Pending | StageState::Resumable);
            if stage.standing != Standing::Waiting || !can_be {
                continue;
            }
            let Some(planned) = self.stage(index) else { continue };
            let is_lacking = |on: &usize| {
                self.stages.get(*on).is_some_and(|before| before.standing != Standing::Completed)
            };
            let named = planned.dependencies.iter().copied().find(is_lacking);
            let before = named.or_else(|| self.session_order.needed_by(index).filter(is_lacking).last());
            let unknown = || self.session_order.unknown_before(index).map(str::to_owned);
            let before = before.map(|before| self.id(before)).or_else(unknown);
            let reason = before.map(|before| format!("`{before}` did not complete"));
            let (id, attempt) = (planned.id.clone(), self.attempt_number(index));
            blocked.push(What::stage_state(id, attempt, from, StageState::Blocked, reason));
        }
        for waiting in self.plan.waiting() {
            let is_done = |id: &&String| {
                let mut stages =
                    self.plan.stages.iter().zip(&self.stages).filter(|(stage, _)| stage.template == **id);
                !self.plan.waiting().iter().any(|waiting| waiting.id == **id)
                    && stages.all(|(_, here)| here.standing == Standing::Completed)
            };
            let before = waiting.waits_for.iter().find(|id| !is_done(id)).cloned().unwrap_or_default();
            let reason = format!("`{before}` did not complete");
            blocked.extend(self.blocked_fan_outs(std::slice::from_ref(&waiting), &reason));
        }
        self.append_all(blocked)
    }

    pub(super) fn final_state(&self) -> RunState {
        if self.plan.is_whole() && self.stages.iter().all(|stage| stage.standing == Standing::Completed) {
            return RunState::Completed;
        }
        if self.is_aborting || self.stages.iter().any(|stage| stage.is_aborted) {
            return RunState::Aborted;
        }
        let has_failed = (0..self.stages.len()).any(|index| self.state(index) == StageState::Failed);
        if has_failed || self.has_failed { RunState::Failed } else { RunState::Interrupted }
    }
}

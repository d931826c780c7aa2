//! The Python stages of a run among the others: they begin in one order, each with what the one before it left in the
//! session. Where that is lost, because the kernel is gone and no checkpoint has it, the one before is run once more.

use std::path::Path;

use checkpoint::layout::VARIABLES_FOLDER;

use super::{Engine, EngineError, Standing};
use crate::attempt::SessionBefore;
use crate::plan::{Kind, SessionTurn};
use crate::stage_work::SessionSource;
use crate::state::StageState;

impl Engine<'_> {
    /// The first of those that are ready whose turn it is, and for which there is room.
    pub(super) fn next_to_begin(&mut self) -> Option<usize> {
        let Self { ready, session_order, stages, plan, free, .. } = self;
        let has_room = |index: usize| match (&*free, plan.stages.get(index)) {
            (Some(free), Some(stage)) => free.has(&stage.resources),
            _ => true,
        };
        // A Python stage depends on all of those before it; what was given up, or is not known, is never done.
        let is_done = |turn: &SessionTurn| match turn {
            SessionTurn::Stage(index) => {
                stages.get(*index).is_some_and(|stage| stage.standing == Standing::Completed)
            }
            SessionTurn::Waiting(_) => false,
        };
        ready.iter().copied().find(|index| has_room(*index) && session_order.has_its_turn(*index, is_done))
    }

    /// What the last Python stage that was accepted before this one left in the session; none for a stage of another kind.
    pub(super) fn session_before(&self, index: usize) -> Option<SessionBefore> {
        let is_completed = |index: &usize| {
            self.stages.get(*index).is_some_and(|stage| stage.standing == Standing::Completed)
        };
        let stage = self.session_order.needed_by(index).find(is_completed)?;
        let accepted = self.recorded(stage)?.accepted.as_ref()?;
        let mut variables = self.published_artifacts(stage);
        let is_of_variables = |folder: &Path| folder.ends_with(VARIABLES_FOLDER);
        variables.retain(|artifact| artifact.path.parent().is_some_and(is_of_variables));
        Some(SessionBefore {
            stage,
            stage_id: self.id(stage),
            session: accepted.known_by().to_owned(),
            is_kept: false,
            variables,
        })
    }

    /// What the session holds when this stage begins now. Where stages before it have to be run once more, that is seen to,
    /// and it does not begin yet.
    pub(super) fn session_to_begin_with(&mut self, index: usize) -> Result<SessionToBeginWith, EngineError> {
        let mut first = self.session_before(index);
        let is_python = self.stage(index).is_some_and(|stage| stage.kind == Kind::Python);
        if !is_python || !self.plan.python.saves_variables {
            return Ok(SessionToBeginWith::Now(first));
        }
        let (mut lost, mut at) = (Vec::new(), index);
        while let Some(before) = self.session_before(at) {
            let source = match self.executor.holds(&before.session) {
                true => SessionSource::Kernel,
                false => self.python.source(&self.layout, &before),
            };
            if let Some(first) = first.as_mut().filter(|first| first.stage == before.stage) {
                first.is_kept = matches!(source, SessionSource::Kernel | SessionSource::Checkpoint);
            }
            let wants_checkpoint = self.stage(before.stage).is_some_and(|stage| stage.checkpoint_after);
            let is_lost = match source {
                SessionSource::Kernel | SessionSource::Checkpoint => false,
                SessionSource::OtherCheckpoint => true,
                // The plan did not ask for one: the session goes on with what there is, and that is told.
                SessionSource::NoCheckpoint => wants_checkpoint,
            };
            let is_rerun = self.stages.get(before.stage).is_none_or(|stage| stage.is_rerun);
            if !is_lost || is_rerun || !self.may_run(before.stage) {
                break;
            }
            at = before.stage;
            lost.push(before.stage);
        }
        if lost.is_empty() {
            return Ok(SessionToBeginWith::Now(first));
        }
        for before in &lost {
            let why = "what it left in the session is in no valid checkpoint".to_owned();
            self.stage_to(*before, StageState::Pending, Some(why))?;
        }
        self.session_order.go_back_to(at);
        for waiting in lost.iter().chain([&index]) {
            if let Some(stage) = self.stages.get_mut(*waiting) {
                stage.standing = Standing::Waiting;
                stage.is_rerun |= *waiting != index;
            }
            self.ready.insert(*waiting);
        }
        Ok(SessionToBeginWith::Later)
    }
}

pub(super) enum SessionToBeginWith {
    Now(Option<SessionBefore>),
    /// After stages before it.
    Later,
}

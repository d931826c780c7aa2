//! The session of a build without the feature `python`, which has no kernel: a plan with Python stages is refused before
//! anything starts, so that nobody comes to ask it.

use checkpoint::layout::Layout;
use checkpoint::manifest::{Manifest, Rehydration};
use checkpoint::output::LastExecutedCell;
use supervise::Observed;

use crate::attempt::SessionBefore;
use crate::engine::Settings;
use crate::job_file::ShownCells;
use crate::stage_work::{CellJob, SessionSource, SessionState, StageEnded};

/// How a checkpoint says what brings the session back.
pub(crate) const REHYDRATE: Option<fn(&Manifest) -> Rehydration> = None;

pub(crate) struct NoPythonSession;

#[derive(Debug, thiserror::Error)]
#[error("this build of checkstone cannot run Python stages, nor write notebooks")]
pub struct NoSessionError;

impl NoPythonSession {
    pub(crate) fn new(_: &Settings) -> Self {
        Self
    }

    pub(crate) fn on_node(_: bool) -> Self {
        Self
    }

    pub(crate) fn shown_cells(&self) -> ShownCells {
        ShownCells::default()
    }

    pub(crate) fn show(&self, _: &Layout, _: ShownCells) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn run(
        &self,
        _: &CellJob<'_>,
        _: &mut dyn FnMut(Observed),
    ) -> Result<StageEnded, NoSessionError> {
        Err(NoSessionError)
    }

    pub(crate) fn source(&self, _: &Layout, _: &SessionBefore) -> SessionSource {
        SessionSource::Kernel
    }

    pub(crate) fn end_of_attempt(&self, _: Option<&str>) {}

    pub(crate) fn close(&self) {}

    pub(crate) fn after_failure(&self, _: &Layout, _: &str, _: u32) -> Option<SessionState> {
        None
    }

    pub(crate) fn after_loss(_: &Layout, _: &str, _: u32) -> Option<SessionState> {
        None
    }
}

pub fn last_executed_cell(_: &Layout) -> Option<LastExecutedCell> {
    None
}

/// Notebooks are written by builds that have a kernel.
pub fn append_checkpoint_cell(_: &Layout, _: &Manifest) -> Result<(), NoSessionError> {
    Err(NoSessionError)
}

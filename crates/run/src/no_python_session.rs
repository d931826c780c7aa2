//! The session of a build without the feature `python`, which has no kernel: a plan with Python stages is refused before
//! anything starts, so that nobody comes to ask it.

use std::ffi::OsString;

use checkpoint::layout::Layout;
use supervise::{Limits, Observed};

use crate::attempt::Job;
use crate::engine::{EngineError, Settings};
use crate::executor::StageEnded;
use crate::plan::Stage;

pub(crate) struct PythonSession;

impl PythonSession {
    pub(crate) fn new(_: &Settings) -> Self {
        Self
    }

    pub(crate) fn run(
        &self,
        _: &Job,
        stage: &Stage,
        _: &[(OsString, OsString)],
        _: &Limits,
        _: &dyn Fn(String),
        _: &mut dyn FnMut(Observed),
    ) -> Result<StageEnded, String> {
        Err(EngineError::NoPython { stage: stage.id.clone() }.to_string())
    }

    pub(crate) fn close(&self) {}

    pub(crate) fn note_checkpoint(
        &self,
        _: &Layout,
        _: &str,
        _: u32,
        _: &str,
        _: &str,
    ) -> Result<(), String> {
        Ok(())
    }
}

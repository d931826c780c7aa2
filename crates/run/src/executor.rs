//! Where the attempts of a run are carried out: on threads of this process, or as jobs of a cluster. The engine decides what
//! is begun and records it; an executor carries it out, and reports.

mod local_threads;
pub mod slurm;

use std::io;
use std::time::Duration;

use supervise::Controls;

use local_threads::LocalThreads;
use slurm::{Slurm, SlurmCommands, SlurmSettings};

use crate::attempt::{AttemptOutcome, AttemptProgress, Job};
use crate::engine::{EngineError, Settings};

/// Where the stages of a run are carried out.
#[derive(Clone, Debug)]
pub enum ExecutorChoice {
    Local,
    Slurm(SlurmSettings),
}

impl ExecutorChoice {
    pub(crate) fn executor(&self, settings: &Settings) -> Result<Box<dyn Executor>, EngineError> {
        Ok(match self {
            Self::Local => Box::new(LocalThreads::new()),
            Self::Slurm(slurm) => {
                let commands = SlurmCommands::find(&settings.environment)?;
                let made = Slurm::new(slurm, commands, settings.is_trusted, settings.is_secret);
                Box::new(made.map_err(EngineError::Controls)?)
            }
        })
    }
}

/// What is told of an attempt, by the place of its stage in the plan.
pub(crate) enum AttemptReport {
    Progress(usize, AttemptProgress),
    Ended(usize, Box<AttemptOutcome>),
    /// Those who carry attempts out go on, and nothing is heard of them any more, for this reason.
    Unreachable(String),
}

/// What an attempt is known and ended by. It is made before anything is recorded.
pub(crate) struct AttemptTicket {
    pub(crate) controls: Controls,
    /// Recorded before the attempt is submitted, where it can outlive the engine.
    pub(crate) token: Option<String>,
}

pub(crate) trait Executor {
    fn ticket(&mut self) -> io::Result<AttemptTicket>;

    fn submit(&mut self, job: Job) -> io::Result<()>;

    /// The next report; none if there is none within this time.
    fn poll(&mut self, wait: Duration) -> Option<AttemptReport>;

    /// Asks for the end of a stage's attempt, with its grace; a second time without any. False if there is no attempt.
    fn cancel(&mut self, stage: usize) -> bool;

    /// Goes on with an attempt of an earlier engine that may be alive; the job is given back if that cannot be.
    fn adopt(&mut self, job: Job) -> Result<(), Box<Job>>;

    /// Whether whoever carried out the last Python stage has its session still.
    fn holds(&self, session: &str) -> bool;

    /// The run is complete: whatever was only needed until then may go.
    fn completed(&mut self) {}

    /// Nothing can be recorded any more, so that nothing may go on which the next engine could not find.
    fn let_go(&mut self);
}

//! Who carries out the work of a stage.

use std::ffi::OsString;

use crate::attempt::{Job, Told};
use crate::plan::Stage;
use crate::python_session::StageEnded;
use supervise::{Command, Controls, Ending, Isolation, Limits, Observed, Supervised};

/// A program in a process tree of its own, to its end.
pub(crate) fn command(
    command: &Command,
    isolation: Isolation,
    limits: &Limits,
    controls: &Controls,
    observe: &mut dyn FnMut(Observed),
) -> Result<Ending, String> {
    let supervised = Supervised::spawn(command, isolation).map_err(|error| crate::attempt::told(&error))?;
    supervised.watch(limits, controls, observe).map_err(|error| crate::attempt::told(&error))
}

/// A cell in the run's kernel, to its end.
pub(crate) fn python(
    job: &Job,
    stage: &Stage,
    environment: &[(OsString, OsString)],
    limits: &Limits,
    tell: &(dyn Fn(Told) + Sync),
    observe: &mut dyn FnMut(Observed),
) -> Result<StageEnded, String> {
    job.python.run(job, stage, environment, limits, &|text| tell(Told::Warning(text)), observe)
}

//! Who carries out the work of a stage.

use crate::supervisor::{Command, Controls, Ending, Isolation, Limits, Observed, Supervised};

/// Whether stages of kind `python` can be run.
pub(crate) const HAS_PYTHON: bool = false;

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

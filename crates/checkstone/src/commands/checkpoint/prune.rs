//! `checkstone checkpoint prune`

use std::process::ExitCode;

use checkpoint::{DEFAULT_KEEP, prune};
use text::counted;

use super::{CheckpointCommonArguments, WhichArguments};
use crate::error::CommandError;
use crate::printer::{GOOD, Printer};

/// Remove old checkpoints of a run, and what nothing refers to any more
///
/// The newest valid checkpoint stays, however many newer ones there are, and so does the newest one of a stage that is
/// not done yet. The artifacts themselves are never touched.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint prune --title churn --run run-001
  checkstone checkpoint prune --keep 2 --json")]
pub(super) struct CheckpointPruneArguments {
    #[command(flatten)]
    which: WhichArguments,
    /// Keep this many
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_KEEP)]
    keep: usize,
    #[command(flatten)]
    common: CheckpointCommonArguments,
}

pub(super) fn run(arguments: &CheckpointPruneArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let layout = arguments.which.one_run(&arguments.common)?;
    let output = prune(&layout, arguments.keep)?;
    printer.answer(arguments.common.json, &output, || {
        let (pruned, freed) = (counted(output.pruned, "checkpoint"), counted(output.freed_files, "file"));
        format!("{GOOD}✓{GOOD:#} {pruned} removed, {} kept; {freed} freed in the store\n", output.kept)
    })
}

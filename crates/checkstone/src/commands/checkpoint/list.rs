//! `checkstone checkpoint list`

use std::process::ExitCode;

use checkpoint::manifest::Status;
use checkpoint::output::ListOutput;
use text::{Cell, Column, Table, counted};
use transcript::visible;

use super::{CheckpointCommonArguments, WhichArguments};
use crate::error::{CommandError, Warning};
use crate::printer::{DOUBTFUL, GOOD, Printer, STRONG};

/// List checkpoints, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint list
  checkstone checkpoint list --title churn --run run-001
  checkstone checkpoint list --json | jq -r '.checkpoints[0].checkpointId'")]
pub(super) struct CheckpointListArguments {
    #[command(flatten)]
    which: WhichArguments,
    #[command(flatten)]
    common: CheckpointCommonArguments,
}

pub(super) fn run(arguments: &CheckpointListArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let output = arguments.which.list(&arguments.common)?;
    printer.answer(arguments.common.json, &output, || text(&output, printer.width()))?;
    for unreadable in &output.unreadable {
        let (run, id) = (visible(&unreadable.run_id), visible(&unreadable.checkpoint_id));
        printer.warning(Warning::new(format!("`{id}` of {run} cannot be read: {}", unreadable.problem)));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(output: &ListOutput, width: Option<usize>) -> String {
    if output.checkpoints.is_empty() {
        return "No checkpoints here\n".to_owned();
    }
    let mark = Column::left(0).gap(1);
    let status = Column::left(11).gap(1);
    let mut table = Table::new([mark, Column::left(0), status, Column::right(12), Column::left(0)]);
    for found in &output.checkpoints {
        let (style, mark) = if found.status == Status::Saved { (GOOD, "✓") } else { (DOUBTFUL, "▶") };
        let place = [&found.report_title, &found.run_id, &found.stage_id].map(|name| visible(name)).join(" ");
        table.row([
            Cell::styled(mark, style),
            Cell::styled(visible(&found.checkpoint_id), STRONG),
            found.standing().into(),
            counted(found.artifact_count, "artifact").into(),
            place.into(),
        ]);
    }
    table.lines(width)
}

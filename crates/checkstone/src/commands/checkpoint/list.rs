//! `checkstone checkpoint list`

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use checkpoint::layout::Layout;
use checkpoint::manifest::Status;
use checkpoint::output::ListOutput;
use run::record::Record;
use text::{Cell, Column, Table, counted};
use transcript::visible;

use super::{CheckpointCommonArguments, WhichArguments};
use crate::error::{CommandError, Warning};
use crate::printer::{DOUBTFUL, GOOD, Printer, STRONG};
use crate::run_display::with_parameters;

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
    let root = arguments.common.root()?;
    printer.answer(arguments.common.json, &output, || text(&output, &root, printer.width()))?;
    for unreadable in &output.unreadable {
        let (run, id) = (visible(&unreadable.run_id), visible(&unreadable.checkpoint_id));
        printer.warning(Warning::new(format!("`{id}` of {run} cannot be read: {}", unreadable.problem)));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(output: &ListOutput, root: &Path, width: Option<usize>) -> String {
    if output.checkpoints.is_empty() {
        return "No checkpoints here\n".to_owned();
    }
    let mark = Column::left(0).gap(1);
    let status = Column::left(11).gap(1);
    let mut table = Table::new([mark, Column::left(0), status, Column::right(12), Column::left(0)]);
    let mut records: HashMap<(&str, &str), Option<Record>> = HashMap::new();
    for found in &output.checkpoints {
        let (title, run) = (found.report_title.as_str(), found.run_id.as_str());
        let record = records.entry((title, run)).or_insert_with(|| {
            let layout = Layout::new(root, title, run).ok()?;
            Record::read(&layout.events()).ok()
        });
        let parameters = record.as_ref().and_then(|record| record.parameters_of(&found.stage_id));
        let stage = with_parameters(&found.stage_id, parameters.unwrap_or_default());
        let (style, mark) = if found.status == Status::Saved { (GOOD, "✓") } else { (DOUBTFUL, "▶") };
        let place = [visible(title), visible(run), stage].join(" ");
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

//! `checkstone workflow list`

use std::process::ExitCode;

use text::{Cell, Column, Table};
use transcript::visible;
use workflow::Summary;
use workflow::output::ListOutput;

use super::WorkflowCommonArguments;
use crate::error::{CommandError, Warning};
use crate::printer::{DOUBTFUL, FAINT, GOOD, Printer, STRONG};

/// List the workflows of this repository, all features together
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow list
  checkstone workflow list --archived --limit 20
  checkstone workflow list --json | jq '.workflows[] | select(.complete | not)'")]
pub(super) struct WorkflowListArguments {
    /// List the archive as well
    #[arg(long)]
    archived: bool,
    /// Of the archive, list this many of the latest
    #[arg(long, value_name = "NUMBER", requires = "archived")]
    limit: Option<usize>,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &WorkflowListArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = arguments.common.state()?;
    let (listed, problems) = state.list()?;
    let workflows = listed.iter().map(|one| Summary::of(&one.stem, &one.workflow)).collect();
    let mut output = ListOutput { workflows, problems, archived: Vec::new() };
    if arguments.archived {
        let limit = arguments.limit.unwrap_or(usize::MAX);
        output.archived = state.archived(limit)?;
    }
    printer.answer(arguments.common.json, &output, || shown(&output, printer.width()))?;
    for problem in &output.problems {
        printer.warning(Warning::new(format!("`{}`: {}", problem.file, problem.problem)));
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(output: &ListOutput, width: Option<usize>) -> String {
    if output.workflows.is_empty() && output.archived.is_empty() {
        return "No workflows here\n".to_owned();
    }
    let name = Column::left(32).at_most(48);
    let mut workflows = Table::new([Column::left(0).gap(1), name, Column::right(5), Column::left(0)]);
    output.workflows.iter().for_each(|summary| workflows.row(row(summary)));
    let mut text = workflows.lines(width);
    if !output.archived.is_empty() {
        text.push_str(&format!("{STRONG}Archive{STRONG:#}\n"));
        let mut archive = Table::new([Column::left(50), Column::left(0)]);
        for archived in &output.archived {
            let at = archived.workflow.completed_at.as_deref().unwrap_or("unfinished");
            let id = format!("  {}", visible(&archived.id));
            archive.row([Cell::styled(id, FAINT), Cell::styled(at, FAINT)]);
        }
        text.push_str(&archive.lines(width));
    }
    text
}

fn row(summary: &Summary) -> [Cell; 4] {
    let (style, mark) = if summary.complete { (GOOD, "✓") } else { (DOUBTFUL, "▶") };
    let name = match &summary.feature {
        Some(feature) => format!("{} ({})", visible(&summary.command), visible(feature)),
        None => visible(&summary.command),
    };
    let at = match (&summary.phase, &summary.phase_status) {
        (Some(phase), Some(status)) => format!("{} {}", visible(phase), status.replace('_', " ")),
        _ if summary.complete => "complete".to_owned(),
        _ => "every phase is done".to_owned(),
    };
    let done = format!("{}/{}", summary.phases_done, summary.phases);
    [Cell::styled(mark, style), name.into(), done.into(), at.into()]
}

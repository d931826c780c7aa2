//! `checkstone checkpoint list`

use std::fmt::Write as _;
use std::process::ExitCode;

use checkpoint::manifest::Status;
use checkpoint::output::ListOutput;
use text::{counted, fit};
use transcript::visible;

use super::{CommonArguments, WhichArguments};
use crate::error::CommandError;
use crate::printer::{DOUBTFUL, GOOD, Printer, STRONG};

/// List checkpoints, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint list
  checkstone checkpoint list --title churn --run run-001
  checkstone checkpoint list --json | jq -r '.checkpoints[0].checkpointId'")]
pub(super) struct ListArguments {
    #[command(flatten)]
    which: WhichArguments,
    #[command(flatten)]
    common: CommonArguments,
}

pub(super) fn run(arguments: &ListArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let output = ListOutput::from(arguments.which.list(&arguments.common)?);
    if arguments.common.json {
        printer.json(&output)?;
    } else {
        printer.text(&text(&output, printer.width()));
    }
    for unreadable in &output.unreadable {
        let (run, id) = (visible(&unreadable.run_id), visible(&unreadable.checkpoint_id));
        printer
            .warning(&CommandError::new(format!("`{id}` of {run} cannot be read: {}", unreadable.problem)));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(output: &ListOutput, width: Option<usize>) -> String {
    if output.checkpoints.is_empty() {
        return "No checkpoints here\n".to_owned();
    }
    let mut text = String::new();
    for found in &output.checkpoints {
        let (style, mark) = if found.status == Status::Saved { (GOOD, "✓") } else { (DOUBTFUL, "▶") };
        let rest = format!(
            "  {:<11} {:>12}  {} {} {}",
            found.status.name(),
            counted(found.artifact_count, "artifact"),
            visible(&found.report_title),
            visible(&found.run_id),
            visible(&found.stage_id),
        );
        let id = visible(&found.checkpoint_id);
        let rest = fit(&rest, width.map(|width| width.saturating_sub(id.len() + 2)));
        let _ = writeln!(text, "{style}{mark}{style:#} {STRONG}{id}{STRONG:#}{rest}");
    }
    text
}

//! `checkstone workflow resume-point`

use std::process::ExitCode;

use text::wrap;
use transcript::visible;

use super::{NameArguments, WorkflowCommonArguments, next_sentence, warn};
use crate::error::CommandError;
use crate::printer::{FAINT, Printer, STRONG};

/// Show where a workflow resumes: the phase in progress, else the one that failed, else the next
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow resume-point implement --feature parser
  checkstone workflow resume-point implement --json | jq -r .phase")]
pub(super) struct ResumePointArguments {
    #[command(flatten)]
    name: NameArguments,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &ResumePointArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let name = arguments.name.name()?;
    let state = arguments.common.state()?;
    arguments.name.must_be_known(&name, &state)?;
    let (point, warnings) = state.resume_point(&name)?;
    warn(&warnings, printer);
    if arguments.common.json {
        printer.json(&point)?;
        return Ok(ExitCode::SUCCESS);
    }
    if point.phase.is_none() && point.summaries.is_empty() {
        printer.text("Nothing to resume\n");
        return Ok(ExitCode::SUCCESS);
    }
    let next = next_sentence(&point, false);
    printer.text(&format!("{STRONG}{}{STRONG:#}: {next}\n", visible(&name.to_string())));
    let progress = point.progress.as_deref().map(|text| ("so far", text));
    let earlier = point.summaries.iter().map(|one| (one.phase.as_str(), one.summary.as_str()));
    for (phase, summary) in progress.into_iter().chain(earlier) {
        let summary = wrap(&visible(summary), 4, printer.width());
        printer.text(&format!("  {FAINT}{}{FAINT:#}\n    {summary}\n", visible(phase)));
    }
    Ok(ExitCode::SUCCESS)
}

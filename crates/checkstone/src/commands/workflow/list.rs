//! `checkstone workflow list`

use std::process::ExitCode;

use text::fit;
use transcript::visible;
use unicode_width::UnicodeWidthStr as _;
use workflow::output::{ListOutput, UnreadableFile};
use workflow::{ArchivedWorkflow, Summary};

use super::{CommonArguments, explained};
use crate::error::CommandError;
use crate::printer::{DOUBTFUL, FAINT, GOOD, Printer, STRONG};

/// List the workflows of this repository, all features together
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow list
  checkstone workflow list --archived --limit 20
  checkstone workflow list --json | jq '.workflows[] | select(.complete | not)'")]
pub(super) struct ListArguments {
    /// List the archive as well
    #[arg(long)]
    archived: bool,
    /// Of the archive, list this many of the latest
    #[arg(long, value_name = "NUMBER", requires = "archived")]
    limit: Option<usize>,
    #[command(flatten)]
    common: CommonArguments,
}

pub(super) fn run(arguments: &ListArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = arguments.common.state()?;
    let mut output = ListOutput { workflows: Vec::new(), problems: Vec::new(), archived: Vec::new() };
    for listed in state.list().map_err(|error| explained(&error))? {
        match listed.workflow {
            Ok(workflow) => output.workflows.push(Summary::of(&listed.stem, &workflow)),
            Err(problem) => {
                output.problems.push(UnreadableFile { file: format!("{}.json", listed.stem), problem });
            }
        }
    }
    if arguments.archived {
        let limit = arguments.limit.unwrap_or(usize::MAX);
        output.archived = state.archived(limit).map_err(|error| explained(&error))?;
    }
    if arguments.common.json {
        printer.json(&output)?;
    } else {
        printer.text(&shown(&output, printer.width()));
    }
    for problem in &output.problems {
        printer.warning(&CommandError::new(format!("`{}`: {}", problem.file, problem.problem)));
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(output: &ListOutput, width: Option<usize>) -> String {
    if output.workflows.is_empty() && output.archived.is_empty() {
        return "No workflows here\n".to_owned();
    }
    let mut text: String = output.workflows.iter().map(|summary| line(summary, width)).collect();
    if !output.archived.is_empty() {
        text.push_str(&format!("{STRONG}Archive{STRONG:#}\n"));
        text.extend(output.archived.iter().map(|archived| archived_line(archived, width)));
    }
    text
}

fn line(summary: &Summary, width: Option<usize>) -> String {
    let (style, mark) = if summary.complete { (GOOD, "✓") } else { (DOUBTFUL, "▶") };
    let name = match &summary.feature {
        Some(feature) => format!("{} ({})", visible(&summary.command), visible(feature)),
        None => visible(&summary.command),
    };
    let name = format!("{name}{}", " ".repeat(32_usize.saturating_sub(name.width())));
    let at = match (&summary.phase, &summary.phase_status) {
        (Some(phase), Some(status)) => format!("{} {}", visible(phase), status.replace('_', " ")),
        _ if summary.complete => "complete".to_owned(),
        _ => "every phase is done".to_owned(),
    };
    let done = format!("{}/{}", summary.phases_done, summary.phases);
    let rest = fit(&format!("{name}  {done:>5}  {at}"), width.map(|width| width.saturating_sub(2)));
    format!("{style}{mark}{style:#} {rest}\n")
}

fn archived_line(archived: &ArchivedWorkflow, width: Option<usize>) -> String {
    let at = archived.workflow.completed_at.as_deref().unwrap_or("unfinished");
    let line = format!("{:<48}  {at}", visible(&archived.id));
    format!("  {FAINT}{}{FAINT:#}\n", fit(&line, width.map(|width| width.saturating_sub(2))))
}

//! `checkstone checkpoint resume`

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use checkpoint::layout::Layout;
use checkpoint::output::ResumeOutput;
use checkpoint::{CheckpointSearch, Depth, last_valid};
use run::record::Record;
use run::runs;
use text::counted;
use transcript::visible;

use super::{CheckpointCommonArguments, WhichArguments, folder_error, none_here};
use crate::error::CommandError;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};

/// Show which checkpoint a run would resume from
///
/// Prints the newest checkpoint that is valid, or whose artifacts are all stored, and why newer ones cannot be used.
/// Changes nothing; `checkstone resume` continues from there.
///
/// Exit code: 0 found, 1 none can be used, 2 and above the search failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint resume --title churn
  checkstone checkpoint resume --title churn --run run-001 --json | jq -r .nextStageId")]
pub(super) struct CheckpointResumeArguments {
    #[command(flatten)]
    which: WhichArguments,
    /// Do not read artifacts that have not changed since they were last read
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    common: CheckpointCommonArguments,
}

pub(super) fn run(
    arguments: &CheckpointResumeArguments,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let title = match &arguments.which.title {
        Some(title) => title.clone(),
        None => newest_title(arguments)?,
    };
    let depth = if arguments.quick { Depth::Quick } else { Depth::Full };
    let root = arguments.common.root()?;
    let found = last_valid(&root, &title, arguments.which.run.as_deref(), depth).map_err(folder_error)?;
    let mut output = ResumeOutput::from(&found);
    if found.checkpoint.as_ref().is_some_and(|usable| is_completed(&root, &title, &usable.run)) {
        output.next_stage_id = None;
    }
    if found.checkpoint.is_none() {
        let runs = runs::all(&root).into_iter().map(|found| found.layout);
        let is_meant = |run: &str| arguments.which.run.as_deref().is_none_or(|wanted| wanted == run);
        let newest = runs.filter(|run| run.title() == title).find(|layout| is_meant(layout.run()));
        output.last_executed_cell = newest.and_then(|layout| run::last_executed_cell(&layout));
    }
    printer.answer(arguments.common.json, &output, || text(&output, &found))?;
    Ok(if output.found { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A run of ours that has nothing left to do; those of other tools have no record.
fn is_completed(root: &Path, title: &str, run: &str) -> bool {
    let record = Layout::new(root, title, run).ok().and_then(|layout| Record::read(&layout.events()).ok());
    record.is_some_and(|record| !record.is_unfinished())
}

/// The report that was worked on last.
fn newest_title(arguments: &CheckpointResumeArguments) -> Result<String, CommandError> {
    let listing = arguments.which.list(&arguments.common)?;
    let newest = listing.checkpoints.into_iter().map(|found| found.report_title).next();
    let damaged = || listing.unreadable.into_iter().map(|found| found.report_title).next();
    newest.or_else(damaged).ok_or_else(none_here)
}

fn text(output: &ResumeOutput, found: &CheckpointSearch) -> String {
    let mut text = String::new();
    for skipped in &found.skipped {
        let _ = writeln!(text, "{DOUBTFUL}→{DOUBTFUL:#} {} cannot be used:", visible(&skipped.id));
        for issue in &skipped.issues {
            let detail = issue.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            let _ = writeln!(text, "    {}", visible(&format!("{issue}{detail}")));
        }
    }
    let Some(usable) = &found.checkpoint else {
        let _ = writeln!(text, "{BAD}✗{BAD:#} no checkpoint can be used ({} checked)", found.searched);
        if let Some(cell) = &output.last_executed_cell {
            let _ = writeln!(text, "  last executed: {}", visible(&cell.to_string()));
        }
        return text;
    };
    let manifest = &usable.sealed.manifest;
    let _ = writeln!(
        text,
        "{GOOD}✓{GOOD:#} {STRONG}{}{STRONG:#} of {}: {} {}, {}",
        visible(&usable.id),
        visible(&usable.run),
        visible(&manifest.stage_id),
        manifest.standing(),
        visible(&manifest.created_at),
    );
    if !usable.to_restore.is_empty() {
        let count = counted(usable.to_restore.len(), "artifact");
        let _ = writeln!(text, "  {count} would be restored from the store");
    }
    if let Some(next) = &output.next_stage_id {
        let _ = writeln!(text, "  next stage: {}", visible(next));
    }
    if let Some(warning) = output.trust_warning {
        let _ = writeln!(text, "{FAINT}{warning}{FAINT:#}");
    }
    text
}

//! `checkstone workflow diff`

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::Value;
use text::counted;
use transcript::visible;
use workflow::output::{DiffOutput, SaveName};
use workflow::{Difference, Save};

use super::{KeptWorkflow, WorkflowCommonArguments};
use crate::error::CommandError;
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG};

/// Show what changed between two saves of a workflow; without numbers, what the last save changed
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow diff implement --feature parser
  checkstone workflow diff implement --from 1
  checkstone workflow diff --archived review-parser.1769682600000 --from 2 --to 4 --json")]
pub(super) struct WorkflowDiffArguments {
    #[command(flatten)]
    kept: KeptWorkflow,
    /// The number of the earlier save; by default the one before the later
    #[arg(long, value_name = "NUMBER")]
    from: Option<usize>,
    /// The number of the later save; by default the last one
    #[arg(long, value_name = "NUMBER")]
    to: Option<usize>,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &WorkflowDiffArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = arguments.common.state()?;
    let saves = match &arguments.kept.archived {
        Some(id) => state.archive_content(id)?.history,
        None => {
            let name = arguments.kept.name()?;
            let saves = state.history(&name)?;
            if saves.is_empty() {
                return Err(super::not_found(&state, &name, &[]));
            }
            saves
        }
    };
    let to = arguments.to.unwrap_or(saves.len());
    let from = arguments.from.unwrap_or(to.saturating_sub(1));
    let (before, after) = (at(&saves, from)?, at(&saves, to)?);
    let document =
        |save: Option<&Save>| save.map(|save| workflow::readable_object(&save.workflow)).unwrap_or_default();
    let differences = workflow::diff(&document(before), &document(after));
    let named = |number, save: Option<&Save>| SaveName {
        save: number,
        saved_at: save.and_then(|save| save.saved_at.clone()),
    };
    let output =
        DiffOutput { saves: saves.len(), from: named(from, before), to: named(to, after), differences };
    printer.answer(arguments.common.json, &output, || shown(&output))
}

/// Save 0 is before the first one.
fn at(saves: &[Save], number: usize) -> Result<Option<&Save>, CommandError> {
    if number == 0 {
        return Ok(None);
    }
    saves.get(number - 1).map(Some).ok_or_else(|| {
        CommandError::not_found(format!("there is no save {number}"))
            .hint(format!("{} kept; 1 is the oldest", counted(saves.len(), "save")))
    })
}

fn shown(output: &DiffOutput) -> String {
    let at = |save: &SaveName| match (&save.saved_at, save.save) {
        (Some(at), _) => format!("{} ({at})", save.save),
        (None, 0) => "nothing".to_owned(),
        (None, number) => format!("{number} (by another tool)"),
    };
    let mut text = format!("{STRONG}save {} → {}{STRONG:#}\n", at(&output.from), at(&output.to));
    if output.differences.is_empty() {
        text.push_str("no difference\n");
    }
    for Difference { path, before, after } in &output.differences {
        let _ = writeln!(text, "{FAINT}{}{FAINT:#}", visible(&path.join(".")));
        for (value, sign, style) in [(before, '-', BAD), (after, '+', GOOD)] {
            if !value.is_null() {
                let value = value.as_str().map_or_else(|| Value::to_string(value), ToOwned::to_owned);
                let _ = writeln!(text, "  {style}{sign} {}{style:#}", visible(&value));
            }
        }
    }
    text
}

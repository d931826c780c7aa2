//! `checkstone run --prune`: removes old runs, to free their room.

use std::path::Path;
use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use run::output::RunPruneOutput;
use run::pruning::{self, PruneError, RunRetention};
use text::{Column, Table, counted, shell_word, size_in_words};
use transcript::visible;

use super::RunArguments;
use crate::confirmation;
use crate::environment;
use crate::error::{CommandError, ErrorKind, Warning};
use crate::printer::{GOOD, Printer};
use crate::run_storage;

/// So many runs of a title stay where nobody says otherwise.
const USUAL_KEEP: usize = 5;

pub(super) fn run(
    arguments: &RunArguments,
    root: &Path,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    // What other hosts run is not to be taken for gone.
    run_storage::bring_runs(root)?;
    let days = |days: u32| Timestamp::now() - SignedDuration::from_hours(i64::from(days) * 24);
    let retention = RunRetention {
        keep: arguments.keep.unwrap_or(if arguments.older_than.is_some() { 0 } else { USUAL_KEEP }),
        older_than: arguments.older_than.map(days),
    };
    if arguments.dry_run {
        let output = pruning::prunable(root, retention, &environment::all())?;
        tell_of_cluster(&output, printer);
        return printer.answer(arguments.json, &output, || {
            let (runs, freed) = (counted(output.removed.len(), "run"), size_in_words(output.freed_bytes));
            let table = table(&output, printer);
            format!("{table}{runs} would be removed, {} kept; at least {freed} would be freed\n", output.kept)
        });
    }
    if !arguments.yes {
        let hint = "pass `--yes`; `--dry-run` shows what would be removed";
        confirmation::must_be_possible("nothing was removed", arguments.json, hint)?;
        let output = pruning::prunable(root, retention, &environment::all())?;
        printer.progress(table(&output, printer).trim_end());
        let runs = counted(output.removed.len(), "run");
        let is_wanted = output.removed.is_empty()
            || confirmation::confirmed(&format!("Remove {runs}, results included?"))?;
        if !is_wanted {
            return Ok(ExitCode::FAILURE);
        }
    }
    run_storage::use_store(root)?;
    let exchange = run_storage::exchange_if_any(root)?;
    let hold = run_storage::hold(root)?;
    let output = pruning::prune(root, retention, &hold, exchange.as_deref(), &environment::all())?;
    tell_of_cluster(&output, printer);
    printer.answer(arguments.json, &output, || {
        let (runs, freed) = (counted(output.removed.len(), "run"), size_in_words(output.freed_bytes));
        format!("{GOOD}✓{GOOD:#} {runs} removed, {} kept; {freed} freed\n", output.kept)
    })
}

/// What stays although it is old, and what to do about it.
fn tell_of_cluster(output: &RunPruneOutput, printer: &Printer) {
    for kept in &output.on_cluster {
        let (run, title, reason) = (visible(&kept.run), visible(&kept.title), &kept.reason);
        let word = shell_word(&kept.run);
        let warning = Warning::new(format!("run `{run}` of {title} stays: {reason}"))
            .hint(format!("`checkstone resume {word}` continues it; `checkstone abort {word}` ends it"));
        printer.warning(warning);
    }
}

fn table(output: &RunPruneOutput, printer: &Printer) -> String {
    let mut table = Table::new([(); 5].map(|()| Column::left(0)));
    for pruned in &output.removed {
        let run = &pruned.run;
        table.row([
            visible(&run.run).into(),
            visible(&run.title).into(),
            run.state.as_str().into(),
            run.changed_at_in_words().into(),
            size_in_words(pruned.bytes).into(),
        ]);
    }
    table.lines(printer.width())
}

impl From<PruneError> for CommandError {
    fn from(error: PruneError) -> Self {
        let told = Self::of(ErrorKind::Failed, &error);
        match error {
            PruneError::Left { .. } => {
                told.hint("everything else was pruned; remove them as their owner, then prune again")
            }
            _ => told.hint_at_room(&error, "try again"),
        }
    }
}

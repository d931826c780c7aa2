//! `checkstone checkpoint save`

use std::path::PathBuf;
use std::process::ExitCode;

use checkpoint::manifest::{Reason, Status, TrustLevel};
use checkpoint::output::{CheckpointOutput, SaveOutput};
use checkpoint::{DEFAULT_KEEP, Depth, SaveRequest, SaveWarning, SizeLimits, save};
use jiff::Timestamp;
use text::{counted, size_in_words};

use super::{CheckpointCommonArguments, StageArguments, reason_words};
use crate::byte_size::byte_size;
use crate::error::{CommandError, Warning};
use crate::printer::{FAINT, GOOD, Printer, STRONG};
use crate::typed_word::word;

/// Save a checkpoint of a stage with its artifacts
///
/// Every artifact must be a regular file inside the project's folder. Its content is copied beside the checkpoints, unless it
/// is already there; files that have not changed since the last checkpoint are not read again. When the command
/// returns, the checkpoint is on disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint save --title churn --run run-001 --stage S01_load_data data/clean.parquet
  checkstone checkpoint save --title churn --run run-001 --stage S02_train_model --full model.pkl metrics.json --json
  checkstone checkpoint save --title churn --run run-001 --stage S03_plot_data --notebook notebooks/churn.ipynb plot.png")]
pub(super) struct SaveArguments {
    /// The files that the stage made
    artifacts: Vec<PathBuf>,
    #[command(flatten)]
    run: StageArguments,
    /// How the stage ended
    #[arg(long, value_parser = word::<Status>(["saved", "interrupted", "emergency"]), default_value = "saved")]
    status: Status,
    /// Why it did not complete; required with every other status
    #[arg(long, value_parser = word::<Reason>(reason_words()), required_if_eq_any = [("status", "interrupted"), ("status", "emergency")])]
    reason: Option<Reason>,
    /// Where the artifacts come from; imported or untrusted ones are loaded only after a person has confirmed it
    #[arg(long, value_parser = word::<TrustLevel>(["local", "imported", "untrusted"]), default_value = "local")]
    trust: TrustLevel,
    /// Read every artifact, even if it has not changed
    #[arg(long)]
    full: bool,
    /// Warn if the artifacts are larger in total
    #[arg(long, value_name = "SIZE", value_parser = byte_size, default_value = "10G")]
    warn_size: u64,
    /// Refuse if the artifacts are larger in total
    #[arg(long, value_name = "SIZE", value_parser = byte_size, default_value = "100G")]
    max_size: u64,
    /// Then keep only this many checkpoints of the run; the newest valid one always stays
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_KEEP)]
    keep: usize,
    #[command(flatten)]
    common: CheckpointCommonArguments,
}

pub(super) fn run(arguments: &SaveArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.common.repository.folder()?;
    let layout = arguments.common.layout(&arguments.run.title, &arguments.run.run)?;
    let mut request = SaveRequest::new(&arguments.run.stage, Timestamp::now());
    request.session.clone_from(&arguments.run.session);
    request.status = arguments.status;
    request.reason = arguments.reason;
    request.trust = arguments.trust;
    request.execution_count = arguments.run.execution_count;
    request.notebook = arguments.run.notebook(&layout, &folder)?;
    request.artifacts = arguments.artifacts.iter().map(|path| folder.join(path)).collect();
    request.depth = if arguments.full { Depth::Full } else { Depth::Quick };
    request.limits = SizeLimits { warn: arguments.warn_size, refuse: arguments.max_size };
    request.keep = arguments.keep;
    let saved = save(&layout, &request)?;
    arguments.run.append_cell(&layout, &saved.sealed.manifest, printer);
    let warnings: Vec<String> = saved.warnings.iter().map(warning).collect();
    for warning in &warnings {
        printer.warning(Warning::new(warning));
    }
    let output = SaveOutput {
        success: true,
        action: "save",
        checkpoint: CheckpointOutput::new(&layout, &saved),
        new_artifacts: saved.new_objects,
        read_artifacts: saved.read,
        pruned_ids: saved.pruned.map(|pruned| pruned.pruned_ids).unwrap_or_default(),
        warnings,
    };
    printer.answer(arguments.common.json, &output, || text(&output))
}

fn warning(warning: &SaveWarning) -> String {
    match warning {
        SaveWarning::Large { total, limit } => {
            format!(
                "the artifacts have {total} bytes in total, more than {limit}: every changed version is stored as well"
            )
        }
        SaveWarning::Copied { bytes } => {
            format!(
                "{} were copied into the store: this file system cannot clone files",
                size_in_words(*bytes)
            )
        }
        SaveWarning::NotPruned { why } => format!("older checkpoints could not be removed: {why}"),
    }
}

fn text(output: &SaveOutput) -> String {
    let CheckpointOutput { checkpoint_id: id, manifest_path, artifact_count, .. } = &output.checkpoint;
    let (artifacts, new) = (counted(*artifact_count, "artifact"), output.new_artifacts);
    let path = transcript::visible(manifest_path);
    format!("{GOOD}✓{GOOD:#} saved {STRONG}{id}{STRONG:#}: {artifacts}, {new} new\n{FAINT}{path}{FAINT:#}\n")
}

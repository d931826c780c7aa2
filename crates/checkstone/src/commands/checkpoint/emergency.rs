//! `checkstone checkpoint emergency`

use std::path::PathBuf;
use std::process::ExitCode;

use checkpoint::manifest::Reason;
use checkpoint::output::{CheckpointOutput, EmergencyOutput};
use checkpoint::{SaveRequest, add_partial, emergency};
use jiff::Timestamp;
use transcript::visible;

use super::{CheckpointCommonArguments, StageArguments, reason_words};
use crate::error::CommandError;
use crate::printer::{FAINT, GOOD, Printer, STRONG};
use crate::typed_word::word;

/// Record at once that a stage was interrupted
///
/// Waits for no lock. The checkpoint keeps the artifacts of the one before it without reading them; files that the
/// interrupted stage left can be added with `--add`, which happens once the checkpoint is on
/// disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint emergency --title churn --run run-001 --stage S02_train_model --reason timeout
  checkstone checkpoint emergency --title churn --run run-001 --stage S02_train_model --reason abort --add output.log")]
pub(super) struct EmergencyArguments {
    #[command(flatten)]
    run: StageArguments,
    /// Why it was interrupted
    #[arg(long, value_parser = word::<Reason>(reason_words()))]
    reason: Reason,
    /// Then add this file of the interrupted stage; may be given several times
    #[arg(long, value_name = "PATH")]
    add: Vec<PathBuf>,
    #[command(flatten)]
    common: CheckpointCommonArguments,
}

pub(super) fn run(arguments: &EmergencyArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.common.repository.folder()?;
    let layout = arguments.common.layout(&arguments.run.title, &arguments.run.run)?;
    let mut request = SaveRequest::emergency(&arguments.run.stage, arguments.reason, Timestamp::now());
    request.session.clone_from(&arguments.run.session);
    request.execution_count = arguments.run.execution_count;
    request.notebook = arguments.run.notebook(&layout, &folder)?;
    let mut saved = emergency(&layout, &request)?;
    let mut code = ExitCode::SUCCESS;
    if !arguments.add.is_empty() {
        let paths: Vec<PathBuf> = arguments.add.iter().map(|path| folder.join(path)).collect();
        match add_partial(&layout, &saved.sealed.manifest.checkpoint_id, &paths) {
            Ok(added) => saved = added,
            Err(error) => {
                let told = CommandError::from(error);
                printer.error(&told.hint("the checkpoint itself is saved, without the added files"));
                code = ExitCode::FAILURE;
            }
        }
    }
    let cell_append_succeeded = arguments.run.append_cell(&layout, &saved.sealed.manifest, printer);
    let output = EmergencyOutput {
        success: true,
        action: "emergency",
        checkpoint: CheckpointOutput::new(&layout, &saved),
        reason: saved.sealed.manifest.reason,
        cell_append_succeeded,
        artifacts_validated: false,
    };
    printer.answer(arguments.common.json, &output, || {
        let (id, path) = (&output.checkpoint.checkpoint_id, visible(&output.checkpoint.manifest_path));
        format!("{GOOD}✓{GOOD:#} saved {STRONG}{id}{STRONG:#}\n{FAINT}{path}{FAINT:#}\n")
    })?;
    Ok(code)
}

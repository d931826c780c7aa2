//! `checkstone checkpoint validate`

use std::fmt::Write as _;
use std::process::ExitCode;

use checkpoint::output::ValidateOutput;
use checkpoint::{Depth, Validation, validate};
use text::counted;
use transcript::visible;

use super::{CheckpointCommonArguments, WhichArguments, folder_error};
use crate::error::CommandError;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};

/// Check a checkpoint: its manifest, and every artifact by size and hash
///
/// Exit code: 0 valid, 1 not valid, 2 and above it could not be checked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint validate ckpt-000012-20261115T091011Z-3fa2c1
  checkstone checkpoint validate ckpt-001 --title churn --run run-001 --json")]
pub(super) struct ValidateArguments {
    /// The checkpoint's id
    id: String,
    #[command(flatten)]
    which: WhichArguments,
    /// Do not read artifacts that have not changed since they were last read
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    common: CheckpointCommonArguments,
}

pub(super) fn run(arguments: &ValidateArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let layout = arguments.which.run_of(&arguments.id, &arguments.common)?;
    let depth = if arguments.quick { Depth::Quick } else { Depth::Full };
    let validated = validate(&layout, &arguments.id, depth).map_err(folder_error)?;
    let output = ValidateOutput::new(layout.run(), &arguments.id, &validated);
    printer.answer(arguments.common.json, &output, || text(&output, &validated))?;
    Ok(if output.valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(output: &ValidateOutput, validated: &Validation) -> String {
    let id = visible(&output.checkpoint_id);
    let mut text = String::new();
    for issue in &validated.issues {
        let detail = issue.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let _ = writeln!(text, "{BAD}✗{BAD:#} {}", visible(&format!("{issue}{detail}")));
    }
    let _ = match (output.valid, output.restorable) {
        (true, _) => {
            let count = validated.manifest.as_ref().map_or(0, |sealed| sealed.manifest.artifacts.len());
            writeln!(text, "{GOOD}✓{GOOD:#} {STRONG}{id}{STRONG:#} is valid: {}", counted(count, "artifact"))
        }
        (false, true) => writeln!(
            text,
            "{DOUBTFUL}→{DOUBTFUL:#} {STRONG}{id}{STRONG:#} is not valid as it is; its artifacts are stored, and are \
             restored when the run is resumed"
        ),
        (false, false) => writeln!(text, "{BAD}✗{BAD:#} {STRONG}{id}{STRONG:#} cannot be used"),
    };
    if let Some(warning) = output.trust_warning {
        let _ = writeln!(text, "{FAINT}{warning}{FAINT:#}");
    }
    text
}

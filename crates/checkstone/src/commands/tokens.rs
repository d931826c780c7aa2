//! `checkstone tokens`: how long a text is, by the count that decides and by the estimate that warns.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use workflow::output::TokensOutput;
use workflow::tokens::{self, ESTIMATE_WARNING, MAX_SUMMARY_TOKENS};

use crate::environment;
use crate::error::CommandError;
use crate::printer::{BAD, DOUBTFUL, GOOD, Printer};

/// A longer text is no summary.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Count the tokens of a text: exit code 1 if it is over the limit
///
/// The limit is in words separated by white space, as every tool of this format counts. It also prints an estimate of a
/// model's tokens, which is right for Japanese, code and long words too, and warns above 1,000, or above
/// CHECKSTONE_SUMMARY_WARNING.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone tokens summary.md
  git log -1 --format=%B | checkstone tokens
  checkstone tokens --limit 200 --json summary.md")]
pub(crate) struct TokensArguments {
    /// The file to count; by default, or with `-`, stdin
    file: Option<PathBuf>,
    /// The most words allowed
    #[arg(long, default_value_t = MAX_SUMMARY_TOKENS, value_name = "WORDS")]
    limit: usize,
    /// The estimate above which to warn
    #[arg(long, value_name = "TOKENS")]
    warn_above: Option<usize>,
    /// Print JSON (schemas/tokens.schema.json)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &TokensArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let text = read(arguments.file.as_deref())?;
    let checked = tokens::validate(&text, arguments.limit);
    let estimate = tokens::estimate(&text);
    let warn_above = arguments.warn_above.unwrap_or_else(warning_limit);
    let output = TokensOutput {
        tokens: checked.token_count,
        limit: checked.limit,
        valid: checked.valid,
        estimate,
        warn_above,
        long: estimate > warn_above,
        o200k: tokens::o200k(&text),
        error: checked.error,
    };
    printer.answer(arguments.json, &output, || shown(&output))?;
    Ok(if output.valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The estimate above which a text is warned about.
pub(crate) fn warning_limit() -> usize {
    let set = environment::read(environment::SUMMARY_WARNING);
    set.and_then(|limit| limit.to_str()?.trim().parse().ok()).unwrap_or(ESTIMATE_WARNING)
}

fn shown(output: &TokensOutput) -> String {
    let (style, word) = if output.valid { (GOOD, "within") } else { (BAD, "over") };
    let mut text =
        format!("{} tokens by words, {style}{word}{style:#} the limit of {}\n", output.tokens, output.limit);
    let long = if output.long {
        format!(", {DOUBTFUL}more than {}{DOUBTFUL:#}", output.warn_above)
    } else {
        String::new()
    };
    text.push_str(&format!("about {} tokens for a model{long}\n", output.estimate));
    if let Some(exact) = output.o200k {
        text.push_str(&format!("{exact} tokens with o200k\n"));
    }
    text
}

/// Text from a file or from stdin; what is no UTF-8 is replaced, since only its length matters.
pub(crate) fn read(file: Option<&Path>) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let taken = match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            fs_err::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        }
        None => std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes),
    };
    taken.map_err(|error| CommandError::from(error).context("cannot read the text"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(CommandError::usage("the text is larger than 64 MB").hint("count part of it"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

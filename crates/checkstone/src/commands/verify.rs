//! `checkstone verify`: is everything in a commit, a range, the index or the working tree proven?

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use stop::{MissingProof, Verification, VerificationError, VerifiedPart, VerifiedPlace};
use text::counted;
use transcript::visible;

use crate::commands::check::no_policy;
use crate::environment;
use crate::error::CommandError;
use crate::journal_access;
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;

/// Check whether everything in a commit, a range, the index or the working tree is proven
///
/// Content is proven by a run that a stop saw, or by `checkstone prove`. Of a range the files that differ between its two ends
/// are looked at. For use as a pre-push or pre-commit hook, and before merging.
///
/// Exit code: 0 all is proven, 1 something is not, 2 error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone verify
  checkstone verify --staged
  checkstone verify HEAD
  checkstone verify origin/main...")]
pub(crate) struct VerifyArguments {
    /// A commit, or a range such as `main..` or `origin/main...`
    #[arg(value_name = "COMMIT|RANGE")]
    revision: Option<String>,
    /// What is staged
    #[arg(long, conflicts_with = "revision")]
    staged: bool,
    /// What is not committed, untracked files too; this is the default
    #[arg(long, conflicts_with_all = ["revision", "staged"])]
    worktree: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/verify.schema.json)
    #[arg(long)]
    json: bool,
}

/// A git that takes longer than this hangs.
const GIT_LIMIT: Duration = Duration::from_secs(30);

/// Of an action with many files the first ones stand for all.
const FILES_SHOWN: usize = 20;

pub(crate) fn run(arguments: &VerifyArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let repository = arguments.repository.find()?;
    let Some(texts) = repository_policy::of(&repository.root) else {
        let nothing = VerifyOutput { proven: true, files: 0, missing: Vec::new() };
        return printer.answer(arguments.json, &nothing, || no_policy(&repository.root));
    };
    let policy = repository_policy::sound(&texts, "nothing can be verified while the policy is broken")?;
    let git = environment::git().within(GIT_LIMIT);
    let state = journal_access::state_directory()?;
    let mut journal = journal_access::open_existing(&state)?;
    let part = match &arguments.revision {
        Some(range) if range.contains("..") => VerifiedPart::Range(range.clone()),
        Some(commit) => VerifiedPart::Commit(commit.clone()),
        None if arguments.staged => VerifiedPart::Staged,
        None => VerifiedPart::Worktree,
    };
    let place = VerifiedPlace { repository: &repository, policy: &policy, git: &git };
    let verified =
        place.verify(journal.as_mut(), &part).map_err(|error| match (&arguments.revision, error) {
            (Some(name), VerificationError::Git(error @ changes::Error::Failed { .. })) => {
                CommandError::usage(format!("cannot look at `{}`: {error}", visible(name)))
                    .hint("name a commit such as `HEAD~1`, or a range such as `main..HEAD`")
            }
            (_, error) => error.into(),
        })?;
    let output = VerifyOutput::of(&verified);
    printer.answer(arguments.json, &output, || output.text())?;
    Ok(ExitCode::from(u8::from(!output.proven)))
}

impl From<VerificationError> for CommandError {
    fn from(error: VerificationError) -> Self {
        match error {
            VerificationError::Git(error) => error.into(),
            VerificationError::Journal(error) => error.into(),
        }
    }
}

/// What `checkstone verify --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Verify"))]
pub(crate) struct VerifyOutput {
    /// Whether nothing is missing.
    proven: bool,
    /// How many files need a proof.
    files: usize,
    /// The files that have none, by action.
    missing: Vec<UnprovenOutput>,
}

/// A file whose content is not proven.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct UnprovenOutput {
    path: String,
    action: String,
    /// What to do.
    say: String,
    /// When a stop first saw this content unproven; null if no stop saw it.
    since: Option<String>,
    /// The agent whose stop that was.
    agent: Option<String>,
    session: Option<String>,
}

impl UnprovenOutput {
    fn of(missing: &MissingProof) -> Self {
        let standing = missing.standing.as_ref();
        let session = standing.and_then(|standing| standing.session.as_ref());
        Self {
            path: missing.path.clone(),
            action: missing.action.clone(),
            say: missing.say.clone(),
            since: standing.map(|standing| standing.since.to_string()),
            agent: session.map(|session| session.agent.clone()),
            session: session.map(|session| session.client_id.clone()),
        }
    }
}

impl VerifyOutput {
    fn of(verified: &Verification) -> Self {
        let missing: Vec<UnprovenOutput> = verified.missing.iter().map(UnprovenOutput::of).collect();
        Self { proven: missing.is_empty(), files: verified.needed, missing }
    }

    fn text(&self) -> String {
        if self.proven {
            return match self.files {
                0 => format!("{GOOD}proven{GOOD:#}  nothing here needs a proof\n"),
                files => format!("{GOOD}proven{GOOD:#}  {}\n", counted(files, "file")),
            };
        }
        let mut by_action: BTreeMap<(&str, &str), Vec<&UnprovenOutput>> = BTreeMap::new();
        for missing in &self.missing {
            by_action.entry((&missing.action, &missing.say)).or_default().push(missing);
        }
        let mut text = format!(
            "{BAD}unproven{BAD:#}  {} of {}\n",
            counted(by_action.values().map(Vec::len).max().unwrap_or(0), "file"),
            self.files
        );
        for ((action, say), files) in by_action {
            text.push_str(&format!("\n{STRONG}{}{STRONG:#}: {}\n", visible(action), visible(say)));
            for file in files.iter().take(FILES_SHOWN) {
                let since = match (&file.since, &file.agent) {
                    (Some(since), Some(agent)) => format!("  {FAINT}since {since}, {agent}{FAINT:#}"),
                    (Some(since), None) => format!("  {FAINT}since {since}{FAINT:#}"),
                    (None, _) => String::new(),
                };
                text.push_str(&format!("  {}{since}\n", visible(&file.path)));
            }
            if files.len() > FILES_SHOWN {
                text.push_str(&format!("  … {} more\n", files.len() - FILES_SHOWN));
            }
        }
        text.push_str("\n`checkstone prove -- COMMAND` runs a command and records what it proves.\n");
        text
    }
}

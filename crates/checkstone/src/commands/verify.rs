//! `checkstone verify`: is everything in a commit, a range, the index or the working tree proven?

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use stop::{MissingProof, Verification, VerificationError, VerifiedPart, VerifiedPlace};
use text::counted;
use transcript::visible;

use crate::commands::check::no_policy;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::git_hook::GitHookName;
use crate::journal_access;
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;

/// Check whether everything in a commit, a range, the index or the working tree is proven
///
/// Content is proven by a run that a stop saw, or by `checkstone prove`. For a range, the files that differ between its two
/// ends are checked. `checkstone init --git-hook` runs it before every push.
///
/// Exit code: 0 all is proven, 1 something is not, 2 error. With `--hook` an error is reported, and git continues (0).
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
    /// Check what is staged
    #[arg(long, conflicts_with = "revision")]
    staged: bool,
    /// Check what is not committed, including untracked files; this is the default
    #[arg(long, conflicts_with_all = ["revision", "staged"])]
    worktree: bool,
    /// Run as git's hook of this name: check what is pushed (git lists it on standard input) or committed
    #[arg(long, value_name = "HOOK", conflicts_with_all = ["revision", "staged", "worktree"])]
    hook: Option<GitHookName>,
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
    let Some(hook) = arguments.hook else { return verify(arguments, &[arguments.part()], printer) };
    let verified = hook_parts(hook).and_then(|parts| verify(arguments, &parts, printer));
    // Whatever is wrong with us, the person can push.
    let code = verified.unwrap_or_else(|error| {
        printer.warning(Warning::from(error.context("nothing was verified")));
        ExitCode::SUCCESS
    });
    if let Err(error) = printer.written() {
        printer.warning(Warning::from(error));
    }
    Ok(code)
}

fn verify(
    arguments: &VerifyArguments,
    parts: &[VerifiedPart],
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let repository = arguments.repository.find()?;
    let Some(texts) = repository_policy::of(&repository.root) else {
        let nothing = VerifyOutput { proven: true, files: 0, missing: Vec::new() };
        let text = || if arguments.hook.is_none() { no_policy(&repository.root) } else { String::new() };
        return printer.answer(arguments.json, &nothing, text);
    };
    let policy = repository_policy::sound(&texts, "nothing can be verified until you fix this")?;
    let git = environment::git().within(GIT_LIMIT);
    let state = journal_access::state_directory()?;
    let mut journal = journal_access::open_existing(&state)?;
    let place = VerifiedPlace { repository: &repository, policy: &policy, git: &git };
    let mut all = Verification { needed: 0, missing: Vec::new(), proofs: Vec::new(), ignored: Vec::new() };
    for part in parts {
        let verified =
            place.verify(journal.as_mut(), part).map_err(|error| match (&arguments.revision, error) {
                (Some(name), VerificationError::Git(error @ changes::Error::Failed { .. })) => {
                    let name = visible(name);
                    let message = match name.contains("..") {
                        true => format!("cannot look at `{name}`: {error}"),
                        false => format!("there is no commit `{name}` here"),
                    };
                    CommandError::usage(message)
                        .hint("name a commit such as `HEAD~1`, or a range such as `main..HEAD`")
                }
                (_, error) => error.into(),
            })?;
        all.needed += verified.needed;
        all.missing.extend(verified.missing);
    }
    let output = VerifyOutput::of(&all);
    printer.answer(arguments.json, &output, || output.text(arguments.hook))?;
    Ok(ExitCode::from(u8::from(!output.proven)))
}

impl VerifyArguments {
    fn part(&self) -> VerifiedPart {
        match &self.revision {
            Some(range) if range.contains("..") => VerifiedPart::Range(range.clone()),
            Some(commit) => VerifiedPart::Commit(commit.clone()),
            None if self.staged => VerifiedPart::Staged,
            None => VerifiedPart::Worktree,
        }
    }
}

/// What a hook of git's is about.
fn hook_parts(hook: GitHookName) -> Result<Vec<VerifiedPart>, CommandError> {
    match hook {
        GitHookName::PreCommit => {
            let index = environment::read(environment::GIT_INDEX).map(PathBuf::from);
            Ok(vec![index.map_or(VerifiedPart::Staged, VerifiedPart::StagedIn)])
        }
        GitHookName::PrePush => pushed(&std::io::read_to_string(std::io::stdin())?),
    }
}

/// Each line of git's names what is pushed and what the remote has there now. A ref that is deleted pushes nothing, and what
/// one line pushes the next ones need not.
fn pushed(input: &str) -> Result<Vec<VerifiedPart>, CommandError> {
    let mut parts = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for line in input.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, local, _, remote] = words.as_slice() else {
            return Err(CommandError::usage(format!(
                "`{}` is not a line of git's pre-push hook",
                visible(line)
            )));
        };
        let is_there = |id: &&str| id.bytes().any(|byte| byte != b'0');
        known.extend(Some(*remote).filter(is_there).map(str::to_owned));
        if is_there(local) {
            parts.push(VerifiedPart::Unpublished { commit: (*local).to_owned(), known: known.clone() });
            known.push((*local).to_owned());
        }
    }
    Ok(parts)
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
    pub(crate) path: String,
    pub(crate) action: String,
    /// What to do.
    pub(crate) say: String,
    /// When a stop first saw this content unproven; null if no stop saw it.
    since: Option<String>,
    /// The agent whose stop that was.
    agent: Option<String>,
    session: Option<String>,
    #[serde(skip)]
    shown_since: Option<String>,
}

impl UnprovenOutput {
    pub(crate) fn of(missing: &MissingProof) -> Self {
        let standing = missing.standing.as_ref();
        let session = standing.and_then(|standing| standing.session.as_ref());
        Self {
            path: missing.path.clone(),
            action: missing.action.clone(),
            say: missing.say.clone(),
            since: standing.map(|standing| standing.since.to_string()),
            shown_since: standing.map(|standing| format!("{:.0}", standing.since)),
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

    fn text(&self, hook: Option<GitHookName>) -> String {
        if self.proven {
            return match self.files {
                // Hooks that have nothing to say are silent.
                _ if hook.is_some() => String::new(),
                0 => format!("{GOOD}proven{GOOD:#}  nothing here needs proof\n"),
                files => format!("{GOOD}proven{GOOD:#}  {}\n", counted(files, "file")),
            };
        }
        let mut text =
            format!("{BAD}unproven{BAD:#}  {} of {}\n", counted(files(&self.missing), "file"), self.files);
        text.push_str(&listed(&self.missing));
        let command = proving_command(&self.missing);
        text.push_str(&match command {
            Some(command) => format!("\n`{command}` runs it and records what it proves.\n"),
            None => "\n`checkstone prove -- COMMAND` runs a command and records what it proves.\n".to_owned(),
        });
        if let Some(hook) = hook {
            let deed = hook.deed();
            text.push_str(&format!("To {deed} anyway: `git {deed} --no-verify`\n"));
        }
        text
    }
}

/// How many files these are.
pub(crate) fn files(missing: &[UnprovenOutput]) -> usize {
    missing.iter().map(|missing| missing.path.as_str()).collect::<BTreeSet<_>>().len()
}

/// The command that proves all of it, if there is only one and it needs no shell.
pub(crate) fn proving_command(missing: &[UnprovenOutput]) -> Option<String> {
    let says: BTreeSet<&str> = missing.iter().map(|missing| missing.say.as_str()).collect();
    let say = says.first().filter(|_| says.len() == 1)?;
    let command = say.strip_prefix("Run `")?.strip_suffix('`')?;
    let is_plain = |character: char| character.is_alphanumeric() || " ._/:=@+-".contains(character);
    command.chars().all(is_plain).then(|| format!("checkstone prove -- {command}"))
}

/// What is missing, by action.
pub(crate) fn listed(missing: &[UnprovenOutput]) -> String {
    let mut by_action: BTreeMap<(&str, &str), Vec<&UnprovenOutput>> = BTreeMap::new();
    for missing in missing {
        by_action.entry((&missing.action, &missing.say)).or_default().push(missing);
    }
    let mut text = String::new();
    for ((action, say), files) in by_action {
        text.push_str(&format!("\n{STRONG}{}{STRONG:#}: {}\n", visible(action), visible(say)));
        for file in files.iter().take(FILES_SHOWN) {
            let since = match (&file.shown_since, &file.agent) {
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
    text
}

//! `checkstone prove`: runs a command and records what it proves.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::time::Duration;

use jiff::Timestamp;
use stop::{MissingProof, ProvingRun, VerifiedPart, VerifiedPlace};
use text::counted;

use crate::environment;
use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;
use crate::watched_command;

/// Run a command, and record the current content as proven if it succeeds and counts as evidence
///
/// What counts is decided as for an agent: by the policy, the programs it knows and the repository's own tasks. All files of
/// the working tree that the run covers are proven, for every agent, session and worktree. A run in which no tests ran, or whose
/// own summary shows failures, proves nothing. Changed files that stay unproven are named. What the command prints and its exit code are passed on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone prove -- cargo test
  checkstone prove -- make check && checkstone verify HEAD")]
pub(crate) struct ProveArguments {
    #[command(flatten)]
    repository: RepositoryArgument,
    /// The command, which is run without a shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A git that takes longer than this hangs.
const GIT_LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn run(arguments: &ProveArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.repository.folder()?;
    let repository = arguments.repository.find()?;
    let Some(texts) = repository_policy::of(&repository.root) else {
        return Err(CommandError::not_found(format!("`{}` has no policy", repository.root.display()))
            .hint("`checkstone init` writes one"));
    };
    let policy = repository_policy::sound(&texts, "nothing can be proven while the policy is broken")?;
    let command = text::command_line(&arguments.command);
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(CommandError::usage("no command was given"));
    };
    let began = Timestamp::now();
    let end = watched_command::run(Command::new(program).args(rest).current_dir(&folder))
        .map_err(|error| CommandError::not_found(format!("cannot start `{program}`: {error}")))?;
    let ended = Timestamp::now();
    let code = end.exit_code();
    printer.keep(end.passed_on);
    if !end.status.success() {
        printer.warning(Warning::new("nothing is proven: the command did not succeed"));
        return Ok(ExitCode::from(code));
    }
    let mut journal = journal_access::open_or_create(&journal_access::state_directory()?)?;
    let git = environment::git().within(GIT_LIMIT);
    let place = VerifiedPlace { repository: &repository, policy: &policy, git: &git };
    let proven = place.prove(
        &mut journal,
        &ProvingRun { command: &command, cwd: &folder, began, ended, shown: end.shown },
    )?;
    if proven.files.is_empty() {
        let why = proven.objection.map(|why| format!(": {why}")).unwrap_or_default();
        printer.warning(
            Warning::new(format!("nothing is proven: `{command}` does not count as evidence{why}"))
                .hint("`checkstone policy show` names what does"),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let actions: Vec<String> = proven
        .files
        .iter()
        .map(|(action, files)| format!("{} for `{action}`", counted(*files, "file")))
        .collect();
    printer.progress(&format!("proven: {}", actions.join(", ")));
    // The run did what it could; a failure to look further takes nothing of that back.
    if let Ok(left) = place.verify(Some(&mut journal), &VerifiedPart::Worktree)
        && !left.missing.is_empty()
    {
        printer.progress(&format!("still unproven: {}", still_unproven(&left.missing)));
    }
    Ok(ExitCode::SUCCESS)
}

/// As what is proven: by action, with the first of its files.
fn still_unproven(missing: &[MissingProof]) -> String {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for MissingProof { path, action, .. } in missing {
        files.entry(action).or_default().push(path);
    }
    let of_action = |(action, files): (&str, Vec<&str>)| format!("{} for `{action}`", text::listed(files));
    files.into_iter().map(of_action).collect::<Vec<_>>().join(", ")
}

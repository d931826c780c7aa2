//! `checkstone prove`: runs a command and records what it proves.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use stop::{ProvingRun, VerifiedPart, VerifiedPlace};
use text::counted;

use crate::commands::verify::UnprovenOutput;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;
use crate::watched_command::{self, PassedTo};

/// Run a command, and record the current content as proven if it succeeds and counts as evidence
///
/// What counts is decided as for an agent: by the policy, the programs it knows and the repository's own tasks. All files of
/// the working tree that the run covers are proven, for every agent, session and worktree. A run in which no tests ran, or whose
/// own summary shows failures, proves nothing. Changed files that stay unproven are named. What the command prints and its exit code
/// are passed on; with `--json`, all that it prints goes to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone prove -- cargo test
  checkstone prove -- make check && checkstone verify HEAD
  checkstone prove --json -- cargo test | jq '.missing[].path'")]
pub(crate) struct ProveArguments {
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/prove.schema.json)
    #[arg(long)]
    json: bool,
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
    let policy = repository_policy::sound(&texts, "nothing can be proven until you fix this")?;
    let command = text::command_line(&arguments.command);
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(CommandError::usage("no command was given"));
    };
    // A long run should not end in an error that could be seen before.
    let mut journal = journal_access::open_or_create(&journal_access::state_directory()?)?;
    let git = environment::git().within(GIT_LIMIT);
    git.command()?;
    let passed_to = if arguments.json { PassedTo::Stderr } else { PassedTo::SameStreams };
    let began = Timestamp::now();
    let end = watched_command::run(Command::new(program).args(rest).current_dir(&folder), passed_to)
        .map_err(|error| CommandError::not_found(format!("cannot start `{program}`: {error}")))?;
    let ended = Timestamp::now();
    let code = end.exit_code();
    printer.keep(end.passed_on);
    let place = VerifiedPlace { repository: &repository, policy: &policy, git: &git };
    let mut output = ProveOutput { command: &command, exit_code: code, ..ProveOutput::default() };
    if end.status.success() {
        let printed = Some(end.printed).filter(|printed| !printed.is_empty());
        let run = ProvingRun { command: &command, cwd: &folder, began, ended, shown: end.shown, printed };
        let proven = place.prove(&mut journal, &run)?;
        if proven.files.is_empty() {
            let why = proven.objection.map(|why| format!(": {why}")).unwrap_or_default();
            output.objection = Some(format!("`{command}` does not count as evidence{why}"));
        }
        output.proven = proven.files;
    } else {
        output.objection = Some("the command did not succeed".to_owned());
    }
    // The run did what it could; a failure to look further takes nothing of that back.
    if (arguments.json || output.objection.is_none())
        && let Ok(left) = place.verify(Some(&mut journal), &VerifiedPart::Worktree)
    {
        output.missing = left.missing.iter().map(UnprovenOutput::of).collect();
    }
    match arguments.json {
        true => printer.json(&output)?,
        false => output.report(printer),
    }
    Ok(ExitCode::from(code))
}

/// What `checkstone prove --json` prints.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Prove"))]
pub(crate) struct ProveOutput<'a> {
    /// The command, on one line.
    command: &'a str,
    /// Its exit code; 128 and the number of the signal if a signal ended it.
    exit_code: u8,
    /// How many files of the working tree it proved, by action.
    proven: BTreeMap<String, usize>,
    /// Why it proved nothing; null if it proved something.
    objection: Option<String>,
    /// The changed files of the working tree that are still unproven.
    missing: Vec<UnprovenOutput>,
}

impl ProveOutput<'_> {
    /// The same for a person, who has seen what the command printed.
    fn report(&self, printer: &Printer) {
        if let Some(objection) = &self.objection {
            let warning = Warning::new(format!("nothing is proven: {objection}"));
            printer.warning(match self.exit_code {
                0 => warning.hint("`checkstone policy show` names what does"),
                _ => warning,
            });
            return;
        }
        let of_action =
            |(action, files): (&String, &usize)| format!("{} for `{action}`", counted(*files, "file"));
        let proven: Vec<String> = self.proven.iter().map(of_action).collect();
        printer.progress(&format!("proven: {}", proven.join(", ")));
        if !self.missing.is_empty() {
            printer.progress(&format!("still unproven: {}", still_unproven(&self.missing)));
        }
    }
}

/// By action, with the first of its files.
fn still_unproven(missing: &[UnprovenOutput]) -> String {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for UnprovenOutput { path, action, .. } in missing {
        files.entry(action).or_default().push(path);
    }
    let of_action = |(action, files): (&str, Vec<&str>)| format!("{} for `{action}`", text::listed(files));
    files.into_iter().map(of_action).collect::<Vec<_>>().join(", ")
}

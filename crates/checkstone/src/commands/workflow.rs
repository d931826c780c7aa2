//! `checkstone workflow`: phases of longer work, kept in `.claude/state` so that the next session can go on. One file
//! per subcommand.

mod archive;
mod branch;
mod complete;
mod diff;
mod gate;
mod list;
mod outside;
mod phase;
mod picture;
mod resume_point;
mod show;
mod start;

use std::process::ExitCode;

use clap::Subcommand;
use files::{FileError, LockError};
use serde_json::{Map, Value};
use transcript::visible;
use workflow::output::{KnownIssue, WorkflowOutput};
use workflow::{
    Name, NameError, ResumePoint, StateDirectory, USUAL_PHASES, Warning, Workflow, WorkflowError,
    usual_phases,
};

use crate::commands::tokens::warning_limit;
use crate::environment;
use crate::error::{self, CommandError, ErrorKind};
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;

/// Track longer work in phases, and resume it in another session
///
/// A workflow is a command (start, design, reconcile, research, implement, ship or review) and, if there is one, the
/// feature that it works on. The result of each phase is kept in `.claude/state`, which git ignores.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow start implement --feature parser
  checkstone workflow phase implement implementation --feature parser --status complete --summary 'Parses dates'
  checkstone workflow resume-point implement --feature parser
  checkstone workflow gate ship --feature parser && git push")]
pub(crate) struct WorkflowArguments {
    #[command(subcommand)]
    command: WorkflowCommand,
}

#[derive(Debug, Subcommand)]
enum WorkflowCommand {
    Start(start::StartArguments),
    Phase(Box<phase::PhaseArguments>),
    Show(show::ShowArguments),
    List(list::WorkflowListArguments),
    ResumePoint(resume_point::ResumePointArguments),
    Complete(complete::CompleteArguments),
    Gate(gate::GateArguments),
    Diff(diff::WorkflowDiffArguments),
    Archive(archive::ArchiveArguments),
    Branch(branch::BranchArguments),
}

pub(crate) fn run(arguments: &WorkflowArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    match &arguments.command {
        WorkflowCommand::Start(arguments) => start::run(arguments, printer),
        WorkflowCommand::Phase(arguments) => phase::run(arguments, printer),
        WorkflowCommand::Show(arguments) => show::run(arguments, printer),
        WorkflowCommand::List(arguments) => list::run(arguments, printer),
        WorkflowCommand::ResumePoint(arguments) => resume_point::run(arguments, printer),
        WorkflowCommand::Complete(arguments) => complete::run(arguments, printer),
        WorkflowCommand::Gate(arguments) => gate::run(arguments, printer),
        WorkflowCommand::Diff(arguments) => diff::run(arguments, printer),
        WorkflowCommand::Archive(arguments) => archive::run(arguments, printer),
        WorkflowCommand::Branch(arguments) => branch::run(arguments, printer),
    }
}

/// Which workflow.
#[derive(Debug, clap::Args)]
struct NameArguments {
    /// start, design, reconcile, research, implement, ship, review, or one of your own
    command: String,
    /// The feature that it works on
    #[arg(long, value_name = "FEATURE")]
    feature: Option<String>,
}

impl NameArguments {
    fn name(&self) -> Result<Name, CommandError> {
        Ok(Name::new(&self.command, self.feature.as_deref())?)
    }

    /// A file of a command that we do not know is a workflow too; a mistyped word is none.
    fn must_be_known(&self, name: &Name, state: &StateDirectory) -> Result<(), CommandError> {
        let is_known = usual_phases(name.command()).is_some() || state.load(name)?.workflow.is_some();
        if is_known { Ok(()) } else { Err(self.unknown_command()) }
    }

    /// A word that was mistyped must not become a workflow of its own.
    fn unknown_command(&self) -> CommandError {
        let known: Vec<&str> = USUAL_PHASES.iter().map(|(command, _)| *command).collect();
        CommandError::not_found(format!(
            "there is no workflow `{}`; the usual ones are {}",
            visible(&self.command),
            known.join(", ")
        ))
        .hint("start one of your own with `checkstone workflow start NAME --phases FIRST,SECOND`")
    }
}

/// One that is here, or one in the archive.
#[derive(Debug, clap::Args)]
struct KeptWorkflow {
    /// The command of the workflow
    #[arg(required_unless_present = "archived")]
    command: Option<String>,
    /// The feature that it works on
    #[arg(long, value_name = "FEATURE")]
    feature: Option<String>,
    /// One in the archive, by the id that `list --archived` shows
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "feature"])]
    archived: Option<String>,
}

impl KeptWorkflow {
    fn name(&self) -> Result<Name, CommandError> {
        Ok(Name::new(self.command.as_deref().unwrap_or_default(), self.feature.as_deref())?)
    }
}

/// Where, and how it is answered.
#[derive(Debug, clap::Args)]
struct WorkflowCommonArguments {
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/workflow*.schema.json)
    #[arg(long)]
    json: bool,
}

impl WorkflowCommonArguments {
    fn state(&self) -> Result<StateDirectory, CommandError> {
        Ok(StateDirectory::of(&self.repository.folder()?, &environment::git()))
    }
}

impl From<NameError> for CommandError {
    fn from(error: NameError) -> Self {
        Self::of(ErrorKind::Usage, &error)
    }
}

impl From<WorkflowError> for CommandError {
    fn from(error: WorkflowError) -> Self {
        use ErrorKind::{Failed, NotFound, Refused, Usage};
        use FileError::{NotAFile, SymbolicLink, TooLarge};
        use WorkflowError as E;
        let (kind, hint) = match &error {
            E::NotFound { .. } => {
                (NotFound, "`checkstone workflow list` lists them; `checkstone workflow start` starts one")
            }
            E::Unfinished { .. } => (
                Refused,
                "finish it with `checkstone workflow complete`, or replace it with `checkstone workflow start --fresh`",
            ),
            E::Lock(LockError::Busy { .. }) => (Refused, "another checkstone is writing there; try again"),
            E::Outside { .. } | E::Changed { .. } => (Refused, ""),
            E::SummaryTooLong { .. } => {
                (Usage, "shorten it to what the next phase must know; `checkstone tokens` counts")
            }
            E::UnsupportedVersion { .. } => {
                (Usage, "the file is left as it is; open it with the tool that wrote it, or move it away")
            }
            E::WrongShape { .. } | E::File(NotAFile { .. } | SymbolicLink { .. } | TooLarge { .. }) => {
                (Usage, "the file is left as it is; fix it, or move it away")
            }
            E::Name(_) | E::NotAWorkflow { .. } | E::PhaseName { .. } => (Usage, ""),
            E::File(FileError::Failed { doing: "read", .. }) => (Failed, ""),
            E::File(_) | E::Lock(_) => (Failed, "make the folder `.claude/state` writable"),
            _ => (Failed, ""),
        };
        Self::of(kind, &error).hint(hint)
    }
}

fn warn(warnings: &[Warning], printer: &Printer) {
    for warning in warnings {
        printer.warning(error::Warning::new(warning));
    }
}

/// Summaries that are within the limit and long nevertheless.
fn warn_of_length(workflow: &Workflow, phase: &str, printer: &Printer) {
    let long = workflow.long_summaries(warning_limit());
    if let Some((_, estimate)) = long.iter().find(|(name, _)| name == phase) {
        printer.warning(
            error::Warning::new(format!(
                "the summary of `{}` is about {estimate} tokens for a model, though few words",
                visible(phase)
            ))
            .hint("the next session reads it whole; shorten it"),
        );
    }
}

fn output(
    name: &Name,
    path: Option<&std::path::Path>,
    workflow: &Workflow,
    warnings: &[Warning],
) -> WorkflowOutput {
    WorkflowOutput {
        name: name.clone(),
        path: path.map(|path| path.to_string_lossy().into_owned()),
        resumed: false,
        archived: None,
        resume_point: ResumePoint::of(workflow.file()),
        issue: KnownIssue::of(workflow.issue_record()),
        warnings: warnings.iter().map(ToString::to_string).collect(),
        workflow: workflow.readable_document(),
    }
}

/// The command line that does something with a workflow.
fn typed(subcommand: &str, name: &Name) -> String {
    format!("checkstone workflow {subcommand} {}{}", name.command(), typed_feature(name))
}

/// The command line that is about a phase, up to what is said about it.
pub(crate) fn typed_phase(name: &Name, phase: &str) -> String {
    let (command, phase) = (name.command(), text::shell_word(phase));
    format!("checkstone workflow phase {command} {phase}{}", typed_feature(name))
}

fn typed_feature(name: &Name) -> String {
    name.feature().map(|feature| format!(" --feature {}", text::shell_word(feature))).unwrap_or_default()
}

/// One sentence about where it goes on.
fn next_sentence(point: &ResumePoint, is_complete: bool) -> String {
    let Some((phase, status)) = point.phase.as_deref().zip(point.status) else {
        let text = if is_complete { "complete" } else { "every phase is done" };
        return text.to_owned();
    };
    let phase = visible(phase);
    match (status, &point.error) {
        (workflow::Status::Pending, _) => format!("next phase: {phase}"),
        (workflow::Status::Failed, Some(error)) => format!("{phase} failed: {}", visible(error)),
        (workflow::Status::Failed, None) => format!("{phase} failed"),
        (status, _) => format!("{phase} is {status}"),
    }
}

/// The object that a caller gave for further keys of a phase.
fn object(text: &str) -> Result<Map<String, Value>, CommandError> {
    let wrong = |error| CommandError::usage(format!("expected a JSON object: {error}"));
    serde_json::from_str(text).map_err(wrong)
}

/// Why a workflow that was asked for is not there.
fn not_found(state: &StateDirectory, name: &Name, warnings: &[Warning]) -> CommandError {
    if let Some(damage) = warnings.iter().find(|warning| warning.is_damage()) {
        return CommandError::usage(damage).hint(
            "no earlier version is kept; fix it, or move it away, or let the next `workflow phase` do that",
        );
    }
    WorkflowError::NotFound { name: name.to_string(), directory: state.folder() }.into()
}

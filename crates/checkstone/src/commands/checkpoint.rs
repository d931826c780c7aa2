//! `checkstone checkpoint`: what the stages of a run came to, kept so that the run can go on from there. One file per
//! subcommand.

use files::FileError;

mod emergency;
mod list;
mod prune;
mod resume;
mod save;
mod validate;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use checkpoint::layout::Layout;
use checkpoint::manifest::{Manifest, NotebookReference};
use checkpoint::output::ListOutput;
use checkpoint::{PathError, SaveError, StoreError, relative_to_root};
use clap::Subcommand;
use clap::builder::PossibleValue;
use transcript::visible;

use crate::error::{CommandError, ErrorKind, Warning};
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::run_storage;

/// Save the results of a stage of a run, and find them again
///
/// A checkpoint is a manifest in `reports/TITLE/checkpoints/RUN/ID/checkpoint.json` with the sizes and hashes of the
/// artifacts. The artifacts themselves are stored beside it, each content once, so that they can be restored if they are
/// overwritten. `checkstone run` saves checkpoints itself; these commands are for inspecting them, and for runs that another
/// program drives.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone checkpoint save --title churn --run run-001 --stage S01_load_data reports/churn/run-001/S01_load_data/*
  checkstone checkpoint list --title churn
  checkstone checkpoint resume --title churn --json")]
pub(crate) struct CheckpointArguments {
    #[command(subcommand)]
    command: CheckpointCommand,
}

#[derive(Debug, Subcommand)]
enum CheckpointCommand {
    Save(Box<save::SaveArguments>),
    List(list::CheckpointListArguments),
    Validate(validate::ValidateArguments),
    Resume(resume::CheckpointResumeArguments),
    Prune(prune::CheckpointPruneArguments),
    Emergency(Box<emergency::EmergencyArguments>),
}

pub(crate) fn run(arguments: &CheckpointArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    match &arguments.command {
        CheckpointCommand::Save(arguments) => save::run(arguments, printer),
        CheckpointCommand::List(arguments) => list::run(arguments, printer),
        CheckpointCommand::Validate(arguments) => validate::run(arguments, printer),
        CheckpointCommand::Resume(arguments) => resume::run(arguments, printer),
        CheckpointCommand::Prune(arguments) => prune::run(arguments, printer),
        CheckpointCommand::Emergency(arguments) => emergency::run(arguments, printer),
    }
}

/// The run that is written to.
#[derive(Debug, clap::Args)]
struct StageArguments {
    /// The report that the run belongs to
    #[arg(long, value_name = "TITLE")]
    title: String,
    /// The run
    #[arg(long, value_name = "RUN")]
    run: String,
    /// The stage, such as `S01_load_data`
    #[arg(long, value_name = "STAGE")]
    stage: String,
    /// The research session that the run belongs to
    #[arg(long, value_name = "SESSION", default_value = "unknown")]
    session: String,
    /// How many cells were executed
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    execution_count: u64,
    /// The notebook that the stage ran in; a cell for the checkpoint is added to it
    #[arg(long, value_name = "PATH")]
    notebook: Option<PathBuf>,
    /// The notebook's existing cell for the checkpoint; none is added
    #[arg(long, value_name = "ID", requires = "notebook")]
    cell: Option<String>,
}

impl StageArguments {
    /// What the manifest says of the notebook. A cell that is to be added has its id already.
    fn notebook(&self, layout: &Layout, folder: &Path) -> Result<NotebookReference, CommandError> {
        let Some(path) = &self.notebook else { return Ok(NotebookReference::default()) };
        let new = || format!("checkpoint-{}", text::head(&files::random_id(), 12));
        Ok(NotebookReference {
            path: relative_to_root(layout.root(), &folder.join(path)).map_err(SaveError::Artifact)?,
            checkpoint_cell_id: self.cell.clone().unwrap_or_else(new),
            ..NotebookReference::default()
        })
    }

    /// Adds the checkpoint's cell to its notebook, where that is wanted. The checkpoint is saved, so that a notebook which
    /// cannot be written is only reported.
    fn append_cell(&self, layout: &Layout, manifest: &Manifest, printer: &Printer) -> bool {
        if self.notebook.is_none() || self.cell.is_some() {
            return false;
        }
        let appended = run::append_checkpoint_cell(layout, manifest);
        if let Err(error) = &appended {
            let path = visible(&manifest.notebook.path);
            let why = text::error_chain(error);
            printer.warning(Warning::new(format!("no cell was added to `{path}`: {why}")));
        }
        appended.is_ok()
    }
}

/// Of which checkpoints.
#[derive(Debug, clap::Args)]
struct WhichArguments {
    /// Only checkpoints of this report
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// Only checkpoints of this run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

/// Where, and how it is answered.
#[derive(Debug, clap::Args)]
struct CheckpointCommonArguments {
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/checkpoint-*.schema.json)
    #[arg(long)]
    json: bool,
}

impl CheckpointCommonArguments {
    /// The folder that `reports/` lies in: that of the repository around a folder, or the folder itself where there is none.
    fn root(&self) -> Result<PathBuf, CommandError> {
        let folder = self.repository.folder()?;
        let repository = folder.ancestors().find(|ancestor| ancestor.join(".git").symlink_metadata().is_ok());
        Ok(repository.unwrap_or(&folder).to_owned())
    }

    fn layout(&self, title: &str, run: &str) -> Result<Layout, CommandError> {
        let root = self.root()?;
        run_storage::use_store(&root)?;
        Ok(Layout::new(&root, title, run)?)
    }
}

impl WhichArguments {
    fn list(&self, common: &CheckpointCommonArguments) -> Result<ListOutput, CommandError> {
        checkpoint::list(&common.root()?, self.title.as_deref(), self.run.as_deref()).map_err(folder_error)
    }

    /// The one run that is meant: the named one, or the only one there is.
    fn one_run(&self, common: &CheckpointCommonArguments) -> Result<Layout, CommandError> {
        if let (Some(title), Some(run)) = (&self.title, &self.run) {
            return common.layout(title, run);
        }
        let listing = self.list(common)?;
        let mut runs: Vec<_> = found(&listing).map(|(_, title, run)| (title, run)).collect();
        runs.sort();
        runs.dedup();
        match runs.as_slice() {
            [(title, run)] => common.layout(title, run),
            [] => Err(none_here()),
            several => {
                let names: Vec<String> =
                    several.iter().take(5).map(|(title, run)| visible(&format!("{title} {run}"))).collect();
                Err(CommandError::usage(format!("there are {} runs: {}", several.len(), names.join(", ")))
                    .hint("name one with `--title TITLE --run RUN`"))
            }
        }
    }

    /// The run that has the checkpoint of that id.
    fn run_of(&self, id: &str, common: &CheckpointCommonArguments) -> Result<Layout, CommandError> {
        if let (Some(title), Some(run)) = (&self.title, &self.run) {
            return common.layout(title, run);
        }
        let listing = self.list(common)?;
        let mut found = found(&listing).filter(|(found, ..)| *found == id);
        match (found.next(), found.next()) {
            (Some((_, title, run)), None) => common.layout(title, run),
            (None, _) => {
                Err(CommandError::not_found(format!("there is no checkpoint `{}` here", visible(id)))
                    .hint("`checkstone checkpoint list` shows the ids"))
            }
            (Some(_), Some(_)) => {
                Err(CommandError::usage(format!("several runs have a checkpoint `{}`", visible(id)))
                    .hint("name one run with `--title TITLE --run RUN`"))
            }
        }
    }
}

/// The id, report and run of every checkpoint, those that cannot be read included.
fn found(listing: &ListOutput) -> impl Iterator<Item = (&String, &String, &String)> {
    let sound = listing.checkpoints.iter().map(|one| (&one.checkpoint_id, &one.report_title, &one.run_id));
    let unreadable = listing.unreadable.iter();
    sound.chain(unreadable.map(|one| (&one.checkpoint_id, &one.report_title, &one.run_id)))
}

fn none_here() -> CommandError {
    CommandError::not_found("there are no checkpoints here")
        .hint("change to the project's folder, or name it with `--repo`")
}

/// Why a checkpoint is not an ordinary one, in both spellings that exist.
fn reason_words() -> [PossibleValue; 3] {
    let timeout = PossibleValue::new("timeout").alias("watchdog_timeout");
    [timeout, PossibleValue::new("abort").alias("manual_abort"), PossibleValue::new("error")]
}

fn folder_error(error: FileError) -> CommandError {
    match error {
        FileError::SymbolicLink { .. } => {
            CommandError::from(error).hint("checkpoints are not accessed through links; use a real folder")
        }
        FileError::Failed { ref source, .. } => {
            let hint = room_hint(source);
            CommandError::from(error).hint(hint)
        }
        _ => error.into(),
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Folder(error) => folder_error(error),
            StoreError::Busy { .. } => Self::of(ErrorKind::Refused, &error),
            StoreError::Copy { ref source, .. } | StoreError::Flush { ref source, .. } => {
                Self::of(ErrorKind::Failed, &error).hint(room_hint(source))
            }
            _ => Self::of(ErrorKind::Failed, &error),
        }
    }
}

impl From<SaveError> for CommandError {
    fn from(error: SaveError) -> Self {
        use ErrorKind::{Failed, NotFound, Refused, Usage};
        use SaveError as E;
        let (kind, hint) = match &error {
            E::Artifact(PathError::NotFound { .. }) => (NotFound, ""),
            E::Artifact(PathError::Unreadable { .. }) => (Failed, ""),
            E::Artifact(PathError::SymbolicLink { .. } | PathError::ParentSymbolicLink { .. }) => {
                (Refused, "put the file itself there: the target of a link can change unnoticed")
            }
            E::Artifact(PathError::Outside { .. } | PathError::Traversal { .. }) => {
                (Usage, "artifacts are files inside the project's folder")
            }
            E::Artifact(_) | E::Twice { .. } => (Usage, ""),
            E::Changing { .. } => (Refused, ""),
            E::TooLarge { .. } => (Refused, "leave files out, or raise the limit with `--max-size`"),
            E::Write { source, .. } => return Self::of(Failed, &error).hint(room_hint(source)),
            _ => (Failed, ""),
        };
        match error {
            E::Folder(error) => folder_error(error),
            E::Store(error) => error.into(),
            _ => Self::of(kind, &error).hint(hint),
        }
    }
}

fn room_hint(source: &io::Error) -> String {
    let hint = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some disk space",
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => "make the folder writable",
        _ => "check the disk",
    };
    format!("{hint}, then save again; earlier checkpoints are unchanged")
}

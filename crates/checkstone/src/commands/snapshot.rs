//! `checkstone snapshot`: the whole working tree, kept beside the user's git and brought back.

mod output;
mod place;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use keeping::snapshot::{
    LeftOut, NewSnapshot, PrunableReasons, RestoreCaller, Retention, SessionName, Side, SnapshotError,
    SnapshotReason, WhichWorktrees,
};
use text::counted;

use self::output::{ChangedFile, differences, files, not_compared, restored_text, stays, table, unknown};
pub(crate) use self::output::{SnapshotDiff, SnapshotList, SnapshotOutput, SnapshotRestore, about};
use self::place::{MirrorPlace, SnapshotPlace, journal};
use crate::agent_session::AgentSession;
use crate::confirmation::{self, confirmed};
use crate::environment;
use crate::error::{CommandError, ErrorKind, Warning};
use crate::printer::{GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;

/// So many differences are shown before a question.
const SHOWN: usize = 40;

/// Save the whole working tree, and restore it
///
/// A snapshot holds every file as it is on disk: committed, changed, staged or untracked, in submodules too. Ignored
/// files are left out, and so are files over 50 MB (`largest_file_mb` in `[snapshot]`), which are listed. It is stored
/// in the repository, under private refs, which an ordinary push does not send. Your index, stash, branches and files stay
/// as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone snapshot create --message 'before the big change'
  checkstone snapshot diff latest
  checkstone snapshot restore latest")]
pub(crate) struct SnapshotArguments {
    #[command(subcommand)]
    command: SnapshotCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SnapshotCommand {
    /// Take a snapshot of the working tree
    ///
    /// Exit code: 0 taken, 1 taken but something could not be saved, 2 and above not taken.
    #[command(after_help = "Examples:
  checkstone snapshot create
  checkstone snapshot create --message 'before the big rename'")]
    Create(CreateArguments),
    /// List the snapshots of this working tree, the newest first
    #[command(after_help = "Examples:
  checkstone snapshot list
  checkstone snapshot list --all --json | jq -r '.snapshots[].id'")]
    List(SnapshotListArguments),
    /// Show what has changed since a snapshot
    ///
    /// What either side could not save is listed as `unknown`, with the reason.
    ///
    /// Exit code: 0 everything was compared, 1 something could not be, 2 and above nothing was compared.
    #[command(after_help = "Examples:
  checkstone snapshot diff
  checkstone snapshot diff 20261115-0749 --patch
  checkstone snapshot diff 20261115-0749 latest -- src")]
    Diff(SnapshotDiffArguments),
    /// Restore a snapshot: contents, deletions and modes
    ///
    /// Shows what it will do and asks; without a terminal it needs `--yes`. It takes a snapshot first, so that
    /// `--undo` restores what was there. Files that are in no snapshot are neither removed nor overwritten: those that are
    /// ignored now, those that the snapshot's own `.gitignore` files ignore, and those that cannot be saved; the latter two
    /// are listed. The index and HEAD stay as they are, in submodules too.
    ///
    /// Exit code: 0 done, 1 you said no or something was left alone, 2 and above nothing was done.
    #[command(after_help = "Examples:
  checkstone snapshot restore latest
  checkstone snapshot restore 20261115-074912-3fa2c1 src/parser.rs --yes
  checkstone snapshot restore --undo
  checkstone snapshot restore --from-mirror")]
    Restore(RestoreArguments),
    /// Remove old snapshots
    ///
    /// `git gc` then frees their disk space.
    #[command(after_help = "Examples:
  checkstone snapshot prune
  checkstone snapshot prune --keep 10
  checkstone snapshot prune --older-than 7 --all")]
    Prune(SnapshotPruneArguments),
}

#[derive(Debug, clap::Args)]
struct CreateArguments {
    /// What it is for
    #[arg(long, short, value_name = "TEXT", default_value = "")]
    message: String,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/snapshot-create.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct SnapshotListArguments {
    /// List those of every working tree of the repository
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/snapshot-list.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct SnapshotDiffArguments {
    /// The older side: an id, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    snapshot: String,
    /// The newer side; by default the working tree
    other: Option<String>,
    /// Only these files and folders
    #[arg(last = true)]
    paths: Vec<PathBuf>,
    /// Print the changes themselves
    #[arg(long, short)]
    patch: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/snapshot-diff.schema.json)
    #[arg(long, conflicts_with = "patch")]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct RestoreArguments {
    /// The snapshot: an id, the beginning of one, or `latest`
    #[arg(required_unless_present_any = ["undo", "from_mirror"], conflicts_with = "undo")]
    snapshot: Option<String>,
    /// Only these files and folders
    #[arg(conflicts_with = "undo")]
    paths: Vec<PathBuf>,
    /// Go back to what was there before the last restore
    #[arg(long)]
    undo: bool,
    /// Restore from the mirror (`mirror = true` in `[snapshot]`); a missing `.git` is created again. `latest` by default
    #[arg(long, conflicts_with = "undo")]
    from_mirror: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/snapshot-restore.schema.json); needs `--yes`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct SnapshotPruneArguments {
    /// Keep this many of the newest in each working tree; 100 if neither limit is given
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
    /// Remove those older than this many days; 30 if neither limit is given
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u32>,
    /// Remove those of every working tree of the repository
    #[arg(long)]
    all: bool,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/snapshot-list.schema.json)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &SnapshotArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    match &arguments.command {
        SnapshotCommand::Create(arguments) => create(arguments, printer),
        SnapshotCommand::List(arguments) => list(arguments, printer),
        SnapshotCommand::Diff(arguments) => diff(arguments, printer),
        SnapshotCommand::Restore(arguments) => restore(arguments, printer),
        SnapshotCommand::Prune(arguments) => prune(arguments, printer),
    }
}

fn create(arguments: &CreateArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let place = SnapshotPlace::find(&arguments.repository)?;
    let RestoreCaller { session, turn } = calling(&place.repository.root);
    let new = NewSnapshot {
        reason: SnapshotReason::Asked,
        message: &arguments.message,
        now: Timestamp::now(),
        session,
        turn,
    };
    let snapshot = place.snapshots.create(&new)?;
    printer.answer(arguments.json, &SnapshotOutput::of(&snapshot), || {
        let (id, files, size) = (&snapshot.id, files(&snapshot), text::size_in_words(snapshot.facts.bytes));
        let inside = match snapshot.facts.submodules.len() {
            0 => String::new(),
            count => format!(", and the changes in {}", counted(count, "submodule")),
        };
        format!(
            "{GOOD}✓{GOOD:#} snapshot {STRONG}{id}{STRONG:#}: {files} different from HEAD, {size}{inside}\n"
        )
    })?;
    warn(&snapshot.facts.left_out, printer);
    Ok(ExitCode::from(u8::from(!snapshot.facts.left_out.is_empty())))
}

fn list(arguments: &SnapshotListArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let place = SnapshotPlace::find(&arguments.repository)?;
    let found = place.snapshots.list(which(arguments.all))?;
    printer.answer(arguments.json, &SnapshotList::of(&found), || match found.is_empty() {
        true => "There are no snapshots here; `checkstone snapshot create` takes one.\n".to_owned(),
        false => table(&found, arguments.all, printer.width()),
    })
}

fn diff(arguments: &SnapshotDiffArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let place = SnapshotPlace::find(&arguments.repository)?;
    let paths = place.paths(&arguments.paths)?;
    let find = |id: &str| place.snapshots.find(id).map_err(CommandError::from);
    let old = find(&arguments.snapshot)?;
    let new = arguments.other.as_deref().map(find).transpose()?;
    let scratch = environment::temporary_directory();
    let newer = new.as_ref().map_or(Side::WorkingTree { scratch: &scratch }, Side::Snapshot);
    if arguments.patch {
        let patch = place.snapshots.patch(Side::Snapshot(&old), newer, &paths)?;
        let text = String::from_utf8_lossy(&patch.text);
        // A patch that goes into a file or a program stays as git wrote it.
        if std::io::stdout().is_terminal() {
            printer.text(&format!("{}\n", crate::printer::shown(&text)));
        } else {
            printer.data(&text);
        }
        for left in &patch.left_out {
            printer.warning(Warning::new(not_compared(left)));
        }
        return Ok(ExitCode::from(u8::from(!patch.left_out.is_empty())));
    }
    let found = place.snapshots.compare(Side::Snapshot(&old), newer, &paths)?;
    let output = SnapshotDiff {
        old: &old.id,
        new: new.as_ref().map(|snapshot| snapshot.id.as_str()),
        files: found
            .files
            .iter()
            .map(|file| ChangedFile { path: &file.path, change: file.change() })
            .collect(),
        left_out: &found.left_out,
    };
    printer.answer(arguments.json, &output, || {
        match found.files.is_empty() && found.left_out.is_empty() {
            true => "Nothing differs.\n".to_owned(),
            false => differences(&found.files, usize::MAX) + &unknown(&found.left_out),
        }
    })?;
    Ok(ExitCode::from(u8::from(!found.left_out.is_empty())))
}

fn restore(arguments: &RestoreArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let mirror = arguments.from_mirror.then(|| MirrorPlace::find(&arguments.repository)).transpose()?;
    if !arguments.yes {
        let preview = "pass `--yes`, or preview with `checkstone snapshot diff`";
        confirmation::must_be_possible("nothing restored", arguments.json, preview)?;
    }
    let place = match &mirror {
        Some(mirror) => {
            mirror.place_of(arguments.snapshot.as_deref().unwrap_or("latest"), &arguments.repository)?
        }
        None => SnapshotPlace::find(&arguments.repository)?,
    };
    let (snapshot, paths) = match &arguments.snapshot {
        Some(id) => (place.snapshots.find(id)?, place.paths(&arguments.paths)?),
        None if arguments.from_mirror => (place.snapshots.find("latest")?, Vec::new()),
        None => place.snapshots.undoable()?,
    };
    let is_gone = mirror.as_ref().is_some_and(MirrorPlace::is_repository_gone);
    if !arguments.yes {
        let scratch = environment::temporary_directory();
        let planned = place.snapshots.planned(&snapshot, &paths, &scratch)?;
        printer.text(&differences(&planned.files, SHOWN));
        printer.text(&stays(&planned.left_out, SHOWN));
        if planned.files.is_empty() && !is_gone {
            let is_all = planned.left_out.is_empty();
            let nothing = if is_all { "Nothing differs" } else { "Nothing else differs" };
            printer.text(&format!("{nothing} from {}.\n", snapshot.id));
            return Ok(ExitCode::from(u8::from(!is_all)));
        }
        let anew = if is_gone { "Create the repository again, and restore" } else { "Restore" };
        if !confirmed(&format!("{anew} {}?", snapshot.id))? {
            printer.text("Nothing was changed.\n");
            return Ok(ExitCode::from(1));
        }
    }
    let (mirror, place) = match mirror {
        Some(mirror) => {
            mirror.bring_in(printer)?;
            (Some(mirror.mirror), SnapshotPlace::find(&arguments.repository)?)
        }
        None => (None, place),
    };
    let caller = calling(&place.repository.root);
    let mut restored = place.snapshots.restore(&snapshot, &paths, caller, Timestamp::now())?;
    if let (Some(mirror), true) = (&mirror, paths.is_empty()) {
        let files = mirror.restore_files(&snapshot, &place.repository.root, &environment::git())?;
        restored.written.extend(files);
    }
    let output = SnapshotRestore {
        snapshot: &restored.snapshot.id,
        before: restored.before.as_ref().map(|before| before.id.as_str()),
        written: &restored.written,
        removed: &restored.removed,
        skipped: &restored.skipped,
    };
    printer.answer(arguments.json, &output, || restored_text(&restored))?;
    Ok(ExitCode::from(u8::from(!restored.skipped.is_empty())))
}

fn prune(arguments: &SnapshotPruneArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let place = SnapshotPlace::find(&arguments.repository)?;
    let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    let retention = match (arguments.keep, arguments.older_than) {
        (None, None) => Retention { keep: Some(100), max_age: Some(days(30)), reasons: PrunableReasons::All },
        (keep, age) => Retention { keep, max_age: age.map(days), reasons: PrunableReasons::All },
    };
    let which = which(arguments.all);
    let (gone, told) = match arguments.dry_run {
        true => (place.snapshots.expired(which, retention, Timestamp::now())?, "would be removed"),
        false => {
            let gone = place.snapshots.prune(which, retention, Timestamp::now())?;
            (gone, "removed; `git gc` frees their disk space")
        }
    };
    printer.answer(arguments.json, &SnapshotList::of(&gone), || {
        format!("{} {told}\n", counted(gone.len(), "snapshot"))
    })
}

/// The agent session that calls and its turn. That nothing is known is no reason not to save.
fn calling(root: &Path) -> RestoreCaller {
    let mut journal = journal();
    let Ok(Some(session)) = AgentSession::calling(journal.as_mut(), Some(root)) else {
        return RestoreCaller::default();
    };
    let recorded = session.recorded(journal.as_mut()).ok().flatten();
    let turn = recorded.zip(journal.as_mut()).and_then(|(recorded, journal)| {
        journal.read(|reader| reader.latest_turn(recorded.id)).ok().flatten()?.key
    });
    let session = SessionName { agent: session.agent.name().to_owned(), id: session.id };
    RestoreCaller { session: Some(session), turn }
}

fn which(all: bool) -> WhichWorktrees {
    if all { WhichWorktrees::EveryWorktree } else { WhichWorktrees::ThisWorktree }
}

impl From<SnapshotError> for CommandError {
    fn from(error: SnapshotError) -> Self {
        use ErrorKind::{Failed, NotFound, Usage};
        use SnapshotError as E;
        let (kind, hint) = match &error {
            E::Unknown { .. } => (NotFound, "`checkstone snapshot list` shows the ids"),
            E::NothingToUndo => (NotFound, "`checkstone snapshot restore ID` restores any snapshot"),
            E::NoSuchPath { .. } => (NotFound, ""),
            E::Ambiguous { .. } => (Usage, "`checkstone snapshot list` shows the ids"),
            E::Outside { .. } => (Usage, "name files and folders in the working tree"),
            E::Spool { .. } => (Failed, ""),
            E::NoMirror { .. } => {
                (NotFound, "`mirror = true` in `[snapshot]` keeps one, from the next snapshot on")
            }
            E::Forget { .. } => (Failed, "make the git folder writable"),
            E::Scratch { .. } => (Failed, "free some space there, or set `TMPDIR` to a folder that has some"),
            _ => (Failed, ""),
        };
        match error {
            E::Git(error) => error.into(),
            E::Spool { .. } => Self::of(kind, &error).hint_at_room(&error, "try again"),
            _ => Self::of(kind, &error).hint(hint),
        }
    }
}

fn warn(left_out: &[LeftOut], printer: &Printer) {
    for left in left_out {
        let told = match &left.path {
            Some(path) => format!("`{path}` was not saved as it is: {}", left.reason),
            None => format!("not everything was saved: {}", left.reason),
        };
        printer.warning(Warning::new(told));
    }
}

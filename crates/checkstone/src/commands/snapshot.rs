//! `checkstone snapshot`: the whole working tree, kept beside the user's git and brought back.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use change_set::BytePath;
use changes::Repository;
use gate::policy::SnapshotSettings;
use jiff::Timestamp;
use journal::Journal;
use keeping::Difference;
use keeping::snapshot::{
    LeftOut, Mirror, NewSnapshot, PrunableReasons, RestoreCaller, RestoreReport, Retention, SessionName,
    Side, Skipped, Snapshot, SnapshotError, SnapshotReason, Snapshots, SubmoduleSnapshot, WhichWorktrees,
};
use serde::Serialize;
use stop::{configured_snapshots, mirror_of, trust};
use text::{Cell, Column, Table, counted};
use transcript::visible;

use crate::agent_session::AgentSession;
use crate::confirmation::{self, confirmed};
use crate::environment;
use crate::error::{CommandError, ErrorKind, Warning};
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;

/// A tree with gigabytes of new files takes its time.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Keep the whole working tree, and bring it back
///
/// A snapshot holds every file as it lies on disk: committed, changed, staged or untracked, in submodules too. Ignored
/// files are left out, and so are files over 50 MB (`largest_file_mb` in `[snapshot]`), which are named. It lies in the
/// repository, under refs of its own, which an ordinary push does not take along. Your index, stash, branches and files
/// stay as they are.
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
    #[command(after_help = "Examples:
  checkstone snapshot diff
  checkstone snapshot diff 20261115-0749 --patch
  checkstone snapshot diff 20261115-0749 latest -- src")]
    Diff(SnapshotDiffArguments),
    /// Bring a snapshot back: contents, deletions and modes
    ///
    /// Shows what it will do and asks; where nobody can be asked, it needs `--yes`. It takes a snapshot first, so that
    /// `--undo` brings back what was there. Files that no snapshot has, ignored ones for example, are neither removed
    /// nor overwritten. The index and HEAD stay as they are, in submodules too.
    ///
    /// Exit code: 0 done, 1 you said no or something was left alone, 2 and above nothing was done.
    #[command(after_help = "Examples:
  checkstone snapshot restore latest
  checkstone snapshot restore 20261115-074912-3fa2c1 src/parser.rs --yes
  checkstone snapshot restore --undo
  checkstone snapshot restore --from-mirror")]
    Restore(RestoreArguments),
    /// Forget old snapshots
    ///
    /// `git gc` then frees their room, as it does with all that nobody refers to.
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
    /// Those of every working tree of the repository
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
    /// The newer side; the working tree where it is not given
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
    /// Take it from the mirror (`mirror = true` in `[snapshot]`); a `.git` that is gone is made anew. `latest` by default
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
    /// Keep the newest so many of each working tree; 100 where neither limit is given
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
    /// Forget those older than so many days; 30 where neither limit is given
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u32>,
    /// In every working tree of the repository
    #[arg(long)]
    all: bool,
    /// Show what would be forgotten, and forget nothing
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
        format!("{GOOD}✓{GOOD:#} snapshot {STRONG}{id}{STRONG:#}: {files} not as in HEAD, {size}{inside}\n")
    })?;
    warn(&snapshot.facts.left_out, printer);
    Ok(ExitCode::from(u8::from(!snapshot.facts.left_out.is_empty())))
}

fn list(arguments: &SnapshotListArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let place = SnapshotPlace::find(&arguments.repository)?;
    let found = place.snapshots.list(which(arguments.all))?;
    printer.answer(arguments.json, &SnapshotList::of(&found), || match found.is_empty() {
        true => "There is no snapshot here; `checkstone snapshot create` takes one.\n".to_owned(),
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
        let text = String::from_utf8_lossy(&patch);
        // A patch that goes into a file or a program stays as git wrote it.
        if std::io::stdout().is_terminal() {
            printer.text(&format!("{}\n", crate::printer::shown(&text)));
        } else {
            printer.data(&text);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let found = place.snapshots.diff(Side::Snapshot(&old), newer, &paths)?;
    let output = SnapshotDiff {
        old: &old.id,
        new: new.as_ref().map(|snapshot| snapshot.id.as_str()),
        files: found.iter().map(|file| ChangedFile { path: &file.path, change: file.change() }).collect(),
    };
    printer.answer(arguments.json, &output, || match found.is_empty() {
        true => "Nothing differs.\n".to_owned(),
        false => differences(&found, usize::MAX),
    })
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
        let now = Side::WorkingTree { scratch: &scratch };
        let planned = place.snapshots.diff(now, Side::Snapshot(&snapshot), &paths)?;
        if planned.is_empty() && !is_gone {
            printer.text(&format!("Nothing differs from {}.\n", snapshot.id));
            return Ok(ExitCode::SUCCESS);
        }
        printer.text(&differences(&planned, SHOWN));
        let anew = if is_gone { "Make the repository anew, and restore" } else { "Restore" };
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
        true => (place.snapshots.expired(which, retention, Timestamp::now())?, "would be forgotten"),
        false => {
            let gone = place.snapshots.prune(which, retention, Timestamp::now())?;
            (gone, "forgotten; `git gc` frees their room")
        }
    };
    printer.answer(arguments.json, &SnapshotList::of(&gone), || {
        format!("{} {told}\n", counted(gone.len(), "snapshot"))
    })
}

/// A mirror, and the folder that it is one of.
struct MirrorPlace {
    mirror: Mirror,
    root: PathBuf,
    /// Where the command was called.
    folder: PathBuf,
}

impl MirrorPlace {
    fn find(argument: &RepositoryArgument) -> Result<Self, CommandError> {
        let folder = fs_err::canonicalize(argument.folder()?)?;
        let state = journal_access::state_directory()?;
        let of = |root: &Path| mirror_of(root, &snapshot_settings(root), &state);
        // The nearer one: the repository that is gone may have lain inside of another.
        let mirrored = folder.ancestors().find(|root| of(root).exists());
        let repository = Repository::discover(&folder).ok().map(|repository| repository.root);
        let root = match (mirrored, repository) {
            (Some(mirrored), Some(repository)) if !mirrored.starts_with(&repository) => repository,
            (Some(mirrored), _) => mirrored.to_owned(),
            (None, repository) => repository.unwrap_or_else(|| folder.clone()),
        };
        let mirror = of(&root);
        if !mirror.exists() {
            return Err(SnapshotError::NoMirror { root }.into());
        }
        Ok(Self { mirror, root, folder })
    }

    fn is_repository_gone(&self) -> bool {
        self.root.join(".git").symlink_metadata().is_err()
    }

    /// The repository if it has the snapshot; otherwise the mirror in its place: nothing is brought into it before somebody has
    /// said yes.
    fn place_of(&self, id: &str, argument: &RepositoryArgument) -> Result<SnapshotPlace, CommandError> {
        if !self.is_repository_gone()
            && let Ok(place) = SnapshotPlace::find(argument)
            && place.snapshots.find(id).is_ok()
        {
            return Ok(place);
        }
        let repository = self.mirror.stand_in(&self.root)?;
        let snapshots = Snapshots::of(repository.clone(), &environment::git().within(TIME_LIMIT))?;
        Ok(SnapshotPlace { repository, folder: self.folder.clone(), snapshots })
    }

    /// Brings what the mirror has into the repository, which is made anew if it is gone.
    fn bring_in(&self, printer: &Printer) -> Result<(), CommandError> {
        let (root, git) = (&self.root, environment::git().within(TIME_LIMIT));
        if self.mirror.rebuild(root, &git)? {
            printer
                .progress(&format!("the repository in `{}` was made anew from its mirror", root.display()));
        }
        if let Ok(repository) = Repository::discover(root) {
            self.mirror.lend(&repository, &git)?;
        }
        Ok(())
    }
}

/// What the user's own configuration says, and a repository's file that is trusted.
fn snapshot_settings(root: &Path) -> SnapshotSettings {
    let files = repository_policy::files(root);
    let trust = trust::of_file_or_unknown(journal().as_mut(), files.texts());
    trust::snapshot_settings(trust, files.texts()).unwrap_or_default()
}

/// The repository, and where in it the command was called.
struct SnapshotPlace {
    repository: Repository,
    folder: PathBuf,
    snapshots: Snapshots,
}

impl SnapshotPlace {
    fn find(argument: &RepositoryArgument) -> Result<Self, CommandError> {
        let folder = fs_err::canonicalize(argument.folder()?)?;
        let state = journal_access::state_directory()?;
        let (repository, settings) = match Repository::discover(&folder) {
            Ok(repository) => {
                let settings = snapshot_settings(&repository.root);
                (repository, settings)
            }
            // Your home folder and `/` are no projects.
            Err(error @ changes::Error::NotARepository { .. })
                if folder.parent().is_some() && environment::home().as_deref() != Some(&folder) =>
            {
                let settings = snapshot_settings(&folder);
                if !settings.mirror {
                    return Err(CommandError::from(error).hint(
                        "with `mirror = true` in `[snapshot]` of your own configuration it needs no repository",
                    ));
                }
                (mirror_of(&folder, &settings, &state).stand_in(&folder)?, settings)
            }
            Err(error) => return Err(error.into()),
        };
        let git = environment::git().within(TIME_LIMIT);
        let snapshots = configured_snapshots(repository.clone(), &git, &settings, &state)?;
        Ok(Self { repository, folder, snapshots })
    }

    /// Paths as they were typed, from the root of the repository. They need not exist, and links are not followed.
    fn paths(&self, typed: &[PathBuf]) -> Result<Vec<BytePath>, CommandError> {
        let mut paths = Vec::new();
        for path in typed {
            let whole = plain(&self.folder.join(path));
            let Ok(inside) = whole.strip_prefix(&self.repository.root) else {
                return Err(SnapshotError::Outside { path: BytePath::from(path.as_path()) }.into());
            };
            if inside.as_os_str().is_empty() {
                // The root is everything.
                return Ok(Vec::new());
            }
            paths.push(BytePath::from(inside));
        }
        Ok(paths)
    }
}

/// Without `.` and `..`, by the letters.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

fn journal() -> Option<Journal> {
    let state = journal_access::state_directory().ok()?;
    journal_access::open_existing(&state).ok().flatten()
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
            E::Spool { .. } => (Failed, "free some disk space, and make the git folder writable"),
            E::NoMirror { .. } => {
                (NotFound, "`mirror = true` in `[snapshot]` keeps one, from the next snapshot on")
            }
            E::Forget { .. } => (Failed, "make the git folder writable"),
            E::Scratch { .. } => (Failed, "free some space there, or set `TMPDIR` to a folder that has some"),
            _ => (Failed, ""),
        };
        match error {
            E::Git(error) => error.into(),
            _ => Self::of(kind, &error).hint(hint),
        }
    }
}

fn warn(left_out: &[LeftOut], printer: &Printer) {
    for left in left_out {
        let told = match &left.path {
            Some(path) => format!("`{path}` is not in the snapshot as it is: {}", left.reason),
            None => format!("not everything is saved: {}", left.reason),
        };
        printer.warning(Warning::new(told));
    }
}

/// So many differences are shown before a question.
const SHOWN: usize = 40;

fn differences(found: &[Difference], most: usize) -> String {
    let mut text = String::new();
    for difference in found.iter().take(most) {
        let change = difference.change();
        let style = match change {
            "added" => GOOD,
            "deleted" => BAD,
            _ => DOUBTFUL,
        };
        let _ = writeln!(text, "{style}{change:<8}{style:#} {}", visible(&difference.path.to_string()));
    }
    if found.len() > most {
        let _ = writeln!(text, "… and {} more", found.len() - most);
    }
    text
}

/// What it was taken for, by whom, and what is wrong with it.
pub(crate) fn about(snapshot: &Snapshot) -> String {
    let facts = &snapshot.facts;
    let mut about = match &facts.reason {
        SnapshotReason::Asked => visible(snapshot.message.lines().next().unwrap_or_default()),
        SnapshotReason::TurnStart { .. } => "at the start of a turn".to_owned(),
        SnapshotReason::Autosave => "before an autosave".to_owned(),
        SnapshotReason::BeforeRestore { restored, .. } => format!("before restoring {restored}"),
    };
    if let Some(session) = &facts.session {
        let _ = write!(about, " ({} {})", visible(&session.agent), visible(&session.id));
    }
    if !facts.left_out.is_empty() {
        let _ = write!(about, " [{} not saved]", facts.left_out.len());
    }
    if !facts.late.is_empty() {
        let _ = write!(about, " [{} changed before it was taken]", facts.late.len());
    }
    about
}

fn table(found: &[Snapshot], all: bool, width: Option<usize>) -> String {
    let number = Column::right(10).gap(1);
    let mut table = Table::new([Column::left(0), Column::left(0), number, Column::right(9), Column::left(0)]);
    for snapshot in found {
        let tree = if all { format!("{:<8} ", snapshot.worktree) } else { String::new() };
        let time = time(snapshot).strftime("%Y-%m-%d %H:%M").to_string();
        let (size, about) = (text::size_in_words(snapshot.facts.bytes), format!("{tree}{}", about(snapshot)));
        let id = Cell::styled(snapshot.id.to_string(), STRONG);
        table.row([id, time.into(), files(snapshot).into(), size.into(), about.into()]);
    }
    table.lines(width)
}

fn files(snapshot: &Snapshot) -> String {
    counted(usize::try_from(snapshot.facts.files).unwrap_or(usize::MAX), "file")
}

fn restored_text(restored: &RestoreReport) -> String {
    let mut text = String::new();
    if restored.before.is_none() && restored.skipped.is_empty() {
        return format!("Nothing differs from {}.\n", restored.snapshot.id);
    }
    for skipped in &restored.skipped {
        let (path, reason) = (visible(&skipped.path.to_string()), visible(&skipped.reason));
        let _ = writeln!(text, "{DOUBTFUL}→{DOUBTFUL:#} {path} was left alone: {reason}");
    }
    let (id, written) = (&restored.snapshot.id, counted(restored.written.len(), "file"));
    let removed = restored.removed.len();
    let _ = writeln!(
        text,
        "{GOOD}✓{GOOD:#} restored {STRONG}{id}{STRONG:#}: {written} written, {removed} removed"
    );
    if restored.before.is_some() {
        let _ =
            writeln!(text, "{FAINT}`checkstone snapshot restore --undo` brings back what was there{FAINT:#}");
    }
    text
}

fn time(snapshot: &Snapshot) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(snapshot.facts.taken_ns)).unwrap_or_default()
}

/// What `checkstone snapshot create --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Snapshot"))]
pub(crate) struct SnapshotOutput<'a> {
    pub(crate) id: &'a str,
    commit: &'a str,
    /// `main`, or the name of a linked working tree.
    worktree: &'a str,
    taken_at: String,
    message: &'a str,
    /// The commit that HEAD was at; null before the first one.
    head: Option<&'a str>,
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["asked", "turn-start", "autosave", "before-restore"])))]
    reason: &'static str,
    /// Which snapshot was restored after this one, with `before-restore`.
    restored: Option<&'a str>,
    session: Option<&'a SessionName>,
    turn: Option<&'a str>,
    /// How many files are not as HEAD has them.
    files: u64,
    /// The bytes of those that were read.
    bytes: u64,
    /// What could not be saved, or not for certain.
    left_out: &'a [LeftOut],
    /// With `turn-start` and `autosave`: what had been written after the turn began, or after the stop, and before it was
    /// read.
    late: &'a [BytePath],
    /// Submodules with changes of their own, each with the commit that keeps them in its own repository.
    submodules: &'a [SubmoduleSnapshot],
}

impl<'a> SnapshotOutput<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot) -> Self {
        let facts = &snapshot.facts;
        let (reason, restored) = match &facts.reason {
            SnapshotReason::Asked => ("asked", None),
            SnapshotReason::TurnStart { .. } => ("turn-start", None),
            SnapshotReason::Autosave => ("autosave", None),
            SnapshotReason::BeforeRestore { restored, .. } => ("before-restore", Some(restored.as_str())),
        };
        Self {
            id: &snapshot.id,
            commit: &snapshot.commit,
            worktree: &snapshot.worktree,
            taken_at: time(snapshot).to_string(),
            message: &snapshot.message,
            head: snapshot.head.as_deref(),
            reason,
            restored,
            session: facts.session.as_ref(),
            turn: facts.turn.as_deref(),
            files: facts.files,
            bytes: facts.bytes,
            left_out: &facts.left_out,
            late: &facts.late,
            submodules: &facts.submodules,
        }
    }
}

/// What `checkstone snapshot list --json` prints, and `prune` of those that it forgot.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SnapshotList<'a> {
    snapshots: Vec<SnapshotOutput<'a>>,
}

impl<'a> SnapshotList<'a> {
    fn of(found: &'a [Snapshot]) -> Self {
        Self { snapshots: found.iter().map(SnapshotOutput::of).collect() }
    }
}

/// What `checkstone snapshot diff --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SnapshotDiff<'a> {
    old: &'a str,
    /// Null where it is the working tree.
    new: Option<&'a str>,
    files: Vec<ChangedFile<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ChangedFile<'a> {
    path: &'a BytePath,
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["added", "deleted", "modified", "mode"])))]
    change: &'static str,
}

/// What `checkstone snapshot restore --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SnapshotRestore<'a> {
    /// What was brought back.
    snapshot: &'a str,
    /// What was there before: what `--undo` goes back to; null where nothing was changed.
    before: Option<&'a str>,
    written: &'a [BytePath],
    removed: &'a [BytePath],
    /// What differs from the snapshot and was left alone.
    skipped: &'a [Skipped],
}

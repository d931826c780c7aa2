//! What `checkstone snapshot` prints, as JSON and for people.

use std::fmt::Write as _;

use change_set::BytePath;
use jiff::Timestamp;
use keeping::Difference;
use keeping::snapshot::{
    LeftOut, RestoreReport, SessionName, Skipped, Snapshot, SnapshotReason, SubmoduleSnapshot,
};
use serde::Serialize;
use text::{Cell, Column, Table, counted};
use transcript::visible;

use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, STRONG};

/// What `checkstone snapshot create --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Snapshot"))]
pub(crate) struct SnapshotOutput<'a> {
    pub(crate) id: &'a str,
    pub(super) commit: &'a str,
    /// `main`, or the name of a linked working tree.
    pub(super) worktree: &'a str,
    pub(super) taken_at: String,
    pub(super) message: &'a str,
    /// The commit that HEAD was at; null before the first one.
    pub(super) head: Option<&'a str>,
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["asked", "turn-start", "autosave", "before-restore"])))]
    pub(super) reason: &'static str,
    /// Which snapshot was restored after this one, with `before-restore`.
    pub(super) restored: Option<&'a str>,
    pub(super) session: Option<&'a SessionName>,
    pub(super) turn: Option<&'a str>,
    /// How many files are not as HEAD has them.
    pub(super) files: u64,
    /// The bytes of those that were read.
    pub(super) bytes: u64,
    /// What could not be saved, or not for certain.
    pub(super) left_out: &'a [LeftOut],
    /// With `turn-start` and `autosave`: what had been written after the turn began, or after the stop, and before it was
    /// read.
    pub(super) late: &'a [BytePath],
    /// Submodules with changes of their own, each with the commit that keeps them in its own repository.
    pub(super) submodules: &'a [SubmoduleSnapshot],
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

/// What `checkstone snapshot list --json` prints, and `prune` for those that it removed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SnapshotList<'a> {
    pub(super) snapshots: Vec<SnapshotOutput<'a>>,
}

impl<'a> SnapshotList<'a> {
    pub(super) fn of(found: &'a [Snapshot]) -> Self {
        Self { snapshots: found.iter().map(SnapshotOutput::of).collect() }
    }
}

/// What `checkstone snapshot diff --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SnapshotDiff<'a> {
    pub(super) old: &'a str,
    /// Null if it is the working tree.
    pub(super) new: Option<&'a str>,
    pub(super) files: Vec<ChangedFile<'a>>,
    /// What either side could not save. What has a path is in `files` too.
    pub(super) left_out: &'a [LeftOut],
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ChangedFile<'a> {
    pub(super) path: &'a BytePath,
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["added", "deleted", "modified", "mode", "unknown"])))]
    pub(super) change: &'static str,
}

/// What `checkstone snapshot restore --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SnapshotRestore<'a> {
    /// What was restored.
    pub(super) snapshot: &'a str,
    /// What was there before: what `--undo` goes back to; null if nothing was changed.
    pub(super) before: Option<&'a str>,
    pub(super) written: &'a [BytePath],
    pub(super) removed: &'a [BytePath],
    /// What differs from the snapshot and was left alone.
    pub(super) skipped: &'a [Skipped],
}

/// Those of which it is known that they differ.
pub(super) fn differences(found: &[Difference], most: usize) -> String {
    let mut text = String::new();
    let found: Vec<&Difference> = found.iter().filter(|difference| !difference.is_unknown()).collect();
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

/// What could not be compared.
pub(super) fn unknown(left_out: &[LeftOut]) -> String {
    let mut text = String::new();
    for left in left_out {
        let _ = match &left.path {
            Some(path) => {
                let (path, reason) = (visible(&path.to_string()), visible(&left.reason));
                writeln!(text, "{DOUBTFUL}unknown {DOUBTFUL:#} {path}: {reason}")
            }
            None => writeln!(text, "{DOUBTFUL}unknown {DOUBTFUL:#} {}", visible(&left.reason)),
        };
    }
    text
}

/// The same in a sentence.
pub(super) fn not_compared(left: &LeftOut) -> String {
    match &left.path {
        Some(path) => format!("`{path}` could not be compared: {}", left.reason),
        None => format!("not everything could be compared: {}", left.reason),
    }
}

/// What a restore would leave as it is.
pub(super) fn stays(left_out: &[LeftOut], most: usize) -> String {
    let mut text = String::new();
    for left in left_out.iter().take(most) {
        let path = left.path.as_ref().map_or_else(|| ".".to_owned(), |path| visible(&path.to_string()));
        let _ = writeln!(text, "{DOUBTFUL}→{DOUBTFUL:#} {path} stays as it is: {}", visible(&left.reason));
    }
    if left_out.len() > most {
        let _ = writeln!(text, "… and {} more", left_out.len() - most);
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

pub(super) fn table(found: &[Snapshot], all: bool, width: Option<usize>) -> String {
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

pub(super) fn files(snapshot: &Snapshot) -> String {
    counted(usize::try_from(snapshot.facts.files).unwrap_or(usize::MAX), "file")
}

pub(super) fn restored_text(restored: &RestoreReport) -> String {
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

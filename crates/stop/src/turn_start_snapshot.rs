//! The snapshot at the start of a turn, where the user switched it on. The prompt's hook only orders it of a child that
//! lives in a process group of its own; the agent does not wait. The stop takes that snapshot for the turn's baseline
//! where the prompt could not take one, or not a whole one.

use std::path::Path;
use std::time::Duration;

use change_set::BytePath;
use changes::state::nanoseconds_of;
use changes::{Baseline, GitProgram, Repository};
use files::Lock;
use gate::policy::SnapshotSettings;
use jiff::Timestamp;
use journal::{Journal, JournalError, OpenFor, SessionId, Turn};
use keeping::snapshot::{
    NewSnapshot, PrunableReasons, Retention, SessionName, Snapshot, SnapshotError, SnapshotReason, Snapshots,
    WhichWorktrees,
};
use serde::{Deserialize, Serialize};

use crate::client_event::{ClientEvent, append_to_log};
use crate::configured_snapshots::configured_snapshots;
use crate::lock_file::lock_file;
use crate::policy_files::PolicyTexts;
use crate::settings::StopSettings;
use crate::trust;

/// A tree with gigabytes of new files takes its time.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// How long the snapshot of another turn is waited for.
const OTHER_SNAPSHOT: Duration = Duration::from_secs(2);

/// Where the journal keeps which snapshot is of which turn: the session's last one.
const VALUE: &str = "turn-snapshot";

/// What the child is told, on its stdin.
#[derive(Debug, Serialize, Deserialize)]
pub struct SnapshotOrder {
    root: BytePath,
    agent: String,
    session: String,
    /// In the journal.
    session_id: i64,
    turn_id: i64,
    /// The client's own id of the turn.
    turn: Option<String>,
    began_ns: i64,
    /// HEAD, and the size of its log, when the turn began.
    head: Option<String>,
    reflog_size: Option<u64>,
    settings: SnapshotSettings,
}

/// Which snapshot was taken at the start of which turn.
#[derive(Debug, Serialize, Deserialize)]
struct TurnSnapshot {
    turn_id: i64,
    /// When that turn was opened, in milliseconds: the number of a turn that came to nothing is given again.
    #[serde(default)]
    opened_at: Option<i64>,
    snapshot: String,
    reflog_size: Option<u64>,
}

/// Why a snapshot was not taken, or not all that goes with it was done.
#[derive(Debug, thiserror::Error)]
enum SnapshotProblem {
    #[error(transparent)]
    Git(#[from] changes::Error),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("another snapshot is still being taken here")]
    Locked,
    #[error("{snapshot}, but it is not recorded: {error}")]
    NotRecorded {
        snapshot: String,
        #[source]
        error: Box<JournalError>,
    },
    #[error("{snapshot}, but old ones were not removed: {error}")]
    NotPruned {
        snapshot: String,
        #[source]
        error: SnapshotError,
    },
}

/// What the user wants, where a snapshot is to be taken at all.
pub fn wanted(texts: &PolicyTexts, journal: &mut Journal) -> Option<SnapshotSettings> {
    let trust = trust::of_file_or_unknown(Some(journal), texts);
    trust::snapshot_settings(trust, texts).filter(|settings| settings.at_turn_start)
}

impl SnapshotOrder {
    /// For a turn that was opened just now.
    pub fn new(
        event: &ClientEvent,
        repository: &Repository,
        settings: SnapshotSettings,
        turn: &Turn,
    ) -> Result<Self, changes::Error> {
        Ok(Self {
            root: BytePath::from(repository.root.as_path()),
            agent: event.payload.agent.name().to_owned(),
            session: event.session.clone(),
            session_id: turn.session.0,
            turn_id: turn.id.0,
            turn: turn.key.clone(),
            began_ns: nanoseconds_of(event.now),
            head: repository.head(&event.settings.git)?,
            reflog_size: repository.reflog_size(),
            settings,
        })
    }

    /// What the child does. Nobody reads what it says, so it says it in the log.
    pub fn carry_out(&self, settings: &StopSettings) {
        let began = Timestamp::now();
        let told = match self.take(settings) {
            Ok((snapshot, forgotten)) => format!(
                "{}, {} files that differ from HEAD, {forgotten} older ones removed",
                snapshot.id, snapshot.facts.files
            ),
            Err(problem) => format!("not taken: {problem}"),
        };
        let took = Timestamp::now().duration_since(began).as_millis();
        let Self { agent, session, .. } = self;
        append_to_log(&settings.state, &format!("{began:.3} {agent} {session} snapshot: {told} [{took} ms]"));
    }

    /// The snapshot, and how many others are gone for it.
    fn take(&self, settings: &StopSettings) -> Result<(Snapshot, usize), SnapshotProblem> {
        let repository = Repository::discover(self.root.as_path())?;
        // One at a time in each working tree. The first prompt may follow its session's start at once.
        let lock = lock_file(&settings.state, "snapshot", &repository);
        let _lock = Lock::acquire(&lock, OTHER_SNAPSHOT).map_err(|_| SnapshotProblem::Locked)?;
        let git = settings.git.within(TIME_LIMIT);
        let snapshots = configured_snapshots(repository, &git, &self.settings, &settings.state)?;
        let now = Timestamp::now();
        let new = NewSnapshot {
            reason: SnapshotReason::TurnStart { began_ns: self.began_ns },
            message: "",
            now,
            session: Some(SessionName { agent: self.agent.clone(), id: self.session.clone() }),
            turn: self.turn.clone(),
        };
        let snapshot = snapshots.create(&new)?;
        // After a commit, what is not dirty would be compared with the wrong one.
        if snapshot.head == self.head {
            self.record(&snapshot, &settings.state)?;
        }
        let retention = Retention {
            keep: Some(self.settings.keep),
            max_age: Some(self.settings.keep_for),
            reasons: PrunableReasons::Automatic,
        };
        let forgotten = snapshots.prune(WhichWorktrees::ThisWorktree, retention, now);
        match forgotten {
            Ok(forgotten) => Ok((snapshot, forgotten.len())),
            Err(error) => Err(SnapshotProblem::NotPruned { snapshot: snapshot.id, error }),
        }
    }

    fn record(&self, snapshot: &Snapshot, state: &Path) -> Result<(), SnapshotProblem> {
        let taken = TurnSnapshot {
            turn_id: self.turn_id,
            opened_at: Some(self.began_ns / 1_000_000),
            snapshot: snapshot.id.clone(),
            reflog_size: self.reflog_size,
        };
        let taken = serde_json::to_vec(&taken).unwrap_or_default();
        Journal::open(state, OpenFor::Command)
            .and_then(|mut journal| {
                journal.write(|writing| writing.set_value(SessionId(self.session_id), VALUE, &taken))
            })
            .map_err(|error| SnapshotProblem::NotRecorded {
                snapshot: snapshot.id.clone(),
                error: Box::new(error),
            })
    }
}

/// The better baseline of the two: the quick one of the prompt where it is whole, else the turn's snapshot, where that
/// was taken in time.
pub(crate) fn better_baseline(
    quick: Option<Baseline>,
    turn: &Turn,
    repository: &Repository,
    git: &GitProgram,
    journal: &mut Journal,
) -> Option<Baseline> {
    if quick.as_ref().is_some_and(|baseline| baseline.complete) {
        return quick;
    }
    baseline_of_snapshot(turn, repository, git, journal).or(quick)
}

fn baseline_of_snapshot(
    turn: &Turn,
    repository: &Repository,
    git: &GitProgram,
    journal: &mut Journal,
) -> Option<Baseline> {
    let taken = journal.read(|reader| reader.value(turn.session, VALUE)).ok().flatten()?;
    let taken: TurnSnapshot = serde_json::from_slice(&taken).ok()?;
    let is_opened_then = |opened_at: i64| opened_at == turn.opened_at.as_millisecond();
    if taken.turn_id != turn.id.0 || !taken.opened_at.is_none_or(is_opened_then) {
        return None;
    }
    let snapshots = Snapshots::of(repository.clone(), git).ok()?;
    let snapshot = snapshots.find(&taken.snapshot).ok()?;
    snapshots.baseline(&snapshot, taken.reflog_size).ok().flatten()
}

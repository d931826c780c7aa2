//! The snapshot at the start of a turn, where the user switched it on. The prompt's hook only starts a child for it,
//! which lives in a process group of its own; the agent does not wait. The stop takes that snapshot for the turn's baseline
//! where the prompt could not take one, or not a whole one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use change_set::BytePath;
use changes::{Baseline, Repository, Settings};
use files::Lock;
use gate::policy::SnapshotSettings;
use jiff::Timestamp;
use journal::{Journal, OpenFor, SessionId, Turn};
use keeping::snapshot::{NewSnapshot, Reason, Reasons, Retention, SessionName, Snapshot, Snapshots, Which};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::background;
use crate::hook::{self, Context};
use crate::policy_files::PolicyTexts;
use crate::trust;

/// A tree with gigabytes of new files takes its time.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Where the journal keeps which snapshot is of which turn: the session's last one.
const VALUE: &str = "turn-snapshot";

/// What the child is told, on its stdin.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
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
    keep: usize,
    keep_for: Duration,
}

/// Which snapshot was taken at the start of which turn.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    turn_id: i64,
    snapshot: String,
    reflog_size: Option<u64>,
}

/// What the user wants, where a snapshot is to be taken at all.
pub(crate) fn wanted(texts: &PolicyTexts, journal: &mut Journal) -> Option<SnapshotSettings> {
    let trust = journal.read(|reader| trust::of_file(reader, texts)).unwrap_or(journal::Trust::Unknown);
    trust::snapshot_settings(trust, texts).filter(|settings| settings.at_turn_start)
}

/// Starts the child for a turn that was opened just now, and does not wait for it.
pub(crate) fn start(
    context: &Context,
    repository: &Repository,
    settings: SnapshotSettings,
    turn: &Turn,
) -> Result<(), String> {
    let order = Order {
        root: BytePath::from(repository.root.as_path()),
        agent: context.payload.agent.name().to_owned(),
        session: context.session.clone(),
        session_id: turn.session.0,
        turn_id: turn.id.0,
        turn: turn.key.clone(),
        began_ns: nanoseconds(context.now),
        head: repository.head(&hook::git_settings()).map_err(|error| error.to_string())?,
        reflog_size: repository.reflog_size(),
        keep: settings.keep,
        keep_for: settings.keep_for,
    };
    let order = serde_json::to_vec(&order).map_err(|error| error.to_string())?;
    background::start(&["snapshot"], &order).map_err(|error| error.to_string())
}

/// What the child does. Nobody reads what it says, so it says it in the log.
pub(crate) fn carry_out(order: &Order, state: &Path) {
    let began = Timestamp::now();
    let told = match taken(order, state) {
        Ok((snapshot, forgotten)) => format!(
            "{}, {} files not as HEAD has them, {forgotten} older ones forgotten",
            snapshot.id, snapshot.facts.files
        ),
        Err(problem) => format!("not taken: {problem}"),
    };
    let took = Timestamp::now().duration_since(began).as_millis();
    let Order { agent, session, .. } = order;
    hook::log(state, &format!("{began:.3} {agent} {session} snapshot: {told} [{took} ms]"));
}

/// The snapshot, and how many others are gone for it.
fn taken(order: &Order, state: &Path) -> Result<(Snapshot, usize), String> {
    let repository = Repository::discover(order.root.as_path()).map_err(|error| error.to_string())?;
    // One at a time in each working tree: a second would be of the same state, or a hook that is registered twice.
    let _lock = Lock::acquire(&lock_file(state, &repository), Duration::ZERO)
        .map_err(|_| "another one is still being taken here".to_owned())?;
    let settings = Settings { time_limit: TIME_LIMIT, ..Settings::default() };
    let snapshots = Snapshots::of(repository, &settings).map_err(|error| error.to_string())?;
    let now_ns = nanoseconds(Timestamp::now());
    let new = NewSnapshot {
        reason: Reason::TurnStart { began_ns: order.began_ns },
        message: "",
        now_ns,
        session: Some(SessionName { agent: order.agent.clone(), id: order.session.clone() }),
        turn: order.turn.clone(),
    };
    let snapshot = snapshots.create(&new).map_err(|error| error.to_string())?;
    // After a commit, what is not dirty would be compared with the wrong one.
    if snapshot.head == order.head {
        record(order, &snapshot, state)?;
    }
    let retention =
        Retention { keep: Some(order.keep), max_age: Some(order.keep_for), reasons: Reasons::Automatic };
    let forgotten = snapshots.prune(Which::ThisWorktree, retention, now_ns);
    let forgotten = forgotten.map_err(|error| format!("{}, but the old ones stay: {error}", snapshot.id))?;
    Ok((snapshot, forgotten.len()))
}

fn record(order: &Order, snapshot: &Snapshot, state: &Path) -> Result<(), String> {
    let recorded =
        Recorded { turn_id: order.turn_id, snapshot: snapshot.id.clone(), reflog_size: order.reflog_size };
    let recorded = serde_json::to_vec(&recorded).map_err(|error| error.to_string())?;
    Journal::open(state, OpenFor::Command)
        .and_then(|mut journal| {
            journal.write(|writing| writing.set_value(SessionId(order.session_id), VALUE, &recorded))
        })
        .map_err(|error| format!("{}, but it is not recorded: {error}", snapshot.id))
}

fn lock_file(state: &Path, repository: &Repository) -> PathBuf {
    let name = Sha256::digest(repository.git_dir.as_os_str().as_encoded_bytes());
    let name: String = name.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    state.join(format!("snapshot-{name}.lock"))
}

/// The better baseline of the two: the quick one of the prompt where it is whole, else the turn's snapshot, where that
/// was taken in time.
pub(crate) fn better_baseline(
    quick: Option<Baseline>,
    turn: Option<&Turn>,
    repository: Option<&Repository>,
    journal: &mut Journal,
) -> Option<Baseline> {
    if quick.as_ref().is_some_and(|baseline| baseline.complete) {
        return quick;
    }
    let (Some(turn), Some(repository)) = (turn, repository) else { return quick };
    baseline_of_snapshot(turn, repository, journal).or(quick)
}

fn baseline_of_snapshot(turn: &Turn, repository: &Repository, journal: &mut Journal) -> Option<Baseline> {
    let recorded = journal.read(|reader| reader.value(turn.session, VALUE)).ok().flatten()?;
    let recorded: Recorded = serde_json::from_slice(&recorded).ok()?;
    if recorded.turn_id != turn.id.0 {
        return None;
    }
    let snapshots = Snapshots::of(repository.clone(), &hook::git_settings()).ok()?;
    let snapshot = snapshots.find(&recorded.snapshot).ok()?;
    snapshots.baseline(&snapshot, recorded.reflog_size).ok().flatten()
}

fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

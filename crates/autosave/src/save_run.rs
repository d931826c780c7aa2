//! One save from its facts to what is recorded and said of it. Shared by the hook, by the process that it leaves behind
//! and by `checkstone autosave`. Says only what was seen to be done.

use std::path::Path;
use std::time::{Duration, Instant};

use change_set::{BytePath, ChangedFile, How};
use changes::{Baseline, Repository};
use gate::policy::Autosave;
use gate::{Changes, Inputs};
use journal::{
    AutosaveId, AutosaveOutcome, Journal, JournalError, NewAutosave, PushState, SessionId, Turn, TurnId,
};
use keeping::snapshot::{LeftOut, PrunableReasons, Retention, WhichWorktrees};
use stop::{ClientEvent, policy_files};
use text::OWN_PREFIX;
use text::counted;
use transcript::Agent;

use crate::build_state::{self, BuildState};
use crate::buildguide;
use crate::ended_save::{EndedSave, SaveResult, capitalised};
use crate::facts::{Asked, Facts, Occasion, Teller};
use crate::look::Look;
use crate::planned_push::{NoPush, PlannedPush};
use crate::save::{BUILDGUIDE, Save, SaveOutcome, Saved, Taken};
use crate::saving_settings::SavingSettings;
use crate::session_notes;

/// The last step of a save, in the log of the script that this replaces.
pub const COMPLETED: &str = "✅ Direct checkpoint execution completed";

/// So many files of a list are in a message.
pub const MOST_SHOWN: usize = 5;

/// How much of a list is told. What is beyond it is counted.
#[derive(Clone, Copy)]
struct ListBounds {
    entries: usize,
    bytes: usize,
}

const IN_MESSAGE: ListBounds = ListBounds { entries: MOST_SHOWN, bytes: usize::MAX };

/// The journal cuts what is too long for it. Each list of a record has its share, so that none is cut off by those before it.
const IN_RECORD: ListBounds = ListBounds { entries: usize::MAX, bytes: 360 };

/// So many characters of a commit's id tell it from others.
const SHORT: usize = 10;

/// The last save that came to a commit is looked for among so many.
const SAVES_LOOKED_AT: usize = 20;

/// What came of it.
#[derive(Debug)]
pub struct SaveReport {
    pub occasion: Occasion,
    pub ended: SaveOutcome,
    pub push: Push,
    pub took: Duration,
}

/// How far the push has got.
#[derive(Clone, Debug, PartialEq)]
pub enum Push {
    /// Nothing was to be pushed, and why, where that is worth a word.
    None(Option<String>),
    Started(PlannedPush),
    /// It was wanted, and git or the settings do not let it go anywhere; why.
    NotPossible(String),
    NotStarted(String),
}

impl Push {
    /// As the journal has it, and why.
    pub fn state(&self) -> (PushState, &str) {
        match self {
            Self::None(why) => (PushState::None, why.as_deref().unwrap_or_default()),
            Self::NotPossible(why) => (PushState::None, why),
            Self::Started(_) => (PushState::Started, ""),
            Self::NotStarted(why) => (PushState::Failed, why),
        }
    }
}

impl Save {
    /// A save of what the turn shows, and the facts that it notes: `inputs` hold its calls and its change set.
    pub fn new(
        repository: Repository,
        settings: Autosave,
        saving: SavingSettings,
        agent: Agent,
        occasion: Occasion,
        inputs: &Inputs,
        asked: Asked<'_>,
    ) -> (Self, Facts) {
        let look = saving.look(&settings);
        let mut facts = Facts::new(occasion, inputs, asked, &look);
        facts.files.retain(|file| !Path::new(file).starts_with(session_notes::FOLDER));
        read_plans(&mut facts, &repository.root, &look);
        let files = match &inputs.changes {
            Changes::Known(set) => set.files.as_slice(),
            Changes::Transcript(_) | Changes::Unknown(_) => &[],
        };
        let changed = files.iter().map(|file| file.path.clone()).collect();
        let is_staged = |file: &&ChangedFile| file.how.contains(&How::Staged);
        let staged = files.iter().filter(is_staged).map(|file| file.path.clone()).collect();
        let (notes, branch) = (facts.section(), facts.branch.clone());
        let (session, turn_key) = (None, None);
        let save = Self {
            repository,
            settings,
            agent,
            session,
            turn_key,
            saving,
            occasion,
            branch,
            notes,
            changed,
            staged,
            no_push: None,
        };
        (save, facts)
    }

    /// The same, where it is known how things stood when the turn began: what was staged since then is the turn's own.
    pub fn of_turn(mut self, turn: Option<&Turn>) -> Self {
        let baseline = || -> Option<Baseline> { serde_json::from_slice(turn?.baseline.as_deref()?).ok() };
        if let (false, Some(baseline)) = (self.staged.is_empty(), baseline()) {
            let before = baseline.files.iter().filter(|file| file.staged.is_some());
            let before: Vec<&BytePath> = before.map(|file| &file.path).collect();
            self.staged.retain(|path| before.contains(&path));
        }
        self
    }

    /// Saves, records it, and leaves the push to a process of its own.
    pub fn run(&self, journal: &mut Journal, session: Option<SessionId>, turn: Option<TurnId>) -> SaveReport {
        let (mut report, recorded) = self.save(journal, session, turn);
        match recorded {
            Ok(Some(id)) => {
                if let Err(error) = (self.saving.start_push)(id) {
                    let why = format!("the push could not be started: {error}");
                    let failed = PushState::Failed;
                    let _ = journal.write(|writing| writing.record_push(id, failed, &why, 0));
                    report.push = Push::NotStarted(why);
                }
            }
            Ok(None) => {}
            Err(error) => report.push = Push::NotStarted(format!("the save is not recorded: {error}")),
        }
        report
    }

    /// Saves and records it. The id is that of a save whose push is left to the caller.
    pub fn save(
        &self,
        journal: &mut Journal,
        session: Option<SessionId>,
        turn: Option<TurnId>,
    ) -> (SaveReport, Result<Option<AutosaveId>, JournalError>) {
        let started = Instant::now();
        let root = &self.repository.root;
        let recent = journal.read(|reader| reader.recent_autosaves(Some(root), SAVES_LOOKED_AT));
        let last = recent.unwrap_or_default().into_iter().find(|save| save.commit.is_some());
        let ended = self.execute(last.as_ref());
        let push = match &ended {
            SaveOutcome::Saved(saved) => self.planned_push(&saved.commit.id),
            _ => Push::None(None),
        };
        let report = SaveReport { occasion: self.occasion, ended, push, took: started.elapsed() };
        let recorded = report.record(journal, root, session, turn);
        if report.snapshot().is_some() {
            self.forget_old_snapshots();
        }
        let is_started = matches!(report.push, Push::Started(_));
        (report, recorded.map(|id| Some(id).filter(|_| is_started)))
    }

    /// Saves make snapshots, so they clear old ones away: as `[snapshot]` says, and never those that somebody asked for, nor
    /// the one that was made just now and is told of.
    fn forget_old_snapshots(&self) {
        let kept = self.saving.snapshot_settings(&self.repository);
        let retention = Retention {
            keep: Some(kept.keep.max(1)),
            max_age: Some(kept.keep_for),
            reasons: PrunableReasons::Automatic,
        };
        let now = self.occasion.at;
        let snapshots = self.saving.snapshots(&self.repository);
        let pruned = snapshots.and_then(|all| all.prune(WhichWorktrees::ThisWorktree, retention, now));
        // Whatever stands in the way now, the next save tries again.
        drop(pruned);
    }

    fn planned_push(&self, commit: &str) -> Push {
        if self.no_push.is_some() {
            return Push::None(self.no_push.clone());
        }
        match PlannedPush::of(&self.repository, &self.saving.git, &self.settings, Some(commit)) {
            Ok(planned) => Push::Started(planned),
            Err(NoPush::Unwanted(why)) => Push::None(Some(why)),
            Err(NoPush::NotPossible(why)) => Push::NotPossible(why),
            Err(NoPush::Failed(why)) => Push::NotStarted(why),
        }
    }
}

impl SaveReport {
    fn record(
        &self,
        journal: &mut Journal,
        root: &Path,
        session: Option<SessionId>,
        turn: Option<TurnId>,
    ) -> Result<AutosaveId, JournalError> {
        let (push, push_detail) = self.push.state();
        let detail = self.recorded_detail();
        let commit = self.saved().map(|saved| &saved.commit);
        let new = NewAutosave {
            session,
            turn,
            at: self.occasion.at,
            repository: root,
            reason: self.occasion.reason.as_str(),
            percent: self.occasion.percent,
            outcome: self.outcome(),
            detail: &detail,
            snapshot: self.snapshot(),
            commit: commit.map(|commit| commit.id.as_str()),
            branch: commit.map(|commit| commit.branch.as_str()),
            milliseconds: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            push,
            push_detail,
        };
        journal.write(|writing| writing.record_autosave(&new))
    }

    pub fn saved(&self) -> Option<&Saved> {
        match &self.ended {
            SaveOutcome::Saved(saved) => Some(saved),
            SaveOutcome::Nothing | SaveOutcome::Failed(_) => None,
        }
    }

    pub fn snapshot(&self) -> Option<&str> {
        match &self.ended {
            SaveOutcome::Saved(saved) => saved.snapshot.as_ref(),
            SaveOutcome::Failed(failed) => failed.snapshot.as_ref(),
            SaveOutcome::Nothing => None,
        }
        .map(|taken| taken.id.as_str())
    }

    pub fn outcome(&self) -> AutosaveOutcome {
        match &self.ended {
            SaveOutcome::Saved(_) => AutosaveOutcome::Saved,
            SaveOutcome::Nothing => AutosaveOutcome::Nothing,
            SaveOutcome::Failed(_) => AutosaveOutcome::Failed,
        }
    }

    /// What was done, and how far the push has got, in one sentence that is true now.
    pub fn sentence(&self) -> String {
        let mut text = self.detail();
        for remark in self.remarks() {
            text.push_str(&format!(", {remark}"));
        }
        match &self.push {
            Push::Started(push) => {
                text.push_str(&format!(", push to `{}` started{}", push.remote, push.consequences));
            }
            Push::None(Some(why)) | Push::NotPossible(why) | Push::NotStarted(why) => {
                text.push_str(&format!(", not pushed: {why}"))
            }
            Push::None(None) => {}
        }
        text
    }

    /// What is not in the commit.
    pub fn not_committed(&self) -> &[LeftOut] {
        self.saved().map(|saved| saved.commit.left_out.as_slice()).unwrap_or_default()
    }

    /// What is not in the snapshot.
    pub fn not_in_snapshot(&self) -> &[LeftOut] {
        let taken = match &self.ended {
            SaveOutcome::Saved(saved) => saved.snapshot.as_ref(),
            SaveOutcome::Failed(failed) => failed.snapshot.as_ref(),
            SaveOutcome::Nothing => None,
        };
        taken.map(|taken| taken.left_out.as_slice()).unwrap_or_default()
    }

    /// Whether something was to be saved and is not: a file, the snapshot itself, or a push that the settings want. Whoever
    /// asked for no push, or has nowhere to push to, misses none.
    pub fn is_incomplete(&self) -> bool {
        let has_no_snapshot = self.saved().is_some_and(|saved| saved.snapshot.is_none());
        let lacks_push = matches!(self.push, Push::NotStarted(_) | Push::NotPossible(_));
        has_no_snapshot
            || lacks_push
            || !self.not_committed().is_empty()
            || !self.not_in_snapshot().is_empty()
    }

    /// What was done.
    pub fn detail(&self) -> String {
        self.detail_with(IN_MESSAGE)
    }

    /// The same with the remarks, as the journal has room for it.
    fn recorded_detail(&self) -> String {
        // The last one first: there is one complaint, and of the others there may be many.
        let remarks = first_of(self.remarks().into_iter().rev(), IN_RECORD);
        [self.detail_with(IN_RECORD)].into_iter().chain(remarks).collect::<Vec<_>>().join(", ")
    }

    fn detail_with(&self, most: ListBounds) -> String {
        match &self.ended {
            SaveOutcome::Saved(saved) => {
                let Saved { commit, notes, others, snapshot, snapshot_problem } = saved;
                let others = match *others {
                    0 => String::new(),
                    others => format!(" and {}", counted(others, "other file")),
                };
                let branch = transcript::visible(&commit.branch);
                let mut text =
                    format!("notes{others} committed as {} on `{branch}` in `{notes}`", short(&commit.id));
                match (snapshot, snapshot_problem) {
                    (Some(taken), _) => {
                        text.push_str(&format!(", snapshot {} of {}", taken.id, tree_of(taken, most)))
                    }
                    (None, Some(problem)) => text.push_str(&format!(", no snapshot ({problem})")),
                    (None, None) => {}
                }
                let late = snapshot.as_ref().map(|taken| taken.late.as_slice()).unwrap_or_default();
                if let Some(late) = first_of(late.iter().map(|path| format!("`{path}`")), most) {
                    text.push_str(&format!(", changed while it was saved: {late}"));
                }
                if let Some(left_out) = left_out(&commit.left_out, most) {
                    text.push_str(&format!(", not committed: {left_out}"));
                }
                text
            }
            SaveOutcome::Nothing => "there is nothing new to commit".to_owned(),
            SaveOutcome::Failed(failed) => {
                let kept = failed.snapshot.as_ref();
                let kept =
                    kept.map(|taken| format!("; {} is kept in snapshot {}", tree_of(taken, most), taken.id));
                let why = text::without_error_numbers(&failed.error.to_string());
                format!("nothing was committed: {why}{}", kept.unwrap_or_default())
            }
        }
    }

    /// What else came of it.
    pub fn remarks(&self) -> Vec<String> {
        let Some(commit) = self.saved().map(|saved| &saved.commit) else { return Vec::new() };
        let superseded = commit.superseded.iter().map(|(path, id)| {
            format!("you had staged another version of `{path}`, which `git cat-file -p {}` shows", short(id))
        });
        let complaint = commit.complaint.iter().map(|said| format!("after the commit: {said}"));
        superseded.chain(complaint).collect()
    }

    pub(crate) fn result(&self) -> SaveResult {
        match &self.ended {
            SaveOutcome::Saved(_) => SaveResult::Saved,
            SaveOutcome::Nothing => SaveResult::Nothing,
            SaveOutcome::Failed(failed) if failed.error.is_refusal() => SaveResult::Refused,
            SaveOutcome::Failed(_) => SaveResult::Failed,
        }
    }

    /// Whether what stood in the way may be over by the next stop.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(&self.ended, SaveOutcome::Failed(failed) if failed.error.may_pass())
    }

    pub(crate) fn ended_save(&self) -> EndedSave {
        let commit = self.saved().map(|saved| &saved.commit);
        EndedSave {
            commit: commit.map(|commit| commit.id.clone()),
            branch: commit.map(|commit| commit.branch.clone()),
            snapshot: self.snapshot().map(str::to_owned),
            push: self.push.state().0.as_str().to_owned(),
            ..EndedSave::without_commit(self.result(), self.sentence())
        }
    }

    /// In our log; the steps are in the other one already.
    pub fn log(&self, event: &ClientEvent, saving: &SavingSettings) {
        let sentence = self.sentence();
        let milliseconds = self.took.as_millis();
        event.log("autosave", &format!("{}: {sentence} ({milliseconds} ms)", self.occasion.reason.as_str()));
        match &self.ended {
            SaveOutcome::Saved(_) if matches!(self.push, Push::Started(_)) => {}
            SaveOutcome::Saved(_) => saving.log_step(COMPLETED),
            SaveOutcome::Nothing => saving.log_step("No changes to commit"),
            SaveOutcome::Failed(failed) => {
                saving.log_step(&format!("❌ Direct checkpoint execution failed: {}", failed.error));
            }
        }
    }
}

/// How much of the tree is in a snapshot.
fn tree_of(taken: &Taken, most: ListBounds) -> String {
    left_out(&taken.left_out, most)
        .map_or_else(|| "the whole tree".to_owned(), |missing| format!("the tree without {missing}"))
}

/// The first files that are not in the commit or snapshot, and why.
fn left_out(files: &[LeftOut], most: ListBounds) -> Option<String> {
    first_of(files.iter().map(left_out_file), most)
}

/// One of them.
pub fn left_out_file(file: &LeftOut) -> String {
    let path = file.path.as_ref().map_or_else(|| "a file".to_owned(), |path| format!("`{path}`"));
    format!("{path} ({})", file.reason)
}

/// The first of a list, at least one, and how many more there are; `None` if it is empty.
fn first_of(texts: impl ExactSizeIterator<Item = String>, most: ListBounds) -> Option<String> {
    let count = texts.len();
    let mut told: Vec<String> = Vec::new();
    let mut left = most.bytes;
    for text in texts.take(most.entries) {
        if text.len() > left && !told.is_empty() {
            break;
        }
        left = left.saturating_sub(text.len());
        told.push(text::shortened_to_bytes(text, most.bytes));
    }
    let more = count - told.len();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    (!told.is_empty()).then(|| transcript::visible(&told.join(", ")))
}

/// What a person is told in normal mode.
pub fn advice(occasion: &Occasion) -> String {
    let why = capitalised(&occasion.reason.sentence(occasion.percent));
    format!(
        "{why}: run `checkstone autosave` to commit notes on the work, then compact or start a new session"
    )
}

/// How a push ended.
pub fn push_sentence(autosave: &journal::Autosave) -> String {
    let commit = autosave.commit.as_deref().map(short).unwrap_or_default();
    let not = if autosave.push == PushState::Pushed { "" } else { "not " };
    format!("{OWN_PREFIX} Auto-checkpoint {commit} was {not}pushed: {}", autosave.push_detail)
}

pub fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

/// What the repository's own files say is next. They may be ignored by git, so they are told as a prompt is.
fn read_plans(facts: &mut Facts, root: &Path, look: &Look) {
    let read = |name: &str| {
        let path = policy_files::inside(root, &root.join(name)).ok()?;
        policy_files::read(&path).ok()?
    };
    let teller = Teller { look, root: &root.to_string_lossy() };
    facts.next = read(BUILDGUIDE)
        .and_then(|text| buildguide::first_unchecked(text.as_bytes()))
        .map(|item| teller.item(&item.text));
    facts.build =
        read(build_state::PATH).and_then(|text| teller.told(&text)).and_then(|text| BuildState::read(&text));
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use keeping::commit::Commit;

    use super::*;
    use crate::reason::Reason;

    fn many(name: &str, reason: &str) -> Vec<LeftOut> {
        let file = |at| LeftOut {
            path: Some(BytePath::from(format!("{name}{at}").as_str())),
            reason: reason.to_owned(),
        };
        (0..100).map(file).collect()
    }

    /// However much a snapshot leaves out: what was not committed, and why, is in the record, and so is what came of it.
    #[test]
    fn no_list_of_a_record_pushes_another_out() {
        let id = "0123456789abcdef0123456789abcdef01234567".to_owned();
        let commit = Commit {
            id: id.clone(),
            parent: None,
            branch: "main".to_owned(),
            paths: Vec::new(),
            left_out: many("key", "line 1 looks like a secret"),
            superseded: (0..100)
                .map(|at| (BytePath::from(format!("staged{at}").as_str()), id.clone()))
                .collect(),
            complaint: Some("the hook `post-commit` failed".to_owned()),
        };
        let late = many("late", "").into_iter().filter_map(|left| left.path).collect();
        let taken = Taken { id: "S".to_owned(), left_out: many("large", &"too large ".repeat(20)), late };
        let saved =
            Saved { commit, notes: "N".to_owned(), others: 0, snapshot: Some(taken), snapshot_problem: None };
        let occasion =
            Occasion { at: Timestamp::UNIX_EPOCH, reason: Reason::Asked, percent: None, iteration: None };
        let (ended, took) = (SaveOutcome::Saved(saved), Duration::ZERO);
        let report = SaveReport { occasion, ended, push: Push::None(None), took };

        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), journal::OpenFor::Command).unwrap();
        report.record(&mut journal, folder.path(), None, None).unwrap();
        let recorded = journal.read(|reader| reader.recent_autosaves(None, 1)).unwrap().remove(0).detail;
        for begun in [
            ", snapshot S of the tree without `large0` (too large",
            ", changed while it was saved: `late0`, ",
            ", not committed: `key0` (line 1 looks like a secret), ",
            ", after the commit: the hook `post-commit` failed, you had staged another version of `staged99`, ",
        ] {
            assert!(recorded.contains(begun), "{begun}: {recorded}");
        }
        assert_eq!(recorded.matches(", and ").count(), 4, "{recorded}");
        assert!(recorded.ends_with(" more"), "{recorded}");
    }
}

//! Direct execution: snapshot, notes, commit, in this order, and the notes as they were where it does not come to a
//! commit. What is to be committed is looked through for secrets first. The push is for another process.

use std::path::Path;
use std::time::Duration;

use agents::host;
use change_set::{BytePath, ChangeSet, ChangedFile, How};
use changes::{Repository, Request};
use files::{Lock, LockError, TemporaryFile};
use gate::policy::{Autosave, Include};
use keeping::commit::{self, Commit, CommitError, CommitOutcome, NewCommit};
use keeping::snapshot::{LeftOut, NewSnapshot, SessionName, Side, SnapshotError, SnapshotReason};
use stop::lock_file;
use transcript::Agent;

use crate::facts::{self, Occasion, Teller};
use crate::look::Look;
use crate::notes::{self, NotesError};
use crate::saving_settings::SavingSettings;
use crate::secrets::Finding;
use crate::session_notes::{self, NewNotes, SessionNotes};

pub(crate) const BUILDGUIDE: &str = "buildguide.md";

/// Another save in the same repository is waited for.
const OTHERS: Duration = Duration::from_secs(60);

/// Somebody who commits at the same time is waited for.
const INDEX_LOCK: Duration = Duration::from_secs(3);

const UNSEEN: &str =
    "git was told to ignore its changes, by `git update-index --skip-worktree` or `--assume-unchanged`";

/// Everything that a save is made of.
#[derive(Debug)]
pub struct Save {
    pub repository: Repository,
    pub settings: Autosave,
    pub agent: Agent,
    pub session: Option<String>,
    pub turn_key: Option<String>,
    pub saving: SavingSettings,
    pub occasion: Occasion,
    pub branch: Option<String>,
    /// The notes, as they were when the save was asked for.
    pub notes: String,
    /// What the turn changed.
    pub changed: Vec<BytePath>,
    /// What of that the user had staged, and stays so.
    pub staged: Vec<BytePath>,
    /// Why nothing is pushed, whatever the settings say.
    pub no_push: Option<String>,
}

/// What must not be committed of what a commit would add.
#[derive(Debug, Default)]
struct WithheldFiles {
    secrets: Vec<Finding>,
    /// Too large to be looked through.
    unread: Vec<BytePath>,
}

impl WithheldFiles {
    fn are_any(&self) -> bool {
        !self.secrets.is_empty() || !self.unread.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &BytePath> {
        self.secrets.iter().map(|finding| &finding.path).chain(&self.unread)
    }

    /// Each once, with the first reason.
    fn left_out(&self) -> Vec<LeftOut> {
        let secret = |finding: &Finding| {
            let Finding { path, line, kind, fingerprint } = finding;
            let reason = format!("line {line} looks like a secret: {kind}, `{fingerprint}`");
            LeftOut { path: Some(path.clone()), reason }
        };
        let unread = |path: &BytePath| LeftOut {
            path: Some(path.clone()),
            reason: "too large to scan for secrets".to_owned(),
        };
        let mut all: Vec<LeftOut> =
            self.secrets.iter().map(secret).chain(self.unread.iter().map(unread)).collect();
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all.dedup_by(|one, other| one.path == other.path);
        all
    }
}

/// What a save would commit, and what it would leave out.
#[derive(Debug)]
pub struct CommitPreview {
    pub paths: Vec<BytePath>,
    pub left_out: Vec<LeftOut>,
}

/// How a save ended.
#[derive(Debug)]
pub enum SaveOutcome {
    Saved(Saved),
    /// The working tree is as HEAD has it, or the same is saved already.
    Nothing,
    Failed(Failed),
}

/// What was done, and seen to be done.
#[derive(Clone, Debug)]
pub struct Saved {
    pub commit: Commit,
    /// The file with the notes.
    pub notes: String,
    /// How many files are in the commit that are no notes.
    pub others: usize,
    /// `None` if none could be taken; then `snapshot_problem` says why.
    pub snapshot: Option<Taken>,
    pub snapshot_problem: Option<String>,
}

/// A snapshot.
#[derive(Clone, Debug)]
pub struct Taken {
    pub id: String,
    /// What could not be taken.
    pub left_out: Vec<LeftOut>,
    /// What was written after the stop, and is in the snapshot as it was then.
    pub late: Vec<BytePath>,
}

/// Why it did not come to a commit. What was taken before stays.
#[derive(Debug)]
pub struct Failed {
    pub error: SaveError,
    pub snapshot: Option<Taken>,
}

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error(transparent)]
    Git(#[from] changes::Error),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("another autosave has been running in this repository for more than {} s", OTHERS.as_secs())]
    Busy,
    #[error("cannot lock out other saves: {0}")]
    Lock(LockError),
    #[error("the notes cannot be written: {0}")]
    Notes(#[from] NotesError),
    #[error("`{path}` cannot be committed ({reason})")]
    NotesLeftOut { path: String, reason: String },
    /// Made anew it would replace what git has: a person's words by our section alone.
    #[error(
        "`{path}` is in git but not on the disk, deleted or not checked out here: restore it, or name another file with \
         `notes`"
    )]
    NotesAway { path: String },
    /// The first trouble, and that it left a second one behind.
    #[error("{cause}; the section stays in `{path}`: {why}")]
    NotesStay { cause: Box<SaveError>, path: String, why: String },
    /// Another save has just said the very same.
    #[error("the notes are already committed")]
    NothingNew,
    /// What looks like one, by file, line and kind; never itself.
    #[error("the commit would contain what looks like a secret: {}", found.join("; "))]
    Secret { found: Vec<String> },
    #[error("{} cannot be scanned for secrets: too large", paths.join(", "))]
    TooLarge { paths: Vec<String> },
}

impl SaveError {
    /// The agent must not be asked to do what was refused for good reason.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotesStay { cause, .. } => cause.is_refusal(),
            _ => matches!(self, Self::Secret { .. }),
        }
    }

    /// Whether it may be over by the next stop.
    pub fn may_pass(&self) -> bool {
        use changes::Error::TimedOut;
        match self {
            Self::Busy | Self::Git(TimedOut { .. }) => true,
            Self::NotesStay { cause, .. } => cause.may_pass(),
            Self::Commit(error) => matches!(
                error,
                CommitError::Busy
                    | CommitError::Locked { .. }
                    | CommitError::HeadMoved
                    | CommitError::OtherBranch { .. }
                    | CommitError::HookTimedOut { .. }
                    | CommitError::InProgress { .. }
                    | CommitError::Git(TimedOut { .. })
            ),
            _ => false,
        }
    }
}

impl Save {
    /// Snapshot, notes and commit. Whatever fails is in the answer; the notes are then as they were. `last` is the last save
    /// in the repository.
    pub(crate) fn execute(&self, last: Option<&journal::Autosave>) -> SaveOutcome {
        self.saving.log_step("🚀 Executing checkpoint directly in hook");
        let file = lock_file(&self.saving.state, "autosave", &self.repository);
        let lock = match Lock::acquire(&file, OTHERS) {
            Ok(lock) => lock,
            Err(LockError::Busy { .. }) => return failed(SaveError::Busy, None),
            Err(error) => return failed(SaveError::Lock(error), None),
        };
        self.clear_leftovers();
        session_notes::bring_back(&self.repository.root, &commit::folder(&self.repository), |path| {
            commit::version_in_head(&self.repository, &self.saving.git, path).ok()
        });
        // What a killed save has staged is not the user's. Where it cannot be taken back, the commit says why.
        let _ = commit::recover(&self.repository, &self.saving.git, INDEX_LOCK);
        let ended = match self.dirty() {
            Ok(dirty) if dirty.files.is_empty() => SaveOutcome::Nothing,
            Ok(dirty) if last.is_some_and(|last| self.is_saved(last, &dirty)) => SaveOutcome::Nothing,
            Ok(dirty) => self.save_all(&dirty.files),
            Err(error) => failed(SaveError::Git(error), None),
        };
        drop(lock);
        ended
    }

    /// A save that was killed while it wrote the notes has left a temporary file beside them. We have the lock, so that it
    /// is nobody's any more.
    fn clear_leftovers(&self) {
        let notes = self.repository.root.join(self.notes_name());
        let (Some(folder), Some(name)) = (notes.parent(), notes.file_name().and_then(|name| name.to_str()))
        else {
            return;
        };
        let is_leftover = |file: &str| TemporaryFile::is_left_of(file, name);
        for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && entry.file_name().to_str().is_some_and(is_leftover) {
                let _ = fs_err::remove_file(entry.path());
            }
        }
    }

    /// Everything that differs from HEAD; work that is only untracked is work (A5).
    fn dirty(&self) -> Result<ChangeSet, changes::Error> {
        changes::start_in(self.repository.clone(), &self.saving.git)?.change_set(Request::Worktree)
    }

    /// Whether nothing has happened since the last save: its commit is HEAD, its notes say the same, its snapshot has the same
    /// files, and those that a save commits in any case are as they were committed.
    fn is_saved(&self, last: &journal::Autosave, now: &ChangeSet) -> bool {
        let is_own = |file: &ChangedFile| is_own_file(&file.path, self.agent, &self.settings);
        let is_there = last.commit.is_some() && last.commit == now.head && last.branch == now.branch;
        let says_the_same = || {
            let section = self.section();
            let newest = session_notes::newest(&self.repository.root);
            newest.is_some_and(|notes| notes.ends_with(facts::without_time(&section)))
        };
        let has_the_same = || {
            last.snapshot.as_deref().is_some_and(|snapshot| {
                is_as_in_snapshot(&self.repository, &self.saving, self.agent, &self.settings, snapshot)
            })
        };
        is_there && !now.files.iter().any(is_own) && says_the_same() && has_the_same()
    }

    fn save_all(&self, dirty: &[ChangedFile]) -> SaveOutcome {
        let (snapshot, snapshot_problem) = match self.snapshot() {
            Ok(taken) => (Some(taken), None),
            Err(error) => (None, Some(error.to_string())),
        };
        match self.commit(dirty) {
            Ok((commit, written)) => {
                // What somebody wrote into the client's notes file goes along with our section.
                let is_other = |path: &&BytePath| {
                    !session_notes::has(path) && (**path != written.index.relative || has(dirty, path))
                };
                let others = commit.paths.iter().filter(is_other).count();
                let notes = written.file.to_string();
                SaveOutcome::Saved(Saved { commit, notes, others, snapshot, snapshot_problem })
            }
            Err(SaveError::NothingNew) => SaveOutcome::Nothing,
            Err(error) => failed(error, snapshot),
        }
    }

    fn snapshot(&self) -> Result<Taken, SnapshotError> {
        let Occasion { at, reason, percent, .. } = self.occasion;
        let message = format!("autosave: {}", reason.sentence(percent));
        let session = self.session.clone();
        let new = NewSnapshot {
            reason: SnapshotReason::Autosave,
            message: &message,
            now: at,
            session: session.map(|id| SessionName { agent: self.agent.name().to_owned(), id }),
            turn: self.turn_key.clone(),
        };
        let made = self.saving.snapshots(&self.repository)?.create(&new)?;
        Ok(Taken { id: made.id, left_out: made.facts.left_out, late: made.facts.late })
    }

    /// The commit, and the notes in it.
    fn commit(&self, dirty: &[ChangedFile]) -> Result<(Commit, SessionNotes), SaveError> {
        let root = &self.repository.root;
        let name = BytePath::from(self.notes_name());
        // A path that differs from HEAD and is not there is one that git has, staged at least.
        let is_absent = root.join(self.notes_name()).symlink_metadata().is_err();
        if is_absent && (has(dirty, &name) || self.in_head(&name)?.is_some()) {
            return Err(SaveError::NotesAway { path: name.to_string() });
        }
        let clean = |text: &str| self.tellable_notes(text);
        let section = self.section();
        let written = self.new_notes(&section).write(root, &commit::folder(&self.repository), clean)?;
        if written.index.is_changed() {
            self.saving.log_step(&format!("📝 Updating {name} with session progress"));
            self.saving.log_step(&match (is_absent, written.index.had_section()) {
                (true, _) => format!("✅ Created {name} with Last Session"),
                (false, false) => format!("✅ Added Last Session to {name}"),
                (false, true) => format!("✅ Updated existing Last Session in {name}"),
            });
            self.saving.log_step(&format!("📋 {name} update complete"));
        }
        self.saving.log_step(&format!("✅ Notes written to {}", written.file));
        let before = self.in_head(&written.index.relative).map_err(|error| put_back(&written, error))?;
        written.index.write_down(before.as_deref());
        match self.commit_paths(&written, dirty) {
            Ok(mut commit) => {
                self.look_after_index(&written, &mut commit);
                written.settle();
                Ok((commit, written))
            }
            Err(SaveError::NothingNew) => {
                // They are as HEAD has them now: somebody's commit took ours along, or another save said the same.
                written.settle();
                Err(SaveError::NothingNew)
            }
            Err(error) => Err(put_back(&written, error)),
        }
    }

    /// A client's notes file that git was told not to look at gets its former bytes back: nothing of it will ever be committed.
    fn look_after_index(&self, written: &SessionNotes, commit: &mut Commit) {
        let index = &written.index.relative;
        let is_named = commit.paths.contains(index)
            || commit.left_out.iter().any(|left_out| left_out.path.as_ref() == Some(index));
        // Where somebody had taken the section out, it is now as HEAD has it, and there was nothing to commit.
        let is_unseen = || commit::is_unseen(&self.repository, &self.saving.git, index).unwrap_or(false);
        if !written.index.is_changed() || is_named || !is_unseen() {
            return;
        }
        let reason = match written.index.put_back() {
            Ok(true) => UNSEEN.to_owned(),
            Ok(false) => format!("{UNSEEN}; its section stays, because it was changed in the meantime"),
            Err(error) => format!("{UNSEEN}; its section stays: {error}"),
        };
        commit.left_out.push(LeftOut { path: Some(index.clone()), reason });
    }

    fn new_notes<'a>(&'a self, section: &'a str) -> NewNotes<'a> {
        let title = if self.session.is_some() { "Notes on a session" } else { "Notes on the work" };
        NewNotes { index: self.notes_name(), title, body: section, at: self.occasion.at }
    }

    fn in_head(&self, path: &BytePath) -> Result<Option<String>, SaveError> {
        Ok(commit::version_in_head(&self.repository, &self.saving.git, path)?)
    }

    fn commit_paths(&self, written: &SessionNotes, dirty: &[ChangedFile]) -> Result<Commit, SaveError> {
        let notes = written.paths();
        let (mut paths, mut unfit) = self.with_notes(notes.clone(), dirty);
        self.saving.log_step("📦 Staging changes to git...");
        let mut steps = vec![
            "✅ Files staged successfully",
            "🔍 Checking for staged changes...",
            "✅ Staged changes detected",
            "💾 Creating git commit...",
        ];
        loop {
            let mut withheld = WithheldFiles::default();
            let outcome = self.commit_without_secrets(&paths, written, &mut steps, &mut withheld)?;
            // What is not ours is left out, and costs the rest nothing.
            let is_other = |path: &BytePath| paths.contains(path) && !notes.contains(path);
            if outcome == CommitOutcome::Withheld && withheld.are_any() && withheld.paths().all(is_other) {
                paths.retain(|path| !withheld.paths().any(|withheld| withheld == path));
                unfit.extend(withheld.left_out());
                continue;
            }
            return self.ended_commit(outcome, written, withheld, unfit);
        }
    }

    /// Commits these paths if nothing in them looks like a secret, and all of it could be looked through.
    /// Notes of somebody else's, which go where ours go: each line by itself, so that one that is withheld takes none along.
    fn tellable_notes(&self, text: &str) -> String {
        let (look, root) = (self.look(), self.repository.root.to_string_lossy());
        let teller = Teller { look: &look, root: &root };
        let whole = look.without_secrets(text, self.notes_name());
        whole.lines().map(|line| format!("{}\n", teller.told(line).unwrap_or_default())).collect()
    }

    fn commit_without_secrets(
        &self,
        paths: &[BytePath],
        written: &SessionNotes,
        steps: &mut Vec<&'static str>,
        withheld: &mut WithheldFiles,
    ) -> Result<CommitOutcome, SaveError> {
        let (message, look) = (self.message(paths), self.look());
        let new = NewCommit {
            paths,
            message: &message,
            branch: self.branch.as_deref(),
            hook_limit: self.settings.hook_timeout,
            lock_limit: INDEX_LOCK,
        };
        Ok(commit::commit(&self.repository, &self.saving.git, &new, &mut |added| {
            steps.drain(..).for_each(|step| self.saving.log_step(step));
            *withheld = WithheldFiles { secrets: look.through(added), unread: added.unread.clone() };
            !withheld.are_any() && added.files.iter().any(|file| file.path == written.file)
        })?)
    }

    fn ended_commit(
        &self,
        outcome: CommitOutcome,
        written: &SessionNotes,
        withheld: WithheldFiles,
        unfit: Vec<LeftOut>,
    ) -> Result<Commit, SaveError> {
        let left_out = |reason: String| SaveError::NotesLeftOut { path: written.file.to_string(), reason };
        match outcome {
            CommitOutcome::Made(mut commit) => {
                self.saving.log_step("✅ Git commit successful");
                commit.left_out.extend(unfit);
                Ok(commit)
            }
            CommitOutcome::Withheld if !withheld.secrets.is_empty() => {
                Err(SaveError::Secret { found: withheld.secrets.iter().map(ToString::to_string).collect() })
            }
            CommitOutcome::Withheld if !withheld.unread.is_empty() => Err(SaveError::TooLarge {
                paths: withheld.unread.iter().map(|path| format!("`{path}`")).collect(),
            }),
            CommitOutcome::Withheld => Err(left_out("git ignores it".to_owned())),
            CommitOutcome::Nothing { left_out: files } => {
                let of_notes = files.into_iter().find(|one| one.path.as_ref() == Some(&written.file));
                Err(of_notes.map_or(SaveError::NothingNew, |one| left_out(one.reason)))
            }
        }
    }

    /// What the turn changed, if that is to be committed.
    pub(crate) fn named(&self) -> &[BytePath] {
        match self.settings.include {
            Include::All => &self.changed,
            Include::Notes => &[],
        }
    }

    /// What would be committed, as far as that can be seen without trying.
    pub fn preview(&self) -> Result<CommitPreview, SaveError> {
        let mut notes = vec![BytePath::from(self.notes_file().as_str())];
        if !notes::says(&self.repository.root, self.notes_name(), session_notes::INDEX) {
            notes.push(BytePath::from(self.notes_name()));
        }
        let dirty = self.dirty().map(|dirty| dirty.files).unwrap_or_default();
        let (mut paths, mut left_out) = self.with_notes(notes.clone(), &dirty);
        let added = commit::would_add(&self.repository, &self.saving.git, &paths)?;
        let withheld = WithheldFiles { secrets: self.look().through(&added), unread: added.unread };
        let mut of_notes = withheld.secrets.iter().filter(|finding| notes.contains(&finding.path)).peekable();
        if of_notes.peek().is_some() {
            return Err(SaveError::Secret { found: of_notes.map(ToString::to_string).collect() });
        }
        paths.retain(|path| !withheld.paths().any(|withheld| withheld == path));
        left_out.extend(withheld.left_out());
        Ok(CommitPreview { paths, left_out })
    }

    /// The notes and what else is wished for; and of that, what is not fit to be committed.
    fn with_notes(&self, mut paths: Vec<BytePath>, dirty: &[ChangedFile]) -> (Vec<BytePath>, Vec<LeftOut>) {
        let root = &self.repository.root;
        let mut others = Vec::new();
        if root.join(BUILDGUIDE).is_file() {
            others.push(BytePath::from(BUILDGUIDE));
        }
        others.extend_from_slice(self.named());
        // What the turn has not touched was not staged by it.
        let is_staged_before = |path: &BytePath| {
            let is_staged = |file: &ChangedFile| file.path == *path && file.how.contains(&How::Staged);
            (self.staged.contains(path) || !self.changed.contains(path)) && dirty.iter().any(is_staged)
        };
        let mut left_out = Vec::new();
        for path in others {
            if is_staged_before(&path) {
                left_out.push(LeftOut {
                    path: Some(path),
                    reason: "you have staged it, and it stays staged".to_owned(),
                });
                continue;
            }
            match unfit(&root.join(path.as_path())) {
                Some(reason) => left_out.push(LeftOut { path: Some(path), reason }),
                None if !paths.contains(&path) => paths.push(path),
                None => {}
            }
        }
        (paths, left_out)
    }

    /// The section, without a line in which a prompt or a command says something secret.
    pub fn section(&self) -> String {
        self.look().without_secrets(&self.notes, self.notes_name())
    }

    /// Who looks for secrets.
    pub(crate) fn look(&self) -> Look {
        self.saving.look(&self.settings)
    }

    /// The file that the notes of this save go to, from the top of the repository.
    pub fn notes_file(&self) -> String {
        self.new_notes(&self.section()).file().0
    }

    /// The client's notes file, from the top of the repository.
    pub fn notes_name(&self) -> &str {
        self.settings.notes.as_deref().unwrap_or_else(|| notes_of(self.agent))
    }

    /// The message of a commit of these paths, from the template.
    pub fn message(&self, paths: &[BytePath]) -> String {
        let Occasion { reason, percent, iteration, .. } = self.occasion;
        let filled = |text: &str| {
            let known =
                |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
            let (percent, iteration) = (known(percent), known(iteration));
            let what = match (paths.iter().any(|path| self.named().contains(path)), &self.session) {
                (false, Some(_)) => "Notes on the session",
                (true, Some(_)) => "Notes on the session, and what its turn changed",
                (false, None) => "Notes on the work",
                (true, None) => "Notes on the work, and what changed",
            };
            text.replace("{what}", what)
                .replace("{reason}", &reason.sentence(self.occasion.percent))
                .replace("{percent}", &percent)
                .replace("{agent}", self.agent.name())
                .replace("{branch}", self.branch.as_deref().unwrap_or("HEAD"))
                .replace("{iteration}", &iteration)
        };
        let mut message = filled(self.settings.subject.trim());
        let body = filled(self.settings.body.trim());
        if !body.is_empty() {
            message.push_str(&format!("\n\n{body}"));
        }
        // Without a session no agent had a part in it.
        let agent = self.session.as_ref().map(|_| co_author_of(self.agent));
        let co_author = self.settings.co_author.as_deref().or(agent).map(str::trim);
        if let Some(co_author) = co_author.filter(|co_author| !co_author.is_empty()) {
            message.push_str(&format!("\n\nCo-Authored-By: {co_author}"));
        }
        message.push('\n');
        message
    }
}

fn has(files: &[ChangedFile], path: &BytePath) -> bool {
    files.iter().any(|file| file.path == *path)
}

/// Whether the working tree is as a snapshot has it, apart from what saves write themselves.
pub(crate) fn is_as_in_snapshot(
    repository: &Repository,
    saving: &SavingSettings,
    agent: Agent,
    settings: &Autosave,
    snapshot: &str,
) -> bool {
    let scratch = &saving.temporary;
    let differences = saving.snapshots(repository).and_then(|snapshots| {
        let snapshot = snapshots.find(snapshot)?;
        snapshots.diff(Side::Snapshot(&snapshot), Side::WorkingTree { scratch }, &[])
    });
    differences.is_ok_and(|all| all.iter().all(|one| is_own_file(&one.path, agent, settings)))
}

/// Whether a save writes or commits the file in any case.
fn is_own_file(path: &BytePath, agent: Agent, settings: &Autosave) -> bool {
    let notes = settings.notes.as_deref().unwrap_or_else(|| notes_of(agent));
    session_notes::has(path) || [notes, BUILDGUIDE].map(BytePath::from).contains(path)
}

/// Why one file cannot be committed, which is no reason not to commit the others.
fn unfit(path: &Path) -> Option<String> {
    let found = path.symlink_metadata().ok().filter(|found| found.is_file())?;
    if found.len() > keeping::LARGEST_FILE {
        return Some("it is over 32 MB and cannot be scanned for secrets".to_owned());
    }
    let error = fs_err::File::open(path).err()?;
    Some(format!("it cannot be read: {}", error.kind()))
}

/// The notes file that the client reads at the beginning of a session.
pub fn notes_of(agent: Agent) -> &'static str {
    host(agent).notes_file
}

fn co_author_of(agent: Agent) -> &'static str {
    host(agent).co_author
}

/// The notes as they were before the trouble; what is told of it where they cannot be.
fn put_back(written: &SessionNotes, cause: SaveError) -> SaveError {
    use CommitError::{HookFailed, HookTimedOut};
    let is_hooks = matches!(cause, SaveError::Commit(HookFailed { .. } | HookTimedOut { .. }));
    let why = match written.put_back(is_hooks) {
        Ok(true) => return cause,
        Ok(false) => "it was changed in the meantime".to_owned(),
        Err(error) => error.to_string(),
    };
    SaveError::NotesStay { cause: Box::new(cause), path: written.index.relative.to_string(), why }
}

fn failed(error: SaveError, snapshot: Option<Taken>) -> SaveOutcome {
    SaveOutcome::Failed(Failed { error, snapshot })
}

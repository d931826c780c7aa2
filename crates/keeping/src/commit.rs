//! A commit of named paths, made beside the user's own work: what they staged stays staged and uncommitted, and of
//! the index only the entries of the named paths follow.
//!
//! `git commit --only` would do that too, but it holds `index.lock` from before the first commit hook until the end:
//! the user is locked out while a test suite runs as a hook, and a SIGKILL in that time leaves the lock. So here:
//!
//! 1. A private index, made from the user's (its stat cache stays warm) and HEAD, takes the named files. The commit
//!    hooks run with it, as they would inside `git commit --only`, and then tree and commit are written. Until here
//!    only objects and files in our own folder exist: a kill leaves nothing to repair. What a hook adds beyond the named
//!    paths is taken out again.
//! 2. The caller looks at what the commit adds, and may refuse it. What it looks at is what will be committed.
//! 3. The user's index is exchanged for one with the new entries: written whole beside it, then `link` to
//!    `index.lock` (which fails where somebody holds it), a look that the index is still the one that was copied,
//!    `rename`. So the lock exists for two system calls and never half written, and one that a kill left is known as
//!    ours, since it is the same file as the one in our folder: the next run removes it.
//! 4. `git update-ref` moves the branch, by its name, from the commit that was its head, or not at all if it has moved meanwhile,
//!    or if HEAD names another branch by now; then the index gets its former entries back, and everything is tried again.
//!
//! Index before branch: a kill between the two leaves the named files staged, as `git add` would; the other way
//! round it would leave their *removal* staged, and the user's next commit would undo ours. What was about to happen
//! is written down before (3), so that the next run takes such entries back. What remains is git's own: a SIGKILL of
//! `git update-ref` itself, while it holds the branch's lock for a fraction of a millisecond. Killing only us does not
//! end it: it runs in a group of its own, and until it has ended no other run begins.
//!
//! A detached HEAD is refused (A11): the commit would belong to no branch, be pushed nowhere, and be lost to git's
//! collection once the user switches away; a snapshot keeps the work there.

mod hooks;
mod in_progress;
mod index;
mod workplace;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use change_set::BytePath;
use changes::{Error, GitProgram, Repository};
use serde::Serialize;

use crate::acting::ActingGit;
use crate::added::{self, Added, AddedFile};
use crate::difference::{Difference, Version};
use crate::snapshot::LeftOut;
use index::PathFitness;
use workplace::Workplace;

pub use workplace::folder;

const HEADS: &str = "refs/heads/";

/// So often the whole is tried while others move the branch.
const ATTEMPTS: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Git(#[from] Error),
    #[error("a {operation} is in progress: finish or abort it first")]
    InProgress { operation: &'static str },
    #[error("HEAD is on no branch, so a commit would be lost with the next switch: create a branch first")]
    Detached,
    #[error("HEAD was on `{wanted}`, and is on `{now}` now")]
    OtherBranch { wanted: String, now: String },
    #[error("`{path}` has an unresolved merge conflict: resolve it first")]
    Unmerged { path: BytePath },
    #[error("`{path}` is not a path inside the repository")]
    Outside { path: BytePath },
    #[error(
        "another git process holds `{path}`; if none is running, remove it: `rm -f {quoted}`",
        path = .path.display(),
        quoted = text::shell_word(&.path.to_string_lossy())
    )]
    Locked { path: PathBuf },
    #[error("another autosave is committing in this repository")]
    Busy,
    #[error("the hook `{hook}` refused the commit: {said}")]
    HookFailed { hook: &'static str, said: String },
    #[error("the hook `{hook}` took longer than {} and was stopped", text::duration_in_words(*limit))]
    HookTimedOut { hook: &'static str, limit: Duration },
    #[error("git does not know who commits: set `user.name` and `user.email`")]
    NoIdentity { reason: String },
    #[error("the commit could not be signed: {reason}")]
    NotSigned { reason: String },
    #[error("the commit message is empty")]
    EmptyMessage,
    #[error("the branch kept moving while the commit was made")]
    HeadMoved,
    #[error("git does not show the commit `{id}` that it made")]
    NotVerified { id: String },
    #[error("cannot use `{path}`: {source}", path = .path.display())]
    Folder { path: PathBuf, source: io::Error },
}

#[derive(Clone, Debug)]
pub struct NewCommit<'a> {
    /// Files, from the top of the working tree. They are committed as they lie there; those that are gone, as
    /// deleted. A part of a file that the user had staged is committed with the rest of it.
    pub paths: &'a [BytePath],
    pub message: &'a str,
    /// The branch that HEAD has to name; `None` if any will do.
    pub branch: Option<&'a str>,
    /// How long each commit hook, and the signing program, may take.
    pub hook_limit: Duration,
    /// How long to wait for another process that holds `index.lock`.
    pub lock_limit: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CommitOutcome {
    Made(Commit),
    /// The named files are as HEAD has them, or were left out.
    Nothing {
        left_out: Vec<LeftOut>,
    },
    /// The caller did not approve of what it adds.
    Withheld,
}

/// A commit that was made and found again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Commit {
    pub id: String,
    /// `None` for the first one of a repository.
    pub parent: Option<String>,
    /// Without `refs/heads/`.
    pub branch: String,
    /// What it changes, all of it named.
    pub paths: Vec<BytePath>,
    /// Named files that are not in it: ignored ones, folders; and what a hook wanted to add.
    pub left_out: Vec<LeftOut>,
    /// Files of which another version had been staged, with the id of that content.
    pub superseded: Vec<(BytePath, String)>,
    /// What the post-commit hook complained about; the commit stands.
    pub complaint: Option<String>,
}

/// Commits the named paths, once `approve` has said yes to what the commit adds. Where others move the branch
/// meanwhile, all of it is done again, hooks and `approve` too.
pub fn commit(
    repository: &Repository,
    program: &GitProgram,
    new: &NewCommit<'_>,
    approve: &mut dyn FnMut(&Added) -> bool,
) -> Result<CommitOutcome, CommitError> {
    for path in new.paths {
        check_inside(path)?;
    }
    let workplace = Workplace::open(repository, program, new.lock_limit)?;
    workplace.recover(new.lock_limit)?;
    for _ in 0..ATTEMPTS {
        let attempt = CommitAttempt::begin(&workplace, new)?;
        match attempt.make(approve) {
            Err(CommitError::HeadMoved) => {}
            ended => return ended,
        }
    }
    Err(CommitError::HeadMoved)
}

/// Clears away what a killed run has left: takes back entries of the index whose commit never came, and an
/// `index.lock` that is provably ours. [`commit`] begins with it; nothing is done while another run is at work.
pub fn recover(
    repository: &Repository,
    program: &GitProgram,
    lock_limit: Duration,
) -> Result<(), CommitError> {
    if !Workplace::exists(repository) {
        return Ok(());
    }
    Workplace::open(repository, program, lock_limit)?.recover(lock_limit)
}

/// The branch that HEAD names; `None` if it is detached. Git is asked only if the files do not tell.
pub fn branch(repository: &Repository, program: &GitProgram) -> Result<Option<String>, Error> {
    match repository.branch() {
        Some(branch) => Ok(Some(branch)),
        None => head_branch(&ActingGit::new(program, &repository.root)),
    }
}

fn head_branch(git: &ActingGit) -> Result<Option<String>, Error> {
    let head = git.line_or_none(&["symbolic-ref", "--quiet", "HEAD"])?;
    Ok(head.map(|head| head.strip_prefix(HEADS).unwrap_or(&head).to_owned()))
}

/// The operation that git is in the middle of, and that a commit would become a part of.
pub fn in_progress(
    repository: &Repository,
    program: &GitProgram,
) -> Result<Option<&'static str>, CommitError> {
    Ok(in_progress::operation(repository, &ActingGit::new(program, &repository.root))?)
}

/// The id of the content that HEAD has of a file, whether or not it is checked out; `None` if it has none.
pub fn version_in_head(
    repository: &Repository,
    program: &GitProgram,
    path: &BytePath,
) -> Result<Option<String>, CommitError> {
    let git = ActingGit::new(program, &repository.root);
    let mut found = index::in_head(&git, std::slice::from_ref(path))?;
    Ok(found.remove(path).map(|entry| entry.id))
}

/// What a commit of these files would add, as they lie in the working tree now; filters and hooks may still change it.
pub fn would_add(
    repository: &Repository,
    program: &GitProgram,
    paths: &[BytePath],
) -> Result<Added, CommitError> {
    let git = ActingGit::new(program, &repository.root);
    let in_head = index::in_head(&git, paths)?;
    let ids: Vec<&str> = in_head.values().map(|version| version.id.as_str()).collect();
    let before = changes::blobs(&|arguments, input| git.run(arguments, input), &ids, added::LARGEST_FILE)?;
    let mut all = Added::default();
    for path in paths {
        let file = repository.root.join(path.as_path());
        match file.symlink_metadata() {
            Ok(found) if found.len() > added::LARGEST_FILE => all.unread.push(path.clone()),
            Ok(found) if found.is_file() => {
                // What cannot be read is left out by the commit.
                let Ok(content) = fs_err::read(&file) else { continue };
                let old = in_head.get(path).and_then(|version| before.get(version.id.as_str()));
                let lines = added::new_lines(old.map_or(&[], Vec::as_slice), &content);
                all.files.push(AddedFile { path: path.clone(), commit: String::new(), content, lines });
            }
            _ => {}
        }
    }
    Ok(all)
}

/// Whether git was told not to look at the file, by `--skip-worktree` or `--assume-unchanged`.
pub fn is_unseen(
    repository: &Repository,
    program: &GitProgram,
    path: &BytePath,
) -> Result<bool, CommitError> {
    index::is_unseen(&ActingGit::new(program, &repository.root), path)
}

fn check_inside(path: &BytePath) -> Result<(), CommitError> {
    let mut parts = path.as_bytes().split(|byte| *byte == b'/');
    let is_name = |part: &[u8]| {
        !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git") && !part.contains(&0)
    };
    if parts.all(is_name) { Ok(()) } else { Err(CommitError::Outside { path: path.clone() }) }
}

/// One try to make the commit, on the HEAD that there is at its beginning.
struct CommitAttempt<'a> {
    workplace: &'a Workplace,
    new: &'a NewCommit<'a>,
    /// Git as it is, and with the private index.
    git: ActingGit,
    private: ActingGit,
    branch: String,
    parent: Option<String>,
    /// The commit or tree to compare with.
    base: String,
    left_out: Vec<LeftOut>,
}

impl<'a> CommitAttempt<'a> {
    fn begin(workplace: &'a Workplace, new: &'a NewCommit<'a>) -> Result<Self, CommitError> {
        let git = workplace.git.clone();
        if let Some(operation) = in_progress::operation(&workplace.repository, &git)? {
            return Err(CommitError::InProgress { operation });
        }
        let branch = head_branch(&git)?.ok_or(CommitError::Detached)?;
        if let Some(wanted) = new.branch.filter(|wanted| *wanted != branch) {
            return Err(CommitError::OtherBranch { wanted: wanted.to_owned(), now: branch });
        }
        let parent = git.line_or_none(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        for role in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            git.run(&["var", role], b"").map_err(identity)?;
        }
        index::wait_for_lock(workplace, new.lock_limit)?;
        let base = match &parent {
            Some(parent) => parent.clone(),
            None => workplace.repository.object_format().empty_tree().to_owned(),
        };
        let private = git.with("GIT_INDEX_FILE", workplace.file(workplace::PRIVATE_INDEX));
        Ok(Self { workplace, new, git, private, branch, parent, base, left_out: Vec::new() })
    }

    fn make(mut self, approve: &mut dyn FnMut(&Added) -> bool) -> Result<CommitOutcome, CommitError> {
        index::seed_private(self.workplace, &self.private, self.parent.as_deref())?;
        let staged = self.staged()?;
        let taken = self.take_files()?;
        if taken.is_empty() || self.is_unchanged()? {
            return Ok(CommitOutcome::Nothing { left_out: self.left_out });
        }
        self.hook("pre-commit", &[])?;
        self.drop_unnamed(&taken)?;
        if self.is_unchanged()? {
            return Ok(CommitOutcome::Nothing { left_out: self.left_out });
        }
        let id = self.write()?;
        let changed = added::differing(&self.git, &self.base, &id)?;
        if changed.iter().any(|change| !taken.contains(&change.path)) {
            return Err(CommitError::NotVerified { id });
        }
        if !approve(&added::by_commit(&self.git, self.parent.as_deref(), &id)?) {
            return Ok(CommitOutcome::Withheld);
        }
        self.publish(&id, &changed, &staged)?;
        self.verify(&id)?;
        let complaint = match hooks::run(self.workplace, &self.git, "post-commit", &[], self.new.hook_limit) {
            Ok(()) => None,
            // It comes too late to refuse anything.
            Err(CommitError::HookFailed { hook, said }) => Some(format!("the hook `{hook}` failed: {said}")),
            Err(error) => Some(error.to_string()),
        };
        let superseded = superseded(&changed, &staged);
        Ok(CommitOutcome::Made(Commit {
            id,
            parent: self.parent,
            branch: self.branch,
            paths: changed.into_iter().map(|change| change.path).collect(),
            left_out: self.left_out,
            superseded,
            complaint,
        }))
    }

    /// What the user's index has of the named paths.
    fn staged(&self) -> Result<BTreeMap<BytePath, Version>, CommitError> {
        index::entries(&self.git, self.new.paths)
    }

    /// Puts the named files into the private index; those that cannot be committed are left out with the reason.
    fn take_files(&mut self) -> Result<BTreeSet<BytePath>, CommitError> {
        let tracked = index::entries(&self.private, self.new.paths)?;
        let mut taken = BTreeSet::new();
        let mut gone = BTreeSet::new();
        for path in self.new.paths {
            match index::look_at(&self.workplace.repository.root, path, tracked.contains_key(path)) {
                PathFitness::There => taken.insert(path.clone()),
                PathFitness::Gone => gone.insert(path.clone()),
                PathFitness::Unfit { reason } => {
                    self.leave_out(path, reason);
                    continue;
                }
            };
        }
        for path in index::ignored(&self.git, &taken)? {
            taken.remove(&path);
            self.leave_out(&path, "git ignores it".to_owned());
        }
        // First what goes: a file may have taken a folder's place, or the other way round.
        index::take(&self.private, &gone)?;
        index::take(&self.private, &taken)?;
        taken.append(&mut gone);
        Ok(taken)
    }

    fn leave_out(&mut self, path: &BytePath, reason: String) {
        self.left_out.push(LeftOut { path: Some(path.clone()), reason });
    }

    fn is_unchanged(&self) -> Result<bool, CommitError> {
        Ok(index::against(&self.private, &self.base)?.is_empty())
    }

    /// A hook may `git add` what nobody named, the user's own work among it.
    fn drop_unnamed(&mut self, taken: &BTreeSet<BytePath>) -> Result<(), CommitError> {
        let beyond: Vec<Difference> = index::against(&self.private, &self.base)?
            .into_iter()
            .filter(|change| !taken.contains(&change.path))
            .collect();
        let back: Vec<(&BytePath, Option<&Version>)> =
            beyond.iter().map(|change| (&change.path, change.old.as_ref())).collect();
        index::set(&self.workplace.repository, &self.private, &back)?;
        for change in &beyond {
            self.leave_out(&change.path, "a commit hook added it, and it was not named".to_owned());
        }
        Ok(())
    }

    /// Tree and commit, with the message as the message hooks leave it.
    fn write(&self) -> Result<String, CommitError> {
        let tree = self.private.line(&["write-tree"])?;
        let message = self.workplace.file(workplace::MESSAGE);
        self.workplace.write(workplace::MESSAGE, self.new.message.as_bytes())?;
        self.hook("prepare-commit-msg", &[message.as_os_str(), OsStr::new("message")])?;
        self.hook("commit-msg", &[message.as_os_str()])?;
        let text =
            fs_err::read(&message).map_err(|source| CommitError::Folder { path: message.clone(), source })?;
        let text = self.git.run(&["stripspace"], &text)?;
        if text.is_empty() {
            return Err(CommitError::EmptyMessage);
        }
        let mut arguments = vec!["commit-tree", &tree, "-F", "-"];
        if let Some(parent) = &self.parent {
            arguments.extend(["-p", parent]);
        }
        let is_signed = signs(&self.git)?;
        if is_signed {
            arguments.push("-S");
        }
        let git = self.git.within(self.new.hook_limit);
        let reason = match git.end(&arguments, &text) {
            Ok(ended) if ended.status.success() => {
                return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
            }
            Ok(ended) if is_signed => last_lines(&ended.stderr),
            Ok(ended) => return Err(git.failure(&arguments, &ended).into()),
            Err(Error::TimedOut { limit, .. }) if is_signed => {
                format!("the signing program took longer than {}", text::duration_in_words(limit))
            }
            Err(error) => return Err(error.into()),
        };
        Err(CommitError::NotSigned { reason })
    }

    fn hook(&self, name: &'static str, arguments: &[&OsStr]) -> Result<(), CommitError> {
        hooks::run(self.workplace, &self.private, name, arguments, self.new.hook_limit)
    }

    /// The user's index, then the branch.
    fn publish(
        &self,
        id: &str,
        changed: &[Difference],
        staged: &BTreeMap<BytePath, Version>,
    ) -> Result<(), CommitError> {
        // Asked before: between index and branch somebody else's commit would take the entries along.
        let subject = self.git.line(&["show", "--no-patch", "--no-show-signature", "--format=%s", id])?;
        let pending = workplace::PendingNote::new(id, changed, staged);
        self.workplace.note(&pending)?;
        index::exchange(self.workplace, &pending.forth(), self.new.lock_limit)
            .inspect_err(|_| self.workplace.forget())?;
        let moved = self.move_branch(id, &subject);
        if moved.is_err() || !self.is_on_branch().unwrap_or(true) {
            // Left noted where even this fails: the next run tries again. In the index of another branch they are nobody's.
            self.workplace.recover(self.new.lock_limit)?;
        } else {
            self.workplace.forget();
            self.put_again(&pending);
        }
        moved
    }

    fn is_on_branch(&self) -> Result<bool, CommitError> {
        Ok(head_branch(&self.git)?.as_ref() == Some(&self.branch))
    }

    /// `git commit` reads the index before it locks it: one of the user's may have written the entries back that it had
    /// read before ours were there. The commit stands in any case.
    fn put_again(&self, pending: &workplace::PendingNote) {
        let Ok(now) = self.staged() else { return };
        let lost = pending.lost(&now);
        if !lost.is_empty() {
            let _ = index::exchange(self.workplace, &lost, self.new.lock_limit);
        }
    }

    fn move_branch(&self, id: &str, subject: &str) -> Result<(), CommitError> {
        let kind = if self.parent.is_some() { "commit" } else { "commit (initial)" };
        let none = "0".repeat(id.len());
        let from = self.parent.as_deref().unwrap_or(&none);
        // A hook may have taken its time, and another branch may be at the same commit.
        if !self.is_on_branch()? {
            return Err(CommitError::HeadMoved);
        }
        let branch = format!("{HEADS}{}", self.branch);
        let arguments = ["update-ref", "-m", &format!("{kind}: {subject}"), &branch, id, from];
        let ended = self.git.end_holding(&arguments, self.workplace.shared_lock()?)?;
        if ended.status.success() {
            return Ok(());
        }
        let head = self.git.line_or_none(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        if head != self.parent {
            Err(CommitError::HeadMoved)
        } else if let Some(path) = self.lock_in_the_way() {
            Err(CommitError::Locked { path })
        } else {
            Err(self.git.failure(&arguments, &ended).into())
        }
    }

    /// The lock of HEAD or of its branch, which a git that was killed leaves behind.
    fn lock_in_the_way(&self) -> Option<PathBuf> {
        let Repository { git_dir, common_dir, .. } = &self.workplace.repository;
        let of_branch = common_dir.join(format!("{HEADS}{}.lock", self.branch));
        let locks = [git_dir.join("HEAD.lock"), common_dir.join("packed-refs.lock"), of_branch];
        locks.into_iter().find(|lock| lock.symlink_metadata().is_ok())
    }

    /// Somebody may have committed on top already.
    fn verify(&self, id: &str) -> Result<(), CommitError> {
        let branch = format!("{HEADS}{}", self.branch);
        let ended = self.git.end(&["merge-base", "--is-ancestor", id, &branch], b"")?;
        if ended.status.success() { Ok(()) } else { Err(CommitError::NotVerified { id: id.to_owned() }) }
    }
}

/// Whether the user wants every commit signed. `git commit` knows that itself; `git commit-tree` has to be told.
pub(crate) fn signs(git: &ActingGit) -> Result<bool, Error> {
    let answer = git.line_or_none(&["config", "--type=bool", "--get", "commit.gpgSign"])?;
    Ok(answer.as_deref() == Some("true"))
}

/// What was staged of a file, and is neither what HEAD had nor what was committed.
fn superseded(changed: &[Difference], staged: &BTreeMap<BytePath, Version>) -> Vec<(BytePath, String)> {
    let mut found = Vec::new();
    for change in changed {
        let Some(entry) = staged.get(&change.path) else { continue };
        if Some(entry) != change.old.as_ref() && Some(entry) != change.new.as_ref() {
            found.push((change.path.clone(), entry.id.clone()));
        }
    }
    found
}

fn identity(error: Error) -> CommitError {
    const WORDS: [&str; 4] = ["ident", "tell me who you are", "auto-detect email", "no email was given"];
    match error {
        Error::Failed { reason, .. } if WORDS.iter().any(|word| reason.to_lowercase().contains(word)) => {
            CommitError::NoIdentity { reason }
        }
        other => CommitError::Git(other),
    }
}

/// The last lines of what a program said, safe to be shown in one message.
pub(crate) fn last_lines(said: &[u8]) -> String {
    const LINES: usize = 8;
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let tail = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n");
    let visible = |letter: char| letter == '\n' || letter == '\t' || !letter.is_control();
    tail.chars().filter(|letter| visible(*letter)).take(2000).collect()
}

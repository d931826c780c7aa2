//! A question to a repository that is under way: git is started first, and the caller does everything else while
//! it runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use change_set::{BytePath, Change, ChangeSet, ChangedFile, Scope};
use jiff::Timestamp;

use crate::baseline::{self, Baseline};
use crate::compare;
use crate::dirty::{self, Dirt};
use crate::error::Error;
use crate::git::{Git, RunningGit};
use crate::git_program::GitProgram;
use crate::reflog;
use crate::repository::Repository;
use crate::state::{Disk, nanoseconds_of};
use crate::status::{self, Status};
use crate::submodules::{self, SubmoduleStatus};

/// Finds the repository of `cwd` and starts `git status` in it. `cwd` is absolute.
pub fn start(cwd: &Path, program: &GitProgram) -> Result<Pending, Error> {
    start_in(Repository::discover(cwd)?, program)
}

/// Starts `git status` in a repository that was found before.
pub fn start_in(repository: Repository, program: &GitProgram) -> Result<Pending, Error> {
    let git = Git::of(&repository, program)?;
    let reflog_size = reflog::size(&repository.git_dir);
    let status = status::start(&git, "--find-renames")?;
    let submodules = submodules::start(&repository, program);
    Ok(Pending { repository, git, reflog_size, status, submodules })
}

/// Git is running. Dropping this ends it.
#[derive(Debug)]
pub struct Pending {
    repository: Repository,
    git: Git,
    reflog_size: Option<u64>,
    status: RunningGit,
    submodules: Vec<SubmoduleStatus>,
}

#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// What the turn changed, by the best source there is: the baseline, else what was touched, else everything
    /// that is dirty.
    Turn { baseline: Option<&'a Baseline>, touched: Option<Touched<'a>> },
    /// What the turn changed in a repository that nobody looked at when it began.
    Unseen(Unseen<'a>),
    /// Everything that is dirty or untracked.
    Worktree,
    /// Exactly the files of `git diff --name-only HEAD`: no untracked ones, and an error before the first commit.
    DiffHead,
}

/// The files that a transcript shows as written; reading is not touching. `None` in its place means that nobody
/// knows, an empty list that nothing was touched.
#[derive(Clone, Copy, Debug)]
pub struct Touched<'a> {
    /// Absolute, or relative to `cwd`.
    pub paths: &'a [PathBuf],
    pub cwd: &'a Path,
}

/// A repository that nobody looked at when the turn began. HEAD's log shows what was committed since; of that, and of what is
/// dirty, only what was touched or written by the turn counts.
#[derive(Clone, Copy, Debug)]
pub struct Unseen<'a> {
    pub began: Timestamp,
    pub touched: Touched<'a>,
    /// When commands of the turn may have written there.
    pub written: &'a [(Timestamp, Timestamp)],
}

impl Pending {
    /// Known before git answers. Nothing that lies in it may be trusted before git has answered, since only git
    /// knows whether its owner is trusted.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The baseline of a turn that begins now, by the machine's real clock.
    pub fn baseline(self, now: Timestamp) -> Result<Baseline, Error> {
        let status = answer(self.status, self.submodules)?;
        Ok(Baseline::new(&self.repository, status, self.reflog_size, nanoseconds_of(now)))
    }

    pub fn change_set(self, request: Request<'_>) -> Result<ChangeSet, Error> {
        let Self { repository, git, status, submodules, .. } = self;
        let answer = move || answer(status, submodules);
        match request {
            Request::Turn { baseline: Some(baseline), touched } => match baseline.unusable_for(&repository) {
                Some(reason) => without_baseline(&repository, &answer()?, touched, Some(reason)),
                None => with_baseline(&git, &repository, baseline, touched, answer),
            },
            Request::Turn { baseline: None, touched } => {
                without_baseline(&repository, &answer()?, touched, None)
            }
            Request::Unseen(unseen) => unseen.change_set(&git, &repository, &answer()?),
            Request::Worktree => without_baseline(&repository, &answer()?, None, None),
            Request::DiffHead => {
                let status = answer()?;
                let mut disk = disk_of(&repository, &status);
                let files = dirty::diff_head(&git, &status, &mut disk)?;
                Ok(change_set(&repository, &status, Scope::Worktree, files))
            }
        }
    }
}

impl Unseen<'_> {
    fn change_set(self, git: &Git, repository: &Repository, status: &Status) -> Result<ChangeSet, Error> {
        let baseline = Baseline::afterwards(repository, status, self.began);
        let mut disk = Disk::new(&repository.root, baseline.object_format);
        let compared = compare::compare(git, repository, &baseline, status, &BTreeSet::new(), &mut disk);
        let mut comparison = match compared {
            Ok(comparison) => comparison,
            // The commit that the turn began with can be gone: amended away and cleaned up.
            Err(Error::Failed { reason, .. }) => {
                return without_baseline(repository, status, Some(self.touched), Some(reason));
            }
            Err(error) => return Err(error),
        };
        let Touched { paths, cwd } = self.touched;
        let touched = dirty::touched_paths(&repository.root, cwd, paths);
        let is_written = |file: &ChangedFile| {
            let at = file.modified_ns;
            let mut times = self.written.iter().map(|(from, to)| nanoseconds_of(*from)..=nanoseconds_of(*to));
            at.is_some_and(|at| times.any(|time| time.contains(&at)))
        };
        // What was done inside of a submodule is to be asked there.
        let is_folder = |file: &ChangedFile| file.modified_ns.is_none() && file.change != Change::Deleted;
        comparison
            .files
            .retain(|file| dirty::is_touched(file, &touched) || is_written(file) || is_folder(file));
        let mut changes = change_set(repository, status, Scope::Touched, comparison.files);
        changes.arrived = comparison.arrived;
        Ok(changes)
    }
}

impl Touched<'_> {
    /// Leaves in the change set only what was touched. For a caller who knows that the turn wrote nothing else: the rest
    /// is then another session's work or a person's (C3).
    pub fn keep_in(self, changes: &mut ChangeSet) {
        dirty::keep_touched(&mut changes.files, changes.root.as_path(), self.cwd, self.paths);
    }
}

fn answer(status: RunningGit, submodules: Vec<SubmoduleStatus>) -> Result<Status, Error> {
    let mut status = status::parse(&status.finish()?)?;
    submodules::finish(submodules, &mut status);
    Ok(status)
}

fn with_baseline(
    git: &Git,
    repository: &Repository,
    baseline: &Baseline,
    touched: Option<Touched<'_>>,
    answer: impl FnOnce() -> Result<Status, Error>,
) -> Result<ChangeSet, Error> {
    let mut disk = Disk::new(&repository.root, baseline.object_format);
    // Git is still running: the baseline's files need no answer of it.
    let changed = compare::changed_since(baseline, &mut disk);
    let status = answer()?;
    match compare::compare(git, repository, baseline, &status, &changed, &mut disk) {
        Ok(comparison) => {
            let mut changes = change_set(repository, &status, Scope::TurnBaseline, comparison.files);
            changes.arrived = comparison.arrived;
            Ok(changes)
        }
        // The commit that the turn began with can be gone: amended away and cleaned up.
        Err(Error::Failed { reason, .. }) => without_baseline(repository, &status, touched, Some(reason)),
        Err(error) => Err(error),
    }
}

fn without_baseline(
    repository: &Repository,
    status: &Status,
    touched: Option<Touched<'_>>,
    baseline_unusable: Option<String>,
) -> Result<ChangeSet, Error> {
    let mut disk = disk_of(repository, status);
    let mut files = Dirt::new(status).files(&mut disk);
    let mut scope = Scope::Worktree;
    if let Some(touched) = touched {
        dirty::keep_touched(&mut files, &repository.root, touched.cwd, touched.paths);
        scope = Scope::Touched;
    }
    Ok(ChangeSet { baseline_unusable, ..change_set(repository, status, scope, files) })
}

fn disk_of<'a>(repository: &'a Repository, status: &Status) -> Disk<'a> {
    Disk::new(&repository.root, baseline::object_format(repository, status))
}

fn change_set(repository: &Repository, status: &Status, scope: Scope, files: Vec<ChangedFile>) -> ChangeSet {
    ChangeSet {
        scope,
        files,
        arrived: Vec::new(),
        head: status.head.clone(),
        branch: status.branch.clone(),
        root: BytePath::from(repository.root.as_path()),
        baseline_unusable: None,
    }
}

//! The commits of a pull request: those that its head has and its base has not, and where the two parted.

use crate::error::Error;
use crate::git::Git;
use crate::git_program::GitProgram;
use crate::repository::Repository;

/// Of a longer range the newest commits are named.
const MOST_COMMITS: usize = 1_000;

/// What a branch has added to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRange {
    /// The commit that the base is at.
    pub base: String,
    pub head: NamedCommit,
    /// Where the two parted; the base itself if they never had a commit in common.
    pub start: String,
    /// Whether they never had one.
    pub is_unrelated: bool,
    /// The commits that only the head has, the newest first.
    pub commits: Vec<NamedCommit>,
}

/// A commit, and the tree that it holds. Commits that a squash or an amended message made have the same tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommit {
    pub id: String,
    pub tree: String,
}

#[derive(Debug, thiserror::Error)]
pub enum CommitRangeError {
    #[error("there is no commit `{name}` here")]
    Unknown { name: String },
    /// How the two ends are related lies in the part of the history that was not fetched.
    #[error("this clone is shallow, and does not have the commit where `{base}` and `{head}` diverged")]
    Shallow { base: String, head: String },
    #[error(transparent)]
    Git(#[from] Error),
}

impl NamedCommit {
    /// The commit of this name.
    pub fn find(repository: &Repository, program: &GitProgram, name: &str) -> Result<Self, CommitRangeError> {
        Self::ask(&Git::of(repository, program)?, name)
    }

    fn ask(git: &Git, name: &str) -> Result<Self, CommitRangeError> {
        let id = found(git, &format!("{name}^{{commit}}"), name)?;
        let tree = found(git, &format!("{id}^{{tree}}"), name)?;
        Ok(Self { id, tree })
    }
}

/// What a name stands for.
fn found(git: &Git, expression: &str, name: &str) -> Result<String, CommitRangeError> {
    match git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", expression], &[]) {
        Ok(output) => Ok(String::from_utf8_lossy(&output).trim().to_owned()),
        Err(Error::Failed { .. }) => Err(CommitRangeError::Unknown { name: name.to_owned() }),
        Err(error) => Err(error.into()),
    }
}

/// The first of these names that is a commit here; of a name that stands for a branch, such as `origin/HEAD`, that branch.
pub fn first_commit(
    repository: &Repository,
    program: &GitProgram,
    names: &[String],
) -> Result<Option<String>, Error> {
    let git = Git::of(repository, program)?;
    for name in names {
        match NamedCommit::ask(&git, name) {
            Ok(_) => {
                let arguments = ["rev-parse", "--symbolic-full-name", "--end-of-options", name];
                let branch = git.run(&arguments, &[]).unwrap_or_default();
                let branch = String::from_utf8_lossy(&branch);
                let branch = branch.lines().find(|line| line.starts_with("refs/"));
                return Ok(Some(branch.unwrap_or(name).to_owned()));
            }
            Err(CommitRangeError::Git(error)) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(None)
}

impl CommitRange {
    /// What `head` has and `base` has not.
    pub fn find(
        repository: &Repository,
        program: &GitProgram,
        base: &str,
        head: &str,
    ) -> Result<Self, CommitRangeError> {
        let git = Git::of(repository, program)?;
        let base_commit = NamedCommit::ask(&git, base)?.id;
        let head_commit = NamedCommit::ask(&git, head)?;
        let parted = match git.run(&["merge-base", &base_commit, &head_commit.id], &[]) {
            Ok(output) => Some(String::from_utf8_lossy(&output).trim().to_owned()),
            Err(Error::Failed { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if parted.is_none() {
            let is_shallow = git.run(&["rev-parse", "--is-shallow-repository"], &[])?;
            if is_shallow.trim_ascii() == b"true" {
                return Err(CommitRangeError::Shallow { base: base.to_owned(), head: head.to_owned() });
            }
        }
        let commits = only_in(&git, &head_commit.id, &base_commit)?;
        Ok(Self {
            is_unrelated: parted.is_none(),
            start: parted.unwrap_or_else(|| base_commit.clone()),
            base: base_commit,
            head: head_commit,
            commits,
        })
    }
}

fn only_in(git: &Git, head: &str, base: &str) -> Result<Vec<NamedCommit>, Error> {
    let most = format!("--max-count={MOST_COMMITS}");
    let output = git.run(&["rev-list", "--format=%T", &most, head, "--not", base, "--"], &[])?;
    let output = String::from_utf8_lossy(&output);
    let mut commits = Vec::new();
    let mut lines = output.lines();
    while let (Some(commit), Some(tree)) = (lines.next(), lines.next()) {
        let id = commit.strip_prefix("commit ").ok_or_else(|| Error::NotUnderstood {
            command: "git rev-list".to_owned(),
            record: commit.to_owned(),
        })?;
        commits.push(NamedCommit { id: id.to_owned(), tree: tree.to_owned() });
    }
    Ok(commits)
}

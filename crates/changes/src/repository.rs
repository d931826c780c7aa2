//! Finds the repository of a folder without running git, so that its policy can be read while git runs.
//!
//! This walk is for finding files; git is the judge of everything else. Where the two differ:
//! - `core.worktree` moves the working tree elsewhere. That is refused; where it is set in the user's config or in
//!   an included file, the walk does not know.
//! - Git stops at `GIT_CEILING_DIRECTORIES` and at the border of a file system; the walk goes on, and the git
//!   process that follows then says that there is no repository.
//! - Git refuses a repository of another owner; the walk finds it. Nothing of it may be trusted before git has
//!   answered.

use std::path::{Path, PathBuf};

use change_set::BytePath;
use jiff::Timestamp;

use crate::error::Error;
use crate::git::Git;
use crate::git_program::GitProgram;
use crate::reflog;
use crate::state::ObjectFormat;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    pub root: PathBuf,
    /// HEAD, the index and HEAD's log; a linked worktree and a submodule have one of their own.
    pub git_dir: PathBuf,
    /// Config, branches and objects, shared by all worktrees.
    pub common_dir: PathBuf,
}

impl Repository {
    /// Walks up from `cwd` to the first folder with a valid `.git`. A folder that is gone (removed or renamed
    /// while the agent stood in it) is searched from its nearest parent that exists.
    pub fn discover(cwd: &Path) -> Result<Self, Error> {
        let not_found = || Error::NotARepository { directory: cwd.to_owned() };
        let existing = cwd.ancestors().find(|folder| folder.is_dir()).ok_or_else(not_found)?;
        // Git names everything by real paths, and `..` in `cwd` must not be taken by its letters.
        let start = fs_err::canonicalize(existing).map_err(|_| not_found())?;
        for folder in start.ancestors() {
            if let Some(repository) = Self::at(folder) {
                return match repository.configured_work_tree() {
                    Some(elsewhere) if elsewhere != repository.root => {
                        Err(Error::WorkTreeElsewhere { directory: repository.root })
                    }
                    _ => Ok(repository),
                };
            }
            if is_git_dir(folder, folder) {
                return Err(Error::NoWorkTree { directory: cwd.to_owned() });
            }
        }
        Err(not_found())
    }

    /// The repository whose `.git` lies directly in `root`.
    pub fn at(root: &Path) -> Option<Self> {
        let dot_git = root.join(".git");
        let kind = dot_git.metadata().ok()?;
        let git_dir = match kind {
            kind if kind.is_dir() => dot_git,
            // Anything else, a named pipe for example, is no repository and must not be waited for.
            kind if kind.is_file() => linked_git_dir(root, &dot_git)?,
            _ => return None,
        };
        let common_dir = common_dir(&git_dir);
        is_git_dir(&git_dir, &common_dir).then(|| Self { root: root.to_owned(), git_dir, common_dir })
    }

    /// `core.worktree` of the repository's config. Submodules have it too, and there it names their own folder.
    fn configured_work_tree(&self) -> Option<PathBuf> {
        // Git ignores the shared value in linked worktrees.
        if self.git_dir != self.common_dir {
            return None;
        }
        let config = fs_err::read(self.common_dir.join("config")).ok()?;
        let value = config_values(&config, b"worktree").next()?;
        fs_err::canonicalize(self.git_dir.join(BytePath::from(value).as_path())).ok()
    }

    /// As the config says it.
    pub fn object_format(&self) -> ObjectFormat {
        let config = fs_err::read_to_string(self.common_dir.join("config")).unwrap_or_default();
        let is_sha256 = config.lines().any(|line| {
            let line = line.to_ascii_lowercase();
            line.trim_start().starts_with("objectformat") && line.contains("sha256")
        });
        if is_sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
    }

    /// The commit that HEAD points to; `None` before the first one. The files are read where they tell, which costs
    /// next to nothing; git is asked where they do not: with another format of branches, or a branch that is a link.
    pub fn head(&self, program: &GitProgram) -> Result<Option<String>, Error> {
        if let Some(commit) = self.head_commit() {
            return Ok(Some(commit));
        }
        let git = Git::at(self.root.clone(), program);
        let arguments = ["rev-parse", "--verify", "--quiet", "HEAD"];
        match git.run(&arguments, b"") {
            Ok(output) => Ok(std::str::from_utf8(&output).ok().and_then(commit_id)),
            // Without a word: there is no commit yet.
            Err(Error::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The size of HEAD's log, which shows later how HEAD moved.
    pub fn reflog_size(&self) -> Option<u64> {
        reflog::size(&self.git_dir)
    }

    /// The commit that HEAD pointed to at an instant, by HEAD's log; `None` if HEAD has not moved since.
    pub fn head_at(&self, instant: Timestamp) -> Option<String> {
        reflog::at(&self.git_dir, instant.as_second())?.commit
    }

    /// The branch that HEAD was on at an instant and has left since, by HEAD's log.
    pub fn branch_left_since(&self, instant: Timestamp) -> Option<String> {
        reflog::left_since(&self.git_dir, instant.as_second())
    }

    /// Whether the working tree was made after an instant, by the beginning of HEAD's log.
    pub fn is_made_since(&self, instant: Timestamp) -> bool {
        reflog::at(&self.git_dir, instant.as_second()).is_some_and(|then| then.is_made_since)
    }

    /// Whether this is a submodule of the other repository, by where its git folder lies.
    pub fn is_submodule_of(&self, outer: &Self) -> bool {
        let is_within = |folder: &Path| self.git_dir.starts_with(folder.join("modules"));
        (is_within(&outer.common_dir) || is_within(&outer.git_dir)) && self.root.starts_with(&outer.root)
    }

    /// The branch that HEAD is on; `None` if it is on none, or where the branches are kept in a format other than
    /// files.
    pub fn branch(&self) -> Option<String> {
        let head = fs_err::read_to_string(self.git_dir.join("HEAD")).ok()?;
        let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
        // What stands there for programs that do not know the other format.
        (branch != ".invalid").then(|| branch.to_owned())
    }

    /// The commit that HEAD points to, by the files alone. `None` if there is none, or where the branches are kept
    /// in a format other than files.
    pub fn head_commit(&self) -> Option<String> {
        let head = fs_err::read_to_string(self.git_dir.join("HEAD")).ok()?;
        let Some(name) = head.trim_end().strip_prefix("ref: ") else {
            return commit_id(&head);
        };
        // The name comes from a file of the repository: it must stay inside.
        if !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
            return None;
        }
        if let Ok(loose) = fs_err::read_to_string(self.common_dir.join(name)) {
            return commit_id(&loose);
        }
        let packed = fs_err::read_to_string(self.common_dir.join("packed-refs")).ok()?;
        let line =
            packed.lines().find(|line| line.split_once(' ').is_some_and(|(_, packed)| packed == name))?;
        commit_id(line.split_once(' ')?.0)
    }
}

/// What a key is set to in a text of git's own format, in whatever section, without quotes.
pub(crate) fn config_values<'a>(text: &'a [u8], key: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    text.split(|byte| *byte == b'\n').filter_map(move |line| {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b'=')?);
        let value = value.get(1..)?.trim_ascii();
        let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
        name.trim_ascii().eq_ignore_ascii_case(key).then(|| unquoted.unwrap_or(value))
    })
}

fn commit_id(text: &str) -> Option<String> {
    let id = text.trim_end();
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

/// A `.git` file names the folder: linked worktrees and submodules have one.
fn linked_git_dir(root: &Path, dot_git: &Path) -> Option<PathBuf> {
    let text = fs_err::read(dot_git).ok()?;
    let target = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    let target = BytePath::from(target);
    fs_err::canonicalize(root.join(target.as_path())).ok()
}

fn common_dir(git_dir: &Path) -> PathBuf {
    let Ok(text) = fs_err::read(git_dir.join("commondir")) else { return git_dir.to_owned() };
    let target = BytePath::from(text.trim_ascii_end());
    fs_err::canonicalize(git_dir.join(target.as_path())).unwrap_or_else(|_| git_dir.to_owned())
}

/// What git itself looks for before it takes a folder for a repository.
fn is_git_dir(git_dir: &Path, common_dir: &Path) -> bool {
    git_dir.join("HEAD").symlink_metadata().is_ok()
        && common_dir.join("objects").is_dir()
        && common_dir.join("refs").is_dir()
}

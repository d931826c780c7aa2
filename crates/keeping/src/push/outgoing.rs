//! What a push would send, from what is known here: nobody is asked.

use changes::{Error, GitProgram, Repository};
use serde::Serialize;

use super::said::without_credentials;
use crate::acting::ActingGit;
use crate::added::{self, Added};

const REMOTE: &str = "origin";

/// A first push may send a whole history; so many of its newest commits are listed.
const MOST_COMMITS: usize = 200;

/// Whether there is something to push to, and from.
#[derive(Clone, Debug)]
pub enum PushReadiness {
    Ready(Box<PushPlan>),
    NoRemote,
    /// HEAD is detached.
    NoBranch,
    NoCommit,
}

/// One commit on its way to one branch of the remote.
#[derive(Clone, Debug)]
pub struct PushPlan {
    pub(super) repository: Repository,
    pub(super) program: GitProgram,
    pub(super) remote: String,
    /// What is pushed.
    pub id: String,
    /// The local branch, without `refs/heads/`.
    pub branch: String,
    /// The remote's branch, with `refs/heads/`.
    pub destination: String,
    /// What the remote is not known to have, oldest first; the newest where there are very many.
    pub commits: Vec<OutgoingCommit>,
    /// Whether these are all of them. A first push may send a long history, of which the older part was not listed.
    pub is_complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutgoingCommit {
    pub id: String,
    pub parents: Vec<String>,
    pub message: String,
}

pub fn plan(repository: &Repository, program: &GitProgram) -> Result<PushReadiness, Error> {
    let git = ActingGit::new(program, &repository.root);
    let remotes = git.line(&["remote"])?;
    if !remotes.lines().any(|remote| remote == REMOTE) {
        return Ok(PushReadiness::NoRemote);
    }
    let Some(head) = git.line_or_none(&["symbolic-ref", "--quiet", "HEAD"])? else {
        return Ok(PushReadiness::NoBranch);
    };
    let Some(id) = git.line_or_none(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])? else {
        return Ok(PushReadiness::NoCommit);
    };
    let branch = head.strip_prefix("refs/heads/").unwrap_or(&head).to_owned();
    check_way(&git, &branch)?;
    let destination = destination(&git, &branch)?;
    let commits = outgoing(&git, &id)?;
    Ok(PushReadiness::Ready(Box::new(PushPlan {
        repository: repository.clone(),
        program: program.clone(),
        remote: REMOTE.to_owned(),
        id,
        branch,
        destination,
        is_complete: commits.len() < MOST_COMMITS,
        commits,
    })))
}

/// Where the user's pushes go elsewhere or nowhere, `origin` may be a project that is not theirs.
fn check_way(git: &ActingGit, branch: &str) -> Result<(), Error> {
    let configured = |key: &str| git.line_or_none(&["config", "--get", key]);
    let not_pushed = |key: &str, value: &str| {
        Err(Error::NotPushed { key: key.to_owned(), value: without_credentials(value) })
    };
    for key in [format!("branch.{branch}.pushRemote"), "remote.pushDefault".to_owned()] {
        match configured(&key)? {
            Some(remote) if remote == REMOTE => break,
            Some(remote) => return not_pushed(&key, &remote),
            None => {}
        }
    }
    match configured("push.default")?.as_deref() {
        Some("nothing") => not_pushed("push.default", "nothing"),
        _ => Ok(()),
    }
}

fn destination(git: &ActingGit, branch: &str) -> Result<String, Error> {
    let configured = |key: &str| git.line_or_none(&["config", "--get", key]);
    let same = format!("refs/heads/{branch}");
    let to_upstream = configured("push.default")?.is_some_and(|way| way == "upstream" || way == "tracking");
    if !to_upstream || configured(&format!("branch.{branch}.remote"))?.as_deref() != Some(REMOTE) {
        return Ok(same);
    }
    let upstream = configured(&format!("branch.{branch}.merge"))?;
    Ok(upstream.filter(|name| name.starts_with("refs/heads/")).unwrap_or(same))
}

fn outgoing(git: &ActingGit, id: &str) -> Result<Vec<OutgoingCommit>, Error> {
    let remote = format!("--remotes={REMOTE}");
    let most = format!("--max-count={MOST_COMMITS}");
    let output = git.run(
        &["log", "-z", "--no-show-signature", "--format=%H%n%P%n%B", &most, id, "--not", &remote, "--"],
        b"",
    )?;
    let mut commits = Vec::new();
    for record in String::from_utf8_lossy(&output).split('\0').filter(|record| !record.is_empty()) {
        let mut lines = record.splitn(3, '\n');
        let mut line = || lines.next().unwrap_or_default().to_owned();
        let (id, parents, message) = (line(), line(), line());
        commits.push(OutgoingCommit {
            id,
            parents: parents.split_whitespace().map(str::to_owned).collect(),
            message,
        });
    }
    commits.reverse();
    Ok(commits)
}

impl PushPlan {
    /// What the outgoing commits add, each to its parent. Of merges, what they add to their first parent and no
    /// other parent has.
    pub fn added(&self) -> Result<Added, Error> {
        let git = ActingGit::new(&self.program, &self.repository.root);
        let mut all = Added::default();
        for commit in &self.commits {
            let added = added::by_commit(&git, commit.parents.first().map(String::as_str), &commit.id)?;
            let mut others = Vec::new();
            for parent in commit.parents.iter().skip(1) {
                others.extend(added::by_commit(&git, Some(parent), &commit.id)?.files);
            }
            for mut file in added.files {
                if commit.parents.len() > 1 {
                    let in_all = |line: &usize| {
                        others
                            .iter()
                            .filter(|other| other.path == file.path && other.lines.contains(line))
                            .count()
                            == commit.parents.len() - 1
                    };
                    file.lines.retain(in_all);
                }
                if !file.lines.is_empty() {
                    all.files.push(file);
                }
            }
            all.unread.extend(added.unread);
        }
        Ok(all)
    }
}

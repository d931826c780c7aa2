//! What a push would send and where to, from what is known here. The remote itself is asked only by whoever pushes, and only if
//! nothing was ever fetched from it: then all of the history would count as new.
//!
//! It goes where `git push` would: to the remote and the branch that the user's config names, in git's own order. Only a branch
//! that has nowhere to go by the config gets the one of its own name.

use std::time::Instant;

use changes::{Error, GitProgram, Repository};
use serde::Serialize;

use super::said::without_credentials;
use super::{PushLimits, Pushing};
use crate::acting::ActingGit;
use crate::added::{self, Added};

/// The remote that git takes if nothing names one and there are several.
const USUAL: &str = "origin";

const HEADS: &str = "refs/heads/";

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
    /// A remote's name, or a URL.
    pub(super) remote: String,
    pub(super) is_url: bool,
    /// What is pushed.
    pub id: String,
    /// The local branch, without `refs/heads/`.
    pub branch: String,
    /// The remote's branch, with `refs/heads/`.
    pub destination: String,
    /// Whether the remote is known to have that branch. If it has not, the push publishes it.
    pub is_tracked: bool,
    /// The branch that this one follows, if `git push` would refuse because it has another name. Under its own name the branch
    /// is pushed only if the user wants it published.
    pub other_upstream: Option<String>,
    /// What the remote is not known to have, oldest first; the newest where there are very many.
    pub commits: Vec<OutgoingCommit>,
    pub knowledge: RemoteKnowledge,
    /// Whether these are all of them. A first push may send a long history, of which the older part was not listed.
    pub is_complete: bool,
}

/// Where it is known from what the remote has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteKnowledge {
    /// From the last fetch or push.
    Fetched,
    /// It was asked just now.
    Asked,
    /// Nothing is known, so that it may have all of it; why it could not be asked, if that was tried.
    Nothing { problem: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutgoingCommit {
    pub id: String,
    pub parents: Vec<String>,
    pub message: String,
}

/// What a push of this commit would do; of HEAD's, if none is given.
pub fn plan(
    repository: &Repository,
    program: &GitProgram,
    commit: Option<&str>,
) -> Result<PushReadiness, Error> {
    let git = ActingGit::new(program, &repository.root);
    let Some(head) = git.line_or_none(&["symbolic-ref", "--quiet", "HEAD"])? else {
        return Ok(PushReadiness::NoBranch);
    };
    let tip = git.line_or_none(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let Some(id) = commit.map(str::to_owned).or(tip) else { return Ok(PushReadiness::NoCommit) };
    let Some(way) = Way::find(&git, &head)? else { return Ok(PushReadiness::NoRemote) };
    // A URL has no refs here, and neither has a remote that was never fetched.
    let fetched = git.line(&["for-each-ref", "--count=1", &format!("refs/remotes/{}/", way.remote)])?;
    let knowledge = match way.is_url || fetched.is_empty() {
        true => RemoteKnowledge::Nothing { problem: None },
        false => RemoteKnowledge::Fetched,
    };
    let known = format!("--remotes={}", way.remote);
    let known: &[&str] = if knowledge == RemoteKnowledge::Fetched { &["--not", &known] } else { &[] };
    let commits = outgoing(&git, &id, known, "")?;
    Ok(PushReadiness::Ready(Box::new(PushPlan {
        repository: repository.clone(),
        program: program.clone(),
        id,
        branch: head.strip_prefix(HEADS).unwrap_or(&head).to_owned(),
        is_complete: commits.len() < MOST_COMMITS,
        commits,
        knowledge,
        remote: way.remote,
        is_url: way.is_url,
        destination: way.destination,
        is_tracked: way.is_tracked,
        other_upstream: way.other_upstream,
    })))
}

/// Where the user's own pushes of a branch go.
struct Way {
    remote: String,
    is_url: bool,
    destination: String,
    is_tracked: bool,
    other_upstream: Option<String>,
}

impl Way {
    /// `None` if there is no remote.
    fn find(git: &ActingGit, head: &str) -> Result<Option<Self>, Error> {
        // Git's own answers: `pushRemote`, `pushDefault` and `branch.….remote` in their order, and the refspecs for pushes.
        let fields = git.line(&["for-each-ref", "--format=%(push:remotename)%00%(push:remoteref)", head])?;
        let mut fields =
            fields.split('\0').map(|field| Some(field.to_owned()).filter(|text| !text.is_empty()));
        let (named, mapped) = (fields.next().flatten(), fields.next().flatten());
        let Some((remote, is_url)) = remote_of(git, named)? else { return Ok(None) };
        let is_named = !is_url;
        let same = head.to_owned();
        let configured = |key: &str| git.line_or_none(&["config", "--get", key]);
        let branch = format!("branch.{}", head.strip_prefix(HEADS).unwrap_or(head));
        let upstream = match configured(&format!("{branch}.remote"))?.as_ref() == Some(&remote) {
            true => configured(&format!("{branch}.merge"))?,
            false => None,
        };
        let push_default = configured("push.default")?;
        let mut other_upstream = None;
        let destination = match push_default.as_deref() {
            _ if mapped.is_some() => mapped.unwrap_or_default(),
            _ if is_named && configured(&format!("remote.{remote}.push"))?.is_some() => {
                return Err(Error::NotPushed {
                    setting: format!("`remote.{remote}.push` names another branch"),
                });
            }
            Some("nothing") => {
                return Err(Error::NotPushed { setting: "`push.default` is `nothing`".to_owned() });
            }
            Some("upstream" | "tracking") => upstream.clone().unwrap_or(same),
            // A branch that was started from another one must not be pushed to that one.
            Some("current" | "matching") => same,
            // Git's own default: only if both have the same name.
            _ => {
                other_upstream = upstream.clone().filter(|upstream| *upstream != same);
                same
            }
        };
        if !destination.starts_with(HEADS) {
            let setting = format!("`remote.{remote}.push` points to `{destination}`, which is not a branch");
            return Err(Error::NotPushed { setting });
        }
        let is_tracked = match tracking_ref(git, &remote, &destination)? {
            Some(name) => git.end(&["show-ref", "--verify", "--quiet", &name], b"")?.status.success(),
            // What such a remote has is not kept here, so that its name in the config has to do.
            None => upstream.as_ref() == Some(&destination),
        };
        let other_upstream = other_upstream.map(|name| name.strip_prefix(HEADS).unwrap_or(&name).to_owned());
        Ok(Some(Self { remote, is_url, destination, is_tracked, other_upstream }))
    }
}

/// The remote that is named, or the one that git takes if none is; and whether it is a URL. `None` if there is none.
pub(super) fn remote_of(git: &ActingGit, named: Option<String>) -> Result<Option<(String, bool)>, Error> {
    let remotes = git.line(&["remote"])?;
    let remotes: Vec<&str> = remotes.lines().collect();
    let remote = match (named, remotes.as_slice()) {
        (Some(named), _) => named,
        (None, []) => return Ok(None),
        (None, [only]) => (*only).to_owned(),
        (None, _) => USUAL.to_owned(),
    };
    let is_named = remotes.contains(&remote.as_str());
    let is_url = !is_named && remote.contains(['/', ':']);
    Ok((is_named || is_url).then_some((remote, is_url)))
}

/// Where a fetch keeps the remote's branch; `None` if it does not.
fn tracking_ref(git: &ActingGit, remote: &str, branch: &str) -> Result<Option<String>, Error> {
    let refspecs = git.line_or_none(&["config", "--get-all", &format!("remote.{remote}.fetch")])?;
    let refspecs = refspecs.unwrap_or_default();
    let mut found = refspecs.lines().filter_map(|refspec| {
        let (from, to) = refspec.trim_start_matches('+').split_once(':')?;
        match from.split_once('*') {
            None => (from == branch).then(|| to.to_owned()),
            Some((start, end)) => {
                let middle = branch.strip_prefix(start)?.strip_suffix(end)?;
                Some(to.replacen('*', middle, 1))
            }
        }
    });
    Ok(found.next())
}

/// The newest commits without those that are known: by arguments of `git log`, or by lines that it reads, of which there may be
/// very many.
fn outgoing(
    git: &ActingGit,
    id: &str,
    known: &[&str],
    known_lines: &str,
) -> Result<Vec<OutgoingCommit>, Error> {
    let most = format!("--max-count={MOST_COMMITS}");
    let command =
        ["log", "-z", "--no-show-signature", "--format=%H%n%P%n%B", &most, "--ignore-missing", "--stdin"];
    let output = git.run(&[&command[..], &[id], known].concat(), known_lines.as_bytes())?;
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
    /// Asks a remote of which nothing is known what it has: of that, what is here too does not go along. If it cannot be asked, it
    /// counts as having nothing.
    pub fn ask_remote(&mut self, limits: &PushLimits<'_>) -> Result<(), Error> {
        if !matches!(self.knowledge, RemoteKnowledge::Nothing { .. }) {
            return Ok(());
        }
        // Once is enough: the push itself waits for a remote that is away for a moment.
        let limits = PushLimits { pauses: &[], ..limits.clone() };
        let pushing = Pushing::new(self, &limits, Instant::now() + limits.attempt)?;
        let refs = match pushing.listed(&["--heads", "--tags"], &[]) {
            Ok(refs) => refs,
            Err(outcome) => {
                self.knowledge = RemoteKnowledge::Nothing { problem: Some(outcome.to_string()) };
                return Ok(());
            }
        };
        // What is not here must not be fetched for this.
        let git = pushing.local().with("GIT_NO_LAZY_FETCH", "1");
        let known: String = refs.iter().map(|(id, _)| format!("^{id}\n")).collect();
        let commits = outgoing(&git, &self.id, &[], &known)?;
        self.is_tracked = refs.iter().any(|(_, name)| *name == self.destination);
        self.is_complete = commits.len() < MOST_COMMITS;
        self.commits = commits;
        self.knowledge = RemoteKnowledge::Asked;
        Ok(())
    }

    /// The remote as it may be shown.
    pub fn remote(&self) -> String {
        without_credentials(&self.remote)
    }

    /// The remote's branch as people call it.
    pub fn remote_branch(&self) -> &str {
        self.destination.strip_prefix(HEADS).unwrap_or(&self.destination)
    }

    /// How many commits go along with the one that is pushed.
    pub fn others(&self) -> usize {
        self.commits.iter().filter(|commit| commit.id != self.id).count()
    }

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

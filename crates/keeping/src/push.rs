//! Sends the current branch where `git push` would, asking nobody anything, and says what is true afterwards: pushed means
//! that the remote itself was asked and has the commit.
//!
//! What is sent is one commit, by its id, fixed when the [`PushPlan`] is made: the caller looks at what it adds, and
//! nothing that came later goes along. Never forced. The destination is the branch of the same name; its upstream's
//! name only where the user's `push.default` says so, since a feature branch that was started from `origin/main` must
//! not be pushed to `main`.
//!
//! Where the remote has commits that we have not, they are fetched, and our commits are put on top of them by
//! `git merge-tree`, which merges trees without any working tree or index: there is no scratch checkout to make, to
//! wait for or to clear away after a kill, and no ref is touched. Only commits that the caller knows as its own are
//! treated so; the user's own unpushed commits are never sent in another shape than they made them.
//!
//! The user's branch stays where it is: moving it under their working tree would make the remote's changes appear as
//! theirs, reversed. The next autosave finds its former commit on the remote by its content, and leaves it out;
//! `git pull --rebase` does the same.

mod hook_trace;
mod notes_push;
mod outgoing;
mod rebase;
mod said;

use std::time::{Duration, Instant};

use change_set::BytePath;
use changes::{Error, GitProgram, Repository};
use serde::{Deserialize, Serialize};

use crate::acting::ActingGit;
use hook_trace::HookTrace;
use said::{RemoteAnswer, without_credentials};

pub use notes_push::push_notes;
pub use outgoing::{OutgoingCommit, PushPlan, PushReadiness, RemoteKnowledge, plan};

/// So often our commits are put on top of what came meanwhile.
const ROUNDS: usize = 12;

#[derive(Clone, Debug)]
pub struct PushLimits<'a> {
    /// For everything together.
    pub total: Duration,
    /// For each conversation with the remote.
    pub attempt: Duration,
    /// The pauses between attempts, while the reason for the failure may pass; as many attempts as pauses, and one.
    pub pauses: &'a [Duration],
    /// Commits that may be put on top of the remote's: those that autosave made.
    pub ours: &'a [String],
    /// What the user's `GIT_SSH_COMMAND` says; the config is looked at where it says nothing.
    pub ssh_command: Option<&'a str>,
}

/// How a push ended. Texts hold no credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum PushOutcome {
    #[error("there is no remote to push to")]
    NoRemote,
    /// The remote has it: it was asked afterwards.
    #[error("the remote has {id} on `{branch}`")]
    Pushed {
        id: String,
        branch: String,
        /// The local commit, where what was pushed is its copy on top of the remote's commits.
        rebased_from: Option<String>,
    },
    /// The remote does not want it, or it has commits that cannot be put under ours without the user.
    #[error("the remote refused it: {reason}")]
    Rejected { reason: String },
    #[error(
        "the remote has changed the same lines of {}",
        paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
    )]
    Conflict { paths: Vec<BytePath> },
    /// Somebody would have to say a password, or to accept a host key.
    #[error("the remote asks for credentials: {reason}")]
    AuthNeeded { reason: String },
    #[error("the remote did not answer within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("{reason}")]
    Failed { reason: String },
}

impl PushPlan {
    /// Pushes. Whatever happens is an outcome.
    pub fn push(&self, limits: &PushLimits<'_>) -> PushOutcome {
        let deadline = Instant::now() + limits.total;
        let pushing = Pushing::new(self, limits, deadline).map_err(PushOutcome::from);
        pushing.and_then(|pushing| pushing.push()).unwrap_or_else(|ended| ended)
    }
}

/// Plans and pushes in one, for callers that have nothing to look at in between.
pub fn push(repository: &Repository, program: &GitProgram, limits: &PushLimits<'_>) -> PushOutcome {
    match plan(repository, program, None) {
        Ok(PushReadiness::Ready(plan)) => plan.push(limits),
        Ok(PushReadiness::NoRemote) => PushOutcome::NoRemote,
        Ok(PushReadiness::NoBranch) => PushOutcome::Failed { reason: "HEAD is on no branch".to_owned() },
        Ok(PushReadiness::NoCommit) => PushOutcome::Failed { reason: "there is no commit yet".to_owned() },
        Err(error) => error.into(),
    }
}

impl From<Error> for PushOutcome {
    fn from(error: Error) -> Self {
        Self::Failed { reason: without_credentials(&error.to_string()) }
    }
}

struct Pushing<'a> {
    plan: &'a PushPlan,
    limits: &'a PushLimits<'a>,
    deadline: Instant,
    git: ActingGit,
    /// Where the push goes, which may be elsewhere than where a fetch comes from.
    url: String,
    /// Submodules are not pushed along, but looked at where the user wants that.
    submodules: &'static str,
}

/// What a step yields, or how the whole push has ended.
type PushStep<T> = Result<T, PushOutcome>;

impl<'a> Pushing<'a> {
    fn new(plan: &'a PushPlan, limits: &'a PushLimits<'a>, deadline: Instant) -> Result<Self, Error> {
        let plain = ActingGit::new(&plan.program, &plan.repository.root);
        let url = match plan.is_url {
            true => plan.remote.clone(),
            false => plain.line(&["remote", "get-url", "--push", &plan.remote])?,
        };
        let configured = plain.line_or_none(&["config", "--get", "core.sshCommand"])?;
        let git = match limits.ssh_command.or(configured.as_deref()) {
            Some(ssh) => plain.with("GIT_SSH_COMMAND", format!("{ssh} -oBatchMode=yes")),
            // A shell reads it. What it is cannot be told by its name then.
            None => plain
                .with("GIT_SSH_COMMAND", "\"${GIT_SSH:-ssh}\" -oBatchMode=yes")
                .with("GIT_SSH_VARIANT", "ssh"),
        };
        let submodules = plain.line_or_none(&["config", "--get", "push.recurseSubmodules"])?;
        let submodules = match submodules.as_deref() {
            Some("check") => "--recurse-submodules=check",
            _ => "--recurse-submodules=no",
        };
        Ok(Self { plan, limits, deadline, git, url, submodules })
    }

    fn push(&self) -> PushStep<PushOutcome> {
        let mut id = self.plan.id.clone();
        for _ in 0..ROUNDS {
            match self.send(&id)? {
                RemoteAnswer::Behind => {
                    let theirs = self.fetch()?;
                    id = rebase::onto(&self.local(), &theirs, &self.plan.id, self.limits.ours)?;
                    // Everything of ours is there already, in other commits.
                    if id == theirs {
                        return self.verify(&id);
                    }
                }
                _ => return self.verify(&id),
            }
        }
        Err(PushOutcome::Rejected { reason: "the remote's branch kept moving, or is locked".to_owned() })
    }

    /// Git without the network.
    fn local(&self) -> ActingGit {
        self.git.within(self.plan.program.time_limit())
    }

    /// One push, again and again while its failure may pass. Ends with `Done` or `Behind`.
    fn send(&self, id: &str) -> PushStep<RemoteAnswer> {
        let target = format!("{id}:{}", self.plan.destination);
        let mut arguments = vec!["-c", "push.followTags=false", "-c", "credential.interactive=false", "push"];
        arguments.extend(["--porcelain", self.submodules, &self.plan.remote, &target]);
        let new_trace = || HookTrace::new(&self.plan.repository);
        self.converse_traced(&arguments, &new_trace).map(|(answer, _)| answer)
    }

    /// Gets what the remote's branch has, without touching a ref: its commit.
    fn fetch(&self) -> PushStep<String> {
        let mut arguments = vec!["-c", "credential.interactive=false", "fetch", "--no-write-fetch-head"];
        arguments.extend(["--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]);
        arguments.extend(["--", &self.url, &self.plan.destination]);
        for _ in 0..ROUNDS {
            self.converse(&arguments)?;
            let theirs = self.ask()?.unwrap_or_default();
            let there = self.local().end(&["cat-file", "-e", &format!("{theirs}^{{commit}}")], b"");
            if there.is_ok_and(|ended| ended.status.success()) {
                return Ok(theirs);
            }
        }
        Err(PushOutcome::Failed { reason: "the remote's branch kept moving".to_owned() })
    }

    /// The commit that the remote's branch is at now.
    fn ask(&self) -> PushStep<Option<String>> {
        let mut found = self.listed(&[], &[&self.plan.destination])?.into_iter();
        Ok(found.find(|(_, name)| *name == self.plan.destination).map(|(id, _)| id))
    }

    /// Ids and names of the remote's refs.
    fn listed(&self, kinds: &[&str], names: &[&str]) -> PushStep<Vec<(String, String)>> {
        let command = ["-c", "credential.interactive=false", "ls-remote", "--quiet"];
        let arguments = [&command[..], kinds, &["--", &self.url], names].concat();
        let (_, output) = self.converse(&arguments)?;
        let output = String::from_utf8_lossy(&output);
        let lines = output.lines().filter_map(|line| line.split_once('\t'));
        Ok(lines.map(|(id, name)| (id.to_owned(), name.to_owned())).collect())
    }

    /// The remote has the commit, or others have gone on from it already.
    fn verify(&self, id: &str) -> PushStep<PushOutcome> {
        let now = self.ask()?;
        let is_there = now.as_deref() == Some(id) || {
            let theirs = self.fetch()?;
            let ended = self.local().end(&["merge-base", "--is-ancestor", id, &theirs], b"");
            ended.is_ok_and(|ended| ended.status.success())
        };
        if !is_there {
            return Err(PushOutcome::Failed {
                reason: format!(
                    "git reports that it pushed, but the remote's `{}` does not have it",
                    self.plan.destination
                ),
            });
        }
        let rebased_from = (id != self.plan.id).then(|| self.plan.id.clone());
        let branch = self.plan.destination.trim_start_matches("refs/heads/").to_owned();
        Ok(PushOutcome::Pushed { id: id.to_owned(), branch, rebased_from })
    }

    /// Talks to the remote, again where it may help. Ends well, or as `Behind`.
    fn converse(&self, arguments: &[&str]) -> PushStep<(RemoteAnswer, Vec<u8>)> {
        self.converse_traced(arguments, &|| None)
    }

    /// The same, with an account of each attempt.
    fn converse_traced(
        &self,
        arguments: &[&str],
        new_trace: &dyn Fn() -> Option<HookTrace>,
    ) -> PushStep<(RemoteAnswer, Vec<u8>)> {
        let mut pauses = self.limits.pauses.iter();
        loop {
            let trace = new_trace();
            let traced = trace.as_ref().map(HookTrace::variable);
            let git = traced.map_or_else(|| self.git.clone(), |(name, path)| self.git.with(name, path));
            let left = self.deadline.saturating_duration_since(Instant::now());
            let ended = match git.within(left.min(self.limits.attempt)).end(arguments, b"") {
                Ok(ended) => Ok(ended),
                // A hook that hangs does so again, and the remote has nothing to do with it.
                Err(Error::TimedOut { limit, .. }) if trace.as_ref().is_some_and(HookTrace::is_in_hook) => {
                    let limit = text::duration_in_words(limit);
                    let reason = format!("the hook `pre-push` took longer than {limit} and was stopped");
                    return Err(PushOutcome::Failed { reason });
                }
                Err(Error::TimedOut { limit, .. }) => {
                    Err(PushOutcome::TimedOut { seconds: limit.as_secs_f64().ceil() as u64 })
                }
                Err(error) => return Err(error.into()),
            };
            let failure = match ended {
                Ok(ended) => match said::understand(&ended) {
                    RemoteAnswer::Done => return Ok((RemoteAnswer::Done, ended.stdout)),
                    RemoteAnswer::Behind => return Ok((RemoteAnswer::Behind, ended.stdout)),
                    RemoteAnswer::Passing { reason } => PushOutcome::Failed { reason },
                    RemoteAnswer::Final(outcome) => return Err(outcome),
                },
                Err(timed_out) => timed_out,
            };
            let Some(pause) = pauses.next() else { return Err(failure) };
            if Instant::now() + *pause >= self.deadline {
                return Err(failure);
            }
            std::thread::sleep(*pause);
        }
    }
}

//! Whether and where the commit of a save is pushed: what the settings say of its branch, and what `git push` would do.

use changes::{Error, GitProgram, Repository};
use gate::policy::{Autosave, PushRules, PushWhen};
use keeping::push::{PushPlan, PushReadiness, RemoteKnowledge};
use text::counted;

/// A push that may be made.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPush {
    /// As it may be shown.
    pub remote: String,
    /// The remote's.
    pub branch: String,
    /// What the push does beside sending the commit, in words to be added to others.
    pub consequences: String,
}

/// Why there is no push.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoPush {
    /// The settings or the user's own git config want none, or there is no remote.
    #[error("{0}")]
    Unwanted(String),
    /// It is wanted, but has nowhere to go.
    #[error("{0}")]
    NotPossible(String),
    #[error("{0}")]
    Failed(String),
}

impl PlannedPush {
    /// What a push of the commit, or of HEAD, would do.
    pub fn of(
        repository: &Repository,
        git: &GitProgram,
        settings: &Autosave,
        commit: Option<&str>,
    ) -> Result<Self, NoPush> {
        let unwanted = |why: &str| Err(NoPush::Unwanted(why.to_owned()));
        let not_possible = |why: &str| Err(NoPush::NotPossible(why.to_owned()));
        let rules = settings.push.clone().unwrap_or(PushRules::all(PushWhen::Tracked));
        let plan = match keeping::push::plan(repository, git, commit) {
            Ok(PushReadiness::Ready(plan)) => plan,
            Ok(PushReadiness::NoRemote) => return unwanted("there is no remote to push to"),
            Ok(PushReadiness::NoBranch | PushReadiness::NoCommit) => {
                return not_possible("HEAD is on no branch");
            }
            Err(error @ Error::NotPushed { .. }) => return unwanted(&error.to_string()),
            Err(error) => return Err(NoPush::Failed(error.to_string())),
        };
        // Without a commit of its own yet, the save would take HEAD along.
        let others = if commit.is_some() { plan.others() } else { plan.commits.len() };
        let planned = Self::with(&plan, others);
        match rules.of_branch(&plan.branch) {
            PushWhen::Never => unwanted("`push` is `never`"),
            PushWhen::Tracked if plan.other_upstream.is_some() => {
                let (branch, other) = (&plan.branch, plan.other_upstream.as_deref().unwrap_or_default());
                let why = format!("the upstream of `{branch}` is `{other}` of `{}`", planned.remote);
                not_possible(&format!(
                    "`git push` would refuse, because {why}; {}",
                    publishing(&plan, &planned.remote)
                ))
            }
            PushWhen::Tracked if !plan.is_tracked => {
                let (remote, branch) = (&planned.remote, &planned.branch);
                let missing = match plan.knowledge {
                    RemoteKnowledge::Fetched => format!("`{remote}` has no branch `{branch}` yet"),
                    _ => format!(
                        "nothing was ever fetched from `{remote}`, so it is unknown whether it has `{branch}`"
                    ),
                };
                not_possible(&format!("{missing}; {}", publishing(&plan, &planned.remote)))
            }
            PushWhen::Tracked | PushWhen::Always => Ok(planned),
        }
    }

    /// What the push of the plan's commit does.
    pub fn new(plan: &PushPlan) -> Self {
        Self::with(plan, plan.others())
    }

    fn with(plan: &PushPlan, others: usize) -> Self {
        let all = counted(others, "other commit");
        let along = match (&plan.knowledge, plan.is_complete) {
            _ if others == 0 => String::new(),
            (RemoteKnowledge::Nothing { problem }, is_complete) => {
                let many =
                    if is_complete { format!("up to {all}") } else { "all earlier commits".to_owned() };
                let why = match problem {
                    Some(problem) => format!("its state is unknown: {problem}"),
                    None => "the remote is asked first which of them it has".to_owned(),
                };
                format!(", along with {many} ({why})")
            }
            (_, true) => format!(", along with {all}"),
            (_, false) => format!(", along with {others} or more other commits"),
        };
        let branch = transcript::visible(plan.remote_branch());
        let published = match plan.knowledge {
            _ if plan.is_tracked => String::new(),
            RemoteKnowledge::Nothing { .. } => {
                format!(", which publishes the branch `{branch}` if it is not there yet")
            }
            _ => format!(", which publishes the branch `{branch}`"),
        };
        Self { remote: plan.remote(), branch, consequences: format!("{published}{along}") }
    }
}

/// What to do to have the branch on the remote.
fn publishing(plan: &PushPlan, remote: &str) -> String {
    let (branch, there) = (plan.branch.as_str(), plan.remote_branch());
    let refspec = if branch == there { branch.to_owned() } else { format!("{branch}:{there}") };
    let (remote, refspec) = (text::shell_word(remote), text::shell_word(&refspec));
    format!("publish it with `git push -u {remote} {refspec}`, or set `push = \"always\"`")
}

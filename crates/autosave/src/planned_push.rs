//! Whether and where the commit of a save is pushed: what the settings say of its branch, and what `git push` would do.

use changes::{Error, GitProgram, Repository};
use gate::policy::{Autosave, PushRules, PushWhen};
use keeping::push::{PushPlan, PushReadiness};
use text::counted;

/// A push that may be made.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPush {
    /// As it may be shown.
    pub remote: String,
    /// The remote's.
    pub branch: String,
    /// The remote is not known to have the branch: this publishes it.
    pub publishes: bool,
    /// What goes along, in words to be added to others; empty if nothing does.
    along: String,
}

/// Why there is no push.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoPush {
    /// By the settings, or for lack of a place to push to.
    #[error("{0}")]
    Unwanted(String),
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
        let rules = settings.push.clone().unwrap_or(PushRules::all(PushWhen::Tracked));
        let plan = match keeping::push::plan(repository, git, commit) {
            Ok(PushReadiness::Ready(plan)) => plan,
            Ok(PushReadiness::NoRemote) => return unwanted("there is no remote to push to"),
            Ok(PushReadiness::NoBranch | PushReadiness::NoCommit) => return unwanted("HEAD is on no branch"),
            Err(error @ Error::NotPushed { .. }) => return unwanted(&error.to_string()),
            Err(error) => return Err(NoPush::Failed(error.to_string())),
        };
        // Without a commit of its own yet, the save would take HEAD along.
        let others = if commit.is_some() { plan.others() } else { plan.commits.len() };
        let planned = Self::with(&plan, others);
        match rules.of_branch(&plan.branch) {
            PushWhen::Never => unwanted("`push` is `never`"),
            PushWhen::Tracked if planned.publishes => unwanted(&format!(
                "`{}` has no branch `{}` yet; publish it with `git push`, or set `push = \"always\"`",
                planned.remote, planned.branch
            )),
            PushWhen::Tracked | PushWhen::Always => Ok(planned),
        }
    }

    /// What the push of the plan's commit does.
    pub fn new(plan: &PushPlan) -> Self {
        Self::with(plan, plan.others())
    }

    fn with(plan: &PushPlan, others: usize) -> Self {
        let along = match (others, plan.is_complete) {
            (0, _) => String::new(),
            (others, true) => format!(", along with {}", counted(others, "other commit")),
            (others, false) => format!(", along with {others} or more other commits"),
        };
        let branch = transcript::visible(plan.remote_branch());
        Self { remote: plan.remote(), branch, publishes: !plan.is_tracked, along }
    }

    /// What the push does beside sending the commit, in words to be added to others.
    pub fn consequences(&self) -> String {
        let published = match self.publishes {
            true => format!(", which publishes the branch `{}`", self.branch),
            false => String::new(),
        };
        format!("{published}{}", self.along)
    }
}

//! What is unproven in a repository now. `status`, `statusline`, `explain`, `log --repo` and `session --list` report it from here,
//! out of the ledger that the hook reads too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use changes::Repository;
use journal::{Journal, SessionId, Standing};
use serde::Serialize;
use text::counted;
use transcript::visible;

use crate::environment;
use crate::error::CommandError;

/// Of many files the first ones stand for all.
const FILES_NAMED: usize = 3;

/// Contents of the working tree that are unproven, the newest first.
#[derive(Debug, Default)]
pub(crate) struct UnprovenWork(Vec<Standing>);

/// A file whose present content is unproven.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct UnprovenFileOutput {
    path: String,
    action: String,
    /// When a stop first saw this content unproven.
    since: String,
    /// The agent whose stop that was; null if that is not known any more.
    agent: Option<String>,
    session: Option<String>,
}

impl UnprovenWork {
    /// By the policy of the repository, and by the one at the latest prompt if that is another: an agent that empties the
    /// policy has not proven anything. Nothing if there is none, or a broken one.
    pub(crate) fn of_repository(
        journal: &mut Journal,
        repository: &Repository,
    ) -> Result<Self, CommandError> {
        let unproven = stop::unproven_in(journal, repository, environment::configuration_file().as_deref())?;
        Ok(Self(unproven))
    }

    /// The work that turns of one session left.
    pub(crate) fn of_session(&self, agent: &str, client_id: &str) -> usize {
        let is_its = |standing: &&Standing| {
            standing.session.as_ref().is_some_and(|one| one.agent == agent && one.client_id == client_id)
        };
        let files: BTreeSet<_> =
            self.0.iter().filter(is_its).map(|standing| &standing.version.path).collect();
        files.len()
    }

    /// What is unproven in other repositories that the session's last stop judged, by their roots.
    pub(crate) fn beside(
        journal: &mut Journal,
        session: SessionId,
        own: Option<&Path>,
    ) -> Result<Vec<(PathBuf, Self)>, CommandError> {
        let roots = journal.read(|reader| reader.other_repositories(session))?;
        let mut found = Vec::new();
        for root in roots {
            let repository = Repository::at(&root).filter(|_| own != Some(&root));
            let Some(repository) = repository else { continue };
            found.push((root, Self::of_repository(journal, &repository)?));
        }
        Ok(found)
    }

    /// How many files there are.
    pub(crate) fn files(&self) -> usize {
        self.0.iter().map(|standing| &standing.version.path).collect::<BTreeSet<_>>().len()
    }

    /// `3 files`; `None` if there are none.
    pub(crate) fn count(&self) -> Option<String> {
        Some(self.files()).filter(|files| *files > 0).map(|files| counted(files, "file"))
    }

    /// `2 files need python-tests: a.py, b.py`
    pub(crate) fn sentence(&self) -> Option<String> {
        let count = self.count()?;
        let actions: BTreeSet<&str> = self.0.iter().map(|standing| standing.action.as_str()).collect();
        let actions: Vec<String> = actions.into_iter().map(visible).collect();
        let files: BTreeSet<String> =
            self.0.iter().map(|standing| standing.version.path.to_string()).collect();
        let mut named: Vec<String> = files.iter().take(FILES_NAMED).map(|path| visible(path)).collect();
        if files.len() > FILES_NAMED {
            named.push(format!("{} more", files.len() - FILES_NAMED));
        }
        let verb = if files.len() == 1 { "needs" } else { "need" };
        Some(format!("{count} {verb} {}: {}", actions.join(" and "), named.join(", ")))
    }

    pub(crate) fn output(&self) -> Vec<UnprovenFileOutput> {
        let output = |standing: &Standing| UnprovenFileOutput {
            path: standing.version.path.to_string(),
            action: standing.action.clone(),
            since: standing.since.to_string(),
            agent: standing.session.as_ref().map(|session| session.agent.clone()),
            session: standing.session.as_ref().map(|session| session.client_id.clone()),
        };
        self.0.iter().map(output).collect()
    }
}

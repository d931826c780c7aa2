//! Which agent session a command is about: the one that calls, by what its client puts into the environment of its
//! tools, or the one that was named.

use std::path::{Path, PathBuf};

use agents::host;
use journal::{Journal, Session};
use stop::SESSIONS_LOOKED_AT;
use transcript::Agent;

use crate::environment;
use crate::error::CommandError;

/// A session by its client and the client's own id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AgentSession {
    pub(crate) agent: Agent,
    pub(crate) id: String,
}

impl AgentSession {
    /// The session that calls. Some clients tell their tools who calls, but not which session it is: there it is the one
    /// that was seen last in the repository.
    pub(crate) fn calling(
        journal: Option<&mut Journal>,
        repository: Option<&Path>,
    ) -> Result<Option<Self>, CommandError> {
        match Self::caller() {
            Some((agent, Some(id))) => Ok(Some(Self { agent, id })),
            Some((agent, None)) => Self::latest(agent, journal, repository),
            None => Ok(None),
        }
    }

    /// Whose agent calls, and in which session, if that is told.
    pub(crate) fn caller() -> Option<(Agent, Option<String>)> {
        let read = |variable: Option<&str>| environment::read(variable?).and_then(|id| id.into_string().ok());
        let of_session =
            |agent: Agent| read(host(agent).variables.session).map(|session| (agent, Some(session)));
        let of_client = |agent: Agent| read(host(agent).variables.calls).map(|_| (agent, None));
        let mut agents = Agent::ALL.into_iter();
        agents.clone().find_map(of_session).or_else(|| agents.find_map(of_client))
    }

    /// The session of `agent` that was seen last in the repository.
    pub(crate) fn latest(
        agent: Agent,
        journal: Option<&mut Journal>,
        repository: Option<&Path>,
    ) -> Result<Option<Self>, CommandError> {
        let (Some(journal), Some(repository)) = (journal, repository) else { return Ok(None) };
        let is_it = |session: &Session| {
            let here = |path: &Path| path.starts_with(repository);
            session.agent == agent.name()
                && (session.repository.as_deref() == Some(repository)
                    || (session.repository.is_none() && session.directory.as_deref().is_some_and(here)))
        };
        let sessions = journal.read(|reader| reader.recent_sessions(SESSIONS_LOOKED_AT))?;
        Ok(sessions.into_iter().find(is_it).map(|session| Self { agent, id: session.client_id }))
    }

    /// What is recorded of it.
    pub(crate) fn recorded(&self, journal: Option<&mut Journal>) -> Result<Option<Session>, CommandError> {
        let Some(journal) = journal else { return Ok(None) };
        let read = journal.read(|reader| reader.session(self.agent.name(), &self.id));
        read.map_err(CommandError::from)
    }
}

/// The transcript of the session that calls, where an agent asks or a person through a command of the client; otherwise that
/// of the session that was last seen in the repository.
pub(crate) fn transcript(journal: &mut Journal, root: &Path) -> Option<PathBuf> {
    let calling = AgentSession::calling(Some(journal), Some(root)).ok().flatten();
    let recorded = |session: AgentSession| session.recorded(Some(journal)).ok()??.transcript;
    let of_calling = calling.and_then(recorded).filter(|path| transcript::is_there(path));
    of_calling.or_else(|| {
        let last = journal.read(|reader| reader.sessions_in(root, 1)).ok()?.pop()?;
        last.transcript.filter(|path| transcript::is_there(path))
    })
}

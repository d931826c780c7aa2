//! Sessions whose hooks are not called although their agents work on: the hook itself cannot say so if `CHECKSTONE=off` is
//! set in the client's environment or nobody calls it, but the transcript has a prompt that the journal does not know.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use journal::{Journal, JournalError, Session, switch};
use transcript::Agent;

/// How many sessions of a repository are looked at.
const SESSIONS: usize = 50;

/// A hook is called within this time of its prompt.
const LATEST: Duration = Duration::from_secs(60);

/// A session with a prompt that no hook was called for.
#[derive(Debug)]
pub(crate) struct UnheardSession {
    pub(crate) session: Session,
    pub(crate) prompt_at: Timestamp,
}

impl UnheardSession {
    pub(crate) fn sentence(&self) -> String {
        format!(
            "No hook was called for a prompt of {} session {} at {:.0}: `CHECKSTONE=off` is set in the client's environment, \
             or its hooks are gone.",
            self.session.agent, self.session.client_id, self.prompt_at
        )
    }
}

/// Those of a repository that were seen since then; a session that a person switched off is not among them.
pub(crate) fn find(
    journal: &mut Journal,
    state: &Path,
    root: &Path,
    since: Timestamp,
) -> Result<Vec<UnheardSession>, JournalError> {
    let sessions = journal.read(|reader| reader.recent_sessions(SESSIONS))?;
    let here = sessions.into_iter().filter(|session| {
        session.repository.as_deref() == Some(root)
            && session.seen_at >= since
            && !switch::is_off(state, &session.agent, &session.client_id)
    });
    Ok(here.filter_map(unheard).collect())
}

fn unheard(session: Session) -> Option<UnheardSession> {
    let path = session.transcript.as_deref()?;
    let limit = session.seen_at.checked_add(LATEST).ok()?;
    let written = Timestamp::try_from(fs_err::metadata(path).ok()?.modified().ok()?).ok()?;
    if written <= limit {
        return None;
    }
    let agent = Agent::ALL.into_iter().find(|agent| agent.name() == session.agent);
    let turn = transcript::read(path, &gate::reading_options(agent)).turn?;
    let prompt_at = turn.started_at?;
    (prompt_at > limit).then_some(UnheardSession { session, prompt_at })
}

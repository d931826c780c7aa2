//! What was told to people here in the last days: what reduced checking, and files that two sessions changed at once.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use journal::{Author, Journal};
use serde::Serialize;
use transcript::visible;

use crate::error::CommandError;
use crate::unheard_sessions;

/// How much of what reduced checking is shown, and for how long.
const REDUCTIONS: usize = 5;
const REDUCTIONS_SHOWN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Reduction"))]
pub(super) struct ReductionOutput {
    pub(super) at: String,
    /// Who did it, as far as that is known: `during-turn` is somebody while an agent worked.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["person", "agent", "during-turn", "unknown"])))]
    pub(super) author: &'static str,
    pub(super) agent: Option<String>,
    /// The client's own id of the session.
    pub(super) session: Option<String>,
    pub(super) text: String,
}

impl ReductionOutput {
    pub(super) fn line(&self) -> String {
        let who = match (self.author, &self.agent) {
            ("person", _) => "a person".to_owned(),
            ("agent", Some(agent)) => agent.clone(),
            ("during-turn", Some(agent)) => format!("in a turn of {agent}"),
            _ => "unknown".to_owned(),
        };
        format!("  {}  {who}: {}\n", self.at, visible(&self.text))
    }
}

/// What the person of one session was told.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SharedFiles"))]
pub(super) struct SharedFilesOutput {
    pub(super) at: String,
    pub(super) agent: Option<String>,
    /// The client's own id of the session.
    pub(super) session: Option<String>,
    pub(super) text: String,
}

/// What was noted, and sessions whose hooks are not called.
pub(super) fn reductions(
    journal: &mut Journal,
    state: &Path,
    root: Option<&Path>,
) -> Result<Vec<ReductionOutput>, CommandError> {
    let since = Timestamp::now().checked_sub(REDUCTIONS_SHOWN).unwrap_or(Timestamp::MIN);
    let unheard = match root {
        Some(root) => unheard_sessions::find(journal, state, root, since)?,
        None => Vec::new(),
    };
    let unheard = unheard.into_iter().map(|unheard| ReductionOutput {
        at: format!("{:.0}", unheard.prompt_at),
        author: Author::Unknown.as_str(),
        text: unheard.sentence(),
        agent: Some(unheard.session.agent),
        session: Some(unheard.session.client_id),
    });
    let noted = journal.read(|reader| reader.recent_notices(root, since, REDUCTIONS))?;
    let noted = noted.into_iter().map(|notice| ReductionOutput {
        at: format!("{:.0}", notice.at),
        author: notice.author.as_str(),
        agent: notice.agent,
        session: notice.client_id,
        text: notice.text,
    });
    Ok(unheard.chain(noted).collect())
}

pub(super) fn shared_files(
    journal: &mut Journal,
    root: Option<&Path>,
) -> Result<Vec<SharedFilesOutput>, CommandError> {
    let since = Timestamp::now().checked_sub(REDUCTIONS_SHOWN).unwrap_or(Timestamp::MIN);
    let noted = journal.read(|reader| reader.shared_files(root, since, REDUCTIONS))?;
    let output = noted.into_iter().map(|notice| SharedFilesOutput {
        at: format!("{:.0}", notice.at),
        agent: notice.agent,
        session: notice.client_id,
        text: notice.text,
    });
    Ok(output.collect())
}

//! The saves of a session that a stop has left to a process of their own: which have begun, and how those ended of which nobody
//! has been told yet. Kept with the session in the journal, so that neither a kill of the client nor one of that process loses them.

use jiff::Timestamp;
use journal::{JournalError, Reading, SessionId, Writing};
use serde::{Deserialize, Serialize};

use crate::ended_save::{EndedSave, SaveResult};

const NAME: &str = "autosaves-begun";

const LOST: &str = "the process that was saving ended before it was done, so it is unknown what it committed; the save is tried \
                    again at the next stop";

/// More are not kept; the oldest go.
const MOST: usize = 20;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BegunSave {
    /// By which the two processes mean the same one.
    pub(crate) token: String,
    began_ms: i64,
    ended: Option<EndedSave>,
    /// The person knows; the agent has still to be told.
    #[serde(default)]
    is_told: bool,
}

/// Who is there to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    Person,
    /// And the agent, who is asked to make up for what failed.
    PersonAndAgent,
}

/// What became of saves that nobody had been told of.
#[derive(Debug, Default)]
pub struct EndedSaves {
    /// For the person.
    pub to_person: Vec<EndedSave>,
    /// For the agent: the last one that failed.
    pub to_agent: Option<EndedSave>,
}

impl BegunSave {
    /// The process has had the time to take its lock.
    pub(crate) fn is_older_than(&self, seconds: i64, now: Timestamp) -> bool {
        now.as_millisecond() - self.began_ms > seconds * 1000
    }
}

pub(crate) fn begin(
    writing: &Writing<'_>,
    session: SessionId,
    token: &str,
    at: Timestamp,
) -> Result<(), JournalError> {
    let mut all = stored(writing, session)?;
    all.push(BegunSave {
        token: token.to_owned(),
        began_ms: at.as_millisecond(),
        ended: None,
        is_told: false,
    });
    let surplus = all.len().saturating_sub(MOST);
    keep(writing, session, &all.split_off(surplus))
}

pub(crate) fn end(
    writing: &Writing<'_>,
    session: SessionId,
    token: &str,
    ended: &EndedSave,
) -> Result<(), JournalError> {
    let mut all = stored(writing, session)?;
    if let Some(begun) = all.iter_mut().find(|begun| begun.token == token) {
        begun.ended = Some(ended.clone());
    }
    keep(writing, session, &all)
}

/// It was told.
pub(crate) fn forget(writing: &Writing<'_>, session: SessionId, token: &str) -> Result<(), JournalError> {
    let mut all = stored(writing, session)?;
    all.retain(|begun| begun.token != token);
    keep(writing, session, &all)
}

/// Those that have ended, oldest first. One whose process is gone, by what `is_lost` says, has failed. From now on they count as
/// told to whoever listens.
pub(crate) fn take(
    writing: &Writing<'_>,
    session: SessionId,
    listener: Listener,
    is_lost: impl Fn(&BegunSave) -> bool,
) -> Result<EndedSaves, JournalError> {
    let all = stored(writing, session)?;
    let mut taken = EndedSaves::default();
    let mut kept = Vec::new();
    let before = all.len();
    let mut has_changed = false;
    for mut begun in all {
        if begun.ended.is_none() && is_lost(&begun) {
            writing.try_again(session)?;
            begun.ended = Some(EndedSave::without_commit(SaveResult::Failed, LOST.to_owned()));
        }
        let Some(ended) = begun.ended.clone() else {
            kept.push(begun);
            continue;
        };
        if !begun.is_told {
            taken.to_person.push(ended.clone());
            has_changed = true;
        }
        if !ended.has_failed() {
            continue;
        }
        match listener {
            Listener::PersonAndAgent => taken.to_agent = Some(ended),
            Listener::Person => kept.push(BegunSave { is_told: true, ..begun }),
        }
    }
    if has_changed || kept.len() < before {
        keep(writing, session, &kept)?;
    }
    Ok(taken)
}

fn stored(reader: &Reading<'_>, session: SessionId) -> Result<Vec<BegunSave>, JournalError> {
    let bytes = reader.value(session, NAME)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

fn keep(writing: &Writing<'_>, session: SessionId, all: &[BegunSave]) -> Result<(), JournalError> {
    writing.set_value(session, NAME, &serde_json::to_vec(all).unwrap_or_default())
}

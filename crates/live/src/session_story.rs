//! A session turn by turn: what was asked, what was done in which order, what every stop said and why, what was saved, and what
//! was proven by which run.

use std::collections::BTreeMap;

use gate::{Changes, RecordedCall};
use journal::{Autosave, JournalError, ProvenContent, RecordedVerdict, SessionId, TurnGlance, TurnId};
use stop::{ExplainedVerdict, Record};
use transcript::{Agent, Call};

use crate::overview::SessionCard;
use crate::sources::{PageError, Sources};

/// So many turns are shown at once.
const TURNS: usize = 20;

/// So much is read of a turn that has not ended.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct SessionStory {
    pub(crate) card: SessionCard,
    /// The newest first.
    pub(crate) turns: Vec<TurnStory>,
    /// The turn before which there are older ones.
    pub(crate) older_than: Option<TurnId>,
    /// What is shown is not the end of the session.
    pub(crate) is_earlier: bool,
}

#[derive(Debug)]
pub(crate) struct TurnStory {
    pub(crate) turn: TurnGlance,
    /// In the order in which they were made.
    pub(crate) verdicts: Vec<VerdictStory>,
    pub(crate) calls: Vec<Call>,
    pub(crate) saves: Vec<Autosave>,
    /// Files and what became of them, by the last verdict.
    pub(crate) changed: Vec<(String, String)>,
    pub(crate) proven: Vec<ProvenContent>,
    /// The agent is still at it.
    pub(crate) is_open: bool,
}

#[derive(Debug)]
pub(crate) struct VerdictStory {
    pub(crate) recorded: RecordedVerdict,
    pub(crate) explained: ExplainedVerdict,
}

impl SessionStory {
    pub(crate) fn of(
        id: SessionId,
        before: Option<TurnId>,
        sources: &mut Sources<'_>,
    ) -> Result<Self, PageError> {
        let unknown = || PageError::NotFound(format!("There is no session {}; old ones are pruned.", id.0));
        let journal = sources.journal.as_mut().ok_or_else(unknown)?;
        let session = journal.read(|reader| reader.session_by_id(id))?.ok_or_else(unknown)?;
        let (mut turns, saves, proven) = journal.read(|reader| {
            let turns = reader.glance_at_turns(id, before, TURNS + 1)?;
            Ok((turns, reader.autosaves_of(id)?, reader.proven_in(id)?))
        })?;
        let is_more = turns.len() > TURNS;
        turns.truncate(TURNS);
        let older_than = turns.last().map(|turn| turn.id).filter(|_| is_more);
        let mut proven_by_turn: BTreeMap<TurnId, Vec<ProvenContent>> = BTreeMap::new();
        for content in proven {
            if let Some(turn) = content.turn {
                proven_by_turn.entry(turn).or_default().push(content);
            }
        }
        let newest = turns.first().map(|turn| turn.id).filter(|_| before.is_none());
        let mut stories = Vec::new();
        for turn in turns {
            let id = turn.id;
            let mut story = TurnStory::of(turn, sources)?;
            story.saves = saves.iter().filter(|save| save.turn == Some(id)).cloned().collect();
            story.proven = proven_by_turn.remove(&id).unwrap_or_default();
            story.is_open = newest == Some(id) && story.has_not_ended();
            stories.push(story);
        }
        let card = SessionCard::of(session, sources)?;
        if let (Some(open), Some(path)) =
            (stories.first_mut().filter(|turn| turn.is_open), &card.session.transcript)
        {
            let agent = Agent::named(&card.session.agent);
            let options = transcript::Options { max_bytes: MOST_BYTES, ..gate::reading_options(agent) };
            let mut reading = transcript::read(path, &options);
            open.calls = reading.calls.split_off(reading.earlier_calls.min(reading.calls.len()));
        }
        Ok(Self { card, turns: stories, older_than, is_earlier: before.is_some() })
    }
}

impl TurnStory {
    fn of(turn: TurnGlance, sources: &mut Sources<'_>) -> Result<Self, JournalError> {
        let (mut verdicts, mut calls, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(journal) = &mut sources.journal {
            let recorded = journal.read(|reader| {
                let recorded = reader.verdicts_of_turn(turn.id)?;
                let with_inputs = recorded.into_iter().map(|verdict| {
                    let inputs = reader.inputs(verdict.id)?;
                    Ok((verdict, inputs))
                });
                with_inputs.collect::<Result<Vec<_>, JournalError>>()
            })?;
            for (recorded, inputs) in recorded {
                if let Some(record) = inputs.as_ref().and_then(|inputs| Record::read(&inputs.bytes)) {
                    changed = changes(&record.inputs.changes);
                    let own = record.inputs.calls.into_iter().skip(record.inputs.earlier_calls);
                    // The last stop of a turn saw all of it.
                    calls = own.map(|RecordedCall { call, .. }| call).collect();
                }
                verdicts.push(VerdictStory { recorded, explained: stop::explain(inputs.as_ref()) });
            }
        }
        Ok(Self { turn, verdicts, calls, changed, saves: Vec::new(), proven: Vec::new(), is_open: false })
    }

    /// No stop was judged, or the last one was held.
    fn has_not_ended(&self) -> bool {
        self.verdicts.last().is_none_or(|last| last.recorded.decision == gate::Decision::Hold)
    }
}

/// Each file, and what became of it.
fn changes(changes: &Changes) -> Vec<(String, String)> {
    use change_set::Change;
    match changes {
        Changes::Known(set) => {
            let word = |change: &Change| match change {
                Change::Added => "added".to_owned(),
                Change::Modified => "modified".to_owned(),
                Change::Deleted => "deleted".to_owned(),
                Change::Renamed { from } => format!("renamed from {from}"),
                Change::Mode => "mode changed".to_owned(),
            };
            set.files.iter().map(|file| (file.path.to_string(), word(&file.change))).collect()
        }
        Changes::Transcript(files) => files.iter().map(|file| (file.clone(), "edited".to_owned())).collect(),
        Changes::Unknown(_) => Vec::new(),
    }
}

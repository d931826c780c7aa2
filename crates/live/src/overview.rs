//! Every live session, by repository: what it does, how full its context is, whom it meets in the same files; and what is
//! unproven in each repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agents::registration::settings::client;
use autosave::context::{self, Windows};
use autosave::told_window;
use changes::Repository;
use gate::Decision;
use jiff::{SignedDuration, Timestamp};
use journal::{JournalError, Session, SessionId, TurnGlance};
use transcript::Agent;

use crate::activity::{Activity, LastStop, activity};
use crate::seen_transcript::SeenTranscript;
use crate::sources::Sources;

/// So many sessions are looked at.
const MOST_SESSIONS: usize = 500;

/// A session that is done stays on the page for so long, and any other one for so long.
const DONE_SHOWN: SignedDuration = SignedDuration::from_hours(12);
const SHOWN: SignedDuration = SignedDuration::from_hours(48);

/// A session as its card shows it.
#[derive(Debug)]
pub(crate) struct SessionCard {
    pub(crate) session: Session,
    /// The name of the client, as people say it.
    pub(crate) client: String,
    pub(crate) turn: Option<TurnGlance>,
    pub(crate) activity: Activity,
    pub(crate) detail: String,
    /// How full the context is.
    pub(crate) percent: Option<u64>,
    /// When the last turn ended, if it did.
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) last_sign: Timestamp,
    seen: Option<Arc<SeenTranscript>>,
}

/// A repository with its live sessions, those that need a person first.
#[derive(Debug)]
pub(crate) struct RepositoryGroup {
    /// `None` for sessions outside of any.
    pub(crate) root: Option<PathBuf>,
    pub(crate) branch: Option<String>,
    /// The folder is not there any more.
    pub(crate) is_gone: bool,
    pub(crate) cards: Vec<SessionCard>,
    /// Files whose present content no run has proven, each with the actions that it needs.
    pub(crate) unproven: BTreeMap<String, BTreeSet<String>>,
}

/// Two sessions in one file at the same time.
#[derive(Debug, PartialEq)]
pub(crate) struct Conflict {
    pub(crate) file: PathBuf,
    pub(crate) sessions: Vec<(SessionId, String)>,
}

#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) groups: Vec<RepositoryGroup>,
    pub(crate) conflicts: Vec<Conflict>,
}

impl Overview {
    pub(crate) fn of(sources: &mut Sources<'_>) -> Result<Self, JournalError> {
        let Some(journal) = &mut sources.journal else {
            return Ok(Self { groups: Vec::new(), conflicts: Vec::new() });
        };
        let oldest = sources.now - SHOWN;
        let mut sessions = journal.read(|reader| reader.recent_sessions(MOST_SESSIONS))?;
        sessions.retain(|session| session.seen_at >= oldest);
        let mut by_root: BTreeMap<Option<PathBuf>, Vec<SessionCard>> = BTreeMap::new();
        for session in sessions {
            let card = SessionCard::of(session, sources)?;
            if card.is_live(sources.now) {
                by_root.entry(card.session.repository.clone()).or_default().push(card);
            }
        }
        let conflicts = conflicts(by_root.values());
        let mut groups = Vec::new();
        for (root, mut cards) in by_root {
            cards.sort_by_key(|card| (card.activity, std::cmp::Reverse(card.last_sign), card.session.id));
            groups.push(RepositoryGroup::of(root, cards, sources)?);
        }
        groups.sort_by_key(|group| {
            let first = group.cards.first();
            (first.map(|card| card.activity), std::cmp::Reverse(first.map(|card| card.last_sign)))
        });
        Ok(Self { groups, conflicts })
    }

    pub(crate) fn count(&self, activity: Activity) -> usize {
        let cards = self.groups.iter().flat_map(|group| &group.cards);
        cards.filter(|card| card.activity == activity).count()
    }
}

impl SessionCard {
    pub(crate) fn of(session: Session, sources: &mut Sources<'_>) -> Result<Self, JournalError> {
        let agent = Agent::named(&session.agent);
        let seen = session.transcript.as_deref().and_then(|path| {
            transcript::written_files(path).iter().for_each(|file| sources.files.file(file));
            sources.drawers.transcripts.look(path, agent, session.directory.as_deref())
        });
        let (mut turn, mut verdicts, mut told) = (None, Vec::new(), None);
        if let Some(journal) = &mut sources.journal {
            (turn, verdicts, told) = journal.read(|reader| {
                let turn = reader.glance_at_turns(session.id, None, 1)?.pop();
                let verdicts = reader.verdicts_of_last_stop(session.id)?;
                let model = seen.as_ref().and_then(|seen| seen.usage.as_ref()?.model.as_deref());
                Ok((turn, verdicts, told_window::of_session(reader, session.id, model)?))
            })?;
        }
        // One stop may have judged several repositories, and held for one of them.
        let held = verdicts.iter().find(|verdict| verdict.decision == Decision::Hold);
        let mut stop = None;
        let mut ended_at = None;
        if let Some(verdict) = held.or(verdicts.first()) {
            let is_of_last_turn = turn.as_ref().is_some_and(|turn| turn.id == verdict.turn);
            let reason = sources.reason(verdict.id)?;
            ended_at = Some(verdict.at).filter(|_| is_of_last_turn && verdict.decision != Decision::Hold);
            stop = Some(LastStop { decision: verdict.decision, reason, is_of_last_turn });
        }
        let written = seen.as_ref().and_then(|seen| seen.written_at);
        let last_sign = written.map_or(session.seen_at, |written| written.max(session.seen_at));
        let (activity, detail) =
            activity(turn.is_some(), stop.as_ref(), seen.as_deref(), last_sign, sources.now);
        let windows = Windows { told, configured: None };
        let usage = seen.as_ref().and_then(|seen| seen.usage.as_ref());
        Ok(Self {
            client: agent.map_or_else(|| session.agent.clone(), |agent| client(agent).to_owned()),
            percent: agent.and_then(|agent| context::percent(agent, None, usage, windows)),
            session,
            turn,
            activity,
            detail,
            ended_at,
            last_sign,
            seen,
        })
    }

    fn is_live(&self, now: Timestamp) -> bool {
        self.activity != Activity::Done || now.duration_since(self.last_sign) <= DONE_SHOWN
    }

    /// When what it does now began.
    pub(crate) fn since(&self) -> Timestamp {
        let began = self.turn.as_ref().map_or(self.session.started_at, |turn| turn.opened_at);
        self.ended_at.unwrap_or(began)
    }

    pub(crate) fn prompt(&self) -> &str {
        self.turn.as_ref().map(|turn| turn.prompt.as_str()).unwrap_or_default()
    }

    /// From when to when its last turn could have written files.
    fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let turn = self.turn.as_ref()?;
        Some((turn.opened_at, self.ended_at.unwrap_or(Timestamp::MAX)))
    }
}

impl RepositoryGroup {
    fn of(
        root: Option<PathBuf>,
        cards: Vec<SessionCard>,
        sources: &mut Sources<'_>,
    ) -> Result<Self, JournalError> {
        let repository = root.as_deref().and_then(Repository::at);
        let mut unproven: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        if let (Some(repository), Some(journal)) = (&repository, &mut sources.journal) {
            for standing in stop::unproven_in(journal, repository, sources.settings.user_file.as_deref())? {
                unproven.entry(standing.version.path.to_string()).or_default().insert(standing.action);
            }
        }
        Ok(Self {
            branch: repository.as_ref().and_then(Repository::branch),
            is_gone: root.is_some() && repository.is_none(),
            root,
            cards,
            unproven,
        })
    }
}

/// Files that the last turns of two sessions edited while both were under way.
fn conflicts<'a>(groups: impl Iterator<Item = &'a Vec<SessionCard>>) -> Vec<Conflict> {
    let mut editors: BTreeMap<&Path, Vec<&SessionCard>> = BTreeMap::new();
    for card in groups.flatten().filter(|card| card.span().is_some()) {
        for file in card.seen.iter().flat_map(|seen| &seen.edited) {
            editors.entry(file).or_default().push(card);
        }
    }
    let mut found = Vec::new();
    for (file, cards) in editors {
        let meets = |card: &&&SessionCard| {
            cards
                .iter()
                .any(|other| other.session.id != card.session.id && overlap(card.span(), other.span()))
        };
        let mut sessions: Vec<(SessionId, String)> =
            cards.iter().filter(meets).map(|card| (card.session.id, card.client.clone())).collect();
        sessions.sort_unstable();
        sessions.dedup();
        if sessions.len() > 1 {
            found.push(Conflict { file: file.to_owned(), sessions });
        }
    }
    found
}

fn overlap(one: Option<(Timestamp, Timestamp)>, other: Option<(Timestamp, Timestamp)>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.0 < other.1 && other.0 < one.1)
}

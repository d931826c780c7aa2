//! Files that two sessions changed at the same time in one working tree. Nobody is called at every edit, so it is seen at the
//! stop of whichever ends later: the other one was judged since this turn began, and its record shows the same files. The person
//! of the later one hears of it once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agents::registration::settings;
use change_set::BytePath;
use changes::Touched;
use gate::{Changes, Inputs, RecordedCall};
use jiff::Timestamp;
use journal::{Author, Journal, JournalError, Of, RecordedVerdict, SHARED_FILES, Session, StandingSession};
use programs::shell::Intents;
use text::listed;
use transcript::{Agent, Kind, Outcome};

use crate::judged_stop::JudgedStop;
use crate::notices::Reduction;
use crate::record::Record;

/// How many verdicts back the other session's stop is looked for.
const VERDICTS: usize = 20;

/// What another session changed too.
struct OtherSession {
    session: StandingSession,
    files: BTreeSet<BytePath>,
    /// When it was judged with them.
    at: Timestamp,
}

impl JudgedStop {
    /// Notes which files another session changed too since this one was judged last.
    pub fn note_shared_files(&mut self) {
        let others = self.others_in_the_same_files().unwrap_or_else(|error| {
            self.event.log("shared", &format!("cannot tell who else changed the files: {error}"));
            Vec::new()
        });
        let Some(turn) = &self.turn.known.turn else { return };
        for other in others {
            let OtherSession { session, files, at } = &other;
            let agent = Agent::ALL.into_iter().find(|agent| agent.name() == session.agent);
            let client = agent.map_or(session.agent.as_str(), |agent| settings::client(agent));
            let text = format!(
                "Two sessions changed {} at the same time: this one, and {client} (session {}), whose turn ended at \
                 {at:.0}. Make sure that neither undid the other's work.",
                listed(files),
                session.client_id,
            );
            Reduction {
                author: Author::DuringTurn,
                repository: Some(&self.case.root),
                key: &format!("{SHARED_FILES}{}:{}", session.id.0, turn.id.0),
                is_told: false,
                text: &text,
            }
            .note_as("shared", &mut self.journal, &self.event);
        }
    }

    fn others_in_the_same_files(&mut self) -> Result<Vec<OtherSession>, JournalError> {
        let Self { case, journal, turn, .. } = self;
        let began = case.span.as_ref().map(|span| span.first.opened_at).or(turn.known.opened_at);
        let (Some(repository), Some(began), Some(own)) = (&case.repository, began, &turn.known.session)
        else {
            return Ok(Vec::new());
        };
        let recent = journal.read(|reader| match reader.repository(&repository.common_dir)? {
            Some(id) => reader.standings_since(id, began),
            None => Ok(Vec::new()),
        })?;
        if recent.iter().all(|standing| standing.session.as_ref().is_none_or(|session| session.id == own.id))
        {
            return Ok(Vec::new());
        }
        // A turn that was held was judged in between.
        let judged = journal.read(|reader| reader.recent_verdicts(Of::Session(own.id), 1))?;
        let since = judged.first().map_or(began, |judged| judged.at.max(began));
        let mut others: BTreeMap<(i64, Timestamp), OtherSession> = BTreeMap::new();
        for standing in recent.into_iter().filter(|standing| standing.since > since) {
            if let Some(session) = standing.session.filter(|session| session.id != own.id) {
                let (key, at) = ((session.id.0, standing.since), standing.since);
                let other = OtherSession { session, files: BTreeSet::new(), at };
                others.entry(key).or_insert(other).files.insert(standing.version.path);
            }
        }
        let files = written(&turn.inputs, since);
        let mut found: BTreeMap<i64, OtherSession> = BTreeMap::new();
        for (_, mut other) in others {
            other.files.retain(|path| files.contains(path));
            if other.files.is_empty() || !is_in(journal, &other.session, &case.root)? {
                continue;
            }
            let written = written_by(journal, &other, &case.root)?;
            other.files.retain(|path| written.contains(path));
            if other.files.is_empty() {
                continue;
            }
            match found.get_mut(&other.session.id.0) {
                Some(known) => {
                    known.files.append(&mut other.files);
                    known.at = other.at;
                }
                None => drop(found.insert(other.session.id.0, other)),
            }
        }
        Ok(found.into_values().collect())
    }
}

/// Whether the session works in this very working tree.
fn is_in(journal: &mut Journal, session: &StandingSession, root: &Path) -> Result<bool, JournalError> {
    let found = journal.read(|reader| reader.session(&session.agent, &session.client_id))?;
    Ok(found.is_some_and(|Session { repository, .. }| repository.as_deref() == Some(root)))
}

/// The files that the other session itself wrote, by the record of its stop.
fn written_by(
    journal: &mut Journal,
    other: &OtherSession,
    root: &Path,
) -> Result<BTreeSet<BytePath>, JournalError> {
    let inputs = journal.read(|reader| {
        let verdicts = reader.recent_verdicts(Of::Session(other.session.id), VERDICTS)?;
        // One stop may have judged several repositories.
        let is_it = |one: &&RecordedVerdict| one.at == other.at && one.repository.as_deref() == Some(root);
        let id = verdicts.iter().find(is_it).map(|one| one.id);
        id.map_or(Ok(None), |id| reader.inputs(id))
    })?;
    let record = inputs.and_then(|inputs| Record::read(&inputs.bytes));
    Ok(record.map(|record| written(&record.inputs, Timestamp::MIN)).unwrap_or_default())
}

/// The changed files that the timeline names as written since then: others may have changed the rest.
fn written(inputs: &Inputs, since: Timestamp) -> BTreeSet<BytePath> {
    let Changes::Known(set) = &inputs.changes else { return BTreeSet::new() };
    let mut paths: Vec<PathBuf> = Vec::new();
    let is_since = |recorded: &&RecordedCall| {
        let at = recorded.call.at;
        at.is_none_or(|at| at >= since)
    };
    for recorded in inputs.calls.iter().filter(is_since) {
        if matches!(recorded.call.kind, Kind::Edit | Kind::Write) && recorded.call.outcome != Outcome::Error {
            paths.extend(recorded.call.paths.iter().map(PathBuf::from));
        }
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        paths.extend(commands.iter().flat_map(|command| &command.edits.paths).map(PathBuf::from));
    }
    let mut set = set.clone();
    Touched { paths: &paths, cwd: Path::new(&inputs.cwd) }.keep_in(&mut set);
    set.files.into_iter().map(|file| file.path).collect()
}

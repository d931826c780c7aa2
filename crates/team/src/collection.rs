//! What the journal has and the outbox has not yet, as events. The journal is only read, a few records at a time.

use std::path::{Path, PathBuf};

use changes::{GitProgram, Repository};
use database::{TeamEvent, TeamVerdict};
use gate::{Changes, Rule, Waiting};
use jiff::{SignedDuration, Timestamp};
use journal::{FollowedVerdict, Journal, JournalError, OpenFor, OpenedTurn, TurnId, VerdictId};
use stop::Record;

use crate::outbox::{Outbox, OutboxError, Progress};
use crate::sent_texts::{SentTexts, TextFilter};
use crate::{RepositoryIds, TeamHashes, TeamSettings, machine_id};

/// So many records are read at once: they can be large.
const AT_ONCE: usize = 100;

/// Beyond so many that wait, the journal keeps the rest.
const MOST_WAITING: u64 = 1_000_000;

/// So many changed files of a turn have a hash.
const MOST_FILES: usize = 200;

/// The branch of a repository now was that of a prompt so short a time ago.
const SAME_BRANCH: SignedDuration = SignedDuration::from_mins(2);

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
}

/// Makes events of records.
#[derive(Debug)]
pub struct Collector {
    state: PathBuf,
    hashes: TeamHashes,
    repositories: RepositoryIds,
    /// Where texts travel.
    filter: Option<TextFilter>,
}

impl Collector {
    pub fn new(state: &Path, settings: &TeamSettings, home: Option<&Path>, git: GitProgram) -> Self {
        let hashes = TeamHashes::new(&settings.key);
        let machine = machine_id(&hashes, state);
        Self {
            state: state.to_owned(),
            repositories: RepositoryIds::new(hashes.clone(), &machine, git),
            hashes,
            filter: settings.texts.then(|| TextFilter::new(home)),
        }
    }
}

/// Puts all that is new into the outbox; how many events that were.
pub fn collect(
    collector: &mut Collector,
    outbox: &mut Outbox,
    now: Timestamp,
) -> Result<usize, CollectError> {
    if !Journal::exists(&collector.state) {
        return Ok(0);
    }
    let mut journal = Journal::open(&collector.state, OpenFor::Command)?;
    let mut progress = outbox.progress()?;
    if !is_of_this_journal(&mut journal, &progress)? {
        // Another journal has begun. What is sent again is known again.
        progress = Progress::default();
    }
    let mut collected = 0;
    while outbox.waiting()? < MOST_WAITING {
        let (turns, verdicts) = journal.read(|reading| {
            let turns = reading.turns_after(progress.turn, AT_ONCE)?;
            Ok((turns, reading.verdicts_since(progress.verdict, AT_ONCE)?))
        })?;
        if turns.is_empty() && verdicts.is_empty() {
            break;
        }
        if let Some(last) = turns.last() {
            (progress.turn, progress.turn_at) = (last.id, last.opened_at);
        }
        if let Some(last) = verdicts.last() {
            (progress.verdict, progress.verdict_at) = (last.recorded.id, last.recorded.at);
        }
        // A turn without a prompt may have several verdicts: the database knows it then.
        let mut unannounced: Vec<OpenedTurn> = verdicts.iter().filter_map(unannounced_turn).collect();
        unannounced.dedup_by_key(|turn| turn.id);
        let opened = turns.iter().chain(&unannounced).map(|turn| collector.opened(turn, now));
        let mut events: Vec<TeamEvent> = opened.collect();
        events.extend(verdicts.iter().map(|verdict| collector.judged(verdict)));
        events.sort_by_key(|event| (event.at, event.sequence));
        collected += events.len();
        outbox.add(&events, &progress)?;
    }
    Ok(collected)
}

/// How many events were recorded and not sent yet, in the outbox or still in the journal.
pub fn waiting(state: &Path) -> Result<u64, CollectError> {
    let outbox = Outbox::open_existing(state)?;
    let waiting = outbox.as_ref().map_or(Ok(0), Outbox::waiting)?;
    if !Journal::exists(state) {
        return Ok(waiting);
    }
    let seen = outbox.map_or(Ok(Progress::default()), |outbox| outbox.progress())?;
    let mut journal = Journal::open(state, OpenFor::Command)?;
    Ok(waiting + journal.read(|reading| reading.count_after(seen.turn, seen.verdict))?)
}

/// The turn of a verdict, if no prompt opened it.
fn unannounced_turn(verdict: &FollowedVerdict) -> Option<OpenedTurn> {
    let recorded = &verdict.recorded;
    verdict.is_unannounced.then(|| OpenedTurn {
        id: recorded.turn,
        agent: recorded.agent.clone(),
        client_id: recorded.client_id.clone(),
        repository: recorded.repository.clone(),
        opened_at: verdict.opened_at,
        prompt: String::new(),
    })
}

/// Whether the last records that were seen are still those: a damaged journal is set aside, and the next one counts from one again.
fn is_of_this_journal(journal: &mut Journal, seen: &Progress) -> Result<bool, JournalError> {
    journal.read(|reading| {
        let (turn, verdict) = reading.newest()?;
        let turn_at = reading.turn_opened_at(seen.turn)?;
        let verdict_at = reading.verdict_made_at(seen.verdict)?;
        // What is older may be pruned.
        let is_same = |known: Option<Timestamp>, at: Timestamp| known.is_none_or(|known| known == at);
        Ok(turn >= seen.turn
            && verdict >= seen.verdict
            && is_same(turn_at, seen.turn_at)
            && is_same(verdict_at, seen.verdict_at))
    })
}

/// Turns and verdicts have numbers of their own; together they have one sequence.
fn sequence_of_turn(id: TurnId) -> i64 {
    id.0.saturating_mul(2)
}

fn sequence_of_verdict(id: VerdictId) -> i64 {
    id.0.saturating_mul(2).saturating_add(1)
}

impl Collector {
    fn session(&self, agent: &str, client_id: &str) -> String {
        self.hashes.of("session", &[agent, client_id])
    }

    fn branch(&self, repository: &str, branch: &str) -> String {
        self.hashes.of("branch", &[repository, branch])
    }

    fn opened(&mut self, turn: &OpenedTurn, now: Timestamp) -> TeamEvent {
        let repository = turn.repository.as_deref().map(|root| self.repositories.of(root));
        let is_now = now.duration_since(turn.opened_at).abs() <= SAME_BRANCH;
        let root = turn.repository.as_deref().filter(|_| is_now);
        let branch = root.and_then(Repository::at).and_then(|repository| repository.branch());
        let texts = self.filter.as_ref().map(|filter| {
            let root = turn.repository.as_deref().unwrap_or(Path::new("/"));
            SentTexts {
                repository: name_of(turn.repository.as_deref()),
                branch: branch.as_deref().map(|branch| filter.passed(branch, root)),
                prompt: Some(filter.passed(&turn.prompt, root)),
                ..SentTexts::default()
            }
        });
        TeamEvent {
            session: self.session(&turn.agent, &turn.client_id),
            sequence: sequence_of_turn(turn.id),
            at: turn.opened_at.as_millisecond(),
            turn: turn.id.0,
            agent: turn.agent.clone(),
            branch: repository.as_deref().zip(branch.as_deref()).map(|(of, branch)| self.branch(of, branch)),
            repository,
            verdict: None,
            texts: texts.and_then(|texts| serde_json::to_value(texts).ok()),
        }
    }

    fn judged(&mut self, verdict: &FollowedVerdict) -> TeamEvent {
        let recorded = &verdict.recorded;
        let record = verdict.inputs.as_deref().and_then(Record::read);
        let (files, branch) =
            record.as_ref().map(|record| changed(&record.inputs.changes)).unwrap_or_default();
        let repository = recorded.repository.as_deref().map(|root| self.repositories.of(root));
        let of = repository.as_deref().unwrap_or_default();
        let hashes = files.iter().take(MOST_FILES).map(|file| self.hashes.number("file", &[of, file]));
        let rules = verdict.inputs.as_deref().map(stop::recorded_rules).unwrap_or_default();
        let mut rules: Vec<String> = rules.into_iter().map(|rule| Rule::name(rule).to_owned()).collect();
        rules.dedup();
        let calls = record.as_ref().map(|record| {
            record.inputs.calls.len() - record.inputs.earlier_calls.min(record.inputs.calls.len())
        });
        let waiting = record.as_ref().and_then(|record| record.inputs.stop.waiting);
        let texts = self.filter.as_ref().map(|filter| {
            let root = recorded.repository.as_deref().unwrap_or(Path::new("/"));
            let calls = record.iter().flat_map(|record| &record.inputs.calls);
            SentTexts {
                repository: name_of(recorded.repository.as_deref()),
                branch: branch.as_deref().map(|branch| filter.passed(branch, root)),
                prompt: None,
                commands: filter.commands(calls.filter_map(|call| call.call.command.as_deref()), root),
                paths: filter.paths(&files, root),
            }
        });
        TeamEvent {
            session: self.session(&recorded.agent, &recorded.client_id),
            sequence: sequence_of_verdict(recorded.id),
            at: recorded.at.as_millisecond(),
            turn: recorded.turn.0,
            agent: recorded.agent.clone(),
            branch: branch.as_deref().filter(|_| !of.is_empty()).map(|branch| self.branch(of, branch)),
            verdict: Some(TeamVerdict {
                decision: recorded.decision.name().to_owned(),
                waits: waiting
                    .is_some_and(|waiting| !matches!(waiting, Waiting::BackgroundTasks | Waiting::Subagents)),
                rules,
                changed: i32::try_from(files.len()).unwrap_or(i32::MAX),
                files: hashes.collect(),
                proofs: i32::try_from(verdict.proofs).unwrap_or(i32::MAX),
                calls: calls.map_or(0, |calls| i32::try_from(calls).unwrap_or(i32::MAX)),
                turn_milliseconds: milliseconds(recorded.at.duration_since(verdict.opened_at)),
                hook_milliseconds: hook_milliseconds(&recorded.timings),
            }),
            repository,
            texts: texts.and_then(|texts| serde_json::to_value(texts).ok()),
        }
    }
}

/// The name of the folder; the path says more than anybody needs.
fn name_of(root: Option<&Path>) -> Option<String> {
    Some(root?.file_name()?.to_string_lossy().into_owned())
}

fn changed(changes: &Changes) -> (Vec<String>, Option<String>) {
    match changes {
        Changes::Known(set) => {
            (set.files.iter().map(|file| file.path.to_string()).collect(), set.branch.clone())
        }
        Changes::Transcript(files) => (files.clone(), None),
        Changes::Unknown(_) => (Vec::new(), None),
    }
}

fn milliseconds(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(0).max(0)
}

/// What a [`Stopwatch`](stop::Stopwatch) reports at its end: `… = 5.2 ms`.
fn hook_milliseconds(timings: &str) -> i64 {
    let whole = timings.rsplit('=').next().and_then(|end| end.trim().strip_suffix(" ms"));
    whole.and_then(|number| number.trim().parse::<f64>().ok()).map_or(0, |number| number.round() as i64)
}

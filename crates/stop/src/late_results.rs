//! Results that a client wrote just after the stop that needed them. At the next prompt, and when the session ends, its last verdict
//! is looked at again, if it left something unproven: calls that had no result then may have one now. What comes out is recorded as
//! another verdict of the same turn, and what is proven by it is proven. A further stop of the turn judges all of it anew anyway.

use std::path::{Path, PathBuf};

use gate::{ContentProof, Correction, Decision, INPUTS_VERSION, Inputs, RecordedCall, Strength, Verdict};
use jiff::{SignedDuration, Timestamp};
use journal::{
    Journal, JournalError, NewProof, NewVerdict, Of, ProvenBy, RecordedVerdict, RepositoryId, Standing, Turn,
    UnjudgedTurns,
};
use text::OWN_PREFIX;
use text::listed;
use transcript::{Call, Outcome};

use crate::client_event::ClientEvent;
use crate::last_words;
use crate::other_repositories;
use crate::policy_files::PolicyTexts;
use crate::record::{self, PackedCalls, Record};
use crate::repository_files::Listings;
use crate::stop_case::own_words;

/// Of one stop, and of what it left unproven, so many are looked at.
const VERDICTS: usize = 8;
const MOST_UNPROVEN: usize = 200;

/// A client writes a prompt down a moment before or after it tells of it.
const SLACK: SignedDuration = SignedDuration::from_secs(2);

/// A verdict that left something unproven, and what that is.
struct OpenVerdict {
    recorded: RecordedVerdict,
    turn: Turn,
    repository: RepositoryId,
    unproven: Vec<Standing>,
    record: Record,
    /// It is about another repository than that of the session.
    is_other: bool,
    /// Repositories inside of this one that the same stop judged.
    inner: Vec<PathBuf>,
}

/// Corrects the last verdict of the session, if results came late. What the person should hear of it.
pub fn correct(journal: &mut Journal, event: &ClientEvent) -> Option<String> {
    if event.is_dry_run {
        return None;
    }
    let told = open_verdicts(journal, event).and_then(|open| {
        let told = open.into_iter().map(|open| open.correct(journal, event));
        told.collect::<Result<Vec<_>, _>>()
    });
    match told {
        Ok(told) => {
            let told: Vec<String> = told.into_iter().flatten().collect();
            (!told.is_empty()).then(|| told.join("\n"))
        }
        Err(error) => {
            event.log("corrected", &format!("cannot tell whether results came late: {error}"));
            None
        }
    }
}

fn open_verdicts(journal: &mut Journal, event: &ClientEvent) -> Result<Vec<OpenVerdict>, JournalError> {
    journal.read(|reader| {
        let Some(session) = reader.session(event.agent(), &event.session)? else { return Ok(Vec::new()) };
        let mut recorded = reader.recent_verdicts(Of::Session(session.id), VERDICTS)?;
        let last = recorded.first().map(|last| (last.turn, last.at));
        recorded.retain(|one| Some((one.turn, one.at)) == last);
        let Some(turn) = last.map_or(Ok(None), |(turn, _)| reader.turn_by_id(turn))? else {
            return Ok(Vec::new());
        };
        let mut open = Vec::new();
        let roots: Vec<PathBuf> = recorded.iter().filter_map(|one| one.repository.clone()).collect();
        for recorded in recorded {
            let root = recorded.repository.as_deref().and_then(changes::Repository::at);
            let id = root.map_or(Ok(None), |repository| reader.repository(&repository.common_dir))?;
            let Some(repository) = id else { continue };
            let is_its = |standing: &Standing| {
                let is_of_session = standing.session.as_ref().is_some_and(|one| one.id == session.id);
                is_of_session && standing.since >= turn.opened_at
            };
            let mut unproven = reader.unproven(repository, MOST_UNPROVEN)?;
            unproven.retain(is_its);
            if unproven.is_empty() {
                continue;
            }
            let record = reader.inputs(recorded.id)?.and_then(|inputs| Record::read(&inputs.bytes));
            if let Some(record) = record {
                let is_other = recorded.repository != session.repository;
                let is_inner = |root: &&PathBuf| {
                    recorded.repository.as_ref().is_some_and(|own| root.starts_with(own) && *root != own)
                };
                let inner = roots.iter().filter(is_inner).cloned().collect();
                let turn = turn.clone();
                open.push(OpenVerdict { recorded, turn, repository, unproven, record, is_other, inner });
            }
        }
        Ok(open)
    })
}

impl OpenVerdict {
    fn correct(self, journal: &mut Journal, event: &ClientEvent) -> Result<Option<String>, JournalError> {
        let Self { recorded, turn, repository, unproven, record, is_other, inner } = self;
        let Record { texts, mut inputs, verdict: before, .. } = record;
        let span = UnjudgedTurns { first: turn.clone(), turns: 2 };
        let reading = last_words::read(event, Some(&span));
        let texts = PolicyTexts::of_texts(texts, None);
        let (Ok(policy), Some(root)) = (texts.load(), &recorded.repository) else { return Ok(None) };
        // What was done in other repositories says nothing about this one.
        let inner: Vec<&Path> = inner.iter().map(PathBuf::as_path).collect();
        let cwd = inputs.cwd.clone();
        let is_here = |call: &RecordedCall| other_repositories::is_about(call, root, &inner, &cwd);
        let Some(commands) = add_results(&mut inputs, reading.calls, &turn, recorded.at, is_here) else {
            return Ok(None);
        };
        let correction = Correction { verdict: recorded.id.0, commands };
        let results = correction.results();
        inputs.repository = own_words(root, &policy, &inputs, Listings::default());
        inputs.stop.corrects = Some(correction);
        let verdict = gate::judge(&policy, &inputs);
        if (&verdict.actions, &verdict.observations) == (&before.actions, &before.observations) {
            return Ok(None);
        }
        let calls = PackedCalls::of(&inputs);
        let bytes = record::write(&texts, &policy, &mut inputs, &calls, &verdict);
        let proven = proven(&verdict, &unproven);
        journal.write(|writing| {
            let id = writing.record_verdict(&NewVerdict {
                turn: turn.id,
                repository: Some(root.as_path()).filter(|_| is_other),
                at: event.now,
                decision: Decision::Pass,
                scope: verdict.scope,
                message: "",
                timings: &event.stopwatch.report(),
                inputs: journal::Inputs { version: INPUTS_VERSION, bytes: &bytes },
            })?;
            for ProvenNow { standing, command, weak } in &proven {
                let proof =
                    NewProof { at: event.now, session: Some(recorded.session), verdict: Some(id), command };
                let proof = writing.add_proof(&proof)?;
                let weak = weak.map(Strength::name);
                let by = ProvenBy { proof, turn: Some(turn.id), at: event.now, weak };
                writing.prove(repository, &standing.version, &standing.action, by)?;
            }
            Ok(())
        })?;
        event.log("corrected", verdict.reason.as_str());
        let mut files: Vec<String> = proven.iter().map(|one| one.standing.version.path.to_string()).collect();
        files.dedup();
        let is_wrongly_told = recorded.decision == Decision::Notify && !files.is_empty();
        Ok(is_wrongly_told.then(|| {
            let verb = if files.len() == 1 { "is" } else { "are" };
            format!(
                "{OWN_PREFIX} Corrected: {results} written after the last stop. {} {verb} proven.",
                listed(files)
            )
        }))
    }
}

/// A content that was unproven and is proven now.
struct ProvenNow<'a> {
    standing: &'a Standing,
    command: &'a str,
    weak: Option<Strength>,
}

fn proven<'a>(verdict: &'a Verdict, unproven: &'a [Standing]) -> Vec<ProvenNow<'a>> {
    let proven = |standing: &'a Standing| {
        let path = standing.version.path.to_string();
        let is_it = |one: &&gate::FileStanding| one.path == path && one.action == standing.action;
        let now = verdict.standings.iter().find(is_it)?;
        match &now.proof {
            ContentProof::Proven(evidence) => {
                Some(ProvenNow { standing, command: evidence.command.as_str(), weak: now.weak })
            }
            _ => None,
        }
    };
    unproven.iter().filter_map(proven).collect()
}

/// Adds the results of calls that had none, and calls that were not written yet. The commands among them; `None` if there is
/// nothing new. What began after the stop belongs to what comes next.
fn add_results(
    inputs: &mut Inputs,
    calls: Vec<Call>,
    turn: &Turn,
    stop: Timestamp,
    is_here: impl Fn(&RecordedCall) -> bool,
) -> Option<Vec<String>> {
    let (mut commands, mut is_new) = (Vec::new(), false);
    for call in calls {
        let known = inputs.calls.iter_mut().find(|known| known.call.id == call.id);
        let began = call.at;
        let is_of_turn = began.is_some_and(|began| began + SLACK >= turn.opened_at && began <= stop);
        let command = call.command.clone();
        match known {
            Some(known) if known.call.outcome == Outcome::Unknown && call.outcome != Outcome::Unknown => {
                known.call = call;
            }
            None if is_of_turn => {
                let recorded = RecordedCall::new(call, &inputs.cwd);
                if !is_here(&recorded) {
                    continue;
                }
                inputs.calls.push(recorded);
            }
            _ => continue,
        }
        is_new = true;
        commands.extend(command);
    }
    is_new.then_some(commands)
}

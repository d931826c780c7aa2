//! The mechanical facts that a hand-off carries, from what was recorded with a verdict: nobody's words.

use std::path::Path;

use autosave::{Look, WITHHELD};
use gate::policy::Autosave;
use gate::{ActionState, Changes, INPUTS_VERSION, Rule};
use journal::{Journal, Of, RecordedVerdict, VerdictId};
use stop::Record;
use transcript::{Kind, Outcome};
use workflow::handoff::{ChangedFile, CommandOutcome, CommandRun, Facts};

use crate::agent_session::AgentSession;
use crate::error::CommandError;
use crate::journal_access;

/// The facts of the named verdict; else of the last one of the session that calls, else of the repository. `None` where
/// nothing was recorded. `head` is the commit now.
pub(crate) fn read(
    journal: &mut Journal,
    repository: Option<&Path>,
    named: Option<i64>,
    head: Option<&str>,
) -> Result<Option<Facts>, CommandError> {
    let recorded = match named {
        Some(id) => {
            let recorded = journal.read(|reader| reader.verdict(VerdictId(id)))?;
            Some(recorded.ok_or_else(|| journal_access::unknown_verdict(id))?)
        }
        None => latest(journal, repository)?,
    };
    let Some(recorded) = recorded else { return Ok(None) };
    let inputs = journal.read(|reader| reader.inputs(recorded.id))?;
    let record = inputs
        .filter(|inputs| inputs.version <= INPUTS_VERSION)
        .and_then(|inputs| Record::read(&inputs.bytes));
    Ok(Some(facts(&recorded, record, head).bounded()))
}

/// An agent hands over its own work, not that of another one in the same repository.
fn latest(journal: &mut Journal, repository: Option<&Path>) -> Result<Option<RecordedVerdict>, CommandError> {
    let calling = AgentSession::calling(Some(&mut *journal), repository)?;
    let session = match calling {
        Some(calling) => calling.recorded(Some(&mut *journal))?,
        None => None,
    };
    let of = match (&session, repository) {
        (Some(session), _) => Of::Session(session.id),
        (None, Some(repository)) => Of::Repository(repository),
        (None, None) => return Ok(None),
    };
    let latest = journal.read(|reader| reader.recent_verdicts(of, 1))?;
    Ok(latest.into_iter().next())
}

fn facts(recorded: &RecordedVerdict, record: Option<Record>, head: Option<&str>) -> Facts {
    let mut facts = Facts {
        verdict: recorded.id.0,
        decision: recorded.decision.name().to_owned(),
        at: recorded.at.to_string(),
        agent: recorded.agent.clone(),
        session: recorded.client_id.clone(),
        ..Facts::default()
    };
    // Inputs that were too large to keep leave the verdict alone.
    let Some(Record { inputs, verdict, .. }) = record else { return facts };
    match inputs.changes {
        Changes::Known(changes) => {
            facts.files_changed = changes
                .files
                .iter()
                .map(|file| ChangedFile {
                    path: file.path.to_string(),
                    change: Some(change(&file.change).to_owned()),
                })
                .collect();
            facts.head_moved = changes.head.as_deref().zip(head).map(|(then, now)| then != now);
            facts.head = changes.head;
            facts.branch = changes.branch;
        }
        Changes::Transcript(paths) => {
            facts.files_changed = paths.into_iter().map(|path| ChangedFile { path, change: None }).collect();
        }
        Changes::Unknown(_) => {}
    }
    // They may be kept, or sent on with the hand-off.
    let look = Look::new(&Autosave::default(), None);
    let told = |text: String| look.tellable(&text).unwrap_or_else(|| WITHHELD.to_owned());
    facts.commands = inputs
        .calls
        .into_iter()
        .filter(|call| call.call.kind == Kind::Shell)
        .filter_map(|call| {
            Some(CommandRun {
                command: told(call.call.command?),
                outcome: match call.call.outcome {
                    Outcome::Ok => CommandOutcome::Ok,
                    Outcome::Error => CommandOutcome::Error,
                    Outcome::Unknown => CommandOutcome::Unknown,
                },
                exit_code: call.call.exit_code,
            })
        })
        .collect();
    facts.open_errors = verdict
        .observations
        .into_iter()
        .filter(|observation| observation.rule == Rule::UnresolvedError)
        .map(|observation| told(observation.text))
        .collect();
    facts.open_actions = verdict
        .actions
        .into_iter()
        .filter(|action| action.state == ActionState::Required)
        .map(|action| action.say)
        .collect();
    facts
}

fn change(change: &change_set::Change) -> &'static str {
    match change {
        change_set::Change::Added => "added",
        change_set::Change::Modified => "modified",
        change_set::Change::Deleted => "deleted",
        change_set::Change::Renamed { .. } => "renamed",
        change_set::Change::Mode => "mode",
    }
}

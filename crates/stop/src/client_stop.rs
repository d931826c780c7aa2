//! The agent wants to stop, and its client waits for the answer: git is started first, and everything else is done while
//! it runs. Whatever fails makes the agent pass; the log says so.

use std::path::{Path, PathBuf};

use agents::Answer;
use changes::Pending;
use journal::{Author, Journal, OpenFor, Session};
use text::OWN_PREFIX;

use crate::client_event::ClientEvent;
use crate::judged_stop::JudgedStop;
use crate::known_turn;
use crate::notices::{self, Reduction};
use crate::policy_files::{FoundTexts, PolicyTexts};
use crate::prompt_policy::PolicyChange;
use crate::stop_case::{AskedBy, JudgedRepository, StopCase, StopError, baseline};
use crate::stop_look::{StopLook, way_to};
use crate::workplace::Workplace;

const NO_POLICY: &str = "there is no policy here";

/// How far a stop has got.
#[derive(Debug)]
pub enum Stop {
    /// Nothing is left to do; the reason is in the log too.
    Settled { answer: Answer, reason: String, unjudged: Option<Box<UnjudgedStop>> },
    /// The gate has judged, and nothing of it is recorded yet.
    Judged(Box<JudgedStop>),
}

/// What a stop that was not judged leaves open, for a caller who has more to look up.
#[derive(Debug)]
pub struct UnjudgedStop {
    pub event: ClientEvent,
    pub journal: Journal,
}

/// What a stop is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Verdict,
    /// Something may have to be saved, also where the gate does not judge.
    VerdictAndSave,
}

/// Judges the stop of a client. Records nothing but that a broken policy was told, and that the policy changed.
pub fn judge(mut event: ClientEvent, mut workplace: Workplace, purpose: Purpose) -> Stop {
    let is_saving = purpose == Purpose::VerdictAndSave;
    let mut idle = why_idle(workplace.found.policy.as_ref());
    let is_looked_at = workplace.root.is_some() && (idle.is_none() || is_saving);
    if !is_looked_at && !Journal::exists(&event.settings.state) {
        return silent(idle.unwrap_or(NO_POLICY), None);
    }
    // Where nothing is judged, git is started only if the prompt's policy counts.
    let mut pending = is_looked_at.then(|| start(&workplace, &event));
    event.stopwatch.lap("git start");
    let mut journal = match Journal::open(&event.settings.state, OpenFor::Hook) {
        Ok(journal) => journal,
        Err(error) if pending.is_some() => {
            return settled(&event, &format!("fail open: the journal cannot be used: {error}"));
        }
        Err(_) => return silent(idle.unwrap_or(NO_POLICY), None),
    };
    let mut folder = None;
    let session = journal.read(|reader| reader.session(event.agent(), &event.session)).ok().flatten();
    if let Some(begun) =
        session.as_ref().and_then(|session| begun_in(&mut journal, session, &event, &workplace))
    {
        folder = begun.root.as_deref().map(|root| way_to(root, &event.cwd));
        workplace = begun;
        idle = why_idle(workplace.found.policy.as_ref());
        pending = None;
    }
    let mut counting = workplace.found.policy.take();
    if let Some(root) = &workplace.root {
        let found = FoundTexts { policy: counting, ..workplace.found.clone() };
        counting = match policy_change(&mut journal, &event, root, &found) {
            Some(change) => {
                idle = why_idle(change.before.as_ref());
                change.before
            }
            None => found.policy,
        };
    }
    let is_gated = idle.is_none();
    let texts = counting.unwrap_or_else(|| workplace.found.user.clone());
    event.stopwatch.lap("journal");
    let mut broken = None;
    let mut case = None;
    if let (Some(root), true) = (&workplace.root, is_gated || is_saving) {
        match texts.load() {
            Ok(policy) => {
                case = Some(StopCase {
                    folder,
                    span: known_turn::unjudged_turns(&mut journal, &event)
                        .filter(|_| is_gated && !policy.gate.turn_only),
                    texts,
                    policy,
                    asked_by: AskedBy::Client,
                    is_gated,
                    repository: workplace.repository.clone(),
                    root: root.clone(),
                    beside: None,
                });
            }
            Err(problems) => broken = Some(problems.to_string()),
        }
    }
    event.stopwatch.lap("policy");
    let looked = StopLook {
        event: &mut event,
        journal: &mut journal,
        workplace: &workplace,
        case: case.as_ref(),
        session: session.map(|session| session.id),
    }
    .judge(pending, is_saving);
    let (own, mut others) = match looked {
        Ok(looked) => looked,
        Err(error @ StopError::Refused(_)) => {
            let reason = error.to_string();
            event.log("pass", &reason);
            notices::note_distrusted(&mut journal, &event, workplace.root.as_deref(), &reason);
            let unjudged = Some(Box::new(UnjudgedStop { event, journal }));
            return Stop::Settled { answer: Answer::Pass, reason, unjudged };
        }
        Err(error) => return settled(&event, &error.to_string()),
    };
    let unjudged = match (case.zip(own), broken) {
        (Some((case, turn)), _) => {
            return Stop::Judged(Box::new(JudgedStop { event, case, journal, turn, others }));
        }
        (None, Some(problems)) if others.is_empty() => return broken_policy(event, journal, &problems),
        (None, Some(problems)) => {
            notices::note_broken(&mut journal, &event, workplace.root.as_deref(), "", &problems);
            NO_POLICY
        }
        (None, None) => idle.unwrap_or(NO_POLICY),
    };
    match others.is_empty() {
        true => silent(unjudged, Some(UnjudgedStop { event, journal })),
        false => {
            let JudgedRepository { case, turn } = others.remove(0);
            Stop::Judged(Box::new(JudgedStop { event, case, journal, turn, others }))
        }
    }
}

fn start(workplace: &Workplace, event: &ClientEvent) -> Result<Pending, changes::Error> {
    match &workplace.repository {
        Some(repository) => changes::start_in(repository.clone(), &event.settings.git),
        None => changes::start(&event.cwd, &event.settings.git),
    }
}

/// Where the turn began, if the agent has left that repository since (L9).
fn begun_in(
    journal: &mut Journal,
    session: &Session,
    event: &ClientEvent,
    workplace: &Workplace,
) -> Option<Workplace> {
    let is_left = |root: &&PathBuf| workplace.repository_root() != Some(root) && event.cwd.is_dir();
    let root = session.repository.as_ref().filter(is_left)?;
    let turn = journal.read(|reader| reader.latest_turn(session.id)).ok()??;
    let begun = Workplace::find(root, event.settings.user_file.as_deref());
    let is_its = begun.repository.as_ref().zip(baseline(&turn)).is_some_and(|(one, then)| then.is_of(one));
    is_its.then_some(begun)
}

/// Why nothing is judged by this policy, if so.
fn why_idle(policy: Option<&PolicyTexts>) -> Option<&'static str> {
    match policy {
        None => Some(NO_POLICY),
        Some(texts) if texts.is_switched_off() => Some("`enabled = false` in the policy"),
        Some(_) => None,
    }
}

/// How the policy changed since the prompt. Told to the person, once for each change.
fn policy_change(
    journal: &mut Journal,
    event: &ClientEvent,
    root: &Path,
    found: &FoundTexts,
) -> Option<PolicyChange> {
    match PolicyChange::since_prompt(journal, event, root, found) {
        Ok(change) => {
            let change = change?;
            Reduction {
                author: Author::DuringTurn,
                repository: Some(root),
                key: &change.key(),
                is_told: false,
                text: &change.sentence(),
            }
            .note(journal, event);
            Some(change)
        }
        Err(error) => {
            event.log("switch", &format!("the policy at the prompt cannot be read: {error}"));
            None
        }
    }
}

/// A broken policy blocks nobody; the person is told, once for each mistake.
fn broken_policy(event: ClientEvent, mut journal: Journal, problems: &str) -> Stop {
    let reason = format!("the policy is broken: {problems}");
    event.log("pass", &reason);
    let name = "told-policy-problem";
    let told = match event.is_dry_run {
        true => Ok(true),
        false => journal.write(|writing| {
            let session = writing.see_session(&event.seen(None), event.now)?;
            let before = writing.value(session.id, name)?;
            writing.set_value(session.id, name, problems.as_bytes())?;
            Ok(before.as_deref() == Some(problems.as_bytes()))
        }),
    };
    let answer = match told {
        Ok(false) => Answer::Notify {
            to_person: format!("{OWN_PREFIX} The policy is broken, so nothing is checked:\n{problems}"),
        },
        _ => Answer::Pass,
    };
    Stop::Settled { answer, reason, unjudged: Some(Box::new(UnjudgedStop { event, journal })) }
}

/// Passes without a word, also in the log.
fn silent(reason: &str, unjudged: Option<UnjudgedStop>) -> Stop {
    Stop::Settled { answer: Answer::Pass, reason: reason.to_owned(), unjudged: unjudged.map(Box::new) }
}

fn settled(event: &ClientEvent, reason: &str) -> Stop {
    event.log("pass", reason);
    Stop::Settled { answer: Answer::Pass, reason: reason.to_owned(), unjudged: None }
}

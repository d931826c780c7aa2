//! The agent wants to stop, and its client waits for the answer: git is started first, and everything else is done while
//! it runs. Whatever fails makes the agent pass; the log says so.

use std::path::Path;

use agents::Answer;
use journal::{Author, Journal, OpenFor};
use transcript::OWN_PREFIX;

use crate::client_event::ClientEvent;
use crate::judged_stop::JudgedStop;
use crate::last_words;
use crate::notices::Reduction;
use crate::policy_files::{FoundTexts, PolicyTexts};
use crate::prompt_policy::PolicyChange;
use crate::stop_case::{AskedBy, StopCase};
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
pub fn judge(mut event: ClientEvent, workplace: Workplace, purpose: Purpose) -> Stop {
    let is_saving = purpose == Purpose::VerdictAndSave;
    let idle = why_idle(workplace.found.policy.as_ref());
    let Workplace { repository, root, found } = workplace;
    let (Some(root), true) = (root, idle.is_none() || is_saving || Journal::exists(&event.settings.state))
    else {
        return silent(idle.unwrap_or(NO_POLICY), None);
    };
    let git = event.settings.git.clone();
    let start = |repository: &Option<changes::Repository>, event: &ClientEvent| match repository {
        Some(repository) => changes::start_in(repository.clone(), &git),
        None => changes::start(&event.cwd, &git),
    };
    // Where nothing is judged, git is started only if the prompt's policy counts.
    let mut pending = (idle.is_none() || is_saving).then(|| start(&repository, &event));
    event.stopwatch.lap("git start");
    let mut journal = match Journal::open(&event.settings.state, OpenFor::Hook) {
        Ok(journal) => journal,
        Err(error) if pending.is_some() => {
            return settled(&event, &format!("fail open: the journal cannot be used: {error}"));
        }
        Err(_) => return silent(idle.unwrap_or(NO_POLICY), None),
    };
    let change = policy_change(&mut journal, &event, &root, &found);
    let (idle, counting) = match change {
        Some(change) => (why_idle(change.before.as_ref()), change.before),
        None => (idle, found.policy),
    };
    if let (Some(reason), false) = (idle, is_saving) {
        return silent(reason, Some(UnjudgedStop { event, journal }));
    }
    let texts = counting.unwrap_or(found.user);
    let is_gated = idle.is_none();
    let pending = pending.take().unwrap_or_else(|| start(&repository, &event));
    event.stopwatch.lap("journal");
    let policy = match texts.load() {
        Ok(policy) => policy,
        Err(problems) => return broken_policy(event, journal, &problems.to_string()),
    };
    event.stopwatch.lap("policy");
    let case = StopCase { texts, policy, asked_by: AskedBy::Client, is_gated, repository, root };
    let mut reading = last_words::read(&event);
    let mut may_wait = last_words::may_come(&event, &reading);
    if may_wait && (case.policy.checks.count() > 0 || is_saving) {
        // Checks take seconds and must not run twice; how full the context is stands in what is written last.
        reading = last_words::wait(&event);
        may_wait = false;
    }
    let judged = match case.judge(&mut event, Some(&mut journal), pending, reading) {
        // What is not written yet can only be the last tenth of a second; it counts where it could change the answer.
        Ok(draft) if may_wait && draft.is_open() => {
            let pending = changes::start(&event.cwd, &git);
            let reading = last_words::wait(&event);
            case.judge(&mut event, Some(&mut journal), pending, reading)
        }
        judged => judged,
    };
    match judged {
        Ok(turn) => Stop::Judged(Box::new(JudgedStop { event, case, journal, turn })),
        Err(error) => settled(&event, &error.to_string()),
    }
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

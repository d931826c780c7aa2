//! The agent wants to stop, and its client waits for the answer: git is started first, and everything else is done while
//! it runs. Whatever fails makes the agent pass; the log says so.

use agents::Answer;
use journal::{Journal, OpenFor};
use transcript::OWN_PREFIX;

use crate::client_event::ClientEvent;
use crate::judged_stop::JudgedStop;
use crate::last_words;
use crate::stop_case::{AskedBy, StopCase};
use crate::workplace::Workplace;

/// How far a stop has got.
#[derive(Debug)]
pub enum Stop {
    /// Nothing is left to do; the reason is in the log too.
    Settled { answer: Answer, reason: String },
    /// The gate has judged, and nothing of it is recorded yet.
    Judged(Box<JudgedStop>),
}

/// What a stop is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Verdict,
    /// Something may have to be saved, also where the gate does not judge.
    VerdictAndSave,
}

/// Judges the stop of a client. Records nothing but that a broken policy was told.
pub fn judge(mut event: ClientEvent, workplace: Workplace, purpose: Purpose) -> Stop {
    let is_saving = purpose == Purpose::VerdictAndSave;
    let Workplace { repository, root, found } = workplace;
    let (root, texts, is_gated) = match (root, found.policy) {
        (Some(root), Some(texts)) => {
            let is_off = texts.is_switched_off();
            if is_off && !is_saving {
                return silent("`enabled = false` in the policy");
            }
            (root, texts, !is_off)
        }
        (Some(root), None) if is_saving => (root, found.user, false),
        _ => return silent("there is no policy here"),
    };
    let git = event.settings.git.clone();
    let pending = match &repository {
        Some(repository) => changes::start_in(repository.clone(), &git),
        None => changes::start(&event.cwd, &git),
    };
    event.stopwatch.lap("git start");
    let policy = match texts.load() {
        Ok(policy) => policy,
        Err(problems) => return broken_policy(&event, &problems.to_string()),
    };
    event.stopwatch.lap("policy");
    let mut journal = match Journal::open(&event.settings.state, OpenFor::Hook) {
        Ok(journal) => journal,
        Err(error) => return settled(&event, &format!("fail open: the journal cannot be used: {error}")),
    };
    let case = StopCase { texts, policy, asked_by: AskedBy::Client, is_gated, repository, root };
    event.stopwatch.lap("journal");
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

/// A broken policy blocks nobody; the person is told, once for each mistake.
fn broken_policy(event: &ClientEvent, problems: &str) -> Stop {
    let reason = format!("the policy is broken: {problems}");
    event.log("pass", &reason);
    if event.is_dry_run {
        return Stop::Settled { answer: Answer::Pass, reason };
    }
    let name = "told-policy-problem";
    let told = Journal::open(&event.settings.state, OpenFor::Hook).and_then(|mut journal| {
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(None), event.now)?;
            let before = writing.value(session.id, name)?;
            writing.set_value(session.id, name, problems.as_bytes())?;
            Ok(before.as_deref() == Some(problems.as_bytes()))
        })
    });
    let answer = match told {
        Ok(false) => Answer::Notify {
            to_person: format!("{OWN_PREFIX} The policy is broken, so nothing is checked:\n{problems}"),
        },
        _ => Answer::Pass,
    };
    Stop::Settled { answer, reason }
}

/// Passes without a word, also in the log.
fn silent(reason: &str) -> Stop {
    Stop::Settled { answer: Answer::Pass, reason: reason.to_owned() }
}

fn settled(event: &ClientEvent, reason: &str) -> Stop {
    event.log("pass", reason);
    Stop::Settled { answer: Answer::Pass, reason: reason.to_owned() }
}

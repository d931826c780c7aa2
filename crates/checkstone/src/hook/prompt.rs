//! A prompt was submitted: a real one opens a turn, and the state of the repository is remembered, so that the stop
//! can tell what this turn changed, and what its policy is. Nothing is said, but how the push of an earlier save ended and
//! what reduced checking meanwhile.
//!
//! Not every client reports prompts, and the same client may report them at its screen and not when it is started for one prompt. So
//! the start of a session opens a turn as well, in silence. A prompt that comes replaces it; otherwise a stop ends it, and opens
//! the next one. Of a turn that is opened so early only as much is believed as the transcript allows: see [`stop::KnownTurn`].

use std::path::Path;

use agents::{Answer, Event, host};
use autosave::{EndedSave, Listener, Wish, save_run};
use changes::Repository;
use gate::policy::SnapshotSettings;
use jiff::Timestamp;
use journal::{Author, Journal, JournalError, NewTurn, OpenFor, SessionId, Turn, TurnId};
use stop::notices::Reduction;
use stop::policy_files::FoundTexts;
use stop::turn_start_snapshot::{self, SnapshotOrder};
use stop::{ClientEvent, PackedPolicy, PolicyChange, SAME_DELIVERY, Workplace};

use super::told;
use crate::background;
use crate::error::CommandError;
use crate::saving_environment;

/// A prompt that opens a turn.
pub(crate) fn record(event: ClientEvent, workplace: Workplace) -> Answer {
    open(event, workplace, Opening::Prompt)
}

/// A session begins, or a turn that no prompt announced is over: should no prompt come, the next turn began here.
pub(crate) fn expect(mut event: ClientEvent, workplace: Workplace) {
    event.now = Timestamp::now();
    event.payload.turn = None;
    open(event, workplace, Opening::Expected);
}

/// What opens a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Prompt,
    /// No prompt yet.
    Expected,
}

fn open(mut event: ClientEvent, workplace: Workplace, opening: Opening) -> Answer {
    let wish = Wish::of(&workplace, &event.cwd, &saving_environment::switches());
    // Whoever switches the gate off while the agent works must be noticed, once there is a record.
    let is_off = workplace.is_switched_off();
    if wish.is_none() && is_off && (opening == Opening::Expected || !Journal::exists(&event.settings.state)) {
        return Answer::Pass;
    }
    let Workplace { repository, root: policy_root, found } = workplace;
    let policy = policy_root.as_deref().and_then(|root| PackedPolicy::of(root, &found));
    let root = repository.as_ref().map(|repository| repository.root.clone());
    let with_snapshots = Some(found.texts()).filter(|texts| texts.may_want_snapshots()).cloned();
    let snapshots = repository.clone().zip(with_snapshots);
    let saved_in = repository.clone();
    event.stopwatch.lap("policy");
    // Without a policy nothing will be judged, and nothing saved, and the baseline is not needed.
    let is_needed = (found.policy.is_some() && !is_off) || wish.is_some();
    if opening == Opening::Expected && !is_needed {
        return Answer::Pass;
    }
    let pending =
        repository.filter(|_| is_needed).map(|repository| changes::start_in(repository, &event.settings.git));
    let journal = Journal::open(&event.settings.state, OpenFor::Hook);
    event.stopwatch.lap("journal");
    let baseline = pending.map(|pending| pending?.baseline(event.now)).transpose();
    event.stopwatch.lap("git");
    let (stored, problem) = match baseline {
        Ok(baseline) => (baseline.and_then(|baseline| serde_json::to_vec(&baseline).ok()), None),
        Err(problem) => (None, Some(problem)),
    };
    let written = journal.and_then(|mut journal| {
        let corrected = match opening {
            Opening::Prompt => stop::correct_late_results(&mut journal, &event),
            Opening::Expected => None,
        };
        if !replace_unannounced(&mut journal, &event, opening)? {
            return Ok((Vec::new(), None));
        }
        let change =
            policy_root.as_deref().and_then(|root| policy_change(&mut journal, &event, root, &found));
        // An interrupted turn has no stop that would have gone by the earlier policy: the next one does.
        let carried = change.as_ref().filter(|(_, is_judged)| !is_judged);
        let carried = carried.and_then(|(change, _)| change.carried());
        let policy = carried.or(policy.as_ref());
        let opened = OpenedTurn { opening, root: root.as_deref(), baseline: stored.as_deref(), policy };
        let (session, turn) = opened.write(&mut journal, &event)?;
        // A prompt that is typed while the agent works belongs to its turn, whose policy stays.
        if let (Some((change, is_judged)), Some(turn)) = (change, &turn)
            && (opening == Opening::Prompt || is_judged)
        {
            note_change(&mut journal, &event, policy_root.as_deref(), change, is_judged, turn.id);
        }
        if let (Some((repository, texts)), Some(turn)) = (&snapshots, turn)
            && let Some(settings) = turn_start_snapshot::wanted(texts, &mut journal)
            && let Err(problem) = order_snapshot(&event, repository, settings, &turn)
        {
            event.log("snapshot", &format!("not taken: {problem}"));
        }
        let mut ended = Vec::new();
        if opening == Opening::Expected {
            return Ok((ended, None));
        }
        if wish.is_some() {
            let saving = saving_environment::settings(event.settings.state.clone());
            let person = Listener::Person;
            let saves =
                autosave::take_ended(&mut journal, session, person, &saving, saved_in.as_ref(), event.now);
            ended.extend(saves.to_person.iter().filter_map(EndedSave::to_person));
            let pushes = journal.write(|writing| writing.take_untold_pushes(session))?;
            ended.extend(pushes.iter().map(save_run::push_sentence));
        }
        let told = told::at_prompt(&mut journal, &event, root.as_deref());
        Ok((ended, told::joined([corrected, told])))
    });
    event.stopwatch.lap("write");
    let (ended, note) = match written {
        Ok(written) => written,
        Err(error) => {
            event.log("prompt", &format!("not recorded: {error}"));
            return Answer::Pass;
        }
    };
    if let Some(problem) = problem {
        event.log("prompt", &format!("without a baseline: {problem}"));
    }
    // How an earlier save, and its push, ended.
    let answer = match ended.is_empty() {
        true => Answer::Pass,
        false => Answer::Notify { to_person: ended.join("\n") },
    };
    answer.with_note(note)
}

/// What was opened before without a prompt was no turn, unless the transcript shows that the agent was asked for something in it, and
/// was interrupted (L1). `false` if this very beginning of the session was seen before (H9), or if the prompt that it names has
/// opened its turn already: older versions of Copilot CLI report the prompt first.
fn replace_unannounced(
    journal: &mut Journal,
    event: &ClientEvent,
    opening: Opening,
) -> Result<bool, JournalError> {
    let known =
        journal.read(|reader| match reader.session(event.payload.agent.name(), &event.session)? {
            Some(session) => {
                let unannounced = reader.unannounced_turn(session.id)?.filter(|turn| !turn.is_judged);
                let last = match &unannounced {
                    Some(unannounced) => unannounced.before.clone(),
                    None => reader.latest_turn(session.id)?,
                };
                Ok(Some((session.id, unannounced, last.map(|turn| turn.id.0))))
            }
            None => Ok(None),
        })?;
    let Some((session, unannounced, last)) = known else { return Ok(true) };
    if let Event::SessionStart { source } = &event.payload.event {
        let begins_with = event.payload.prompt.as_deref().unwrap_or_default();
        if journal.read(|reader| reader.is_open_for(session, begins_with))? {
            return Ok(false);
        }
        let fingerprint = format!("expected:{source}:{last:?}");
        let is_first = journal
            .write(|writing| writing.first_delivery(session, &fingerprint, event.now, SAME_DELIVERY))?;
        if !is_first {
            return Ok(false);
        }
    }
    if let Some(unannounced) = unannounced {
        let asked_at = || stop::read_turns(event, None).turn.and_then(|turn| turn.started_at);
        let is_interrupted =
            opening == Opening::Expected && asked_at().is_some_and(|at| at >= unannounced.turn.opened_at);
        journal.write(|writing| match is_interrupted {
            true => writing.announce_turn(session),
            false => writing.forget_unannounced_turn(session),
        })?;
    }
    Ok(true)
}

/// How the policy changed since the session's last prompt, and whether a stop was judged in between.
fn policy_change(
    journal: &mut Journal,
    event: &ClientEvent,
    root: &Path,
    found: &FoundTexts,
) -> Option<(PolicyChange, bool)> {
    PolicyChange::since_last_prompt(journal, event, root, found).unwrap_or_else(|error| {
        event.log("switch", &format!("the last policy cannot be read: {error}"));
        None
    })
}

/// A stop that was judged has told it, or the change came after it; the person hears of it if nobody looked.
fn note_change(
    journal: &mut Journal,
    event: &ClientEvent,
    root: Option<&Path>,
    change: PolicyChange,
    is_judged: bool,
    turn: TurnId,
) {
    let (change, text) = match (is_judged, change.carried().is_some()) {
        // The stop of this turn will see the same change.
        (false, true) => {
            let text = change.carried_sentence();
            (change.in_turn(turn), text)
        }
        _ => {
            let text = change.later_sentence();
            (change, text)
        }
    };
    Reduction {
        author: if is_judged { Author::Unknown } else { Author::DuringTurn },
        repository: root,
        key: &change.key(),
        is_told: is_judged,
        text: &text,
    }
    .note(journal, event);
}

/// What is remembered of the prompt.
struct OpenedTurn<'a> {
    opening: Opening,
    root: Option<&'a Path>,
    baseline: Option<&'a [u8]>,
    policy: Option<&'a PackedPolicy>,
}

impl OpenedTurn<'_> {
    /// The turn, where it is a new one.
    fn write(
        &self,
        journal: &mut Journal,
        event: &ClientEvent,
    ) -> Result<(SessionId, Option<Turn>), JournalError> {
        let is_expected = self.opening == Opening::Expected;
        let prompt = event.payload.prompt.as_deref().filter(|_| !is_expected).unwrap_or_default();
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(self.root), event.now)?;
            // A client without ids of its own would open two turns where the hook is registered twice (H9).
            if !is_expected && host(event.payload.agent).payload.turn.is_none() {
                let fingerprint = format!("prompt:{prompt}");
                if !writing.first_delivery(session.id, &fingerprint, event.now, SAME_DELIVERY)? {
                    return Ok((session.id, None));
                }
            }
            let key = event.payload.turn.as_deref();
            let new =
                NewTurn { session: session.id, key, opened_at: event.now, prompt, baseline: self.baseline };
            let turn = match is_expected {
                true => writing.open_unannounced_turn(&new)?,
                false => writing.open_turn(&new)?,
            };
            let is_new = turn.opened_at.as_millisecond() == event.now.as_millisecond();
            if let (true, Some(policy)) = (is_new, self.policy) {
                policy.keep(writing, turn.id, event)?;
            }
            Ok((session.id, is_new.then_some(turn)))
        })
    }
}

/// Leaves the snapshot to a process of its own.
fn order_snapshot(
    event: &ClientEvent,
    repository: &Repository,
    settings: SnapshotSettings,
    turn: &Turn,
) -> Result<(), CommandError> {
    let order = SnapshotOrder::new(event, repository, settings, turn)?;
    Ok(background::start_with(&["snapshot"], &order)?)
}

//! A prompt was submitted: a real one opens a turn, and the state of the repository is remembered, so that the stop
//! can tell what this turn changed, and what its policy is. Nothing is said, but how the push of an earlier save ended and
//! what reduced checking meanwhile.

use std::path::Path;

use agents::{Answer, host};
use autosave::{EndedSave, Listener, Wish, save_run};
use changes::Repository;
use gate::policy::SnapshotSettings;
use journal::{Author, Journal, JournalError, NewTurn, OpenFor, SessionId, Turn, TurnId};
use stop::notices::Reduction;
use stop::policy_files::FoundTexts;
use stop::turn_start_snapshot::{self, SnapshotOrder};
use stop::{ClientEvent, PackedPolicy, PolicyChange, SAME_DELIVERY, Workplace};

use super::told;
use crate::background;
use crate::error::CommandError;
use crate::saving_environment;

pub(crate) fn record(event: ClientEvent) -> Answer {
    if event.payload.opens_turn() { open(event) } else { Answer::Pass }
}

/// Opens a turn at the event, which is a prompt or stands for one.
pub(crate) fn open(mut event: ClientEvent) -> Answer {
    let workplace = Workplace::find(&event.cwd, event.settings.user_file.as_deref());
    let wish = Wish::of(&workplace, &event.cwd, &saving_environment::switches());
    // Whoever switches the gate off while the agent works must be noticed, once there is a record.
    let is_off = workplace.is_switched_off();
    if wish.is_none() && is_off && !Journal::exists(&event.settings.state) {
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
        let corrected = stop::correct_late_results(&mut journal, &event);
        let change =
            policy_root.as_deref().and_then(|root| policy_change(&mut journal, &event, root, &found));
        // An interrupted turn has no stop that would have gone by the earlier policy: the next one does.
        let carried = change.as_ref().filter(|(_, is_judged)| !is_judged);
        let carried = carried.and_then(|(change, _)| change.carried());
        let policy = carried.or(policy.as_ref());
        let opening = OpenedTurn { root: root.as_deref(), baseline: stored.as_deref(), policy };
        let (session, turn) = opening.write(&mut journal, &event)?;
        // A prompt that is typed while the agent works belongs to its turn, whose policy stays.
        if let (Some((change, is_judged)), Some(turn)) = (change, &turn) {
            note_change(&mut journal, &event, policy_root.as_deref(), change, is_judged, turn.id);
        }
        if let (Some((repository, texts)), Some(turn)) = (&snapshots, turn)
            && let Some(settings) = turn_start_snapshot::wanted(texts, &mut journal)
            && let Err(problem) = order_snapshot(&event, repository, settings, &turn)
        {
            event.log("snapshot", &format!("not taken: {problem}"));
        }
        let mut ended = Vec::new();
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
        let prompt = event.payload.prompt.as_deref().unwrap_or_default();
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(self.root), event.now)?;
            // A client without ids of its own would open two turns where the hook is registered twice (H9).
            if host(event.payload.agent).payload.turn.is_none() {
                let fingerprint = format!("prompt:{prompt}");
                if !writing.first_delivery(session.id, &fingerprint, event.now, SAME_DELIVERY)? {
                    return Ok((session.id, None));
                }
            }
            let key = event.payload.turn.as_deref();
            let turn = writing.open_turn(&NewTurn {
                session: session.id,
                key,
                opened_at: event.now,
                prompt,
                baseline: self.baseline,
            })?;
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

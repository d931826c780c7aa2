//! What a stop leaves behind: one transaction of the session, the delivery, the hold and the verdict with its inputs.
//! A hold is counted before it is said.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use agents::Answer;
use gate::{ActionState, Decision, History, INPUTS_VERSION, JoinedVerdict, Verdict, Waived};
use journal::{Journal, JournalError, NewTurn, NewVerdict, SessionId, TurnId, Writing};
use text::{OWN_PREFIX, visible};

use crate::client_event::{ClientEvent, SAME_DELIVERY};
use crate::known_turn::{self, KnownTurn};
use crate::record;
use crate::seen_contents::RecordedStandings;
use crate::stop_case::{JudgedRepository, JudgedTurn, StopCase};

/// Whether a hold reaches the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Sure,
    /// There is no way to the agent: a hold becomes a notice for the person, and is not counted.
    Impossible,
}

/// The verdicts of one stop with all that they were made from, and the journal that they go into.
#[derive(Debug)]
pub struct JudgedStop {
    pub event: ClientEvent,
    pub case: StopCase,
    pub journal: Journal,
    pub turn: JudgedTurn,
    /// Other repositories that the turn worked in.
    pub others: Vec<JudgedRepository>,
}

/// What the transaction found.
enum RecordedStop {
    First {
        held: bool,
    },
    /// Another process answers this very stop (H9).
    Again,
}

/// What is recorded of one of the repositories.
struct RepositoryRecord {
    bytes: Vec<u8>,
    waived: Vec<Waived>,
}

impl JudgedStop {
    /// Records the verdict, counts the hold, and only then says it.
    pub fn conclude(self, delivery: Delivery) -> Answer {
        let (decision, journal) = self.record_and_decide(delivery);
        journal.leave();
        decision
    }

    /// Whether the gate judged anything. Otherwise the stop was looked at for what is to be saved.
    pub fn is_gated(&self) -> bool {
        self.case.is_gated || !self.others.is_empty()
    }

    /// What is said of all repositories together.
    pub fn joined(&self) -> JoinedVerdict {
        let others = self.others.iter().map(|JudgedRepository { case, turn }| (case, turn));
        let all = std::iter::once((&self.case, &self.turn)).chain(others);
        let gated = all.filter(|(case, _)| case.is_gated);
        let verdicts: Vec<_> = gated.map(|(case, turn)| (case.folder.as_deref(), &turn.verdict)).collect();
        JoinedVerdict::of(&verdicts)
    }

    /// As `conclude`, for a caller that has more to record.
    pub fn record_and_decide(mut self, delivery: Delivery) -> (Answer, Journal) {
        // The stop after a hold is where an agent says what it cannot do, as the hold told it to.
        let was_held = self.turn.inputs.history.holds_this_turn >= self.case.most_holds();
        let mut not_done = Vec::new();
        let mut records = Vec::new();
        for (case, turn) in self.parts() {
            let JudgedTurn { inputs, verdict, calls, .. } = turn;
            let waived = gate::waivers(&case.policy, inputs);
            let history = &inputs.history;
            let is_new =
                |waived: &&Waived| history.waived.iter().all(|before| before.action != waived.action);
            let place = case.folder.as_ref().map(|folder| format!(" in `{}`", visible(folder)));
            let place = place.unwrap_or_default();
            let sentence =
                |waived: &Waived| format!("{}{place} ({})", waived.action, visible(&waived.reason));
            not_done.extend(waived.iter().filter(is_new).map(sentence));
            let bytes = record::write(&case.texts, &case.policy, inputs, calls, verdict);
            records.push(RepositoryRecord { bytes, waived });
        }
        let joined = self.joined();
        let recorded = self.write(&records, joined.decision, delivery);
        let Self { mut event, journal, .. } = self;
        event.stopwatch.lap("write");
        let pass = |reason: &str| {
            event.log("pass", reason);
            Answer::Pass
        };
        let held = match recorded {
            Ok(RecordedStop::Again) => {
                return (pass("already answered: the hook is registered twice"), journal);
            }
            Ok(RecordedStop::First { held }) => held,
            Err(error) if joined.decision == Decision::Hold => {
                return (pass(&format!("fail open: the hold cannot be counted: {error}")), journal);
            }
            Err(error) => {
                event.log("pass", &format!("not recorded: {error}"));
                false
            }
        };
        let not_done =
            (was_held && !not_done.is_empty()).then(|| format!("Not done: {}", not_done.join(", ")));
        let JoinedVerdict { decision, reason, to_agent, to_person } = joined;
        let to_agent = to_agent.unwrap_or_default();
        let decision = match decision {
            Decision::Hold if held => {
                event.log("hold", &reason);
                // A client that does not show it beside a hold has it again at the next stop.
                let beside = to_person.filter(|_| agents::shows_text_beside_hold(event.payload.agent));
                let told: Vec<String> = off_switch(&event).into_iter().chain(beside).collect();
                let to_person = (!told.is_empty()).then(|| told.join("\n"));
                Answer::Hold { to_agent, to_person }
            }
            Decision::Hold if delivery == Delivery::Impossible => Answer::Notify { to_person: to_agent },
            Decision::Hold => pass("already held this turn"),
            Decision::Notify => {
                event.log("notify", &reason);
                let told: Vec<String> = to_person.into_iter().chain(not_done).collect();
                Answer::Notify { to_person: told.join("\n") }
            }
            Decision::Pass => match not_done {
                Some(not_done) => {
                    event.log("notify", "waived");
                    Answer::Notify { to_person: format!("{OWN_PREFIX} {not_done}") }
                }
                None => pass(&reason),
            },
        };
        (decision, journal)
    }

    /// Each repository that was judged.
    fn parts(&mut self) -> Vec<(&StopCase, &mut JudgedTurn)> {
        let own = self.case.is_gated.then_some((&self.case, &mut self.turn));
        let others = self.others.iter_mut().map(|JudgedRepository { case, turn }| (&*case, turn));
        own.into_iter().chain(others).collect()
    }

    /// Writes all of it, or nothing.
    fn write(
        &mut self,
        records: &[RepositoryRecord],
        decision: Decision,
        delivery: Delivery,
    ) -> Result<RecordedStop, JournalError> {
        let Self { event, case, journal, turn, others } = self;
        let is_hold = decision == Decision::Hold;
        let undelivered = is_hold && delivery == Delivery::Impossible;
        let own_root = case.beside.is_none().then_some(case.root.as_path());
        let own = case.is_gated.then_some((&*case, &*turn));
        let parts = || own.into_iter().chain(others.iter().map(|other| (&other.case, &other.turn)));
        let limit = parts().map(|(case, _)| case.most_holds()).max().unwrap_or(1);
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(own_root), event.now)?.id;
            // Silence may be repeated: it must not swallow what a later stop with the same words has to hear.
            let speaks = decision != Decision::Pass && !undelivered;
            let fingerprint = fingerprint(event, &turn.known);
            if speaks && !writing.first_delivery(session, &fingerprint, event.now, SAME_DELIVERY)? {
                return Ok(RecordedStop::Again);
            }
            let turn = turn_of(writing, session, &turn.known, event)?;
            let held = is_hold && !undelivered && writing.try_hold(turn, limit)?;
            let stop = RecordedTurn { session, turn, held, delivery };
            for ((case, judged), record) in parts().zip(records) {
                stop.write(writing, event, case, judged, record)?;
            }
            Ok(RecordedStop::First { held })
        })
    }
}

/// The turn that verdicts are recorded for.
#[derive(Clone, Copy)]
struct RecordedTurn {
    session: SessionId,
    turn: TurnId,
    held: bool,
    delivery: Delivery,
}

impl RecordedTurn {
    /// What is recorded of one repository.
    fn write(
        self,
        writing: &Writing<'_>,
        event: &ClientEvent,
        case: &StopCase,
        judged: &JudgedTurn,
        record: &RepositoryRecord,
    ) -> Result<(), JournalError> {
        let Self { session, turn, held, delivery } = self;
        let JudgedTurn { inputs, verdict, contents, .. } = judged;
        let part = case.part();
        let decision = match verdict.decision {
            Decision::Hold if delivery == Delivery::Impossible => Decision::Notify,
            Decision::Hold if !held => Decision::Pass,
            decision => decision,
        };
        let recorded = writing.record_verdict(&NewVerdict {
            turn,
            repository: case.beside.is_some().then_some(case.root.as_path()),
            at: event.now,
            decision,
            scope: verdict.scope,
            message: verdict.message.as_deref().unwrap_or_default(),
            timings: &event.stopwatch.report(),
            inputs: journal::Inputs { version: INPUTS_VERSION, bytes: &record.bytes },
        })?;
        let open = open_actions(verdict, &inputs.history, delivery);
        let open: Vec<String> = open.into_iter().map(|action| part.name(action)).collect();
        writing.record_held_actions(turn, &open.iter().map(String::as_str).collect::<Vec<_>>())?;
        // What a client does not show beside a hold is told at the next stop.
        let is_shown = !held || agents::shows_text_beside_hold(event.payload.agent);
        let reports = if is_shown { gate::reports(verdict) } else { Vec::new() };
        known_turn::remember_reports(writing, session, part, &inputs.history.reported, reports)?;
        if let Some(text) = verdict.told_unproven.as_ref().filter(|_| is_shown) {
            known_turn::remember_told_unproven(writing, session, part, turn, text)?;
        }
        if let Some(repository) = &case.repository {
            let stop = RecordedStandings { session, turn, verdict: recorded, at: event.now };
            stop.write(writing, &repository.common_dir, contents, &verdict.standings)?;
        }
        for Waived { action, reason } in &record.waived {
            writing.waive(session, &part.name(action), reason, event.now)?;
        }
        Ok(())
    }
}

/// How the person switches the hooks off, where they read it and the agent does not.
fn off_switch(event: &ClientEvent) -> Option<String> {
    let (agent, session) = (event.agent(), text::shell_word(&event.session));
    agents::shows_text_beside_hold(event.payload.agent).then(|| {
        format!(
            "{OWN_PREFIX} To switch this off for the session, run in a terminal: \
             `checkstone session --agent {agent} --id {session} --off`"
        )
    })
}

/// The actions that the agent has been asked for and has not done. What was left out because the turn before was held
/// for it stays among them.
pub(crate) fn open_actions<'a>(verdict: &'a Verdict, history: &History, delivery: Delivery) -> Vec<&'a str> {
    let undelivered = verdict.decision == Decision::Hold && delivery == Delivery::Impossible;
    verdict
        .actions
        .iter()
        .filter(|action| {
            let asked_now = action.state == ActionState::Required && !undelivered;
            asked_now || history.held_before.contains(&action.id)
        })
        .filter(|action| action.state != ActionState::Satisfied)
        .map(|action| action.id.as_str())
        .collect()
}

/// The turn that ends, opened now where no prompt did.
pub fn turn_of(
    writing: &Writing<'_>,
    session: SessionId,
    known: &KnownTurn,
    event: &ClientEvent,
) -> Result<TurnId, JournalError> {
    let key = known.key.as_deref();
    // Without a key each opening is a new turn, and another stop may have opened this one just now (H11).
    let turn = match (&known.turn, key) {
        (Some(turn), _) => Some(turn.id),
        (None, None) => writing.latest_turn(session)?.map(|turn| turn.id),
        (None, Some(_)) => None,
    };
    match turn {
        Some(turn) => Ok(turn),
        None => {
            let opened_at = known.opened_at.unwrap_or(event.now);
            let turn = NewTurn { session, key, opened_at, prompt: "", baseline: None };
            Ok(writing.open_turn(&turn)?.id)
        }
    }
}

/// Two deliveries of one stop say the same; two stops of one turn differ in the agent's last words or in the flag.
fn fingerprint(event: &ClientEvent, known: &KnownTurn) -> String {
    let mut said = DefaultHasher::new();
    event.payload.last_text.hash(&mut said);
    let turn = match (&known.key, &known.turn) {
        (Some(key), _) => key.clone(),
        (None, Some(turn)) => turn.id.0.to_string(),
        (None, None) => String::new(),
    };
    format!("stop:{turn}:{}:{:x}", event.payload.stop_hook_active, said.finish())
}

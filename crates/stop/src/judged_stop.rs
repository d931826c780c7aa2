//! What a stop leaves behind: one transaction of the session, the delivery, the hold and the verdict with its inputs.
//! A hold is counted before it is said.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use agents::Answer;
use gate::{ActionState, Decision, History, INPUTS_VERSION, Verdict, Waived};
use journal::{Journal, JournalError, NewTurn, NewVerdict, SessionId, TurnId, Writing};
use transcript::OWN_PREFIX;

use crate::client_event::{ClientEvent, SAME_DELIVERY};
use crate::known_turn::{self, KnownTurn};
use crate::record;
use crate::seen_contents::RecordedStandings;
use crate::stop_case::{JudgedTurn, StopCase};

/// Whether a hold reaches the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Sure,
    /// There is no way to the agent: a hold becomes a notice for the person, and is not counted.
    Impossible,
}

/// A verdict with all that it was made from, and the journal that it goes into.
#[derive(Debug)]
pub struct JudgedStop {
    pub event: ClientEvent,
    pub case: StopCase,
    pub journal: Journal,
    pub turn: JudgedTurn,
}

/// What the transaction found.
enum RecordedStop {
    First {
        held: bool,
    },
    /// Another process answers this very stop (H9).
    Again,
}

impl JudgedStop {
    /// Records the verdict, counts the hold, and only then says it.
    pub fn conclude(self, delivery: Delivery) -> Answer {
        let (decision, journal) = self.record_and_decide(delivery);
        journal.leave();
        decision
    }

    /// As `conclude`, for a caller that has more to record.
    pub fn record_and_decide(mut self, delivery: Delivery) -> (Answer, Journal) {
        let JudgedTurn { inputs, verdict, calls, .. } = &mut self.turn;
        let waived = gate::waivers(&self.case.policy, inputs);
        let history = &inputs.history;
        // The stop after a hold is where an agent says what it cannot do, as the hold told it to.
        let was_held = history.holds_this_turn >= self.case.most_holds();
        let before = |action: &str| history.waived.iter().any(|before| before.action == action);
        let new: Vec<String> = waived
            .iter()
            .filter(|waived| !before(&waived.action))
            .map(|waived| format!("{} ({})", waived.action, waived.reason))
            .collect();
        let record = record::write(&self.case.texts, &self.case.policy, inputs, calls, verdict);
        let recorded = self.write(&waived, &record, delivery);
        let Self { mut event, turn: JudgedTurn { verdict, .. }, journal, .. } = self;
        event.stopwatch.lap("write");
        let pass = |reason: &str| {
            event.log("pass", reason);
            Answer::Pass
        };
        let held = match recorded {
            Ok(RecordedStop::Again) => {
                return (pass("answered already: the hook is registered twice"), journal);
            }
            Ok(RecordedStop::First { held }) => held,
            Err(error) if verdict.decision == Decision::Hold => {
                return (pass(&format!("fail open: the hold cannot be counted: {error}")), journal);
            }
            Err(error) => {
                event.log("pass", &format!("not recorded: {error}"));
                false
            }
        };
        let message = verdict.message.unwrap_or_default();
        let decision = match verdict.decision {
            Decision::Hold if held => {
                event.log("hold", &verdict.reason);
                Answer::Hold { to_agent: message, to_person: off_switch(&event) }
            }
            Decision::Hold if delivery == Delivery::Impossible => Answer::Notify { to_person: message },
            Decision::Hold => pass("held already in this turn"),
            Decision::Notify => {
                event.log("notify", &verdict.reason);
                let not_done =
                    (was_held && !new.is_empty()).then(|| format!("\nNot done: {}", new.join(", ")));
                Answer::Notify { to_person: message + &not_done.unwrap_or_default() }
            }
            Decision::Pass if was_held && !new.is_empty() => {
                event.log("notify", "waived");
                Answer::Notify { to_person: format!("{OWN_PREFIX} Not done: {}", new.join(", ")) }
            }
            Decision::Pass => pass(&verdict.reason),
        };
        (decision, journal)
    }

    /// Writes all of it, or nothing.
    fn write(
        &mut self,
        waived: &[Waived],
        record: &[u8],
        delivery: Delivery,
    ) -> Result<RecordedStop, JournalError> {
        let Self { event, case, journal, turn: JudgedTurn { known, inputs, verdict, contents, .. } } = self;
        let is_hold = verdict.decision == Decision::Hold;
        let undelivered = is_hold && delivery == Delivery::Impossible;
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(Some(&case.root)), event.now)?;
            // Silence may be repeated: it must not swallow what a later stop with the same words has to hear.
            let speaks = verdict.decision != Decision::Pass && !undelivered;
            let fingerprint = fingerprint(event, known);
            if speaks && !writing.first_delivery(session.id, &fingerprint, event.now, SAME_DELIVERY)? {
                return Ok(RecordedStop::Again);
            }
            let turn = turn_of(writing, session.id, known, event)?;
            let held = is_hold && !undelivered && writing.try_hold(turn, case.most_holds())?;
            let recorded = match verdict.decision {
                Decision::Hold if undelivered => Decision::Notify,
                Decision::Hold if !held => Decision::Pass,
                decision => decision,
            };
            let recorded = writing.record_verdict(&NewVerdict {
                turn,
                at: event.now,
                decision: recorded,
                scope: verdict.scope,
                message: verdict.message.as_deref().unwrap_or_default(),
                timings: &event.stopwatch.report(),
                inputs: journal::Inputs { version: INPUTS_VERSION, bytes: record },
            })?;
            writing.record_held_actions(turn, &open_actions(verdict, &inputs.history, delivery))?;
            known_turn::remember_reports(
                writing,
                session.id,
                &inputs.history.reported,
                gate::reports(verdict),
            )?;
            if let Some(text) = &verdict.told_unproven {
                known_turn::remember_told_unproven(writing, session.id, turn, text)?;
            }
            if let Some(repository) = &case.repository {
                let stop = RecordedStandings { session: session.id, turn, verdict: recorded, at: event.now };
                stop.write(writing, &repository.common_dir, contents, &verdict.standings)?;
            }
            for waived in waived {
                writing.waive(session.id, &waived.action, &waived.reason, event.now)?;
            }
            Ok(RecordedStop::First { held })
        })
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

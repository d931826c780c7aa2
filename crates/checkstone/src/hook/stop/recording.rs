//! One transaction of all that a stop leaves behind: the session, the delivery, the hold, the verdict with its inputs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use change_set::Scope;
use gate::{ActionState, INPUTS_VERSION, Waived};
use journal::{JournalError, NewTurn, NewVerdict, SessionId, TurnId, Writing};

use super::known::Known;
use super::{Case, Delivery, Judged};
use crate::hook::{Context, SAME_DELIVERY};

/// What the transaction found.
pub(super) enum Written {
    First {
        held: bool,
    },
    /// Another process answers this very stop (H9).
    Again,
}

impl Judged {
    /// Writes all of it, or nothing.
    pub(super) fn write(
        &mut self,
        waived: &[Waived],
        record: &[u8],
        delivery: Delivery,
    ) -> Result<Written, JournalError> {
        let Self { context, verdict, case, known, inputs, .. } = self;
        let Case { journal, root, limit, .. } = case;
        journal.write(|writing| {
            let session = writing.see_session(&context.seen(Some(root)), context.now)?;
            let undelivered = verdict.decision == gate::Decision::Hold && delivery == Delivery::Impossible;
            // Silence may be repeated: it must not swallow what a later stop with the same words has to hear.
            let speaks = verdict.decision != gate::Decision::Pass && !undelivered;
            let fingerprint = fingerprint(context, known);
            if speaks && !writing.first_delivery(session.id, &fingerprint, context.now, SAME_DELIVERY)? {
                return Ok(Written::Again);
            }
            let turn = turn_of(writing, session.id, known, context)?;
            let wants = verdict.decision == gate::Decision::Hold && !undelivered;
            let held = wants && writing.try_hold(turn, *limit)?;
            let recorded = match verdict.decision {
                gate::Decision::Hold if held => journal::Verdict::Hold,
                gate::Decision::Notify => journal::Verdict::Notify,
                _ if undelivered => journal::Verdict::Notify,
                _ => journal::Verdict::Pass,
            };
            writing.record_verdict(&NewVerdict {
                turn,
                at: context.now,
                verdict: recorded,
                scope: verdict.scope.map_or("", Scope::name),
                message: verdict.message.as_deref().unwrap_or_default(),
                timings: &context.stopwatch.report(),
                inputs: journal::Inputs { version: INPUTS_VERSION, bytes: record },
            })?;
            // What was left out because the turn before was held for it stays remembered.
            let asked: Vec<&str> = verdict
                .actions
                .iter()
                .filter(|action| {
                    let asked_now = action.state == ActionState::Required && !undelivered;
                    asked_now || inputs.history.held_before.contains(&action.id)
                })
                .filter(|action| action.state != ActionState::Satisfied)
                .map(|action| action.id.as_str())
                .collect();
            writing.record_held_actions(turn, &asked)?;
            for waived in waived {
                writing.waive(session.id, &waived.action, &waived.reason, context.now)?;
            }
            Ok(Written::First { held })
        })
    }
}

/// The turn that ends, opened now where no prompt did.
pub(super) fn turn_of(
    writing: &Writing<'_>,
    session: SessionId,
    known: &Known,
    context: &Context,
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
            let opened_at = known.opened_at.unwrap_or(context.now);
            let turn = NewTurn { session, key, opened_at, prompt: "", baseline: None };
            Ok(writing.open_turn(&turn)?.id)
        }
    }
}

/// Two deliveries of one stop say the same; two stops of one turn differ in the agent's last words or in the flag.
fn fingerprint(context: &Context, known: &Known) -> String {
    let mut said = DefaultHasher::new();
    context.payload.last_text.hash(&mut said);
    let turn = match (&known.key, &known.turn) {
        (Some(key), _) => key.clone(),
        (None, Some(turn)) => turn.id.0.to_string(),
        (None, None) => String::new(),
    };
    format!("stop:{turn}:{}:{:x}", context.payload.stop_hook_active, said.finish())
}

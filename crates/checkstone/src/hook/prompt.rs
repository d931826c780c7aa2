//! A prompt was submitted: a real one opens a turn, and the state of the repository is remembered, so that the stop
//! can tell what this turn changed. Nothing is said, but how the push of an earlier save ended.

use std::path::Path;

use agents::Answer;
use autosave::{Wish, save_run};
use changes::Repository;
use gate::policy::SnapshotSettings;
use journal::{Journal, JournalError, NewTurn, OpenFor, SessionId, Turn};
use stop::turn_start_snapshot::{self, SnapshotOrder};
use stop::{ClientEvent, SAME_DELIVERY, Workplace};
use transcript::Agent;

use crate::background;
use crate::error::CommandError;
use crate::saving_environment;

pub(crate) fn record(mut event: ClientEvent) -> Answer {
    if !event.payload.opens_turn() {
        return Answer::Pass;
    }
    let workplace = Workplace::find(&event.cwd, event.settings.user_file.as_deref());
    let wish = Wish::of(&workplace, &event.cwd, &saving_environment::switches());
    if wish.is_none() && workplace.is_switched_off() {
        return Answer::Pass;
    }
    let Workplace { repository, found, .. } = workplace;
    let root = repository.as_ref().map(|repository| repository.root.clone());
    let with_snapshots = Some(found.texts()).filter(|texts| texts.may_want_snapshots()).cloned();
    let snapshots = repository.clone().zip(with_snapshots);
    event.stopwatch.lap("policy");
    // Without a policy nothing will be judged, and nothing saved, and the baseline is not needed.
    let is_needed = found.policy.is_some() || wish.is_some();
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
        let (session, turn) = open_turn(&mut journal, &event, root.as_deref(), stored.as_deref())?;
        if let (Some((repository, texts)), Some(turn)) = (&snapshots, turn)
            && let Some(settings) = turn_start_snapshot::wanted(texts, &mut journal)
            && let Err(problem) = order_snapshot(&event, repository, settings, &turn)
        {
            event.log("snapshot", &format!("not taken: {problem}"));
        }
        match wish {
            Some(_) => journal.write(|writing| writing.take_untold_pushes(session)),
            None => Ok(Vec::new()),
        }
    });
    event.stopwatch.lap("write");
    let ended = match written {
        Ok(ended) => ended,
        Err(error) => {
            event.log("prompt", &format!("not recorded: {error}"));
            return Answer::Pass;
        }
    };
    if let Some(problem) = problem {
        event.log("prompt", &format!("without a baseline: {problem}"));
    }
    // How the push of an earlier save ended.
    let told: Vec<String> = ended.iter().map(save_run::push_sentence).collect();
    match told.is_empty() {
        true => Answer::Pass,
        false => Answer::Notify { to_person: told.join("\n") },
    }
}

/// The turn, where it is a new one.
fn open_turn(
    journal: &mut Journal,
    event: &ClientEvent,
    root: Option<&Path>,
    baseline: Option<&[u8]>,
) -> Result<(SessionId, Option<Turn>), JournalError> {
    let prompt = event.payload.prompt.as_deref().unwrap_or_default();
    journal.write(|writing| {
        let session = writing.see_session(&event.seen(root), event.now)?;
        // A client without ids of its own would open two turns where the hook is registered twice (H9).
        if event.payload.agent == Agent::Gemini {
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
            baseline,
        })?;
        let is_new = turn.opened_at.as_millisecond() == event.now.as_millisecond();
        Ok((session.id, is_new.then_some(turn)))
    })
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

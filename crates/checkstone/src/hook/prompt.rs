//! A prompt was submitted: a real one opens a turn, and the state of the repository is remembered, so that the stop
//! can tell what this turn changed. Nothing is said, but how the push of an earlier save ended.

use std::path::Path;

use agents::Decision;
use changes::Repository;
use journal::{Journal, JournalError, NewTurn, OpenFor, SessionId, Turn};
use transcript::Agent;

use super::{Context, SAME_DELIVERY, git_settings};
use crate::at_turn_start;
use crate::autosaving::Wish;
use crate::policy_files::{FoundTexts, PolicyTexts};
use crate::saving;

pub(crate) fn record(mut context: Context) -> Decision {
    if !context.payload.opens_turn() {
        return Decision::Pass;
    }
    let repository = Repository::discover(&context.cwd).ok();
    let root = repository.as_ref().map(|repository| repository.root.clone());
    let found = root.as_deref().map(FoundTexts::read).unwrap_or_default();
    let wish = root.as_deref().and_then(|root| Wish::of(root, &context.cwd, &found));
    let with_snapshots = Some(found.texts()).filter(|texts| texts.may_want_snapshots()).cloned();
    let snapshots = repository.clone().zip(with_snapshots);
    if wish.is_none() && found.policy.as_ref().is_some_and(PolicyTexts::is_switched_off) {
        return Decision::Pass;
    }
    context.stopwatch.lap("policy");
    // Without a policy nothing will be judged, and nothing saved, and the baseline is not needed.
    let is_needed = found.policy.is_some() || wish.is_some();
    let pending =
        repository.filter(|_| is_needed).map(|repository| changes::start_in(repository, &git_settings()));
    let journal = Journal::open(&context.state, OpenFor::Hook);
    context.stopwatch.lap("journal");
    let baseline = match pending {
        Some(Ok(pending)) => pending.baseline(nanoseconds(&context)).map_err(|error| error.to_string()),
        Some(Err(error)) => Err(error.to_string()),
        None => Err(String::new()),
    };
    context.stopwatch.lap("git");
    let (stored, problem) = match &baseline {
        Ok(baseline) => (serde_json::to_vec(baseline).ok(), None),
        Err(problem) => (None, Some(problem.as_str()).filter(|problem| !problem.is_empty())),
    };
    let written = journal.and_then(|mut journal| {
        let (session, turn) = open_turn(&mut journal, &context, root.as_deref(), stored.as_deref())?;
        if let (Some((repository, texts)), Some(turn)) = (&snapshots, turn)
            && let Some(settings) = at_turn_start::wanted(texts, &mut journal)
            && let Err(problem) = at_turn_start::start(&context, repository, settings, &turn)
        {
            context.log("snapshot", &format!("not taken: {problem}"));
        }
        match wish {
            Some(_) => journal.write(|writing| writing.take_untold_pushes(session)),
            None => Ok(Vec::new()),
        }
    });
    context.stopwatch.lap("write");
    let ended = match written {
        Ok(ended) => ended,
        Err(error) => {
            context.log("prompt", &format!("not recorded: {error}"));
            return Decision::Pass;
        }
    };
    if let Some(problem) = problem {
        context.log("prompt", &format!("without a baseline: {problem}"));
    }
    // How the push of an earlier save ended.
    let told: Vec<String> = ended.iter().map(saving::push_sentence).collect();
    match told.is_empty() {
        true => Decision::Pass,
        false => Decision::Notify { to_person: told.join("\n") },
    }
}

/// The turn, where it is a new one.
fn open_turn(
    journal: &mut Journal,
    context: &Context,
    root: Option<&Path>,
    baseline: Option<&[u8]>,
) -> Result<(SessionId, Option<Turn>), JournalError> {
    let prompt = context.payload.prompt.as_deref().unwrap_or_default();
    journal.write(|writing| {
        let session = writing.see_session(&context.seen(root), context.now)?;
        // A client without ids of its own would open two turns where the hook is registered twice (H9).
        if context.payload.agent == Agent::Gemini {
            let fingerprint = format!("prompt:{prompt}");
            if !writing.first_delivery(session.id, &fingerprint, context.now, SAME_DELIVERY)? {
                return Ok((session.id, None));
            }
        }
        let key = context.payload.turn.as_deref();
        let turn = writing.open_turn(&NewTurn {
            session: session.id,
            key,
            opened_at: context.now,
            prompt,
            baseline,
        })?;
        let is_new = turn.opened_at.as_millisecond() == context.now.as_millisecond();
        Ok((session.id, is_new.then_some(turn)))
    })
}

fn nanoseconds(context: &Context) -> i64 {
    i64::try_from(context.now.as_nanosecond()).unwrap_or(i64::MAX)
}

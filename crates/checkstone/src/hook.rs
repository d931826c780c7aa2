//! The hook path: a payload in, a decision out. Synchronous, no network, and nothing that grows with the transcript
//! or with ignored files. Whatever fails here makes the agent pass; the log says so.

mod notify;
mod payload_input;
mod prompt;
mod session_start;
mod stop;
mod stranger;
mod told;

use std::path::PathBuf;
use std::time::Duration;

use ::stop::{ClientEvent, SAME_DELIVERY, StopSettings, Stopwatch, Workplace, append_to_log};
use agents::{Answer, Event, Payload, host};
use autosave::Wish;
use jiff::Timestamp;
use journal::{Journal, OpenFor};
use transcript::Agent;

use crate::background::{self, SaveRequest};
use crate::environment;
use crate::saving_environment;
use crate::team_sending;

pub(crate) use self::stop::save_without_stop;
pub(crate) use notify::receive as receive_notification;
pub(crate) use payload_input::read as read_payload;

/// A git that takes longer than this hangs, and an agent waits.
const GIT_LIMIT: Duration = Duration::from_secs(5);

/// Answers one event; the text to print, or nothing.
pub(crate) fn answer(agent: Agent, bytes: &[u8], stopwatch: Stopwatch) -> Option<String> {
    let state = environment::state_directory()?;
    let registered = agent;
    let received = Payload::receive(registered, bytes, |variable| environment::read(variable).is_some());
    let payload = match received {
        Ok(payload) => payload,
        Err(error) => {
            append_to_log(&state, &format!("{} pass: {error}", agent.name()));
            return None;
        }
    };
    let relevant = matches!(
        payload.event,
        Event::PromptSubmitted
            | Event::Stop
            | Event::SessionStart { .. }
            | Event::BeforeCompaction
            | Event::SessionEnd
    );
    let (Some(session), Some(cwd), true) = (payload.session.clone(), payload.cwd.clone(), relevant) else {
        return None;
    };
    // Another client may run the hooks of this one (L16).
    let agent = payload.agent;
    // What a sub-agent does counts for its parent's turn, and is judged there.
    if payload.transcript.as_deref().is_some_and(|file| agents::transcripts::is_subagent(agent, file)) {
        return None;
    }
    if journal::switch::is_off(&state, agent.name(), &session) {
        return None;
    }
    let kind = payload.event.clone();
    let settings = settings(state);
    let now = Timestamp::now();
    let mut event = ClientEvent { payload, session, cwd, settings, now, stopwatch, is_dry_run: false };
    event.stopwatch.lap("start");
    // Nobody can see what its agent ran, and nobody asked for it to be held.
    let is_stranger = agent != registered && !host(agent).can.shows_results;
    let decision = match &kind {
        _ if is_stranger => stranger::pass(&event, registered),
        Event::PromptSubmitted if !event.payload.opens_turn() => Answer::Pass,
        _ => {
            let workplace = Workplace::find(&event.cwd, event.settings.user_file.as_deref());
            let (has_team, state) = (workplace.found.has_team, event.settings.state.clone());
            let decision = decide(event, workplace);
            if has_team {
                team_sending::wake(&state);
            }
            decision
        }
    };
    decision.render(agent, &kind, environment::hold_form(agent))
}

fn decide(event: ClientEvent, workplace: Workplace) -> Answer {
    match event.payload.event.clone() {
        Event::Stop => stop::decide(event, workplace),
        Event::PromptSubmitted => prompt::record(event, workplace),
        Event::SessionStart { source } => {
            // A compaction is in the middle of a turn.
            let opened = (source != "compact").then(|| workplace.clone());
            let told = session_start::tell(&event, &source, workplace);
            if let Some(workplace) = opened {
                prompt::expect(event, workplace);
            }
            told
        }
        _ => record_session(event, workplace),
    }
}

/// The end of a session, and a compaction that is about to begin: recorded, and where the user wants it, what was done is
/// saved by a process of its own, for which nobody waits. Nothing is said: no client would show it as it is meant.
fn record_session(event: ClientEvent, workplace: Workplace) -> Answer {
    let wish = Wish::of(&workplace, &event.cwd, &saving_environment::switches());
    if workplace.is_switched_off() && wish.is_none() {
        return Answer::Pass;
    }
    let is_end = event.payload.event == Event::SessionEnd;
    let recorded = Journal::open(&event.settings.state, OpenFor::Hook).and_then(|mut journal| {
        // Nobody would be shown what is said now; the log has it.
        drop(::stop::correct_late_results(&mut journal, &event));
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(None), event.now)?;
            // A session that goes on may end again, or be compacted again, right after.
            let turn = writing.latest_turn(session.id)?.map_or(0, |turn| turn.id.0);
            let told = event.payload.turn.as_deref().unwrap_or_default();
            let fingerprint = format!("save:{is_end}:{turn}:{told}");
            // A hook that is registered twice, and a client that says it twice (H9).
            wish.map_or(Ok(false), |_| {
                writing.first_delivery(session.id, &fingerprint, event.now, SAME_DELIVERY)
            })
        })
    });
    match recorded {
        Ok(true) => start_save(&event, is_end),
        Ok(false) => {}
        Err(error) => event.log("pass", &format!("not recorded: {error}")),
    }
    Answer::Pass
}

fn start_save(event: &ClientEvent, is_end: bool) {
    let request = SaveRequest {
        agent: event.payload.agent,
        session: event.session.clone(),
        cwd: event.cwd.clone(),
        transcript: event.payload.transcript.clone(),
        turn: event.payload.turn.clone(),
        is_end,
    };
    if let Err(error) = background::start_with(&["save"], &request) {
        event.log("autosave", &format!("nothing saved: it could not be started: {error}"));
    }
}

/// What a hook is told of the machine and the user.
pub(crate) fn settings(state: PathBuf) -> StopSettings {
    environment::stop_settings(state, GIT_LIMIT)
}

/// A panic lets the agent go on; the log says where it was.
pub(crate) fn report_panic(place: &str) {
    if let Some(state) = environment::state_directory() {
        append_to_log(&state, &format!("{:.3} pass: fail open: a panic at {place}", Timestamp::now()));
    }
}

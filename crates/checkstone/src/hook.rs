//! The hook path: a payload in, a decision out. Synchronous, no network, and nothing that grows with the transcript
//! or with ignored files. Whatever fails here makes the agent pass; the log says so.

mod notify;
mod payload_input;
mod prompt;
mod session_start;
pub(crate) mod stop;

use std::path::PathBuf;
use std::time::Duration;

use agents::{Decision, Event, Payload};
use changes::Settings;
use jiff::Timestamp;
use journal::{Journal, OpenFor, SeenSession};
use transcript::Agent;

use self::stop::Place;
use crate::background;
use crate::commands::background::SaveRequest;
use crate::environment;
use crate::stopwatch::Stopwatch;

pub(crate) use notify::receive as receive_notification;
pub(crate) use payload_input::read as read_payload;

/// A hook that is registered twice gets the same event within this time.
const SAME_DELIVERY: Duration = Duration::from_secs(3);

/// A git that takes longer than this hangs, and an agent waits.
const GIT_LIMIT: Duration = Duration::from_secs(5);

/// What every event needs.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) payload: Payload,
    pub(crate) session: String,
    pub(crate) cwd: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) now: Timestamp,
    pub(crate) stopwatch: Stopwatch,
    /// Nothing is recorded, and nothing is said.
    pub(crate) is_dry_run: bool,
}

/// Answers one event; the text to print, or nothing.
pub(crate) fn answer(agent: Agent, bytes: &[u8], stopwatch: Stopwatch) -> Option<String> {
    let state = environment::state_directory()?;
    let payload = match Payload::parse(agent, bytes) {
        Ok(payload) => payload,
        Err(error) => {
            log(&state, &format!("{} pass: {error}", agent.name()));
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
    if journal::switch::is_off(&state, agent.name(), &session) {
        return None;
    }
    let event = payload.event.clone();
    let mut context =
        Context { payload, session, cwd, state, now: Timestamp::now(), stopwatch, is_dry_run: false };
    context.stopwatch.lap("start");
    let decision = match event.clone() {
        Event::Stop => stop::decide(context),
        Event::PromptSubmitted => prompt::record(context),
        Event::SessionStart { source } => session_start::tell(&context, &source),
        _ => record_session(context),
    };
    decision.render(agent, &event)
}

/// The end of a session, and a compaction that is about to begin: recorded, and where the user wants it, what was done is
/// saved by a process of its own, for which nobody waits. Nothing is said: no client would show it as it is meant.
fn record_session(context: Context) -> Decision {
    let place = Place::find(&context.cwd);
    let wish = place.wish();
    if place.is_switched_off() && wish.is_none() {
        return Decision::Pass;
    }
    let is_end = context.payload.event == Event::SessionEnd;
    let recorded = Journal::open(&context.state, OpenFor::Hook).and_then(|mut journal| {
        journal.write(|writing| {
            let session = writing.see_session(&context.seen(None), context.now)?;
            // A session that goes on may end again, or be compacted again, right after.
            let turn = writing.latest_turn(session.id)?.map(|turn| turn.id.0);
            let fingerprint = format!("save:{is_end}:{turn:?}:{:?}", context.payload.turn);
            // A hook that is registered twice, and a client that says it twice (H9).
            wish.map_or(Ok(false), |_| {
                writing.first_delivery(session.id, &fingerprint, context.now, SAME_DELIVERY)
            })
        })
    });
    match recorded {
        Ok(true) => save_apart(&context, is_end),
        Ok(false) => {}
        Err(error) => context.log("pass", &format!("not recorded: {error}")),
    }
    Decision::Pass
}

fn save_apart(context: &Context, is_end: bool) {
    let request = SaveRequest {
        agent: context.payload.agent,
        session: context.session.clone(),
        cwd: context.cwd.clone(),
        transcript: context.payload.transcript.clone(),
        turn: context.payload.turn.clone(),
        is_end,
    };
    let started = serde_json::to_vec(&request)
        .map_err(std::io::Error::from)
        .and_then(|input| background::start(&["save"], &input));
    if let Err(error) = started {
        context.log("autosave", &format!("nothing saved: it could not be started: {error}"));
    }
}

impl Context {
    fn agent(&self) -> &'static str {
        self.payload.agent.name()
    }

    fn seen<'a>(&'a self, repository: Option<&'a std::path::Path>) -> SeenSession<'a> {
        SeenSession {
            agent: self.agent(),
            client_id: &self.session,
            directory: Some(&self.cwd),
            repository,
            transcript: self.payload.transcript.as_deref(),
        }
    }

    /// One line of the log. Never the environment, never what was said.
    pub(crate) fn log(&self, decision: &str, reason: &str) {
        if self.is_dry_run {
            return;
        }
        let line = format!(
            "{:.3} {} {} {decision}: {reason} [{}]",
            self.now,
            self.agent(),
            self.session,
            self.stopwatch.report()
        );
        log(&self.state, &line);
    }
}

pub(crate) fn git_settings() -> Settings {
    Settings { git: environment::git(), time_limit: GIT_LIMIT }
}

/// A panic lets the agent go on; the log says where it was.
pub(crate) fn report_panic(place: &str) {
    if let Some(state) = environment::state_directory() {
        log(&state, &format!("{:.3} pass: fail open: a panic at {place}", Timestamp::now()));
    }
}

/// The log is for people; that it cannot be written stops nobody.
pub(crate) fn log(state: &std::path::Path, line: &str) {
    let _ = journal::log::append(state, line);
}

//! A client's `notify` program: the end of a turn, told to nobody who waits. The verdict, its timer and its count are
//! the hook's; a hold is typed into the session's tmux pane, or else becomes a notice in the journal.
//!
//! The environment does not tell the pane: it can be that of whoever started the client's daemon. So a pane counts as the
//! session's only where it shows what the agent said last, and only one does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::{Answer, Notification, Pane, PaneAddress, Receiver, Tmux, host, transcripts};
use jiff::Timestamp;
use journal::{Journal, OpenFor, switch};
use stop::{ClientEvent, Delivery, JudgedStop, Purpose, Stop, Stopwatch, Workplace, append_to_log};
use transcript::Agent;

use super::settings;
use crate::clients;
use crate::environment;
use crate::error::CommandError;
use crate::typed_message;

/// A TUI may draw the last words a moment after it has told of them.
const DRAWING: Duration = Duration::from_secs(2);
const DRAWING_POLL: Duration = Duration::from_millis(100);

/// Handles one notification. Whatever fails here fails silently; the log says so.
pub(crate) fn receive(agent: Agent, argument: &OsStr, stopwatch: Stopwatch) {
    let Some(state) = environment::state_directory() else { return };
    let notification = match Notification::parse(agent, argument.as_bytes()) {
        Ok(Some(notification)) => notification,
        Ok(None) => return,
        Err(error) => {
            return append_to_log(
                &state,
                &format!("{} pass: the notification was not understood: {error}", agent.name()),
            );
        }
    };
    if switch::is_off(&state, agent.name(), &notification.thread) {
        return;
    }
    // Threads that the client opened for itself have no transcript.
    let transcript =
        clients::home(agent).and_then(|home| transcripts::of_session(agent, &home, &notification.thread));
    let Some(transcript) = transcript else { return };
    if transcripts::introduction(agent, &transcript).is_subagent {
        return;
    }
    let (session, cwd) = (notification.thread.clone(), notification.cwd.clone());
    let payload = notification.clone().into_stop(agent, transcript.clone());
    let now = Timestamp::now();
    let settings = settings(state);
    let workplace = Workplace::find(&cwd, settings.user_file.as_deref());
    let event = ClientEvent { payload, session, cwd, settings, now, stopwatch, is_dry_run: false };
    match stop::judge(event, workplace, Purpose::Verdict) {
        Stop::Settled { .. } => {}
        Stop::Judged(judged) if judged.joined().decision == gate::Decision::Hold => {
            hold(*judged, &notification, &transcript);
        }
        Stop::Judged(judged) => drop(judged.conclude(Delivery::Sure)),
    }
}

fn hold(judged: JudgedStop, notification: &Notification, transcript: &Path) {
    let event = judged.event.clone();
    let reason = judged.joined().reason;
    let session = judged.turn.known.session.as_ref();
    let recorded = session.and_then(|session| PaneAddress::parse(session.pane.as_deref()?));
    let agent = event.payload.agent;
    let not_interactive = host(agent).notify.as_ref().map(|form| form.not_interactive);
    let found = if notification.client.as_deref() == not_interactive {
        let exec = not_interactive.unwrap_or_default().replace('_', " ");
        Err(CommandError::refused(format!("`{exec}` takes no further prompt")))
    } else {
        Server::all(recorded.as_ref())
            .and_then(|servers| find(agent, &servers, recorded.as_ref(), notification))
    };
    let (tmux, pane) = match found {
        Ok(found) => found,
        Err(why) => {
            judged.conclude(Delivery::Impossible);
            return event.log("notify", &format!("{reason}; not delivered: {why}"));
        }
    };
    let Answer::Hold { to_agent, .. } = judged.conclude(Delivery::Sure) else { return };
    match typed_message::deliver(&tmux, &pane, Receiver::Agent(agent), &to_agent, transcript) {
        Ok(true) => {}
        Ok(false) => event.log("hold", "typed into the pane, but not yet in the transcript"),
        Err(error) => event.log("pass", &format!("the hold could not be delivered: {error}")),
    }
    remember(&event, &tmux, &pane);
}

/// The next turn ends in the same pane, most likely.
fn remember(event: &ClientEvent, tmux: &Tmux, pane: &Pane) {
    let Ok(socket) = tmux.socket() else { return };
    let address = PaneAddress { pane: pane.id.clone(), socket }.to_string();
    let written = Journal::open(&event.settings.state, OpenFor::Hook).and_then(|mut journal| {
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(None), event.now)?;
            writing.set_pane(session.id, Some(&address))
        })
    });
    if let Err(error) = written {
        event.log("hold", &format!("the pane is not recorded: {error}"));
    }
}

/// A tmux server that may have the session's pane.
struct Server {
    tmux: Tmux,
    socket: Option<PathBuf>,
}

impl Server {
    /// The one of the recorded pane, the one in the environment, or else the user's default one.
    fn all(recorded: Option<&PaneAddress>) -> Result<Vec<Self>, CommandError> {
        let program =
            environment::program("tmux").ok_or_else(|| CommandError::environment("tmux is not installed"))?;
        let own = environment::read(environment::TMUX).and_then(|value| agents::socket_of_variable(&value));
        let mut sockets = vec![recorded.map(|address| address.socket.clone()), own];
        sockets.retain(Option::is_some);
        sockets.dedup();
        if sockets.is_empty() {
            sockets.push(None);
        }
        let server =
            |socket: Option<PathBuf>| Self { tmux: Tmux::new(program.clone(), socket.clone()), socket };
        Ok(sockets.into_iter().map(server).collect())
    }
}

/// The pane of the session, once it shows what the agent said last.
fn find(
    agent: Agent,
    servers: &[Server],
    recorded: Option<&PaneAddress>,
    notification: &Notification,
) -> Result<(Tmux, Pane), CommandError> {
    let folder = fs_err::canonicalize(&notification.cwd)?;
    let deadline = Instant::now() + DRAWING;
    loop {
        let mut candidates = 0;
        let mut showing = Vec::new();
        let mut problem =
            CommandError::not_found(format!("no tmux pane runs {} in this folder", host(agent).short_title));
        for server in servers {
            // A server that is gone, such as that of a daemon's environment, does not hide the others.
            let panes = server.tmux.panes().unwrap_or_else(|error| {
                problem = error.into();
                Vec::new()
            });
            for pane in panes {
                let is_recorded = recorded.is_some_and(|address| {
                    address.pane == pane.id && Some(&address.socket) == server.socket.as_ref()
                });
                // Where a person named the pane, the client may have been sent to another folder.
                let may_be = is_recorded || pane.foreground.folder() == Some(folder.as_path());
                if !may_be || pane.accepts(Receiver::Agent(agent)).is_err() {
                    continue;
                }
                candidates += 1;
                if server.tmux.screen(&pane).is_ok_and(|screen| notification.is_shown_on(&screen)) {
                    showing.push((server.tmux.clone(), pane));
                }
            }
        }
        match (showing.len(), showing.pop()) {
            (1, Some(found)) => return Ok(found),
            (0, _) if candidates == 0 => return Err(problem),
            (0, _) if Instant::now() >= deadline => {
                return Err(CommandError::not_found("no tmux pane shows what the agent said last"));
            }
            (0, _) => std::thread::sleep(DRAWING_POLL),
            _ => {
                let message = "more than one tmux pane shows what the agent said last";
                return Err(CommandError::refused(message));
            }
        }
    }
}

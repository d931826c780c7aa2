//! `checkstone inject`: the message of a hold, typed into the tmux pane of an agent that has no hook.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::{Answer, Event, Pane, PaneAddress, Payload, Receiver, Tmux, transcripts};
use gate::Decision;
use jiff::Timestamp;
use journal::{Journal, Session, switch};
use serde::Serialize;
use stop::{ClientEvent, Delivery, Purpose, SESSIONS_LOOKED_AT, Stop, Stopwatch, Workplace};
use transcript::{Agent, visible};

use crate::agent_name::AgentName;
use crate::clients;
use crate::environment;
use crate::error::CommandError;
use crate::hook;
use crate::journal_access;
use crate::printer::{FAINT, Printer, STRONG};
use crate::tmux_argument;
use crate::typed_message;
use crate::verdict_text;

/// Judge an agent's turn and type the message of a hold into its tmux pane
///
/// For a client without hooks. The verdict is the stop hook's, with its timer; a hold is recorded and counts as the
/// turn's one hold, so a second call does nothing. Nothing is typed into a shell, or into a pane in copy mode.
/// Text that you have typed in the pane but not sent is sent along.
///
/// Exit code: 0 done or nothing to do, 2 and above an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone inject --tmux %3
  checkstone inject --tmux work:codex --dry-run
  checkstone inject --socket /tmp/agents.sock --tmux =one:0.0 --agent codex --json")]
pub(crate) struct InjectArguments {
    /// The pane, as tmux names it: `%3`, `session:window.pane`, …
    #[arg(long, value_name = "TARGET")]
    tmux: String,
    /// The socket of the tmux server; by default the one that this runs in, else tmux's own default
    #[arg(long, short = 'S', value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The client in the pane; by default the one that runs there
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// The transcript of the session; by default one of the folder: the one whose last words the
    /// pane shows, the one recorded for the pane, or the newest
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// The folder that the agent works in; by default the pane's
    #[arg(long, value_name = "FOLDER")]
    repo: Option<PathBuf>,
    /// Type into a program that is not known as an agent, such as `ssh`; never into a shell
    #[arg(long, requires = "agent")]
    force: bool,
    /// Show what would be typed; type and record nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON (schemas/inject.schema.json)
    #[arg(long)]
    json: bool,
}

/// How many transcripts of the folder are compared with the screen.
const TRANSCRIPTS_LOOKED_AT: usize = 8;

pub(crate) fn run(arguments: &InjectArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let tmux = tmux_argument::server(arguments.socket.clone())?;
    let pane = tmux_argument::pane(&tmux, &arguments.tmux)?;
    let receiver = match (arguments.agent.map(Agent::from), arguments.force) {
        (_, true) => Receiver::AnyProgram,
        (Some(agent), false) => Receiver::Agent(agent),
        (None, false) => Receiver::AnyAgent,
    };
    // Before anything is counted: a hold that cannot be delivered is none.
    pane.accepts(receiver)?;
    let agent = arguments.agent.map(Agent::from).or_else(|| pane.agent());
    let agent = agent.ok_or_else(|| {
        CommandError::usage("cannot tell which agent runs there").hint("name it with `--agent`")
    })?;
    let place = InjectTarget::find(arguments, &tmux, &pane, agent)?;
    let mut output = InjectOutput {
        verdict: Decision::Pass,
        reason: "the hooks are switched off".to_owned(),
        message: None,
        delivered: false,
        confirmed: false,
        dry_run: arguments.dry_run,
        pane: &pane.id,
        agent,
        session: &place.session,
        transcript: place.transcript.to_string_lossy(),
        found: place.found,
        repository: place.folder.to_string_lossy(),
    };
    if !environment::is_switched_off() && !switch::is_off(&place.state, agent.name(), &place.session) {
        judge_and_type(&tmux, &pane, receiver, &place, &mut output)?;
    }
    printer.answer(arguments.json, &output, || output.text(printer.width()))
}

fn judge_and_type(
    tmux: &Tmux,
    pane: &Pane,
    receiver: Receiver,
    place: &InjectTarget,
    outcome: &mut InjectOutput<'_>,
) -> Result<(), CommandError> {
    // Opening a journal creates it, which a look must not do.
    let nowhere = tempfile::tempdir()?;
    let is_dry_run = outcome.dry_run;
    let is_empty = is_dry_run && !Journal::exists(&place.state);
    let settings = hook::settings(if is_empty { nowhere.path().to_owned() } else { place.state.clone() });
    let workplace = Workplace::find(&place.folder, settings.user_file.as_deref());
    let event = ClientEvent {
        payload: Payload {
            session: Some(place.session.clone()),
            transcript: Some(place.transcript.clone()),
            cwd: Some(place.folder.clone()),
            ..Payload::new(place.agent, Event::Stop)
        },
        session: place.session.clone(),
        cwd: place.folder.clone(),
        settings,
        now: Timestamp::now(),
        stopwatch: Stopwatch::start(),
        is_dry_run,
    };
    let judged = match stop::judge(event, workplace, Purpose::Verdict) {
        Stop::Settled { answer, reason, .. } => {
            outcome.reason = reason;
            if let Answer::Notify { to_person } = answer {
                outcome.verdict = Decision::Notify;
                outcome.message = Some(to_person);
            }
            return Ok(());
        }
        Stop::Judged(judged) => judged,
    };
    let joined = judged.joined();
    outcome.verdict = joined.decision;
    outcome.reason = joined.reason;
    outcome.message = joined.to_agent.or(joined.to_person);
    if is_dry_run {
        return Ok(());
    }
    match judged.conclude(Delivery::Sure) {
        Answer::Hold { to_agent, .. } => {
            let recorded = typed_message::deliver(tmux, pane, receiver, &to_agent, &place.transcript);
            outcome.confirmed = recorded?;
            outcome.delivered = true;
        }
        // Another process was faster, or the journal could not be written.
        Answer::Pass if outcome.verdict == Decision::Hold => {
            outcome.verdict = Decision::Pass;
            outcome.reason = "the hold was not counted, so it was not given (`checkstone log`)".to_owned();
            outcome.message = None;
        }
        _ => {}
    }
    Ok(())
}

/// What the verdict is about.
struct InjectTarget {
    state: PathBuf,
    agent: Agent,
    session: String,
    transcript: PathBuf,
    folder: PathBuf,
    /// How the transcript was found.
    found: TranscriptSource,
}

/// How the transcript was found.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum TranscriptSource {
    Given,
    Recorded,
    Shown,
    Newest,
}

impl TranscriptSource {
    fn sentence(self) -> &'static str {
        match self {
            Self::Given => "as given",
            Self::Recorded => "recorded for this pane",
            Self::Shown => "of the pane's folder, and the pane shows its last words",
            Self::Newest => "the newest one of the pane's folder",
        }
    }
}

impl InjectTarget {
    fn find(
        arguments: &InjectArguments,
        tmux: &Tmux,
        pane: &Pane,
        agent: Agent,
    ) -> Result<Self, CommandError> {
        let state = journal_access::state_directory()?;
        let folder = arguments.repo.as_deref().or(pane.foreground.folder()).ok_or_else(|| {
            CommandError::usage("cannot tell the pane's folder").hint("name it with `--repo`")
        })?;
        let folder = fs_err::canonicalize(folder)?;
        let sessions = match journal_access::open_existing(&state)? {
            Some(mut journal) => journal.read(|reader| reader.recent_sessions(SESSIONS_LOOKED_AT))?,
            None => Vec::new(),
        };
        let (transcript, found) = transcript(arguments, tmux, pane, agent, &folder, &sessions)?;
        let session = session_of(agent, &transcript, &sessions).ok_or_else(|| {
            CommandError::usage(format!("cannot tell which session `{}` belongs to", transcript.display()))
                .hint("name the agent's own transcript with `--transcript`")
        })?;
        Ok(Self { state, agent, session, transcript, folder, found })
    }
}

fn transcript(
    arguments: &InjectArguments,
    tmux: &Tmux,
    pane: &Pane,
    agent: Agent,
    folder: &Path,
    sessions: &[Session],
) -> Result<(PathBuf, TranscriptSource), CommandError> {
    if let Some(given) = &arguments.transcript {
        let there = fs_err::canonicalize(given).ok().filter(|path| path.is_file());
        let path = there.ok_or_else(|| {
            CommandError::not_found(format!("there is no transcript `{}`", given.display()))
        })?;
        return Ok((path, TranscriptSource::Given));
    }
    let address = PaneAddress { pane: pane.id.clone(), socket: tmux.socket()? };
    let is_here = |session: &&Session| {
        session.agent == agent.name()
            && session.pane.as_deref().and_then(PaneAddress::parse).as_ref() == Some(&address)
    };
    let home = clients::home(agent).unwrap_or_default();
    let runs_elsewhere = |path: &PathBuf| {
        let of_path = sessions.iter().find(|session| session.transcript.as_ref() == Some(path));
        let other = of_path.and_then(|session| PaneAddress::parse(session.pane.as_deref()?));
        other.is_some_and(|other| other != address)
    };
    let mut of_folder = transcripts::of_folder(agent, &home, folder, TRANSCRIPTS_LOOKED_AT);
    of_folder.retain(|path| !runs_elsewhere(path));
    let screen = tmux.screen(pane)?;
    let is_shown = |path: &&PathBuf| {
        let reading = transcript::read(path, &gate::reading_options(Some(agent)));
        reading.last_assistant.is_some_and(|words| agents::shows(&screen, &words))
    };
    if let Some(path) = of_folder.iter().find(is_shown) {
        return Ok((path.clone(), TranscriptSource::Shown));
    }
    let recorded = sessions.iter().find(is_here).and_then(|session| session.transcript.clone());
    if let Some(path) = recorded.filter(|path| path.is_file()) {
        return Ok((path, TranscriptSource::Recorded));
    }
    of_folder.into_iter().next().map(|path| (path, TranscriptSource::Newest)).ok_or_else(|| {
        let (name, folder) = (agent.name(), folder.display());
        CommandError::not_found(format!("no transcript of {name} was found for `{folder}`"))
            .hint("name it with `--transcript`")
    })
}

/// The session as its hooks would call it, so that both count the same holds.
fn session_of(agent: Agent, transcript: &Path, sessions: &[Session]) -> Option<String> {
    let is_it = |session: &&Session| {
        session.agent == agent.name() && session.transcript.as_deref() == Some(transcript)
    };
    match sessions.iter().find(is_it) {
        Some(session) => Some(session.client_id.clone()),
        None => transcripts::introduction(agent, transcript).session,
    }
}

/// What `checkstone inject --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Inject"))]
pub(crate) struct InjectOutput<'a> {
    verdict: Decision,
    /// Why, in one sentence.
    reason: String,
    /// What the agent is told at a hold, or the person at a notice.
    message: Option<String>,
    /// The message was typed into the pane.
    delivered: bool,
    /// The client's transcript shows it as a prompt.
    confirmed: bool,
    dry_run: bool,
    pane: &'a str,
    agent: Agent,
    /// The client's own id of the session.
    session: &'a str,
    transcript: Cow<'a, str>,
    found: TranscriptSource,
    repository: Cow<'a, str>,
}

impl InjectOutput<'_> {
    fn text(&self, width: Option<usize>) -> String {
        let mut text = verdict_text::headline(self.verdict, &self.reason, width);
        let pane = self.pane;
        let what = match (self.verdict, self.dry_run, self.delivered, self.confirmed) {
            (Decision::Hold, true, ..) => format!("Would be typed into pane {pane}:"),
            (_, _, true, true) => format!("Typed into pane {pane}, and received:"),
            (_, _, true, false) => format!("Typed into pane {pane}; the transcript does not show it yet:"),
            _ => format!("Nothing was typed into pane {pane}."),
        };
        let _ = writeln!(text, "\n{STRONG}{what}{STRONG:#}");
        verdict_text::quote(&mut text, self.message.as_deref().unwrap_or_default(), width);
        let (agent, session) = (self.agent.name(), visible(self.session));
        let (transcript, found) = (visible(&self.transcript), self.found.sentence());
        let _ =
            writeln!(text, "\n{FAINT}{agent} session {session}\ntranscript: {transcript} ({found}){FAINT:#}");
        text
    }
}

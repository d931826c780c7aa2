//! `checkstone session`: one agent session, its work item, its switch and its tmux pane.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::PaneAddress;
use jiff::Timestamp;
use journal::switch;
use journal::{Author, Journal, SeenSession};
use serde::Serialize;
use text::{Cell, Column, Table, counted};
use transcript::{Agent, visible};

use crate::agent_name::AgentName;
use crate::agent_session::AgentSession;
use crate::error::CommandError;
use crate::journal_access;
use crate::printer::{BAD, GOOD, Printer, STRONG};
use crate::reductions::{self, CommandReduction};
use crate::repository_argument::RepositoryArgument;
use crate::tmux_argument;
use crate::unproven_work::UnprovenWork;

/// Show or change one agent session: its work item, its switch, its tmux pane
///
/// An agent that calls this gets its own session. You choose one with --agent and --id; without --id it is the
/// client's latest session in this repository.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone session --slug parser
  checkstone session --off --agent claude
  checkstone session --list
  checkstone session --agent codex --id 01a1ddc9-9555-7810-a9fe-42b83e4879c4 --new --tmux %3
  checkstone session --agent gemini --json")]
pub(crate) struct SessionArguments {
    /// Set the work item whose plan is checked; an empty one removes it
    #[arg(long, value_name = "SLUG")]
    slug: Option<String>,
    /// Set the tmux pane that the session runs in; an empty one removes it
    #[arg(long, value_name = "TARGET")]
    tmux: Option<String>,
    /// The socket of the tmux server; by default the one that this runs in, else tmux's own default
    #[arg(long, short = 'S', value_name = "PATH", requires = "tmux")]
    socket: Option<PathBuf>,
    /// Switch the hooks off for this session; refused if an agent asks
    #[arg(long, conflicts_with = "on")]
    off: bool,
    /// Switch them on again
    #[arg(long)]
    on: bool,
    /// List the sessions that were seen in this repository, with what their turns left unproven
    #[arg(long, conflicts_with_all = ["slug", "tmux", "off", "on", "agent"])]
    list: bool,
    /// The client of the session
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// The client's own id of the session
    #[arg(long, value_name = "ID", requires = "agent")]
    id: Option<String>,
    /// Accept an id that no hook has seen yet; without this, an unknown id is refused
    #[arg(long, requires = "id")]
    new: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/session.schema.json, with --list schemas/session-list.schema.json)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &SessionArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    if arguments.off {
        let agent = AgentSession::caller().map_or_else(Agent::default, |(agent, _)| agent);
        let command = format!("checkstone session --off --agent {}", agent.name());
        reductions::refuse_agent(&command, "an agent cannot switch the gate off: that is your decision")?;
    }
    let state = journal_access::state_directory()?;
    let folder = arguments.repository.folder()?;
    let root = changes::Repository::discover(&folder).ok().map(|repository| repository.root);
    let mut journal = journal_access::open_existing(&state)?;
    if arguments.list {
        let listed = listed(&arguments.repository.find()?, &state, journal.as_mut())?;
        return printer.answer(arguments.json, &listed, || listed.text(printer.width()));
    }
    let session = find(arguments, &state, journal.as_mut(), root.as_deref())?;
    if let Some(slug) = arguments.slug.as_deref()
        && !slug.is_empty()
        && !stop::is_slug(slug)
    {
        return Err(CommandError::usage(format!("`{}` is not the slug of a work item", visible(slug)))
            .hint("a slug is one name of a folder, without `/`"));
    }
    let address = arguments.tmux.as_deref().map(|target| address(arguments, target)).transpose()?;
    if arguments.slug.is_some() || address.is_some() {
        let journal = journal.insert(journal_access::open_or_create(&state)?);
        set(journal, &session, root.as_deref(), arguments.slug.as_deref(), address.as_ref())?;
    }
    let name = session.agent.name();
    let key = format!("off:{name}:{}", session.id);
    if arguments.off {
        switch::turn_off(&state, name, &session.id)?;
        let text = format!(
            "The hooks of {name} session {} were switched off (`checkstone session --off`).",
            session.id
        );
        let (author, session, repository) = (Author::Person, Some(&session), root.as_deref());
        CommandReduction { author, session, repository, key: Some(&key), text: &text }
            .note_or_warn(&state, printer);
    }
    if arguments.on {
        switch::turn_on(&state, name, &session.id)?;
        if let Some(journal) = &mut journal {
            journal.write(|writing| writing.withdraw_notice(&key))?;
        }
    }
    let recorded = session.recorded(journal.as_mut())?;
    let slug = recorded.as_ref().and_then(|recorded| recorded.slug.clone());
    let pane = recorded.as_ref().and_then(|recorded| PaneAddress::parse(recorded.pane.as_deref()?));
    let on = !switch::is_off(&state, name, &session.id);
    let output = SessionOutput {
        agent: session.agent,
        id: &session.id,
        slug,
        on,
        pane: pane.map(|PaneAddress { pane, socket }| PaneOutput {
            id: pane,
            socket: socket.to_string_lossy().into_owned(),
        }),
        repository: recorded.as_ref().and_then(|one| Some(one.repository.as_ref()?.to_string_lossy())),
        seen_at: recorded.as_ref().map(|one| one.seen_at.to_string()),
    };
    printer.answer(arguments.json, &output, || output.text())
}

/// How many sessions a list has.
const LISTED: usize = 20;

fn listed(
    repository: &changes::Repository,
    state: &Path,
    journal: Option<&mut Journal>,
) -> Result<SessionList, CommandError> {
    let Some(journal) = journal else { return Ok(SessionList { sessions: Vec::new() }) };
    let unproven = UnprovenWork::of_repository(journal, repository)?;
    let sessions = journal.read(|reader| reader.sessions_in(&repository.root, LISTED))?;
    let sessions = sessions.into_iter().map(|session| ListedSession {
        seen_at: session.seen_at.to_string(),
        on: !switch::is_off(state, &session.agent, &session.client_id),
        unproven: unproven.of_session(&session.agent, &session.client_id),
        slug: session.slug,
        agent: session.agent,
        id: session.client_id,
    });
    Ok(SessionList { sessions: sessions.collect() })
}

/// What `checkstone session --list --json` prints, the newest first.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionList {
    sessions: Vec<ListedSession>,
}

/// A session in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ListedSession {
    agent: String,
    id: String,
    /// The work item.
    slug: Option<String>,
    /// Whether the hooks are on for this session.
    on: bool,
    seen_at: String,
    /// How many files its turns left unproven that are still so.
    unproven: usize,
}

impl SessionList {
    fn text(&self, width: Option<usize>) -> String {
        if self.sessions.is_empty() {
            return "No session is recorded for this repository.\n".to_owned();
        }
        let mut table = Table::new([Column::left(0), Column::left(6), Column::left(0), Column::left(0)]);
        for session in &self.sessions {
            let at = session.seen_at.get(..19).unwrap_or(&session.seen_at).replace('T', " ");
            let mut standing = Vec::new();
            if !session.on {
                standing.push("switched off".to_owned());
            }
            if session.unproven > 0 {
                standing.push(format!("unproven: {}", counted(session.unproven, "file")));
            }
            let style = if standing.is_empty() { GOOD } else { BAD };
            let standing = if standing.is_empty() { "on".to_owned() } else { standing.join(", ") };
            let (agent, id) = (visible(&session.agent), visible(&session.id));
            table.row([at.into(), agent.into(), id.into(), Cell::styled(&standing, style)]);
        }
        table.lines(width)
    }
}

/// What `checkstone session --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Session"))]
pub(crate) struct SessionOutput<'a> {
    agent: Agent,
    id: &'a str,
    /// The work item.
    slug: Option<String>,
    /// Whether the hooks are on for this session.
    on: bool,
    /// The tmux pane that the session runs in.
    pane: Option<PaneOutput>,
    repository: Option<Cow<'a, str>>,
    seen_at: Option<String>,
}

impl SessionOutput<'_> {
    fn text(&self) -> String {
        let (style, word) = if self.on { (GOOD, "on") } else { (BAD, "off") };
        let (name, id) = (self.agent.name(), visible(self.id));
        let slug = visible(self.slug.as_deref().unwrap_or("none"));
        let mut text = format!("{STRONG}{name}{STRONG:#} session {id}\n");
        text.push_str(&format!("  hooks:     {style}{word}{style:#}\n  work item: {slug}\n"));
        if let Some(pane) = &self.pane {
            text.push_str(&format!("  tmux pane: {} of the server {}\n", pane.id, visible(&pane.socket)));
        }
        text
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Pane"))]
struct PaneOutput {
    id: String,
    /// Of the tmux server.
    socket: String,
}

fn find(
    arguments: &SessionArguments,
    state: &Path,
    journal: Option<&mut Journal>,
    root: Option<&Path>,
) -> Result<AgentSession, CommandError> {
    let found = match (arguments.agent.map(Agent::from), &arguments.id) {
        (Some(agent), Some(id)) => {
            let session = AgentSession { agent, id: id.clone() };
            if !arguments.new {
                must_be_known(&session, state, journal)?;
            }
            Some(session)
        }
        (Some(agent), None) => AgentSession::latest(agent, journal, root)?,
        _ => AgentSession::calling(journal, root)?,
    };
    found.ok_or_else(|| match arguments.agent {
        Some(agent) => CommandError::not_found(format!(
            "no session of {} is recorded for this repository",
            Agent::from(agent).name()
        ))
        .hint("name one with `--id`"),
        None => CommandError::not_found("no agent's session is running this command")
            .hint("have the agent run it, or name the session with `--agent` and `--id`"),
    })
}

/// An id that was mistyped must not become a session of its own, which nobody would ever be in.
fn must_be_known(
    session: &AgentSession,
    state: &Path,
    mut journal: Option<&mut Journal>,
) -> Result<(), CommandError> {
    let name = session.agent.name();
    let is_own = AgentSession::caller() == Some((session.agent, Some(session.id.clone())));
    if is_own
        || switch::is_off(state, name, &session.id)
        || session.recorded(journal.as_deref_mut())?.is_some()
    {
        return Ok(());
    }
    let seen = match journal {
        Some(journal) => journal.read(|reader| reader.recent_sessions(stop::SESSIONS_LOOKED_AT))?,
        None => Vec::new(),
    };
    let of_client = seen.iter().filter(|seen| seen.agent == name).map(|seen| seen.client_id.as_str());
    let hint = match text::nearest(&session.id, of_client) {
        Some(near) => format!("did you mean `{}`?", visible(&near)),
        None => "`checkstone session --list` lists those that were seen here; \
                 `--new` is for one that no hook has seen yet"
            .to_owned(),
    };
    Err(CommandError::not_found(format!("no session `{}` of {name} is recorded", visible(&session.id)))
        .hint(hint))
}

/// The pane as it is kept; nothing for an empty target.
fn address(arguments: &SessionArguments, target: &str) -> Result<Option<String>, CommandError> {
    if target.is_empty() {
        return Ok(None);
    }
    let tmux = tmux_argument::server(arguments.socket.clone())?;
    let pane = tmux_argument::pane(&tmux, target)?.id;
    let socket = tmux.socket()?;
    Ok(Some(PaneAddress { pane, socket }.to_string()))
}

/// Records the session where it is not yet, and then what is set.
fn set(
    journal: &mut Journal,
    session: &AgentSession,
    root: Option<&Path>,
    slug: Option<&str>,
    address: Option<&Option<String>>,
) -> Result<(), CommandError> {
    let seen = SeenSession {
        agent: session.agent.name(),
        client_id: &session.id,
        directory: None,
        repository: root,
        transcript: None,
    };
    Ok(journal.write(|writing| {
        let recorded = match writing.session(session.agent.name(), &session.id)? {
            Some(recorded) => recorded,
            None => writing.see_session(&seen, Timestamp::now())?,
        };
        if let Some(slug) = slug {
            writing.set_slug(recorded.id, Some(slug).filter(|slug| !slug.is_empty()))?;
        }
        address.map_or(Ok(()), |address| writing.set_pane(recorded.id, address.as_deref()))
    })?)
}

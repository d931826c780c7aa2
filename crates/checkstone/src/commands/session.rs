//! `checkstone session`: one agent session, its work item and its switch.

use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use journal::{Journal, SeenSession, switch};
use serde_json::json;
use transcript::{Agent, visible};

use crate::agent_session::AgentSession;
use crate::arguments::AgentName;
use crate::error::CommandError;
use crate::evidence;
use crate::journal_access::{self, explained};
use crate::printer::{BAD, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;

/// Show or set what belongs to one agent session: its work item, its switch
///
/// Called by an agent it is about the agent's own session. A person names one with --agent, and --id or the latest
/// session of the repository.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone session --slug parser
  checkstone session --off
  checkstone session --agent gemini --json")]
pub(crate) struct SessionArguments {
    /// Set the work item whose plan is looked at; an empty one takes it away
    #[arg(long, value_name = "SLUG")]
    slug: Option<String>,
    /// Switch the hooks off for this session
    #[arg(long, conflicts_with = "on")]
    off: bool,
    /// Switch them on again
    #[arg(long)]
    on: bool,
    /// The client of the session
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// The client's own id of the session
    #[arg(long, value_name = "ID", requires = "agent")]
    id: Option<String>,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/session.schema.json)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &SessionArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = journal_access::state_directory()?;
    let folder = arguments.repository.folder()?;
    let root = changes::Repository::discover(&folder).ok().map(|repository| repository.root);
    let mut journal = journal_access::open_existing(&state)?;
    let session = find(arguments, journal.as_mut(), root.as_deref())?;
    if let Some(slug) = arguments.slug.as_deref() {
        if !slug.is_empty() && !evidence::is_slug(slug) {
            return Err(CommandError::new(format!("`{}` is no slug of a work item", visible(slug)))
                .hint("a slug is one name of a folder, without `/`"));
        }
        let journal = match &mut journal {
            Some(journal) => journal,
            none => none.insert(journal_access::open_or_create(&state)?),
        };
        set_slug(journal, &session, root.as_deref(), slug)?;
    }
    let name = session.agent.name();
    if arguments.off {
        switch::turn_off(&state, name, &session.id).map_err(|error| CommandError::of(&error))?;
    }
    if arguments.on {
        switch::turn_on(&state, name, &session.id).map_err(|error| CommandError::of(&error))?;
    }
    let recorded = session.recorded(journal.as_mut())?;
    let slug = recorded.as_ref().and_then(|recorded| recorded.slug.clone());
    let on = !switch::is_off(&state, name, &session.id);
    if arguments.json {
        let json = json!({
            "agent": name,
            "id": session.id,
            "slug": slug,
            "on": on,
            "repository": recorded.as_ref().and_then(|one| Some(one.repository.as_ref()?.to_string_lossy())),
            "seen_at": recorded.as_ref().map(|one| one.seen_at.to_string()),
        });
        printer.data(&format!("{json}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let (style, word) = if on { (GOOD, "on") } else { (BAD, "off") };
    let slug = slug.unwrap_or_else(|| "none".to_owned());
    printer.text(&format!(
        "{STRONG}{name}{STRONG:#} session {}\n  hooks:     {style}{word}{style:#}\n  work item: {}\n",
        visible(&session.id),
        visible(&slug),
    ));
    Ok(ExitCode::SUCCESS)
}

fn find(
    arguments: &SessionArguments,
    journal: Option<&mut Journal>,
    root: Option<&Path>,
) -> Result<AgentSession, CommandError> {
    let found = match (arguments.agent.map(Agent::from), &arguments.id) {
        (Some(agent), Some(id)) => Some(AgentSession { agent, id: id.clone() }),
        (Some(agent), None) => AgentSession::latest(agent, journal, root)?,
        _ => AgentSession::calling(journal, root)?,
    };
    found.ok_or_else(|| match arguments.agent {
        Some(agent) => CommandError::new(format!(
            "no session of {} is recorded for this repository",
            Agent::from(agent).name()
        ))
        .hint("name one with `--id`"),
        None => CommandError::new("this is no agent's session")
            .hint("let the agent run it, or name the session with `--agent` and `--id`"),
    })
}

fn set_slug(
    journal: &mut Journal,
    session: &AgentSession,
    root: Option<&Path>,
    slug: &str,
) -> Result<(), CommandError> {
    let seen = SeenSession {
        agent: session.agent.name(),
        client_id: &session.id,
        directory: None,
        repository: root,
        transcript: None,
    };
    journal
        .write(|writing| {
            let recorded = match writing.session(session.agent.name(), &session.id)? {
                Some(recorded) => recorded,
                None => writing.see_session(&seen, Timestamp::now())?,
            };
            writing.set_slug(recorded.id, Some(slug).filter(|slug| !slug.is_empty()))
        })
        .map_err(|error| explained(&error))
}

//! What a command does to checking is noted in the journal and in the log, with who did it. What only a person may do is
//! refused to an agent, and the person hears of it at the session's next event.

use std::path::Path;

use jiff::Timestamp;
use journal::{Author, NewNotice};
use stop::append_to_log;

use crate::agent_session::AgentSession;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::printer::Printer;

/// What a command did, or was not allowed to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandReduction<'a> {
    pub(crate) author: Author,
    pub(crate) session: Option<&'a AgentSession>,
    pub(crate) repository: Option<&'a Path>,
    /// What is noted under a key is noted once, and can be withdrawn.
    pub(crate) key: Option<&'a str>,
    /// One sentence.
    pub(crate) text: &'a str,
}

impl CommandReduction<'_> {
    /// Notes it, if anything was ever recorded here; otherwise nobody is checked.
    pub(crate) fn note(&self, state: &Path) -> Result<(), CommandError> {
        let Some(mut journal) = journal_access::open_existing(state)? else { return Ok(()) };
        let now = Timestamp::now();
        let agent = self.session.map(|session| session.agent.name());
        let client_id = self.session.map(|session| session.id.as_str());
        let who = match (agent, client_id) {
            (Some(agent), Some(id)) => format!("{agent} {id} "),
            _ => String::new(),
        };
        append_to_log(state, &format!("{now:.3} {who}switch: {}", self.text));
        journal.write(|writing| {
            writing.add_notice(&NewNotice {
                at: now,
                author: self.author,
                agent,
                client_id,
                repository: self.repository,
                key: self.key,
                is_told: self.author == Author::Person,
                text: self.text,
            })
        })?;
        Ok(())
    }

    /// As `note`, for a command whose own work is done: that it is not noted is only a warning.
    pub(crate) fn note_or_warn(&self, state: &Path, printer: &Printer) {
        if let Err(error) = self.note(state) {
            printer.warning(Warning::from(error.context("not recorded")));
        }
    }
}

/// Refuses an agent what would reduce checking. `why` is the sentence for it.
pub(crate) fn refuse_agent(command: &str, why: &str) -> Result<(), CommandError> {
    if !environment::is_called_by_agent() {
        return Ok(());
    }
    let root = std::env::current_dir().ok().and_then(|folder| changes::Repository::discover(&folder).ok());
    let root = root.map(|repository| repository.root);
    let text = format!("The agent tried to run `{command}`, which was refused.");
    if let Some(state) = environment::state_directory() {
        let mut journal = journal_access::open_existing(&state).ok().flatten();
        let session = AgentSession::calling(journal.as_mut(), root.as_deref()).ok().flatten();
        let reduction = CommandReduction {
            author: Author::Agent,
            session: session.as_ref(),
            repository: root.as_deref(),
            key: None,
            text: &text,
        };
        // It is refused in any case.
        let _ = reduction.note(&state);
    }
    Err(CommandError::refused(why).hint(format!("run `{command}` yourself, in your own terminal")))
}

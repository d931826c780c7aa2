//! Our MCP server in the files of the clients: `init --mcp` adds it, `uninstall` takes it out, and `doctor` looks whether it can be
//! started. Where the file is and what is written there is the host's own data.

use std::path::{Path, PathBuf};

use agents::McpForm;
use agents::registration::mcp_entry::{self, McpOwner};
use agents::registration::settings;
use transcript::Agent;

use crate::clients::{ClientFiles, Scope};
use crate::file_change::{ChangeState, FileChange};
use crate::home_relative::home_relative;
use crate::installed::{self, Before};
use crate::settings_file::SettingsFile;

/// Who the records of these files belong to; the hooks have their own, also where both stand in one file.
fn owner(agent: Agent) -> String {
    format!("{}-mcp", agent.name())
}

/// What is to be done in one file.
#[derive(Debug)]
pub(crate) struct PlannedMcp {
    pub(crate) agent: Agent,
    pub(crate) change: FileChange,
    path: PathBuf,
    work: Option<McpWork>,
}

#[derive(Debug)]
enum McpWork {
    /// With this program.
    Add(String),
    Remove,
}

impl PlannedMcp {
    /// `None` where the client has no MCP.
    pub(crate) fn adding(files: &ClientFiles, scope: Scope<'_>, program: &str) -> Option<Self> {
        let form = mcp_entry::form(files.agent)?;
        let path = files.mcp(scope)?;
        let planned = Self::new(files.agent, path, McpWork::Add(program.to_owned()));
        Some(planned.looked_at(form))
    }

    /// `None` where nothing of ours is, or could be, in the file.
    pub(crate) fn removing(agent: Agent, path: PathBuf) -> Option<Self> {
        let form = mcp_entry::form(agent)?;
        let file = SettingsFile::read(&path).ok()?;
        let text = file.text.as_deref()?;
        let is_ours = match mcp_entry::owner(agent, form, text) {
            Ok(owner) => matches!(owner, McpOwner::Ours(_)),
            // What the hooks' own look says of such a file is enough.
            Err(_) => false,
        };
        is_ours.then(|| Self::new(agent, path, McpWork::Remove).looked_at(form))
    }

    fn new(agent: Agent, path: PathBuf, work: McpWork) -> Self {
        let change = FileChange::new(settings::client(agent), &path, ChangeState::Changed, "");
        Self { agent, change, path, work: Some(work) }
    }

    /// The change as it would be now.
    fn looked_at(mut self, form: &McpForm) -> Self {
        let Some(work) = self.work.take() else { return self };
        let (shown, subject) = (home_relative(&self.path), settings::client(self.agent));
        let unchanged =
            |message: String| FileChange::new(subject, &self.path, ChangeState::Unchanged, message);
        let refused = |why: String| FileChange::new(subject, &self.path, ChangeState::Refused, why);
        let file = match SettingsFile::read(&self.path) {
            Ok(file) => file,
            Err(problem) => return Self { change: refused(format!("`{shown}` {problem}")), ..self },
        };
        let text = file.text.clone().unwrap_or_default();
        let found = mcp_entry::owner(self.agent, form, &text);
        let change = match (found, edited(self.agent, form, &text, None, &work)) {
            (Err(error), _) | (_, Err(error)) => refused(format!("`{shown}` is left unchanged: {error}")),
            (Ok(McpOwner::Others), _) => {
                unchanged(format!("`{shown}` has a server `{}` of your own, which stays", mcp_entry::NAME))
            }
            (_, Ok(new)) if new == text => unchanged(format!("the MCP server is already in `{shown}`")),
            (_, Ok(new)) => match file.obstacle() {
                Some(obstacle) => refused(format!("`{shown}` {obstacle}")),
                None => {
                    let message = match work {
                        McpWork::Add(_) => format!("the MCP server is registered in `{shown}`"),
                        McpWork::Remove => format!("the MCP server is removed from `{shown}`"),
                    };
                    FileChange::new(subject, &self.path, ChangeState::Changed, message)
                        .with_diff(file.text.as_deref(), Some(&new))
                }
            },
        };
        let work = (change.state == ChangeState::Changed).then_some(work);
        Self { change, work, ..self }
    }

    /// Does it to the file as it is now: the hooks may have been put into it, or taken out, in between.
    pub(crate) fn carry_out(&mut self, state: &Path) {
        let (Some(work), Some(form)) = (self.work.take(), mcp_entry::form(self.agent)) else { return };
        let owner = owner(self.agent);
        let file = match SettingsFile::read(&self.path) {
            Ok(file) => file,
            Err(problem) => {
                self.change.state = ChangeState::Refused;
                self.change.message = format!("`{}` {problem}", home_relative(&self.path));
                return;
            }
        };
        let text = file.text.clone().unwrap_or_default();
        let record = installed::of_file(state, &owner, &self.path);
        let before = record.as_ref().and_then(|record| record.before(state));
        let known = match &before {
            Some(Before::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let new = match edited(self.agent, form, &text, known, &work) {
            Ok(new) => new,
            Err(error) => {
                self.change.state = ChangeState::Refused;
                self.change.message = format!("`{}` stays as it is: {error}", home_relative(&self.path));
                return;
            }
        };
        match work {
            // Another client that reads the same file has put it there: its record says what was there before.
            McpWork::Add(_) if new == text => {}
            McpWork::Add(_) => self.change.write(state, &owner, &file, &new),
            McpWork::Remove => {
                let is_untouched = record.as_ref().is_some_and(|record| record.wrote(&text));
                let after = match before {
                    // As it was, to the byte.
                    Some(before) if is_untouched => before,
                    Some(Before::Absent) if mcp_entry::is_empty(form, &new) => Before::Absent,
                    _ => Before::Text(new),
                };
                if let Err(error) = installed::take_back(state, &owner, &file, &after) {
                    self.change.refuse(&error);
                }
            }
        }
    }
}

fn edited(
    agent: Agent,
    form: &McpForm,
    text: &str,
    before: Option<&str>,
    work: &McpWork,
) -> Result<String, settings::SettingsError> {
    match work {
        McpWork::Add(program) => {
            let gone = match mcp_entry::owner(agent, form, text)? {
                McpOwner::Ours(old) => Some(old).filter(|old| is_gone(old)).into_iter().collect(),
                _ => Vec::new(),
            };
            mcp_entry::add(agent, form, text, program, &gone)
        }
        McpWork::Remove => mcp_entry::remove(agent, form, text, before),
    }
}

/// Whether a program that is named by its path is not there any more.
pub(crate) fn is_gone(program: &str) -> bool {
    Path::new(program).is_absolute() && !Path::new(program).exists()
}

/// The files of a client in which our server may stand, the user's and those of this repository.
pub(crate) fn places(agent: Agent, root: Option<&Path>) -> Vec<PathBuf> {
    let scopes = [Some(Scope::User), root.map(Scope::Project)];
    let files = scopes.into_iter().flatten();
    files.filter_map(|scope| ClientFiles::of(agent, scope)?.mcp(scope)).collect()
}

/// Our server in the first of the client's files that has one of its name.
pub(crate) fn found(agent: Agent, root: Option<&Path>) -> Option<(PathBuf, McpOwner)> {
    let form = mcp_entry::form(agent)?;
    places(agent, root).into_iter().find_map(|path| {
        let text = SettingsFile::read(&path).ok()?.text?;
        let owner = mcp_entry::owner(agent, form, &text).ok().filter(|owner| *owner != McpOwner::Nobody)?;
        Some((path, owner))
    })
}

/// Files that `init` ever wrote a server into.
pub(crate) fn recorded(state: &Path) -> Vec<(Agent, PathBuf)> {
    let of_record = |record: installed::Record| {
        let agent = Agent::ALL.into_iter().find(|agent| owner(*agent) == record.owner)?;
        Some((agent, record.file))
    };
    installed::all(state).into_iter().filter_map(of_record).collect()
}

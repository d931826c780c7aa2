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
use crate::installed::{self, Before, Record};
use crate::settings_file::SettingsFile;
use crate::settings_problem::SettingsProblem;

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
        let (agent, path) = (files.agent, files.mcp(scope)?);
        let (shown, subject) = (home_relative(&path), settings::client(agent));
        let planned = |change, work| Some(Self { agent, change, path: path.clone(), work });
        let unchanged =
            |message: String| planned(FileChange::new(subject, &path, ChangeState::Unchanged, message), None);
        let refused = |why: String| planned(FileChange::new(subject, &path, ChangeState::Refused, why), None);
        if let Some(obstacle) = scope.obstacle(&path) {
            return refused(format!("`{shown}` {obstacle}"));
        }
        let file = match SettingsFile::read(&path) {
            Ok(file) => file,
            Err(problem) => return refused(format!("`{shown}` {problem}")),
        };
        let text = file.text.as_deref().unwrap_or_default();
        let new = match (mcp_entry::owner(agent, form, text), with_server(agent, form, text, program)) {
            (Err(error), _) | (_, Err(error)) => {
                return refused(format!("`{shown}` is left unchanged: {error}"));
            }
            (Ok(McpOwner::Others), _) => {
                let name = mcp_entry::NAME;
                return unchanged(format!("`{shown}` has a server `{name}` of your own, which stays"));
            }
            (Ok(_), Ok(new)) => new,
        };
        if new == text {
            return unchanged(format!("the MCP server is already in `{shown}`"));
        }
        if let Some(obstacle) = file.obstacle() {
            return refused(format!("`{shown}` {obstacle}"));
        }
        let message = format!("the MCP server is registered in `{shown}`");
        let change = FileChange::new(subject, &path, ChangeState::Changed, message);
        let change = change.with_diff(file.text.as_deref(), Some(&new));
        planned(change, Some(McpWork::Add(program.to_owned())))
    }

    /// `None` where nothing of ours is, or could be, in the file.
    pub(crate) fn removing(agent: Agent, path: PathBuf, state: &Path) -> Option<Self> {
        let form = mcp_entry::form(agent)?;
        let (shown, subject) = (home_relative(&path), settings::client(agent));
        let record = installed::of_file(state, &owner(agent), &path);
        let planned = |change, work| Some(Self { agent, change, path: path.clone(), work });
        let refused = |why: String| {
            let why = format!("`{shown}` {why}");
            planned(FileChange::new(subject, &path, ChangeState::Refused, why), None)
        };
        let file = match SettingsFile::read(&path) {
            Ok(file) => file,
            Err(_) if record.is_none() => return None,
            Err(problem) => return refused(format!("{problem}; fix that and run `uninstall` again")),
        };
        let text = file.text.as_deref()?;
        let after = match without_server(agent, form, text, record.as_ref(), state) {
            Ok(after) => after?,
            Err(error @ settings::SettingsError::NotSurelyRemoved { .. }) => {
                return refused(format!("is left unchanged: {error}"));
            }
            // A file that we never wrote, or that does not name us, is not ours to judge.
            Err(_) if record.is_none() || !text.contains(mcp_entry::NAME) => return None,
            Err(error) => {
                let what = "remove the server `checkstone` by hand, or fix it and run `uninstall` again";
                return refused(format!("is left unchanged: {error}; {what}"));
            }
        };
        if let Some(obstacle) = file.obstacle() {
            return refused(obstacle);
        }
        let new = match &after {
            Before::Absent => None,
            Before::Text(text) => Some(text.as_str()),
        };
        let message = format!("the MCP server is removed from `{shown}`");
        let change = FileChange::new(subject, &path, ChangeState::Changed, message);
        planned(change.with_diff(Some(text), new), Some(McpWork::Remove))
    }

    /// Does it to the file as it is now: the hooks may have been put into it, or taken out, in between.
    pub(crate) fn carry_out(&mut self, state: &Path) {
        let (Some(work), Some(form)) = (self.work.take(), mcp_entry::form(self.agent)) else { return };
        let owner = owner(self.agent);
        let refused = |change: &mut FileChange, why: String| {
            change.state = ChangeState::Refused;
            change.message = format!("`{}` {why}", home_relative(&change.path));
        };
        let file = match SettingsFile::read(&self.path) {
            Ok(file) => file,
            Err(problem) => return refused(&mut self.change, problem.to_string()),
        };
        let text = file.text.as_deref().unwrap_or_default();
        match work {
            McpWork::Add(program) => match with_server(self.agent, form, text, &program) {
                // Another client that reads the same file has put it there: its record says what was there before.
                Ok(new) if new == text => {}
                Ok(new) => self.change.write(state, &owner, &file, &new),
                Err(error) => refused(&mut self.change, format!("stays as it is: {error}")),
            },
            McpWork::Remove => {
                let record = installed::of_file(state, &owner, &self.path);
                match without_server(self.agent, form, text, record.as_ref(), state) {
                    Ok(None) => {}
                    Ok(Some(after)) => {
                        if let Err(error) = installed::take_back(state, &owner, &file, &after) {
                            self.change.refuse(&error);
                        }
                    }
                    Err(error) => refused(&mut self.change, format!("stays as it is: {error}")),
                }
            }
        }
    }
}

/// The text with our server; one that starts a program that is gone gets the present one.
fn with_server(
    agent: Agent,
    form: &McpForm,
    text: &str,
    program: &str,
) -> Result<String, settings::SettingsError> {
    let gone = match mcp_entry::owner(agent, form, text)? {
        McpOwner::Ours(old) => Some(old).filter(|old| is_gone(old)).into_iter().collect(),
        McpOwner::Nobody | McpOwner::Others => Vec::new(),
    };
    mcp_entry::add(agent, form, text, program, &gone)
}

/// The file without our server: as it was to the byte, where nobody else changed it; else without our entry. `None` if it has none.
fn without_server(
    agent: Agent,
    form: &McpForm,
    text: &str,
    record: Option<&Record>,
    state: &Path,
) -> Result<Option<Before>, settings::SettingsError> {
    let before = record.and_then(|record| record.before(state));
    let is_untouched = record.is_some_and(|record| record.wrote(text));
    let is_clean = |before: &Before| match before {
        Before::Absent => true,
        Before::Text(text) => {
            mcp_entry::owner(agent, form, text).is_ok_and(|owner| !matches!(owner, McpOwner::Ours(_)))
        }
    };
    // Whatever an older version made of the file, this is what it was.
    if let Some(before) = before.as_ref().filter(|before| is_untouched && is_clean(before)) {
        return Ok(Some(before.clone()));
    }
    if !matches!(mcp_entry::owner(agent, form, text)?, McpOwner::Ours(_)) {
        return Ok(None);
    }
    let known = match &before {
        Some(Before::Text(text)) => Some(text.as_str()),
        Some(Before::Absent) | None => None,
    };
    let rest = mcp_entry::remove(agent, form, text, known)?;
    Ok(Some(match before {
        Some(Before::Absent) if mcp_entry::is_empty(form, &rest) => Before::Absent,
        _ => Before::Text(rest),
    }))
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

/// Files that `init` wrote our server into and in which it is not found now, with what is wrong. One that is gone as a whole
/// is nobody's problem; one in which there is only nothing of ours is one only if it is looked at here.
pub(crate) fn lost(agent: Agent, root: Option<&Path>, state: &Path) -> Vec<(PathBuf, LostServer)> {
    let Some(form) = mcp_entry::form(agent) else { return Vec::new() };
    let places = places(agent, root);
    let recorded = recorded(state).into_iter().filter(|(of, _)| *of == agent);
    let lost = recorded.filter_map(|(_, path)| {
        let lost = match owner_in(agent, form, &path)? {
            Err(problem) => LostServer::Unreadable(problem),
            Ok(McpOwner::Nobody) if places.contains(&path) => LostServer::Removed,
            Ok(_) => return None,
        };
        Some((path, lost))
    });
    lost.collect()
}

/// Why nobody finds what `init` wrote.
#[derive(Debug)]
pub(crate) enum LostServer {
    Unreadable(SettingsProblem),
    Removed,
}

/// Whose server has our name in a file; `None` if there is no file.
fn owner_in(agent: Agent, form: &McpForm, path: &Path) -> Option<Result<McpOwner, SettingsProblem>> {
    match SettingsFile::read(path) {
        Ok(file) => Some(mcp_entry::owner(agent, form, &file.text?).map_err(SettingsProblem::from)),
        Err(problem) => Some(Err(problem.into())),
    }
}

/// Forgets what `init` wrote into files in which nothing of it is left: who uninstalled does not miss it.
pub(crate) fn forget_removed(state: &Path, is_meant: impl Fn(Agent) -> bool) {
    let recorded = recorded(state).into_iter().filter(|(agent, _)| is_meant(*agent));
    for (agent, path) in recorded {
        let owner_now = mcp_entry::form(agent).and_then(|form| owner_in(agent, form, &path));
        if let Some(Ok(McpOwner::Nobody | McpOwner::Others)) = owner_now {
            installed::forget(state, &owner(agent), &path);
        }
    }
}

/// Files that `init` ever wrote a server into.
pub(crate) fn recorded(state: &Path) -> Vec<(Agent, PathBuf)> {
    let of_record = |record: Record| {
        let agent = Agent::ALL.into_iter().find(|agent| owner(*agent) == record.owner)?;
        Some((agent, record.file))
    };
    installed::all(state).into_iter().filter_map(of_record).collect()
}

//! Where a client would find our hook: its settings files, and the plugin or extension that brings the hook along.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::registration::settings;
use agents::{CallForm, HostPackage, KnownHook, host};
use serde_json::Value;
use transcript::Agent;

use super::client::{self, Client};
use super::remedy::Remedy;
use crate::clients::{ClientFiles, Scope};
use crate::home_relative::home_relative;
use crate::interruption::Interruption;
use crate::settings_file::SettingsFile;
use crate::settings_problem::SettingsProblem;

const PLUGIN_LIST_LIMIT: Duration = Duration::from_secs(10);

/// The command of a hook, as the client is to run it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CommandLine {
    Program { program: String, arguments: Vec<String> },
    Shell(String),
}

impl CommandLine {
    pub(crate) fn program(&self) -> &str {
        match self {
            Self::Program { program, .. } => program,
            Self::Shell(text) => text,
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { program, arguments } => write!(formatter, "{program} {}", arguments.join(" ")),
            Self::Shell(text) => formatter.write_str(text),
        }
    }
}

/// One of our hooks in a client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hook {
    /// The client's own name of the event.
    pub(crate) event: String,
    pub(crate) line: CommandLine,
    /// What the client adds to the environment of this hook.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// By which way the client comes to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    User,
    Project,
    Package,
}

/// Our hooks in one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Registered {
    pub(crate) file: PathBuf,
    pub(crate) way: Way,
    pub(crate) hooks: Vec<Hook>,
}

impl Registered {
    pub(crate) fn hook(&self, event: &str) -> Option<&Hook> {
        self.hooks.iter().find(|hook| hook.event == event)
    }

    /// To register anew what is here; a package is nobody's to write but its client's.
    pub(crate) fn remedy(&self, agent: Agent, root: Option<&Path>) -> Option<Remedy> {
        (self.way != Way::Package).then(|| Remedy::register_in(agent, &self.file, root)).flatten()
    }

    /// The events that `init` would register and that are not here.
    pub(crate) fn missing(&self, agent: Agent) -> Vec<&'static str> {
        agents::events(agent).iter().copied().filter(|event| self.hook(event).is_none()).collect()
    }
}

/// What was found in a client's settings.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) registered: Vec<Registered>,
    /// Files that could not be looked into, and why.
    pub(crate) unreadable: Vec<(PathBuf, SettingsProblem)>,
    /// Why the client runs no hook of ours although it is registered.
    pub(crate) switched_off: Option<String>,
}

/// Looks through the settings of `client`, for everybody's use and for the repository at `root`.
pub(crate) fn find(client: &Client, root: Option<&Path>, interruption: &Interruption) -> Found {
    let agent = client.agent;
    let mut found = Found::default();
    let Some(user) = ClientFiles::of(agent, Scope::User) else { return found };
    // A home that is a repository has the same files in both roles.
    let project = root.and_then(|root| ClientFiles::of(agent, Scope::Project(root))).filter(|project| {
        fs_err::canonicalize(&project.folder).ok() != fs_err::canonicalize(&user.folder).ok()
    });
    let mut files = vec![(Way::User, user.settings.clone())];
    files.extend(project.as_ref().map(|project| (Way::Project, project.settings.clone())));
    files.extend(project.as_ref().and_then(ClientFiles::local).map(|local| (Way::Project, local)));
    let mut has_plugin = false;
    for (way, file) in files {
        if let Some(text) = found.read(&file) {
            found.add(agent, way, &file, &text, &[]);
            has_plugin |= settings::has_plugin(agent, &text);
        }
    }
    if let Some(package) = &host(agent).files.package
        // One that the settings switch on is asked of the client; others are where they lie.
        && (has_plugin || package.list.is_none())
    {
        for folder in package_folders(client, package, &user.folder, root, interruption) {
            found.add_package(agent, package.variable, &folder);
        }
    }
    found.switched_off = user.switches(root).iter().find_map(|file| {
        let key = settings::switched_off(agent, &SettingsFile::read(file).ok()?.text?)?;
        Some(format!("`{key}` in `{}`", home_relative(file)))
    });
    found
}

/// From which folders the client runs our package: by its own word, or by its files.
fn package_folders(
    client: &Client,
    package: &HostPackage,
    home: &Path,
    root: Option<&Path>,
    interruption: &Interruption,
) -> Vec<PathBuf> {
    let asked = package.list.zip(client.program.as_ref()).and_then(|(question, program)| {
        let mut command = client::command(client.agent, program);
        command.args(question);
        let ended = interruption.run(&mut command, b"", PLUGIN_LIST_LIMIT).ok();
        serde_json::from_slice::<Value>(&ended.filter(|ended| ended.status.success())?.stdout).ok()
    });
    match asked.filter(Value::is_array) {
        Some(answer) => (package.listed)(&answer),
        None => (package.folders)(home, root),
    }
}

/// The hooks that the client itself knows, by the file that they come from.
pub(crate) fn by_client(known: &[KnownHook]) -> Vec<Registered> {
    let mut registered: Vec<Registered> = Vec::new();
    for hook in known {
        let own = Hook {
            event: hook.event.clone(),
            line: CommandLine::Shell(hook.command.clone()),
            variables: Vec::new(),
        };
        match registered.iter_mut().find(|registered| registered.file == hook.file) {
            Some(registered) => registered.hooks.push(own),
            None => {
                let way = match (hook.is_of_project, hook.is_of_package) {
                    (true, _) => Way::Project,
                    (_, true) => Way::Package,
                    _ => Way::User,
                };
                registered.push(Registered { file: hook.file.clone(), way, hooks: vec![own] });
            }
        }
    }
    registered
}

impl Found {
    /// The text of a settings file; `None` if there is none, or none that can be read.
    fn read(&mut self, file: &Path) -> Option<String> {
        match SettingsFile::read(file) {
            Ok(file) => file.text,
            Err(why) => {
                self.unreadable.push((file.to_owned(), why.into()));
                None
            }
        }
    }

    /// The hooks that a plugin or extension in `folder` brings along; `variable` is what the client calls the folder.
    fn add_package(&mut self, agent: Agent, variable: &'static str, folder: &Path) {
        let file = folder.join("hooks/hooks.json");
        if let Some(text) = self.read(&file) {
            let variables = [(variable, folder.to_string_lossy().into_owned())];
            self.add(agent, Way::Package, &file, &text, &variables);
        }
    }

    /// Takes our hooks out of a text; `variables` are what the client fills in and sets for them.
    fn add(&mut self, agent: Agent, way: Way, file: &Path, text: &str, variables: &[(&'static str, String)]) {
        let handlers = match settings::handlers(agent, text) {
            Ok(handlers) => handlers,
            Err(error) => {
                self.unreadable.push((file.to_owned(), error.into()));
                return;
            }
        };
        let hooks: Vec<Hook> = handlers
            .into_iter()
            .filter_map(|(event, handler)| {
                let line = line(agent, &handler, variables)?;
                Some(Hook { event, line, variables: variables.to_vec() })
            })
            .collect();
        if !hooks.is_empty() {
            self.registered.push(Registered { file: file.to_owned(), way, hooks });
        }
    }
}

fn line(agent: Agent, handler: &Value, variables: &[(&'static str, String)]) -> Option<CommandLine> {
    let filled = |text: &str| {
        variables
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
    };
    let command = filled(handler.get("command").and_then(Value::as_str)?);
    Some(match handler.get("args").and_then(Value::as_array) {
        Some(arguments) if host(agent).registration.call == CallForm::Arguments => CommandLine::Program {
            program: command,
            arguments: arguments.iter().filter_map(Value::as_str).map(filled).collect(),
        },
        _ => CommandLine::Shell(command),
    })
}

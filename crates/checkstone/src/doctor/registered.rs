//! Where a client would find our hook: its settings files, and the plugin or extension that brings the hook along.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::registration::settings;
use serde_json::Value;
use transcript::Agent;

use super::client::{self, Client};
use super::codex_hooks::CodexHook;
use crate::clients::{ClientFiles, Scope};
use crate::home_relative::home_relative;
use crate::interruption::Interruption;
use crate::settings_file::SettingsFile;

/// What our plugin and our extension are called.
const PACKAGE: &str = "checkstone";

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

    /// The events that `init` would register and that are not here.
    pub(crate) fn missing(&self, agent: Agent) -> Vec<&'static str> {
        agents::events(agent).iter().copied().filter(|event| self.hook(event).is_none()).collect()
    }
}

/// What was found in a client's settings.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) registered: Vec<Registered>,
    /// Files that the client cannot read either, and why.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
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
    if let (Agent::Claude, Some(project)) = (agent, &project) {
        files.push((Way::Project, project.folder.join("settings.local.json")));
    }
    let mut has_plugin = false;
    for (way, file) in files {
        if let Some(text) = found.read(&file) {
            found.add(agent, way, &file, &text, &[]);
            has_plugin |= agent == Agent::Claude && settings::has_plugin(&text);
        }
    }
    match agent {
        Agent::Claude if has_plugin => {
            for folder in plugin_folders(client, &user.folder, interruption) {
                found.add_package(agent, "CLAUDE_PLUGIN_ROOT", &folder);
            }
        }
        Agent::Gemini => {
            let extension = user.folder.join("extensions").join(PACKAGE);
            if extension.is_dir() && is_extension_on(&user.folder, root) {
                let folder = linked_extension(&extension).unwrap_or(extension);
                found.add_package(agent, "extensionPath", &folder);
            }
        }
        // Codex itself is asked for its plugins.
        Agent::Claude | Agent::Codex => {}
    }
    found.switched_off = user.switches(root).iter().find_map(|file| {
        let key = settings::switched_off(agent, &SettingsFile::read(file).ok()?.text?)?;
        Some(format!("`{key}` in `{}`", home_relative(file)))
    });
    found
}

/// The client itself knows best from which folder it runs a plugin: for a local marketplace it is not the copy.
fn plugin_folders(client: &Client, home: &Path, interruption: &Interruption) -> Vec<PathBuf> {
    let asked = client.program.as_ref().and_then(|program| {
        let mut command = client::command(Agent::Claude, program);
        command.args(["plugin", "list", "--json"]);
        let ended = interruption.run(&mut command, b"", PLUGIN_LIST_LIMIT).ok();
        serde_json::from_slice::<Value>(&ended.filter(|ended| ended.status.success())?.stdout).ok()
    });
    let text = |plugin: &Value, name: &str| plugin.get(name).and_then(Value::as_str).map(PathBuf::from);
    if let Some(plugins) = asked.as_ref().and_then(Value::as_array) {
        let is_ours = |plugin: &&Value| {
            plugin.get("id").and_then(Value::as_str).is_some_and(is_package)
                && plugin.get("enabled").and_then(Value::as_bool) != Some(false)
        };
        let folder = |plugin: &Value| text(plugin, "readFromFolder").or_else(|| text(plugin, "installPath"));
        return plugins.iter().filter(is_ours).filter_map(folder).collect();
    }
    let Ok(bytes) = fs_err::read(home.join("plugins/installed_plugins.json")) else { return Vec::new() };
    let installed: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let plugins = installed.get("plugins").and_then(Value::as_object).into_iter().flatten();
    let entries = plugins.filter(|(name, _)| is_package(name)).filter_map(|(_, entries)| entries.as_array());
    entries.flatten().filter_map(|entry| text(entry, "installPath")).collect()
}

/// `gemini extensions link` leaves only a note of where the extension is.
fn linked_extension(extension: &Path) -> Option<PathBuf> {
    let bytes = fs_err::read(extension.join(".gemini-extension-install.json")).ok()?;
    let note: Value = serde_json::from_slice(&bytes).ok()?;
    let is_link = note.get("type").and_then(Value::as_str) == Some("link");
    note.get("source").and_then(Value::as_str).filter(|_| is_link).map(PathBuf::from)
}

/// The last rule that fits the repository decides, or the home where there is none; without any the extension is on.
fn is_extension_on(home: &Path, root: Option<&Path>) -> bool {
    let Ok(bytes) = fs_err::read(home.join("extensions/extension-enablement.json")) else { return true };
    let rules: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let rules = rules.get(PACKAGE).and_then(|own| own.get("overrides")).and_then(Value::as_array).cloned();
    let here = root.or_else(|| home.parent()).map(|here| format!("{}/", here.to_string_lossy()));
    let here = here.unwrap_or_default();
    let mut is_on = true;
    for rule in rules.iter().flatten().filter_map(Value::as_str) {
        let (off, pattern) = rule.strip_prefix('!').map_or((false, rule), |pattern| (true, pattern));
        let fits = match pattern.strip_suffix('*') {
            Some(folder) => here.starts_with(folder),
            None => here.trim_end_matches('/') == pattern.trim_end_matches('/'),
        };
        if fits {
            is_on = !off;
        }
    }
    is_on
}

/// The hooks that Codex itself knows, by the file that they come from.
pub(crate) fn by_codex(known: &[CodexHook]) -> Vec<Registered> {
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
                let way = match hook.source.as_str() {
                    "project" => Way::Project,
                    "plugin" => Way::Package,
                    _ => Way::User,
                };
                registered.push(Registered { file: hook.file.clone(), way, hooks: vec![own] });
            }
        }
    }
    registered
}

impl Found {
    /// The text of a settings file; `None` where there is none, or none that can be read.
    fn read(&mut self, file: &Path) -> Option<String> {
        match SettingsFile::read(file) {
            Ok(file) => file.text,
            Err(why) => {
                self.unreadable.push((file.to_owned(), why.to_string()));
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
                self.unreadable.push((file.to_owned(), error.to_string()));
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
        Some(arguments) if agent == Agent::Claude => CommandLine::Program {
            program: command,
            arguments: arguments.iter().filter_map(Value::as_str).map(filled).collect(),
        },
        _ => CommandLine::Shell(command),
    })
}

/// `checkstone@some-marketplace`, or the bare name.
fn is_package(name: &str) -> bool {
    name.split('@').next() == Some(PACKAGE)
}

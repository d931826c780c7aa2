//! `checkstone init`: registers the hooks in the clients that are here, and gives the repository a policy.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::registration::settings;
use agents::registration::status_line::{self, StatusLineOwner};
use agents::{Host, Program, Registration, events, host};
use changes::{Repository, Request};
use journal::Author;
use serde::Serialize;
use stop::policy_files::FILE_NAME;
use stop::trust;
use text::{counted, size_in_words, wrap};
use transcript::Agent;

use crate::agent_name::AgentName;
use crate::agent_session::AgentSession;
use crate::clients::{self, ClientFiles, Scope};
use crate::environment;
use crate::error::{CommandError, ErrorKind, Warning};
use crate::file_change::{
    self, Answer, ChangeState, ClientOutput, FileChange, FileChangeOutput, Manner, told,
};
use crate::git_hook::{GitHook, GitHookName, GitHookOutput, PlannedGitHook};
use crate::home_relative::home_relative;
use crate::journal_access;
use crate::mcp_registration::PlannedMcp;
use crate::new_policy::NewPolicy;
use crate::own_program::OwnProgram;
use crate::printer::{FAINT, Printer};
use crate::reductions::{self, CommandReduction};
use crate::repository_policy;
use crate::settings_file::SettingsFile;

/// Register the hooks in the clients that are installed, and give this repository a policy
///
/// Finds the installed clients and the kind of repository, shows what it will change and what it will ask an agent for,
/// and asks you once; without a terminal it needs `--yes`. Entries are added after what is there, and nothing else in a file is
/// touched: order, comments and layout stay, a link stays a link, and a backup is kept. A file that cannot be understood
/// for sure is left unchanged. Running it again changes nothing. `checkstone uninstall` undoes it all. If an agent runs it, you
/// are notified.
///
/// Exit code: 0 done or nothing to do, 1 you said no, 3 no client found, 4 a file was left unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone init
  checkstone init --dry-run
  checkstone init --agent claude --preset python --yes
  checkstone init --agent claude --statusline
  checkstone init --mcp
  checkstone init --git-hook
  checkstone init --project")]
pub(crate) struct InitArguments {
    /// Register in this client only, found or not; may be given several times
    #[arg(long, value_name = "AGENT")]
    agent: Vec<AgentName>,
    /// Write this preset into checkstone.toml instead of the detected ones; may be given several times
    #[arg(long, value_name = "PRESET", value_parser = clap::builder::PossibleValuesParser::new(
        gate::policy::PRESETS.iter().map(|(name, _)| *name)))]
    preset: Vec<String>,
    /// Register for you, in every repository (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Register in this repository's own settings, which others who use it get too
    #[arg(long)]
    project: bool,
    /// Show `checkstone statusline` below Claude Code's prompt, unless you have a status line of your own
    #[arg(long)]
    statusline: bool,
    /// Register `checkstone mcp` as well, in each client that has MCP
    #[arg(long)]
    mcp: bool,
    /// Run `checkstone verify` before every push, or with `pre-commit` before every commit, in addition to the existing hook
    #[arg(long, value_name = "HOOK", num_args = 0..=1, default_missing_value = "pre-push")]
    git_hook: Vec<GitHookName>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Show every difference before asking, as `--dry-run` does
    #[arg(long)]
    diff: bool,
    /// Print JSON (schemas/init.schema.json); needs `--yes` or `--dry-run`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &InitArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let program = OwnProgram::find()?;
    let state = journal_access::state_directory()?;
    let folder = std::env::current_dir()?;
    let repository = Repository::discover(&folder).ok();
    let root = repository.as_ref().map(|repository| repository.root.clone());
    let scope = match (&root, arguments.project) {
        (Some(root), true) => Scope::Project(root),
        (None, true) => {
            return Err(CommandError::not_found("`--project` needs a git repository")
                .hint("change to one, or leave out `--project`"));
        }
        (_, false) => Scope::User,
    };
    let place = RegistrationPlan {
        root: root.as_deref(),
        program: &program.path,
        scope,
        with_status_line: arguments.statusline,
    };
    let agents = wanted(&arguments.agent);
    let mut clients: Vec<ClientRegistration> = agents
        .iter()
        .filter_map(|agent| ClientRegistration::plan(ClientFiles::of(*agent, scope)?, &place))
        .collect();
    let mut servers: Vec<PlannedMcp> = agents
        .iter()
        .filter(|_| arguments.mcp)
        .filter_map(|agent| PlannedMcp::adding(&ClientFiles::of(*agent, scope)?, scope, &program.path))
        .collect();
    // A file that both are refused for is named once.
    let is_refused = |change: &FileChange| change.state == ChangeState::Refused;
    let is_same =
        |one: &FileChange, other: &FileChange| (&one.path, &one.message) == (&other.path, &other.message);
    servers.retain(|server| {
        let of_client = clients.iter().find(|client| is_same(&client.change, &server.change));
        !(is_refused(&server.change) && of_client.is_some())
    });
    let mut git_hooks = Vec::new();
    for name in &arguments.git_hook {
        let Some(repository) = &repository else {
            return Err(CommandError::not_found("`--git-hook` needs a git repository")
                .hint("change to one, or leave out `--git-hook`"));
        };
        git_hooks.push(GitHook::find(*name, repository)?.plan_lines(&program.path));
    }
    let policy = root.as_deref().map(|root| NewPolicy::of_repository(root, &arguments.preset));
    let mut policy = policy.map(|policy| (plan_policy(&policy), policy));
    let manner =
        Manner { dry_run: arguments.dry_run, yes: arguments.yes, json: arguments.json, diff: arguments.diff };
    let changes = clients.iter().map(|client| &client.change);
    let changes = changes.chain(servers.iter().map(|server| &server.change));
    let changes = changes.chain(git_hooks.iter().map(|hook| &hook.change));
    let changes: Vec<&FileChange> = changes.chain(policy.as_ref().map(|(change, _)| change)).collect();
    let is_agent = environment::is_called_by_agent() && !arguments.dry_run;
    if is_agent && let Some((root, (_, policy))) = root.as_deref().zip(policy.as_ref()) {
        refuse_weakening(root, policy, &state)?;
    }
    if clients.is_empty() && !arguments.json {
        printer.warning(no_client());
    }
    let answer = manner.ask(&changes, "Do this?", printer)?;
    if answer == Answer::No {
        printer.text("Nothing was changed.\n");
        return Ok(ExitCode::from(1));
    }
    if answer == Answer::Go {
        for client in &mut clients {
            client.register(&state);
        }
        // Behind the hooks: both may stand in one file.
        for server in &mut servers {
            server.carry_out(&state);
        }
        for hook in &mut git_hooks {
            hook.carry_out(&state);
        }
        if let Some((change, policy)) = &mut policy {
            write_policy(change, policy);
        }
    }
    if is_agent && answer == Answer::Go {
        let changes = clients.iter().map(|client| &client.change);
        let changes = changes.chain(servers.iter().map(|server| &server.change));
        let changes = changes.chain(git_hooks.iter().map(|hook| &hook.change));
        let changes = changes.chain(policy.as_ref().map(|(change, _)| change));
        report_agent("checkstone init", changes, root.as_deref(), &state, printer)?;
    }
    if arguments.dry_run {
        let shown = clients.iter_mut().map(|client| &mut client.change);
        let shown = shown.chain(servers.iter_mut().map(|server| &mut server.change));
        let shown = shown.chain(git_hooks.iter_mut().map(|hook| &mut hook.change));
        shown.chain(policy.as_mut().map(|(change, _)| change)).for_each(FileChange::not_done);
    }
    let policy = policy.map(|(change, policy)| (change, policy.presets));
    let is_done = answer == Answer::Go && !arguments.json;
    let proposal = repository.as_ref().filter(|_| is_done).and_then(snapshot_proposal);
    let report =
        Report { clients, servers, git_hooks, policy, program, proposal, dry_run: arguments.dry_run };
    if arguments.json {
        printer.json(&report.output())?;
    } else {
        printer.text(&report.text(printer.narrow_width()));
    }
    Ok(if report.clients.is_empty() && report.git_hooks.is_empty() {
        ErrorKind::NotFound.exit_code()
    } else {
        file_change::exit_code(report.changes())
    })
}

/// Nobody can be held then, and whoever has a client elsewhere should know where we looked.
fn no_client() -> Warning {
    let found = Agent::ALL.into_iter().filter(|agent| !host(*agent).registration.only_if_named);
    let names: Vec<String> = found.map(|agent| format!("`{}`", agent.name())).collect();
    Warning::new(format!("no client was found: none of {} is on `PATH` or has a folder", names.join(", ")))
        .hint("name one with `--agent`")
}

/// Snapshots at every prompt, and what they would cost here; nothing where they are on.
fn snapshot_proposal(repository: &Repository) -> Option<String> {
    let files = repository_policy::files(&repository.root);
    let settings = trust::snapshot_settings(journal::Trust::Unknown, files.texts()).unwrap_or_default();
    if settings.at_turn_start {
        return None;
    }
    let pending = changes::start_in(repository.clone(), &environment::git()).ok()?;
    let changed = pending.change_set(Request::Worktree).ok()?.files;
    let sizes =
        changed.iter().filter_map(|file| repository.root.join(file.path.as_path()).symlink_metadata().ok());
    let size = size_in_words(sizes.filter(Metadata::is_file).map(|found| found.len()).sum());
    let (count, file) = (counted(changed.len(), "file"), home_relative(&environment::configuration_file()?));
    Some(format!(
        "Optional: `at_turn_start = true` under `[snapshot]` in `{file}` saves the working tree at every prompt. It costs one `git status` \
         and reads what is not committed, here {count} ({size}), while the agent works."
    ))
}

/// An agent may give a repository its first policy, and not a weaker one than it has, or had when the person asked.
fn refuse_weakening(root: &Path, policy: &NewPolicy, state: &Path) -> Result<(), CommandError> {
    if policy.exists {
        return Ok(());
    }
    let mut journal = journal_access::open_existing(state)?;
    let session = AgentSession::calling(journal.as_mut(), Some(root))?;
    let had_policy = match (&mut journal, session) {
        (Some(journal), Some(session)) => {
            stop::had_own_file(journal, session.agent.name(), &session.id, root)?
        }
        _ => false,
    };
    let present = repository_policy::of(root).and_then(|texts| texts.load().ok());
    let lacks =
        present.is_some_and(|present| !present.presets.iter().all(|one| policy.presets.contains(one)));
    match had_policy || lacks {
        true => reductions::refuse_agent(
            "checkstone init",
            "an agent cannot give the repository a weaker policy: that is your decision",
        ),
        false => Ok(()),
    }
}

/// The person learns what the agent registered.
pub(crate) fn report_agent<'a>(
    command: &str,
    changes: impl Iterator<Item = &'a FileChange>,
    root: Option<&Path>,
    state: &Path,
    printer: &Printer,
) -> Result<(), CommandError> {
    let done = changes.filter(|change| change.state == ChangeState::Changed);
    let done: Vec<String> = done.map(|change| format!("{} {}", change.subject, change.message)).collect();
    let text = format!("The agent ran `{command}`: {}.", done.join("; "));
    // The first record of all may be this one.
    let mut journal = journal_access::open_or_create(state)?;
    let session = AgentSession::calling(Some(&mut journal), root)?;
    let (author, session) = (Author::Agent, session.as_ref());
    CommandReduction { author, session, repository: root, key: None, text: &text }
        .note_or_warn(state, printer);
    Ok(())
}

/// The clients that were named, else those that are here.
fn wanted(named: &[AgentName]) -> Vec<Agent> {
    let named: Vec<Agent> = named.iter().map(|name| Agent::from(*name)).collect();
    let is_wanted = |agent: &Agent| match named.is_empty() {
        true => clients::is_installed(*agent) && !host(*agent).registration.only_if_named,
        false => named.contains(agent),
    };
    Agent::ALL.into_iter().filter(is_wanted).collect()
}

/// What the plans for all clients have in common.
pub(crate) struct RegistrationPlan<'a> {
    pub(crate) root: Option<&'a Path>,
    pub(crate) program: &'a str,
    pub(crate) scope: Scope<'a>,
    pub(crate) with_status_line: bool,
}

/// One client, and what is to be done in its file.
pub(crate) struct ClientRegistration {
    agent: Agent,
    pub(crate) change: FileChange,
    /// The file as it was read and its new text, where it is to be changed.
    work: Option<(SettingsFile, String)>,
}

impl ClientRegistration {
    pub(crate) fn plan(files: ClientFiles, place: &RegistrationPlan<'_>) -> Option<Self> {
        let agent = files.agent;
        let subject = settings::client(agent);
        let path = files.settings.clone();
        let shown = home_relative(&path);
        let refused = |why: String| {
            let change = FileChange::new(subject, &path, ChangeState::Refused, why);
            Some(Self { agent, change, work: None })
        };
        let unchanged = |message: String, notes: Vec<String>| {
            let mut change = FileChange::new(subject, &path, ChangeState::Unchanged, message);
            change.notes = notes;
            Some(Self { agent, change, work: None })
        };
        if let Some(obstacle) = place.scope.obstacle(&path) {
            return refused(format!("`{shown}` {obstacle}"));
        }
        let file = match SettingsFile::read(&path) {
            Ok(file) => file,
            Err(problem) => {
                return refused(format!("`{shown}` {problem}; fix that and run `init` again"));
            }
        };
        let text = file.text.as_deref().unwrap_or_default();
        let mut notes = switched_off(&files, place.root);
        let wants_status_line = host(agent).can.has_status_line && place.with_status_line;
        let by_package = package(&files, text);
        if let (Some(by_package), false) = (&by_package, wants_status_line) {
            return unchanged(by_package.clone(), notes);
        }
        match by_hand(&files) {
            Ok(HooksByHand::None) => {}
            Ok(HooksByHand::Others { note }) => notes.push(note),
            Ok(HooksByHand::Ours { message, note }) => {
                notes.extend(note);
                return unchanged(message, notes);
            }
            Err(error) => return refused(error.to_string()),
        }
        notes.extend(settings::unknown_key(agent, text).map(|name| {
            let Host { short_title, files, .. } = host(agent);
            let file = files.settings;
            format!("{short_title} ignores `{file}` as long as `{name}` is in it: remove it")
        }));
        let found = match settings::find(agent, text) {
            Ok(found) => found,
            Err(error) => {
                return refused(format!("`{shown}` is left unchanged: {error}; fix it and run `init` again"));
            }
        };
        let is_gone = |program: &str| Path::new(program).is_absolute() && !Path::new(program).exists();
        let mut gone: Vec<String> = Vec::new();
        for found in &found {
            let program = &found.call.program;
            if is_gone(program) && !found.call.is_as_written {
                notes.push(format!(
                    "`{}` was written by hand and calls `{program}`, which does not exist: fix it",
                    found.event
                ));
            } else if is_gone(program) && !gone.contains(program) {
                notes.push(format!("`{program}` no longer exists; its entries get the current path"));
                gone.push(program.clone());
            }
        }
        let kept = found.iter().map(|found| &found.call.program);
        let mut kept: Vec<&String> =
            kept.filter(|program| program.as_str() != place.program && !is_gone(program)).collect();
        kept.dedup();
        notes
            .extend(kept.iter().map(|program| format!("entries that call `{program}` are left as they are")));
        let registration = Registration::new(agent, Program::At(place.program));
        let added = match by_package {
            Some(_) => Ok(text.to_owned()),
            None => settings::add(text, &registration, &gone),
        };
        let added = added.and_then(|added| match wants_status_line {
            true => with_status_line(agent, &added, place.program, &mut notes),
            false => Ok(added),
        });
        let new = match added {
            Ok(new) => new,
            Err(error) => return refused(format!("`{shown}` is left unchanged: {error}")),
        };
        if new == text {
            return unchanged(
                by_package.unwrap_or_else(|| format!("already registered in `{shown}`")),
                notes,
            );
        }
        if let Some(obstacle) = file.obstacle() {
            return refused(format!("`{shown}` {obstacle}; fix that and run `init` again"));
        }
        if let Some(target) = file.leads_elsewhere() {
            notes.push(format!("it is a link to `{}`, which is written", home_relative(target)));
        }
        notes.extend(to_know(agent, place.scope));
        let mut change =
            FileChange::new(subject, &path, ChangeState::Changed, format!("registered in `{shown}`"))
                .with_diff(file.text.as_deref(), Some(&new));
        change.notes = notes;
        Some(Self { agent, change, work: Some((file, new)) })
    }

    pub(crate) fn register(&mut self, state: &Path) {
        if let Some((file, new)) = self.work.take() {
            self.change.write(state, self.agent.name(), &file, &new);
        }
    }
}

/// The text with our status line; a person's own stays, and they are told.
fn with_status_line(
    agent: Agent,
    text: &str,
    program: &str,
    notes: &mut Vec<String>,
) -> Result<String, settings::SettingsError> {
    let gone: Vec<String> = match status_line::owner(agent, text)? {
        StatusLineOwner::Others => {
            notes.push(
                "you have a status line of your own, which stays; it can call `checkstone statusline` and use its \
                 output"
                    .to_owned(),
            );
            return Ok(text.to_owned());
        }
        StatusLineOwner::Ours(old) => Some(old).filter(|old| !Path::new(old).exists()).into_iter().collect(),
        StatusLineOwner::Nobody => Vec::new(),
    };
    status_line::add(agent, text, program, &gone)
}

/// Where a plugin or an extension brings the hooks along already.
fn package(files: &ClientFiles, text: &str) -> Option<String> {
    let package = host(files.agent).files.package.as_ref()?;
    let is_there = settings::has_plugin(files.agent, text) || (package.is_installed)(&files.folder);
    let kind = package.kind;
    is_there.then(|| format!("the {kind} `checkstone` provides the hooks, so there is nothing to register"))
}

/// What a person wrote of hooks into another file of the client.
enum HooksByHand {
    None,
    Others {
        note: String,
    },
    /// What is said of ours, and what is missing.
    Ours {
        message: String,
        note: Option<String>,
    },
}

fn by_hand(files: &ClientFiles) -> Result<HooksByHand, CommandError> {
    let Host { short_title, files: places, .. } = host(files.agent);
    let Some(other) = &places.hand_written else { return Ok(HooksByHand::None) };
    let path = files.folder.join(other.file);
    let Ok(text) = fs_err::read_to_string(&path) else { return Ok(HooksByHand::None) };
    let written = (other.read)(&text).map_err(|error| {
        let (path, why) = (home_relative(&path), error.message());
        CommandError::usage(format!("`{path}` is not valid TOML: {why}; fix it and run `init` again"))
    })?;
    if written.found.is_empty() {
        let (settings, other) = (places.settings, other.file);
        let note = format!(
            "{short_title} will warn that there are hooks in `{settings}` and in `{other}`; it runs both"
        );
        return Ok(if written.has_hooks { HooksByHand::Others { note } } else { HooksByHand::None });
    }
    let missing: Vec<&str> = events(files.agent)
        .iter()
        .copied()
        .filter(|event| !written.found.iter().any(|found| found.event == *event))
        .collect();
    let note = (!missing.is_empty()).then(|| {
        format!("it lacks {}: add them there, or remove the hooks and run `init` again", missing.join(", "))
    });
    Ok(HooksByHand::Ours { message: format!("registered by hand in `{}`", home_relative(&path)), note })
}

/// Where a person switched the client's hooks off.
fn switched_off(files: &ClientFiles, root: Option<&Path>) -> Vec<String> {
    let say = |path: &Path, key: &str| {
        format!("the hooks are switched off by `{key}` in `{}`: none of them runs", home_relative(path))
    };
    if let Some(other) = &host(files.agent).files.hand_written {
        let user = ClientFiles::of(files.agent, Scope::User).map(|files| files.folder.join(other.file));
        let is_off = |path: &PathBuf| {
            let text = fs_err::read_to_string(path).ok();
            text.and_then(|text| (other.read)(&text).ok()).is_some_and(|written| written.is_switched_off)
        };
        return user.into_iter().filter(is_off).map(|path| say(&path, other.switch)).collect();
    }
    let off = files.switches(root).into_iter().filter_map(|path| {
        let text = SettingsFile::read(&path).ok()?.text?;
        settings::switched_off(files.agent, &text).map(|key| say(&path, key))
    });
    off.collect()
}

/// What is left for the person to do, or good to know, in one sentence.
fn to_know(agent: Agent, scope: Scope<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if matches!(scope, Scope::Project(_)) {
        notes.push(
            "the path in it is specific to this machine; everyone who shares the file needs the program there"
                .to_owned(),
        );
    }
    let form = &host(agent).registration;
    let note = match scope {
        Scope::User => form.note_for_user,
        Scope::Project(_) => form.note_for_project,
    };
    notes.extend(note.map(str::to_owned));
    notes
}

fn plan_policy(policy: &NewPolicy) -> FileChange {
    let shown = home_relative(&policy.file);
    let mut change = if policy.exists {
        let message = format!("`{shown}` exists and is left unchanged");
        FileChange::new(FILE_NAME, &policy.file, ChangeState::Unchanged, message)
    } else {
        let message = match policy.presets.as_slice() {
            [] => "written; nothing is asked for in this repository".to_owned(),
            presets => format!("written, presets {}", presets.join(", ")),
        };
        FileChange::new(FILE_NAME, &policy.file, ChangeState::Changed, message)
            .with_diff(None, Some(&policy.text()))
    };
    change.notes.clone_from(&policy.asked);
    change
}

fn write_policy(change: &mut FileChange, policy: &NewPolicy) {
    if change.state != ChangeState::Changed {
        return;
    }
    let text = policy.text();
    match files::atomic_file::replace_if_unchanged(&policy.file, None, text.as_bytes(), 0o644) {
        Ok(files::atomic_file::Replaced::Yes) => {}
        Ok(files::atomic_file::Replaced::Changed) => {
            change.state = ChangeState::Unchanged;
            change.message = format!("`{}` exists and is left unchanged", home_relative(&policy.file));
        }
        Err(error) => change.refuse(&error.into()),
    }
}

/// What `checkstone init --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Init"))]
pub(crate) struct InitOutput<'a> {
    dry_run: bool,
    /// The path that clients call.
    program: &'a str,
    program_note: Option<&'a str>,
    clients: Vec<ClientOutput<'a>>,
    /// The MCP server, in each client that has MCP; empty without `--mcp`.
    mcp: Vec<ClientOutput<'a>>,
    git_hooks: Vec<GitHookOutput<'a>>,
    /// Null if there is no repository.
    policy: Option<NewPolicyOutput<'a>>,
}

/// What becomes of `checkstone.toml`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Policy"))]
struct NewPolicyOutput<'a> {
    presets: &'a [String],
    #[serde(flatten)]
    change: FileChangeOutput<'a>,
}

struct Report {
    clients: Vec<ClientRegistration>,
    servers: Vec<PlannedMcp>,
    git_hooks: Vec<PlannedGitHook>,
    policy: Option<(FileChange, Vec<String>)>,
    program: OwnProgram,
    /// What else could be switched on, in one sentence.
    proposal: Option<String>,
    dry_run: bool,
}

impl Report {
    fn changes(&self) -> impl Iterator<Item = &FileChange> {
        let policy = self.policy.as_ref().map(|(change, _)| change);
        let hooks = self.git_hooks.iter().map(|hook| &hook.change);
        let servers = self.servers.iter().map(|server| &server.change);
        self.clients.iter().map(|client| &client.change).chain(servers).chain(hooks).chain(policy)
    }

    fn output(&self) -> InitOutput<'_> {
        let clients = self.clients.iter();
        InitOutput {
            dry_run: self.dry_run,
            program: &self.program.path,
            program_note: self.program.note.as_deref(),
            clients: clients
                .map(|client| ClientOutput { agent: client.agent, change: client.change.output() })
                .collect(),
            mcp: (self.servers.iter())
                .map(|server| ClientOutput { agent: server.agent, change: server.change.output() })
                .collect(),
            git_hooks: self.git_hooks.iter().map(PlannedGitHook::output).collect(),
            policy: self
                .policy
                .as_ref()
                .map(|(change, presets)| NewPolicyOutput { presets, change: change.output() }),
        }
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        let changes: Vec<&FileChange> = self.changes().collect();
        text.push_str(&told(&changes, width));
        if self.policy.is_none() {
            text.push_str(&format!("{FAINT}·{FAINT:#} no repository here, so no `{FILE_NAME}` is written\n"));
        }
        let has_changed = changes.iter().any(|change| change.state == ChangeState::Changed);
        if let Some(note) = self.program.note.as_ref().filter(|_| has_changed) {
            text.push_str(&wrap(&format!("{note}.\n"), 0, width));
        }
        if self.dry_run && has_changed {
            text.push_str("Nothing was changed: this was a dry run.\n");
        } else if has_changed {
            let is_changed = |change: &&FileChange| change.state == ChangeState::Changed;
            let has_policy = self.policy.as_ref().map(|(change, _)| change).filter(is_changed).is_some();
            let has_hooks = changes.iter().copied().filter(is_changed).count() > usize::from(has_policy);
            let next = match self.clients.is_empty() {
                true => "",
                false => "Next: `checkstone doctor` proves that the hooks fire. ",
            };
            let undo = match (has_hooks, has_policy) {
                (true, true) => "`checkstone uninstall` undoes this; `checkstone.toml` stays.",
                (true, false) => "`checkstone uninstall` undoes this.",
                (false, _) => "To undo this, remove `checkstone.toml`.",
            };
            text.push_str(&format!("{}\n", wrap(&format!("{next}{undo}"), 0, width)));
            let proposal = |proposal: &String| format!("{FAINT}{}{FAINT:#}\n", wrap(proposal, 0, width));
            text.extend(self.proposal.as_ref().map(proposal));
        }
        text
    }
}

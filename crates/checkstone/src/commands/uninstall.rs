//! `checkstone uninstall`: takes our entries out of the clients' settings, and our lines out of git's hooks.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::registration::settings;
use agents::{RegistrationFile, host};
use changes::Repository;
use journal::Author;
use serde::Serialize;
use stop::policy_files::FILE_NAME;
use transcript::Agent;

use crate::agent_name::AgentName;
use crate::clients::{ClientFiles, Scope};
use crate::error::CommandError;
use crate::file_change::{self, Answer, ChangeState, ClientOutput, FileChange, Manner, told};
use crate::git_hook::{GitHookOutput, PlannedGitHook};
use crate::home_relative::home_relative;
use crate::installed::{self, Before, Record};
use crate::journal_access;
use crate::mcp_registration::{self, PlannedMcp};
use crate::printer::Printer;
use crate::reductions::{self, CommandReduction};
use crate::settings_file::SettingsFile;

/// Remove checkstone's hooks from the clients' settings
///
/// A file that is still as `init` left it becomes byte for byte what it was before; otherwise every entry that calls
/// `checkstone hook` is removed and nothing else is touched. The same goes for checkstone's lines in git's hooks, unless `--agent`
/// is given. Covers your own settings, this repository's, and every file that `init` ever wrote. `checkstone.toml` and the record stay. Shows what it will change and asks once; without
/// a terminal it needs `--yes`.
///
/// Exit code: 0 done or nothing to do, 1 you said no, 4 a file was left unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone uninstall
  checkstone uninstall --agent gemini
  checkstone uninstall --dry-run")]
pub(crate) struct UninstallArguments {
    /// Remove them from this client only; may be given several times
    #[arg(long, value_name = "AGENT")]
    agent: Vec<AgentName>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Show every difference before asking, as `--dry-run` does
    #[arg(long)]
    diff: bool,
    /// Print JSON (schemas/uninstall.schema.json); needs `--yes` or `--dry-run`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &UninstallArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    if !arguments.dry_run {
        let why = "an agent cannot remove its own hooks: that is your decision";
        reductions::refuse_agent("checkstone uninstall", why)?;
    }
    let state = journal_access::state_directory()?;
    let folder = std::env::current_dir()?;
    let repository = Repository::discover(&folder).ok();
    let root = repository.as_ref().map(|repository| repository.root.clone());
    let named: Vec<Agent> = arguments.agent.iter().map(|name| Agent::from(*name)).collect();
    let is_meant = |agent: Agent| named.is_empty() || named.contains(&agent);
    let mut files: Vec<OwnEntries> = candidates(&state, root.as_deref())
        .into_iter()
        .filter(|(agent, _)| is_meant(*agent))
        .filter_map(|(agent, path)| OwnEntries::plan(agent, &path, &state))
        .collect();
    files.extend(written_by_hand(root.as_deref(), &named));
    let mut servers = servers(&state, root.as_deref(), &named);
    // A file that has both, and cannot be understood, is named once.
    let is_refused = |change: &FileChange| change.state == ChangeState::Refused;
    let refused: Vec<PathBuf> =
        files.iter().filter(|file| is_refused(&file.change)).map(|file| real(&file.change.path)).collect();
    servers.retain(|server| !(is_refused(&server.change) && refused.contains(&real(&server.change.path))));
    let mut git_hooks = match named.is_empty() {
        true => PlannedGitHook::removals(&state, repository.as_ref()),
        false => Vec::new(),
    };
    let manner =
        Manner { dry_run: arguments.dry_run, yes: arguments.yes, json: arguments.json, diff: arguments.diff };
    let changes: Vec<&FileChange> = all_changes(&files, &servers, &git_hooks).collect();
    match manner.ask(&changes, "Do this?", printer)? {
        Answer::No => {
            printer.text("Nothing was changed.\n");
            return Ok(ExitCode::from(1));
        }
        Answer::Go => {
            let with_server: Vec<PathBuf> = servers.iter().map(|server| real(&server.change.path)).collect();
            let has_server: Vec<bool> =
                files.iter().map(|file| with_server.contains(&real(&file.change.path))).collect();
            // Before the hooks, as `init` puts it behind them: both may stand in one file.
            servers.iter_mut().for_each(|server| server.carry_out(&state));
            for (file, has_server) in files.iter_mut().zip(has_server) {
                if has_server {
                    file.look_again(&state);
                }
                file.take_out(&state);
            }
            git_hooks.iter_mut().for_each(|hook| hook.carry_out(&state));
            note(&files, &state, printer);
            note_git_hooks(&git_hooks, root.as_deref(), &state, printer);
        }
        Answer::Nothing => {}
    }
    if arguments.dry_run {
        files.iter_mut().for_each(|file| file.change.not_done());
        servers.iter_mut().for_each(|server| server.change.not_done());
        git_hooks.iter_mut().for_each(|hook| hook.change.not_done());
    } else {
        mcp_registration::forget_removed(&state, is_meant);
    }
    let policy = root.map(|root| root.join(FILE_NAME)).filter(|file| file.is_file());
    let output = UninstallOutput {
        dry_run: arguments.dry_run,
        files: files.iter().map(OwnEntries::output).collect(),
        mcp: (servers.iter())
            .map(|server| ClientOutput { agent: server.agent, change: server.change.output() })
            .collect(),
        git_hooks: git_hooks.iter().map(PlannedGitHook::output).collect(),
        kept: Kept {
            policy: policy.as_deref().map(Path::to_string_lossy),
            state_directory: state.to_string_lossy(),
        },
    };
    printer.answer(arguments.json, &output, || {
        let changes: Vec<&FileChange> = all_changes(&files, &servers, &git_hooks).collect();
        report_text(&changes, &state, policy.as_deref(), arguments.dry_run, printer.narrow_width())
    })?;
    Ok(file_change::exit_code(all_changes(&files, &servers, &git_hooks)))
}

fn all_changes<'a>(
    files: &'a [OwnEntries],
    servers: &'a [PlannedMcp],
    git_hooks: &'a [PlannedGitHook],
) -> impl Iterator<Item = &'a FileChange> {
    let servers = servers.iter().map(|server| &server.change);
    files.iter().map(|file| &file.change).chain(servers).chain(git_hooks.iter().map(|hook| &hook.change))
}

/// Our MCP server in the clients' files, wherever `init` or a person put it.
fn servers(state: &Path, root: Option<&Path>, named: &[Agent]) -> Vec<PlannedMcp> {
    // Two clients may read one file, with one entry: the record of either says what was there before.
    let mut places = mcp_registration::recorded(state);
    for agent in Agent::ALL {
        places.extend(mcp_registration::places(agent, root).into_iter().map(|path| (agent, path)));
    }
    places.retain(|(agent, _)| named.is_empty() || named.contains(agent));
    let places = each_once(places, |(_, path)| real(path));
    places.into_iter().filter_map(|(agent, path)| PlannedMcp::removing(agent, path, state)).collect()
}

/// The file itself: a folder of a repository may be a link to the person's own.
fn real(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The first of those that are the same.
fn each_once<T, K: PartialEq>(mut all: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = Vec::new();
    all.retain(|one| {
        let key = key(one);
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    all
}

/// What was taken out is not missed, and `status` says who did it.
fn note(files: &[OwnEntries], state: &Path, printer: &Printer) {
    for OwnEntries { agent, change, .. } in
        files.iter().filter(|file| file.change.state == ChangeState::Changed)
    {
        let (client, file) = (settings::client(*agent), home_relative(&change.path));
        let text = format!("The hooks of {client} were removed from `{file}` (`checkstone uninstall`).");
        let author = Author::Person;
        CommandReduction { author, session: None, repository: None, key: None, text: &text }
            .note_or_warn(state, printer);
        if let Ok(Some(mut journal)) = journal_access::open_existing(state) {
            // At worst the person is told once of what they did.
            let _ = journal.write(|writing| writing.forget_registration(agent.name(), &change.path));
        }
    }
}

/// What is not verified any more before a push or a commit is in `status` too.
fn note_git_hooks(git_hooks: &[PlannedGitHook], root: Option<&Path>, state: &Path, printer: &Printer) {
    for hook in git_hooks.iter().filter(|hook| hook.change.state == ChangeState::Changed) {
        let (name, file) = (hook.name.name(), home_relative(&hook.change.path));
        let text = format!(
            "`checkstone verify` was removed from git's {name} hook `{file}` (`checkstone uninstall`)."
        );
        let repository = root.filter(|root| hook.change.path.starts_with(root));
        let author = Author::Person;
        CommandReduction { author, session: None, repository, key: None, text: &text }
            .note_or_warn(state, printer);
    }
}

/// Every file that could hold entries of ours, each once.
fn candidates(state: &Path, root: Option<&Path>) -> Vec<(Agent, PathBuf)> {
    let mut files: Vec<(Agent, PathBuf)> = Vec::new();
    for agent in Agent::ALL {
        for place in places(agent, root) {
            let local = place.local();
            files.extend([Some(place.settings), local].into_iter().flatten().map(|file| (agent, file)));
        }
    }
    let recorded = installed::all(state).into_iter();
    let recorded: Vec<_> = recorded.filter_map(|record| Some((record.agent()?, record.file))).collect();
    files.extend(recorded.iter().cloned());
    let files = each_once(files, |(agent, path)| (*agent, real(path)));
    // Of the names of one file, that by which `init` wrote it: with it goes what was there before.
    let by_record = |(agent, path): (Agent, PathBuf)| {
        let is_same = |(of, file): &&(Agent, PathBuf)| *of == agent && real(file) == real(&path);
        let is_recorded = recorded.iter().any(|file| *file == (agent, path.clone()));
        let known = recorded.iter().find(is_same).filter(|_| !is_recorded).cloned();
        known.unwrap_or((agent, path))
    };
    files.into_iter().map(by_record).collect()
}

/// The files of a client, the user's and those of this repository.
fn places(agent: Agent, root: Option<&Path>) -> impl Iterator<Item = ClientFiles> {
    let scopes = [Some(Scope::User), root.map(Scope::Project)];
    scopes.into_iter().flatten().filter_map(move |scope| ClientFiles::of(agent, scope))
}

/// A file that has entries of ours, and what becomes of it.
struct OwnEntries {
    agent: Agent,
    change: FileChange,
    work: Option<PlannedRemoval>,
}

struct PlannedRemoval {
    file: SettingsFile,
    after: Before,
}

impl OwnEntries {
    /// `None` if nothing of ours is, or could be, in the file.
    fn plan(agent: Agent, path: &Path, state: &Path) -> Option<Self> {
        let subject = settings::client(agent);
        let shown = home_relative(path);
        let record = installed::of_file(state, agent.name(), path);
        let refused = |why: String| {
            Some(Self {
                agent,
                change: FileChange::new(subject, path, ChangeState::Refused, why),
                work: None,
            })
        };
        let file = match SettingsFile::read(path) {
            Ok(file) => file,
            Err(_) if record.is_none() => return None,
            Err(problem) => {
                return refused(format!("`{shown}` {problem}; fix that and run `uninstall` again"));
            }
        };
        let text = file.text.as_deref().unwrap_or_default();
        let found = match settings::find(agent, text) {
            Ok(found) => found,
            Err(_) if !text.contains("checkstone") => return None,
            Err(error) => {
                return refused(format!(
                    "`{shown}` is left unchanged: {error}; fix it and run `uninstall` again"
                ));
            }
        };
        if found.is_empty() {
            return None;
        }
        if let Some(obstacle) = file.obstacle() {
            return refused(format!("`{shown}` {obstacle}; fix that and run `uninstall` again"));
        }
        let (after, message) = match after(agent, text, record.as_ref(), state) {
            Ok(after) => after,
            Err(error) => return refused(format!("`{shown}` is left unchanged: {error}")),
        };
        // A link is somebody's arrangement; it would lead nowhere.
        let after = match after {
            Before::Absent if file.leads_elsewhere().is_some() => Before::Text("{}\n".to_owned()),
            after => after,
        };
        let new = match &after {
            Before::Absent => None,
            Before::Text(text) => Some(text.as_str()),
        };
        let change = FileChange::new(subject, path, ChangeState::Changed, format!("`{shown}` {message}"))
            .with_diff(Some(text), new);
        Some(Self { agent, change, work: Some(PlannedRemoval { file, after }) })
    }

    fn output(&self) -> ClientOutput<'_> {
        ClientOutput { agent: self.agent, change: self.change.output() }
    }

    /// The file was changed by ourselves since it was looked at.
    fn look_again(&mut self, state: &Path) {
        if let Some(now) = Self::plan(self.agent, &self.change.path, state) {
            *self = Self { change: FileChange { diff: self.change.diff.clone(), ..now.change }, ..now };
        }
    }

    fn take_out(&mut self, state: &Path) {
        let Some(work) = self.work.take() else { return };
        if let Err(error) = installed::take_back(state, self.agent.name(), &work.file, &work.after) {
            self.change.refuse(&error);
        }
    }
}

/// The file without us: as it was, where nobody else changed it; else without our entries.
fn after(
    agent: Agent,
    text: &str,
    record: Option<&Record>,
    state: &Path,
) -> Result<(Before, &'static str), settings::SettingsError> {
    let before = record.and_then(|record| record.before(state));
    let is_ours = record.is_some_and(|record| record.wrote(text));
    let is_clean = |before: &Before| match before {
        Before::Absent => true,
        Before::Text(text) => settings::find(agent, text).is_ok_and(|found| found.is_empty()),
    };
    if let Some(before) = before.clone().filter(|before| is_ours && is_clean(before)) {
        // Nothing of ours was in it, so this is all that is to be taken out.
        let message = match before {
            Before::Absent => "is removed, because `init` created it",
            Before::Text(_) => "is restored to what it was before `init`",
        };
        return Ok((before, message));
    }
    let known = match &before {
        Some(Before::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let rest = settings::remove(agent, text, known)?;
    // A file that is all ours has no other use.
    let is_own_file = matches!(host(agent).registration.file, RegistrationFile::Own(_));
    if (is_own_file || before == Some(Before::Absent)) && settings::is_empty(agent, &rest) {
        return Ok((Before::Absent, "is removed, because `init` created it and nothing else is in it"));
    }
    Ok((Before::Text(rest), "no longer has our entries"))
}

/// Hooks that were written by hand into another file only a hand takes away.
fn written_by_hand(root: Option<&Path>, named: &[Agent]) -> Vec<OwnEntries> {
    let agents = Agent::ALL.into_iter().filter(|agent| named.is_empty() || named.contains(agent));
    let others = agents.flat_map(|agent| places(agent, root)).filter_map(|files| {
        let agent = files.agent;
        let other = host(agent).files.hand_written.as_ref()?;
        let path = files.folder.join(other.file);
        let config = (other.read)(&fs_err::read_to_string(&path).ok()?).ok()?;
        (!config.found.is_empty()).then(|| {
            let events: Vec<&str> = config.found.iter().map(|found| found.event.as_str()).collect();
            let why = format!(
                "`{}` has checkstone hooks that were written by hand ({}): remove them yourself",
                home_relative(&path),
                events.join(", ")
            );
            let change = FileChange::new(settings::client(agent), &path, ChangeState::Refused, why);
            OwnEntries { agent, change, work: None }
        })
    });
    others.collect()
}

/// What `checkstone uninstall --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Uninstall"))]
pub(crate) struct UninstallOutput<'a> {
    dry_run: bool,
    files: Vec<ClientOutput<'a>>,
    /// The MCP server, in each client that has it.
    mcp: Vec<ClientOutput<'a>>,
    git_hooks: Vec<GitHookOutput<'a>>,
    kept: Kept<'a>,
}

/// What stays.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Kept<'a> {
    policy: Option<Cow<'a, str>>,
    state_directory: Cow<'a, str>,
}

fn report_text(
    changes: &[&FileChange],
    state: &Path,
    policy: Option<&Path>,
    dry_run: bool,
    width: Option<usize>,
) -> String {
    if changes.is_empty() {
        return "checkstone is not registered in any client.\n".to_owned();
    }
    let mut text = told(changes, width);
    if dry_run {
        text.push_str("Nothing was changed: this was a dry run.\n");
    } else if changes.iter().any(|change| change.state == ChangeState::Changed) {
        let state = home_relative(state);
        text.push_str(&match policy.map(home_relative) {
            Some(policy) => {
                format!(
                    "`{policy}` and the record in `{state}` stay; delete them if you no longer want them.\n"
                )
            }
            None => format!("The record in `{state}` stays; delete it if you no longer want it.\n"),
        });
    }
    text
}

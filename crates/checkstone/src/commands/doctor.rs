//! `checkstone doctor`: is the hook registered in each client, and does it really answer?

use std::borrow::Cow;
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::ExitCode;

use agents::registration::mcp_entry::McpOwner;
use agents::registration::status_line::{self, StatusLineOwner};
use agents::{KnownHook, TrustQuestion, host};
use changes::Repository;
use serde::Serialize;
use text::{counted, wrap};
use transcript::{Agent, visible};

use crate::agent_name::AgentName;
use crate::clients::{ClientFiles, Scope};
use crate::commands::init::report_agent;
use crate::doctor::client::Client;
use crate::doctor::finding::{About, Finding, FindingState, Surroundings};
use crate::doctor::registered::{self, Registered, Way};
use crate::doctor::remedy::Remedy;
use crate::doctor::repair::RepairPlan;
use crate::doctor::surroundings::JOURNAL_LIMIT;
use crate::doctor::{hook_trust, newest_transcript, rehearsal, slurm, storage, surroundings};
use crate::environment;
use crate::error::{CommandError, ErrorKind};
use crate::file_change::{Answer, FileChange, FileChangeOutput, Manner, told as told_changes};
use crate::home_relative::home_relative;
use crate::installed;
use crate::interruption::Interruption;
use crate::journal_access;
use crate::known_registrations::{self, MissingRegistration};
use crate::mcp_registration::{self, LostServer};
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::settings_file::SettingsFile;

/// Prove that the hooks fire: each client, its registration, and what they need
///
/// Sends two made-up turns through the registered command lines, in a scratch repository with a journal of its own, and
/// checks that the right one is held. Writes nothing to your settings, repository or journal, unless you ask for it with
/// `--fix`: it registers hooks again if they are missing or call a program that is gone, and removes what killed processes
/// left behind. It shows what it will change and asks you once.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 all is well, 1 something needs fixing, 2 and above the checks could not run.

Examples:
  checkstone doctor
  checkstone doctor --fix
  checkstone doctor --fix --dry-run
  checkstone doctor --agent codex
  checkstone doctor --cluster
  checkstone doctor --json | jq '.findings[] | select(.state == \"problem\")'"
)]
pub(crate) struct DoctorArguments {
    /// Only this client, which must be registered
    #[arg(long, value_name = "AGENT")]
    agent: Vec<AgentName>,
    /// Prove that runs can use more than this machine: one lease among sixteen processes, the database, the bucket, and a small job
    /// on the cluster
    #[arg(long, conflicts_with_all = ["agent", "fix"])]
    cluster: bool,
    /// Fix what can be fixed: shows the changes and asks once, then looks again
    #[arg(long)]
    fix: bool,
    /// Show what would be done, and do nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short, requires = "fix")]
    yes: bool,
    /// Show every difference before asking, as `--dry-run` does
    #[arg(long, requires = "fix")]
    diff: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/doctor.schema.json); with `--fix`, needs `--yes` or `--dry-run`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &DoctorArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.repository.folder()?;
    let repository = Repository::discover(&folder).ok();
    let root = repository.as_ref().map(|repository| repository.root.clone());
    if arguments.cluster {
        let project = root.as_deref().unwrap_or(&folder);
        let mut findings = storage::findings(project)?;
        findings.extend(slurm::findings(project));
        return told(arguments, root.as_deref(), &findings, &[], printer);
    }
    let interruption = Interruption::listen()?;
    let examine = || examined(arguments, repository.as_ref(), &folder, &interruption);
    let Some(findings) = examine() else { return Ok(ErrorKind::Interrupted.exit_code()) };
    let mut plan = RepairPlan::of(&findings, repository.as_ref())?;
    if !arguments.fix {
        let exit_code = told(arguments, root.as_deref(), &findings, &[], printer);
        if let (count @ 1.., false) = (plan.possible(), arguments.json) {
            let what = counted(count, "file");
            printer.text(&format!(
                "`checkstone doctor --fix` can repair {what}; it shows how, and asks first.\n"
            ));
        }
        return exit_code;
    }
    if !arguments.json {
        printer.text(&text(&findings, printer.narrow_width()));
    }
    let DoctorArguments { dry_run, yes, json, diff, .. } = *arguments;
    match (Manner { dry_run, yes, json, diff }).ask(&plan.changes(), "Fix this?", printer)? {
        Answer::No => {
            printer.text("Nothing was changed.\n");
            Ok(ExitCode::FAILURE)
        }
        Answer::Nothing => {
            plan.not_done();
            if !json {
                let nothing = "There is nothing here that `--fix` can repair.\n".to_owned();
                let shown = "Nothing was changed: this was a dry run.\n";
                let changes = plan.changes();
                let is_empty = changes.is_empty();
                printer.text(&if is_empty {
                    nothing
                } else {
                    told_changes(&changes, printer.narrow_width()) + shown
                });
                return Ok(exit_code(&findings));
            }
            told(arguments, root.as_deref(), &findings, &plan.changes(), printer)
        }
        Answer::Go => {
            let state = journal_access::state_directory()?;
            plan.carry_out(&state, repository.as_ref());
            let changes = plan.changes();
            if environment::is_called_by_agent() {
                let done = changes.iter().copied();
                report_agent("checkstone doctor --fix", done, root.as_deref(), &state, printer)?;
            }
            if !json {
                printer.text(&told_changes(&changes, printer.narrow_width()));
            }
            let Some(findings) = examine() else { return Ok(ErrorKind::Interrupted.exit_code()) };
            told(arguments, root.as_deref(), &findings, &changes, printer)
        }
    }
}

/// All that is found; `None` if the person interrupted it.
fn examined(
    arguments: &DoctorArguments,
    repository: Option<&Repository>,
    folder: &Path,
    interruption: &Interruption,
) -> Option<Vec<Finding>> {
    let root = repository.map(|repository| repository.root.as_path());
    let named: Vec<Agent> = arguments.agent.iter().copied().map(Agent::from).collect();
    let agents: Vec<Agent> =
        Agent::ALL.into_iter().filter(|agent| named.is_empty() || named.contains(agent)).collect();
    // Every client is asked at the same time; the slowest takes more than a second.
    let mut clients: Vec<Examined> = std::thread::scope(|scope| {
        let examine = |agent| scope.spawn(move || Examined::of(agent, root, folder, interruption));
        let started: Vec<_> = agents.iter().copied().map(examine).collect();
        started.into_iter().map(|client| client.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    if interruption.came() {
        return None;
    }
    // What nobody asked for is not missed.
    clients.retain(|client| {
        client.is_registered || !named.is_empty() || !host(client.client.agent).registration.only_if_named
    });
    let any = clients.iter().any(|client| client.is_registered);
    let mut findings = Vec::new();
    for client in &mut clients {
        client.require_registration(any, !named.is_empty());
        findings.append(&mut client.findings);
    }
    findings.extend(missing(&agents, root));
    // Otherwise all would look well where nothing is ever held.
    if findings.iter().all(|finding| finding.check != "registered") {
        findings.push(
            Finding::note(Surroundings::Machine, "registered", "no client, so nothing is held")
                .advice("`checkstone init` registers the hooks, once a client is installed"),
        );
    }
    findings.extend(surroundings::machine());
    findings.extend(surroundings::repository(repository));
    Some(findings)
}

fn told(
    arguments: &DoctorArguments,
    root: Option<&Path>,
    findings: &[Finding],
    changes: &[&FileChange],
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    if arguments.json {
        printer.json(&DoctorOutput {
            version: env!("CARGO_PKG_VERSION"),
            repository: root.map(Path::to_string_lossy),
            sound: is_sound(findings),
            findings,
            changes: arguments.fix.then(|| changes.iter().map(|change| change.output()).collect()),
        })?;
    } else {
        printer.text(&text(findings, printer.narrow_width()));
    }
    Ok(exit_code(findings))
}

fn is_sound(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.state != FindingState::Problem)
}

fn exit_code(findings: &[Finding]) -> ExitCode {
    if is_sound(findings) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Registrations that the journal knows of and that are gone. That the journal cannot be read is a finding of its own.
fn missing(agents: &[Agent], root: Option<&Path>) -> Vec<Finding> {
    let state = environment::state_directory();
    let known = state.and_then(|state| journal::known_registrations(&state, JOURNAL_LIMIT).ok());
    let missing = known_registrations::missing(&known.unwrap_or_default()).into_iter();
    let finding = |missing: MissingRegistration| {
        Finding::problem(missing.agent, "registered", missing.what())
            .advice("`checkstone init` registers it again, if you did not remove it yourself")
            .remedy(Remedy::register_in(missing.agent, &missing.file, root))
    };
    missing.filter(|missing| agents.contains(&missing.agent)).map(finding).collect()
}

/// What `checkstone doctor --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Doctor"))]
pub(crate) struct DoctorOutput<'a> {
    version: &'static str,
    /// The root of the repository; null outside of one.
    repository: Option<Cow<'a, str>>,
    /// Whether nothing has to be done.
    sound: bool,
    /// With `--fix`, what is found after it.
    findings: &'a [Finding],
    /// What `--fix` did, or with `--dry-run` would do; null without it.
    changes: Option<Vec<FileChangeOutput<'a>>>,
}

/// What was found out about one client.
struct Examined {
    client: Client,
    is_registered: bool,
    findings: Vec<Finding>,
}

impl Examined {
    fn of(agent: Agent, root: Option<&Path>, folder: &Path, interruption: &Interruption) -> Self {
        let client = Client::find(agent);
        let (installed, (registered, rest)) = std::thread::scope(|scope| {
            let installed = scope.spawn(|| client.installed(interruption));
            let rest = registration(&client, root, folder, interruption);
            (installed.join().unwrap_or_else(|panic| resume_unwind(panic)), rest)
        });
        let files = ClientFiles::of(agent, Scope::User);
        let mut transcript = files.and_then(|files| newest_transcript::look(agent, &files.transcripts));
        // Where no hook reads them, nobody suffers.
        if let (Some(transcript), true) = (&mut transcript, registered.is_empty()) {
            transcript.weaken();
        }
        let line = host(agent).can.has_status_line.then(|| shown_line(agent, root)).flatten();
        let servers = mcp_server(agent, root).into_iter().chain(lost_servers(agent, root));
        let findings =
            std::iter::once(installed).chain(rest).chain(line).chain(servers).chain(transcript).collect();
        Self { client, is_registered: !registered.is_empty(), findings }
    }

    /// A client that the person did not register is none of our business, unless it was asked for, or nothing at all is
    /// registered.
    fn require_registration(&mut self, any: bool, named: bool) {
        let agent = self.client.agent;
        if self.is_registered || self.findings.iter().any(|finding| finding.check == "registered") {
            return;
        }
        let advice = format!("`checkstone init --agent {}` registers it", agent.name());
        let finding = match (&self.client.program, any && !named) {
            (None, _) if !named => return,
            (Some(_), true) => Finding::note(agent, "registered", "no"),
            _ => Finding::problem(agent, "registered", "no, so nothing is held there")
                .remedy(Remedy::register(agent)),
        };
        let place = self.findings.iter().position(|finding| finding.check != "installed");
        let place = place.unwrap_or(self.findings.len());
        self.findings.insert(place, finding.advice(advice));
    }
}

/// Whose status line is shown, where one is set: ours has to call a program that is there.
fn shown_line(agent: Agent, root: Option<&Path>) -> Option<Finding> {
    let scopes = root.map(Scope::Project).into_iter().chain([Scope::User]);
    let files = scopes.filter_map(|scope| ClientFiles::of(agent, scope));
    let (file, owner) = files.into_iter().find_map(|files| {
        let text = SettingsFile::read(&files.settings).ok()?.text?;
        let owner =
            status_line::owner(agent, &text).ok().filter(|owner| *owner != StatusLineOwner::Nobody)?;
        Some((files.settings, owner))
    })?;
    let remedy = Remedy::status_line_in(agent, &file, root);
    let (file, check) = (home_relative(&file), "status");
    Some(match owner {
        StatusLineOwner::Ours(program) if program.starts_with('/') && !Path::new(&program).is_file() => {
            Finding::problem(
                agent,
                check,
                format!("the status line in `{file}` calls `{}`, which does not exist", visible(&program)),
            )
            .advice(format!("`checkstone init --agent {} --statusline` corrects it", agent.name()))
            .remedy(remedy)
        }
        StatusLineOwner::Ours(_) => {
            Finding::good(agent, check, format!("the status line in `{file}` is ours"))
        }
        StatusLineOwner::Others | StatusLineOwner::Nobody => {
            Finding::note(agent, check, format!("the status line in `{file}` is your own"))
        }
    })
}

/// Whether our MCP server can be started, where the client has one of our name.
fn mcp_server(agent: Agent, root: Option<&Path>) -> Option<Finding> {
    let (file, owner) = mcp_registration::found(agent, root)?;
    let (file, check) = (home_relative(&file), "mcp");
    Some(match owner {
        McpOwner::Ours(program) if mcp_registration::is_gone(&program) => {
            let text = format!("the MCP server in `{file}` is `{}`, which does not exist", visible(&program));
            Finding::problem(agent, check, text)
                .advice(format!("`checkstone init --mcp --agent {}` corrects it", agent.name()))
        }
        McpOwner::Ours(_) if !cfg!(feature = "mcp") => {
            let text = format!("the MCP server in `{file}` is ours, and this build has none");
            Finding::note(agent, check, text).advice("install a build with `--features full`")
        }
        McpOwner::Ours(_) => Finding::good(agent, check, format!("the MCP server in `{file}` is ours")),
        McpOwner::Others | McpOwner::Nobody => {
            Finding::note(agent, check, format!("the MCP server `checkstone` in `{file}` is your own"))
        }
    })
}

/// Servers that `init` registered and the client does not find.
fn lost_servers(agent: Agent, root: Option<&Path>) -> Vec<Finding> {
    let Some(state) = environment::state_directory() else { return Vec::new() };
    let again = format!("`checkstone init --mcp --agent {}` registers it again", agent.name());
    let lost = mcp_registration::lost(agent, root, &state).into_iter().map(|(file, lost)| match lost {
        LostServer::Unreadable(problem) => {
            let text = problem.sentence(&file, Some("in which the MCP server was registered"));
            // The client may find it there.
            let finding = if problem.is_of_client_too() { Finding::problem } else { Finding::note };
            finding(agent, "mcp", text).advice(problem.advice())
        }
        LostServer::Removed => {
            let text = format!("the MCP server is no longer in `{}`", home_relative(&file));
            Finding::note(agent, "mcp", text).advice(again.clone())
        }
    });
    lost.collect()
}

/// How the client is registered, and whether that works.
fn registration(
    client: &Client,
    root: Option<&Path>,
    folder: &Path,
    interruption: &Interruption,
) -> (Vec<Registered>, Vec<Finding>) {
    let agent = client.agent;
    let mut found = registered::find(client, root, interruption);
    let mut findings: Vec<Finding> = found
        .unreadable
        .iter()
        .map(|(file, problem)| {
            Finding::problem(agent, "registered", problem.sentence(file, None)).advice(problem.advice())
        })
        .collect();
    let mut trust = Vec::new();
    if let Some(question) = &host(agent).trust
        && let (Some(program), Some(files)) = (&client.program, ClientFiles::of(agent, Scope::User))
        && hook_trust::may_know_us(agent, question, &files.folder, root)
    {
        let folder = root.unwrap_or(folder);
        match hook_trust::ask(agent, question, program, &files.folder, folder, interruption) {
            Ok(known) => {
                trust.extend(trusted(agent, question, &known, &found.registered));
                // It leaves out events that it does not know, and adds other files and its plugins.
                let same = |one: &Registered, other: &Registered| {
                    fs_err::canonicalize(&one.file).ok() == fs_err::canonicalize(&other.file).ok()
                };
                for told in registered::by_client(&known) {
                    if !found.registered.iter().any(|in_file| same(in_file, &told)) {
                        found.registered.push(told);
                    }
                }
            }
            Err(why) => trust.push(
                Finding::problem(agent, "trusted", format!("unknown: {why}")).advice(question.if_silent),
            ),
        }
    }
    for registered in &found.registered {
        findings.push(described(agent, registered, root));
    }
    if found.registered.len() > 1 {
        findings.push(
            Finding::note(
                agent,
                "registered",
                "more than once: every event starts the hook that many times, but the turn is held only once",
            )
            .advice("keep one of them"),
        );
    }
    if let (Some(why), false) = (&found.switched_off, found.registered.is_empty()) {
        findings.push(
            Finding::problem(agent, "switch", format!("{why}, so no hook runs"))
                .advice("remove it from the file"),
        );
    }
    findings.extend(trust);
    for registered in &found.registered {
        findings.push(fires(agent, registered, root, interruption));
    }
    findings.extend(surfaces(agent).filter(|_| !found.registered.is_empty()));
    (found.registered, findings)
}

fn described(agent: Agent, registered: &Registered, root: Option<&Path>) -> Finding {
    let file = home_relative(&registered.file);
    let recorded = environment::state_directory()
        .is_some_and(|state| installed::of_file(&state, agent.name(), &registered.file).is_some());
    let by = if recorded { "by `checkstone init`" } else { "by hand" };
    let whose = match (registered.way, agent) {
        (Way::User, _) => format!("for every repository, {by}"),
        (Way::Project, _) => format!("for this repository, {by}"),
        (Way::Package, _) => {
            let kind = host(agent).files.package.as_ref().map_or("plugin", |package| package.kind);
            format!("by the {kind}")
        }
    };
    let missing = registered.missing(agent);
    if missing.contains(&rehearsal::registered_stop(agent)) {
        let text = format!(
            "`{file}` {whose}, but not for `{}`, so nothing is held",
            rehearsal::registered_stop(agent)
        );
        return Finding::problem(agent, "registered", text)
            .advice("`checkstone init` adds it")
            .remedy(registered.remedy(agent, root));
    }
    // A package has them all; an older client does not tell of those that it does not know.
    if !missing.is_empty() && registered.way != Way::Package {
        let names: Vec<String> = missing.iter().map(|event| format!("`{event}`")).collect();
        return Finding::note(agent, "registered", format!("`{file}` {whose}, without {}", names.join(", ")))
            .advice("`checkstone init` adds what is missing")
            .remedy(registered.remedy(agent, root));
    }
    Finding::good(agent, "registered", format!("`{file}` {whose}"))
}

/// What the client says of the hooks that it is to run.
fn trusted(
    agent: Agent,
    question: &TrustQuestion,
    known: &[KnownHook],
    in_files: &[Registered],
) -> Option<Finding> {
    let client = host(agent).short_title;
    if known.is_empty() {
        let text = format!("{client} does not know the hook: its file is not read, or hooks are off");
        return (!in_files.is_empty())
            .then(|| Finding::problem(agent, "trusted", text).advice(question.if_unknown));
    }
    let idle: Vec<String> =
        known.iter().filter(|hook| !hook.runs()).map(|hook| format!("`{}`", hook.event)).collect();
    if idle.is_empty() {
        return Some(Finding::good(agent, "trusted", format!("{client} runs all of them")));
    }
    let why = if known.iter().any(|hook| hook.is_modified) {
        "it was changed since you trusted it"
    } else if known.iter().all(|hook| hook.is_enabled) {
        "you have not trusted it yet"
    } else {
        "it is disabled"
    };
    let which = if idle.len() == known.len() { "the hook".to_owned() } else { idle.join(", ") };
    Some(
        Finding::problem(agent, "trusted", format!("{client} does not run {which}: {why}"))
            .advice(question.if_untrusted),
    )
}

/// Where the client is used as well, and no hook fires, or nobody knows.
fn surfaces(agent: Agent) -> Option<Finding> {
    let listed = |what: &str, surfaces: &[&str]| {
        (!surfaces.is_empty()).then(|| format!("{what} {}", surfaces.join("; ")))
    };
    let silent = listed("your hooks do not fire in", host(agent).silent_in);
    let untried = listed("not tried in", host(agent).untried_in);
    let told: Vec<String> = silent.into_iter().chain(untried).collect();
    (!told.is_empty()).then(|| Finding::note(agent, "elsewhere", told.join("; ")))
}

fn fires(agent: Agent, registered: &Registered, root: Option<&Path>, interruption: &Interruption) -> Finding {
    match rehearsal::rehearse(agent, registered, interruption) {
        Ok(took) if host(agent).can.shows_results => Finding::good(
            agent,
            "fires",
            format!("held a turn without tests, passed one with tests ({} ms)", took.as_millis()),
        ),
        Ok(took) => Finding::good(
            agent,
            "fires",
            format!(
                "held a turn that changed code ({} ms); {} does not show whether tests passed",
                took.as_millis(),
                host(agent).title
            ),
        ),
        Err(failure) => Finding::problem(agent, "fires", failure.0)
            .advice("check that this command line works, or register it again with `checkstone init`")
            .remedy(registered.remedy(agent, root)),
    }
}

/// The column in which the texts begin.
const INDENT: usize = 15;

fn text(findings: &[Finding], width: Option<usize>) -> String {
    let of = |about: About| findings.iter().filter(move |finding| finding.about == about);
    let is_absent = |about: &About| {
        let found: Vec<&Finding> = of(*about).collect();
        matches!(found[..], [Finding { check: "installed", state: FindingState::Note, .. }])
    };
    let (absent, shown): (Vec<About>, Vec<About>) =
        About::all().filter(|about| of(*about).next().is_some()).partition(is_absent);
    let mut text = String::new();
    for about in shown {
        let _ = writeln!(text, "{STRONG}{}{STRONG:#}", about.title());
        for finding in of(about) {
            let (style, mark) = match finding.state {
                FindingState::Good => (GOOD, "✓"),
                FindingState::Note => (FAINT, "–"),
                FindingState::Problem => (BAD, "✗"),
            };
            let advice =
                finding.advice.as_ref().map(|advice| format!(" → {}", visible(advice))).unwrap_or_default();
            let said = wrap(&format!("{}{advice}", visible(&finding.text)), INDENT, width);
            let _ = writeln!(text, "  {style}{mark}{style:#} {:<10} {said}", finding.check);
        }
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.into_iter().map(About::title).collect();
        let names = format!("Not installed: {}", names.join(", "));
        let _ = writeln!(text, "{FAINT}{}{FAINT:#}", wrap(&names, 0, width));
    }
    text
}

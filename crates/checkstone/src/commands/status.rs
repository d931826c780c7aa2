//! `checkstone status`: what is on here, what was decided last, and where it is kept.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agents::registration::settings;
use anstyle::Style;
use autosave::AutonomousExecution;
use changes::Repository;
use checkpoint::Depth;
use checkpoint::layout::Layout;
use gate::policy::Policy;
use jiff::Timestamp;
use journal::{Author, Journal, Of, switch};
use keeping::snapshot::{Snapshot, Snapshots, WhichWorktrees};
use run::control;
use run::record::Record;
use run::runs::{self, FoundRun};
use run::state::RunState;
use serde::Serialize;
use stop::policy_files::PolicyTexts;
use stop::trust::Standing;
use text::counted;
use transcript::{Agent, visible};
use workflow::{StateDirectory, Summary};

use super::autosave_status::{AutosaveStatus, AutosaveStatusOutput};
use super::explain::{ListedVerdict, listed_lines, recent};
use super::policy::{CheckOutput, files};
use super::snapshot::{SnapshotOutput, about};
use crate::agent_session::AgentSession;
use crate::asked_for::nothing_asked_for;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::git_hook::{GitHookName, KnownGitHook};
use crate::journal_access;
use crate::known_registrations::{self, MissingRegistration};
use crate::printer::{BAD, DOUBTFUL, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;
use crate::unheard_sessions;
use crate::unproven_work::{UnprovenFileOutput, UnprovenWork};

/// Show what is on: the policy of this repository, trust, switches, the last verdicts
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone status
  checkstone status --json | jq .switch")]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/status.schema.json)
    #[arg(long)]
    json: bool,
}

/// How many verdicts are shown.
const VERDICTS: usize = 5;

/// How much of what reduced checking is shown, and for how long.
const REDUCTIONS: usize = 5;
const REDUCTIONS_SHOWN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How many runs are shown.
const RUNS: usize = 5;

pub(crate) fn run(arguments: &StatusArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.repository.folder()?;
    let workflows = StateDirectory::of(&folder, &environment::git());
    let repository = workflows.repository();
    let root = repository.map(|repository| repository.root.as_path());
    if let (false, Some(root)) = (arguments.json, root)
        && let Err(problems) = repository_policy::files(root).user.load()
    {
        let warning = format!("your configuration has mistakes and is not followed:\n{problems}");
        printer.warning(Warning::new(warning));
    }
    let state = journal_access::state_directory()?;
    let mut problem = None;
    let mut journal = or_nothing(journal_access::open_existing(&state), &mut problem);
    let policy = or_nothing(policy(root, journal.as_mut()), &mut problem);
    let session = or_nothing(session(&state, root, journal.as_mut()), &mut problem);
    let of = root.map_or(Of::Everyone, Of::Repository);
    let verdicts = journal.as_mut().map_or(Ok(Vec::new()), |journal| recent(journal, of, VERDICTS));
    let verdicts = or_nothing(verdicts, &mut problem);
    let autosave = or_nothing(AutosaveStatus::of(root, journal.as_mut()), &mut problem);
    let unproven = match (journal.as_mut(), repository) {
        (Some(journal), Some(repository)) => UnprovenWork::of_repository(journal, repository),
        _ => Ok(UnprovenWork::default()),
    };
    let unproven = or_nothing(unproven, &mut problem);
    let beside = match (journal.as_mut(), root) {
        (Some(journal), Some(root)) => unproven_beside(journal, root),
        _ => Ok(Vec::new()),
    };
    let beside = or_nothing(beside, &mut problem);
    let off = off(&policy, session.as_ref())
        .or_else(|| problem.is_some().then(|| "the journal cannot be used".to_owned()));
    let reductions = journal.as_mut().map_or(Ok(Vec::new()), |journal| reductions(journal, &state, root));
    let reductions = or_nothing(reductions, &mut problem);
    let shared = journal.as_mut().map_or(Ok(Vec::new()), |journal| shared_files(journal, root));
    let shared = or_nothing(shared, &mut problem);
    let registrations = journal.as_mut().map_or(Ok(Vec::new()), |journal| {
        Ok(known_registrations::missing(&journal.read(|reader| reader.registrations())?))
    });
    let missing = or_nothing(registrations, &mut problem);
    let git_hooks = repository.map(|repository| KnownGitHook::of_repository(repository, Some(&state)));
    let snapshot = repository.and_then(newest_snapshot);
    let project = root.unwrap_or(&folder);
    let output = StatusOutput {
        version: env!("CARGO_PKG_VERSION"),
        state_directory: state.to_string_lossy(),
        repository: root.map(Path::to_string_lossy),
        policy: policy.output(root),
        trust: policy.trust(),
        switch: SwitchOutput { on: off.is_none(), reason: off },
        session,
        missing_registrations: missing.iter().map(MissingRegistrationOutput::of).collect(),
        git_hooks: git_hooks.unwrap_or_default().iter().map(KnownGitHookOutput::of).collect(),
        reductions,
        shared_files: shared,
        journal_problem: problem,
        unproven: unproven.output(),
        unproven_beside: beside.iter().map(UnprovenBeside::of).collect(),
        verdicts,
        autonomous_execution: autosave.execution(),
        autosave: autosave.output(),
        snapshot: snapshot.as_ref().map(SnapshotOutput::of),
        last_checkpoint: LastCheckpoint::newest(project),
        resumable: resumable(&workflows).into_iter().chain(unfinished_runs(project)).collect(),
    };
    printer.answer(arguments.json, &output, || {
        output.text(&policy, &unproven, &autosave, snapshot.as_ref().map(about), printer.width())
    })
}

#[derive(Default)]
enum PolicyState {
    #[default]
    None,
    Broken {
        texts: PolicyTexts,
        problems: Vec<String>,
    },
    Sound {
        texts: PolicyTexts,
        policy: Box<Policy>,
        standing: Standing,
        /// Why nothing is asked for here, if so.
        nothing_asked_for: Option<String>,
    },
}

/// What was read. What is wrong with the journal is part of the answer, so that nothing stands for what it hides.
fn or_nothing<T: Default>(read: Result<T, CommandError>, problem: &mut Option<String>) -> T {
    read.unwrap_or_else(|error| {
        *problem = Some(error.message().to_owned());
        T::default()
    })
}

impl PolicyState {
    fn output(&self, root: Option<&Path>) -> PolicyOutput<'_> {
        let root = root.unwrap_or(Path::new(""));
        let (state, texts, presets, problems) = match self {
            Self::None => ("none", None, &[][..], &[][..]),
            Self::Broken { texts, problems } => ("broken", Some(texts), &[][..], problems.as_slice()),
            Self::Sound { texts, policy, .. } => ("sound", Some(texts), policy.presets.as_slice(), &[][..]),
        };
        let files = texts.map(|texts| files(root, texts)).unwrap_or_default();
        PolicyOutput { state, files, presets, problems }
    }

    fn trust(&self) -> TrustOutput<'_> {
        match self {
            Self::Sound { standing, .. } => TrustOutput {
                state: standing.word(),
                ignored: standing.ignored.iter().map(CheckOutput::of).collect(),
            },
            _ => TrustOutput { state: "untrusted", ignored: Vec::new() },
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::None => "none, so every stop passes".to_owned(),
            Self::Broken { problems, .. } => {
                let count = counted(problems.len(), "mistake");
                format!("{BAD}broken{BAD:#}: {count}, see `checkstone policy check`")
            }
            Self::Sound { texts, policy, .. } => {
                let mut from: Vec<String> = texts.texts.iter().map(|text| text.name.clone()).collect();
                from.extend(policy.presets.iter().map(|preset| format!("preset {preset}")));
                let nothing = self.nothing_asked_for().map(|why| format!(": {why} (`checkstone doctor`)"));
                format!("{}{}", from.join(", "), nothing.unwrap_or_default())
            }
        }
    }

    fn nothing_asked_for(&self) -> Option<&str> {
        match self {
            Self::Sound { nothing_asked_for, .. } => nothing_asked_for.as_deref(),
            Self::None | Self::Broken { .. } => None,
        }
    }

    /// Only where there is something that needs it.
    fn trust_sentence(&self) -> Option<String> {
        let Self::Sound { standing, .. } = self else { return None };
        if standing.trust == journal::Trust::Trusted {
            return Some(format!("{GOOD}given{GOOD:#}"));
        }
        let mut ignored = Vec::new();
        if !standing.ignored.is_empty() {
            ignored.push(counted(standing.ignored.len(), "check"));
        }
        if standing.ignores_snapshots {
            ignored.push("snapshots at the start of turns".to_owned());
        }
        if ignored.is_empty() {
            return None;
        }
        let why = match standing.trust {
            journal::Trust::Changed => "withdrawn, for the file has changed",
            _ => "not given",
        };
        let ignored = ignored.join(" and ");
        Some(format!("{DOUBTFUL}{why}{DOUBTFUL:#}: {ignored} ignored, see `checkstone trust`"))
    }
}

/// What `checkstone status --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Status"))]
pub(crate) struct StatusOutput<'a> {
    version: &'static str,
    state_directory: Cow<'a, str>,
    repository: Option<Cow<'a, str>>,
    policy: PolicyOutput<'a>,
    trust: TrustOutput<'a>,
    switch: SwitchOutput,
    /// The agent session that asks.
    session: Option<CallingSession>,
    /// Settings files from which our hooks vanished.
    missing_registrations: Vec<MissingRegistrationOutput>,
    /// Hooks of git's in this repository that verify, or should.
    git_hooks: Vec<KnownGitHookOutput>,
    /// What reduced checking in the last days, or tried to; newest first.
    reductions: Vec<ReductionOutput>,
    /// Files that two sessions changed at the same time in the last days, by the one that stopped later; newest first.
    shared_files: Vec<SharedFilesOutput>,
    journal_problem: Option<String>,
    /// Files of the working tree whose present content is unproven, the newest first.
    unproven: Vec<UnprovenFileOutput>,
    /// The same in other repositories that the last session here worked in.
    unproven_beside: Vec<UnprovenBeside>,
    verdicts: Vec<ListedVerdict>,
    autonomous_execution: AutonomousExecution,
    autosave: AutosaveStatusOutput<'a>,
    /// The newest snapshot of this working tree.
    snapshot: Option<SnapshotOutput<'a>>,
    /// The newest checkpoint of all runs of this project.
    #[serde(rename = "lastCheckpoint")]
    last_checkpoint: Option<LastCheckpoint>,
    /// What was begun and not finished.
    resumable: Vec<Resumable>,
}

/// What is unproven in another repository.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct UnprovenBeside {
    repository: String,
    files: Vec<UnprovenFileOutput>,
    #[serde(skip)]
    sentence: String,
}

impl UnprovenBeside {
    fn of((root, unproven): &(PathBuf, UnprovenWork)) -> Self {
        Self {
            repository: root.to_string_lossy().into_owned(),
            files: unproven.output(),
            sentence: unproven.sentence().unwrap_or_default(),
        }
    }
}

/// What the session that was last seen here left unproven in other repositories.
fn unproven_beside(journal: &mut Journal, root: &Path) -> Result<Vec<(PathBuf, UnprovenWork)>, CommandError> {
    let last = journal.read(|reader| reader.sessions_in(root, 1))?;
    let Some(last) = last.first() else { return Ok(Vec::new()) };
    let mut beside = UnprovenWork::beside(journal, last.id, Some(root))?;
    beside.retain(|(_, unproven)| unproven.files() > 0);
    Ok(beside)
}

impl StatusOutput<'_> {
    fn text(
        &self,
        policy: &PolicyState,
        unproven: &UnprovenWork,
        autosave: &AutosaveStatus,
        about_snapshot: Option<String>,
        width: Option<usize>,
    ) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{STRONG}{name:<11}{STRONG:#} {value}");
        };
        match &self.switch.reason {
            None if policy.nothing_asked_for().is_some() => {
                let nothing = "on, but nothing is asked for in this repository";
                line("gate", &format!("{DOUBTFUL}{nothing}{DOUBTFUL:#}"));
            }
            None if !known_registrations::any_is_there(self.repository.as_deref().map(Path::new)) => {
                let uncalled = "on here, but no client calls `checkstone hook`";
                line("gate", &format!("{DOUBTFUL}{uncalled}{DOUBTFUL:#} (`checkstone init`)"));
            }
            None => line("gate", &format!("{GOOD}on{GOOD:#}, for every client that calls `checkstone hook`")),
            Some(reason) => line("gate", &format!("{BAD}off{BAD:#}: {reason}")),
        }
        line("repository", self.repository.as_deref().unwrap_or("none here"));
        line("policy", &policy.sentence());
        if let Some(trust) = policy.trust_sentence() {
            line("trust", &trust);
        }
        if let Some(unproven) = unproven.sentence() {
            line("unproven", &format!("{BAD}{unproven}{BAD:#} (`checkstone verify`)"));
        }
        for UnprovenBeside { repository, sentence, .. } in &self.unproven_beside {
            line("unproven", &format!("{BAD}{sentence}{BAD:#}, in {}", visible(repository)));
        }
        if let Some(session) = &self.session {
            let slug = session.slug.as_deref().map(|slug| format!(", work item {}", visible(slug)));
            let off = if session.on { "" } else { ", switched off" };
            let (agent, id) = (session.agent.name(), visible(&session.id));
            line("session", &format!("{agent} {id}{}{off}", slug.unwrap_or_default()));
        }
        for missing in &self.missing_registrations {
            let client = settings::client(missing.agent);
            line("hooks", &format!("{BAD}{client}{BAD:#}: {}", missing.what));
        }
        for KnownGitHookOutput { verifies, sentence, .. } in &self.git_hooks {
            let style = if *verifies { Style::new() } else { BAD };
            line("git hook", &format!("{style}{sentence}{style:#}"));
        }
        for (name, value) in autosave.lines() {
            line(name, &value);
        }
        if let (Some(snapshot), Some(about)) = (&self.snapshot, about_snapshot) {
            line("snapshot", format!("{} {about}", snapshot.id).trim_end());
        }
        // In the sandbox of an agent this is so, and its hooks are not in there.
        let unwritable = match journal_access::is_writable(Path::new(&*self.state_directory)) {
            true => String::new(),
            false => {
                format!(", {DOUBTFUL}which cannot be written from here{DOUBTFUL:#} (`checkstone doctor`)")
            }
        };
        line("state", &format!("{}{unwritable}", self.state_directory));
        if let Some(problem) = &self.journal_problem {
            line("journal", &format!("{BAD}{}{BAD:#}", visible(problem)));
        }
        for resumable in &self.resumable {
            line("resumable", &resumable.sentence());
        }
        if let Some(LastCheckpoint { checkpoint_id, stage_id, standing, resumable, .. }) =
            &self.last_checkpoint
        {
            let broken = if *resumable { "" } else { ", not valid" };
            let (id, stage) = (visible(checkpoint_id), visible(stage_id));
            line("checkpoint", &format!("{id} of {stage}, {standing}{broken}"));
        }
        if !self.reductions.is_empty() {
            let _ = writeln!(text, "\n{STRONG}What reduced checking{STRONG:#}");
            text.extend(self.reductions.iter().map(ReductionOutput::line));
        }
        if !self.shared_files.is_empty() {
            let _ = writeln!(text, "\n{STRONG}Sessions in the same files{STRONG:#}");
            for SharedFilesOutput { at, agent, text: said, .. } in &self.shared_files {
                let _ = writeln!(text, "  {at}  {}: {}", agent.as_deref().unwrap_or_default(), visible(said));
            }
        }
        if !self.verdicts.is_empty() {
            let _ = writeln!(text, "\n{STRONG}Last verdicts{STRONG:#} (`checkstone explain ID`)");
            text.push_str(&listed_lines(&self.verdicts, width));
        }
        text
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MissingRegistration"))]
struct MissingRegistrationOutput {
    agent: Agent,
    file: String,
    /// When the hooks were seen there last.
    seen_at: String,
    #[serde(skip)]
    what: String,
}

impl MissingRegistrationOutput {
    fn of(missing: &MissingRegistration) -> Self {
        Self {
            agent: missing.agent,
            file: missing.file.to_string_lossy().into_owned(),
            seen_at: missing.seen_at.to_string(),
            what: missing.what(),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KnownGitHook"))]
struct KnownGitHookOutput {
    hook: GitHookName,
    file: String,
    /// Whether `checkstone verify` runs.
    verifies: bool,
    /// Why not.
    problem: Option<String>,
    #[serde(skip)]
    sentence: String,
}

impl KnownGitHookOutput {
    fn of(hook: &KnownGitHook) -> Self {
        Self {
            hook: hook.name,
            file: hook.file.to_string_lossy().into_owned(),
            verifies: hook.problem.is_none(),
            problem: hook.problem.clone(),
            sentence: hook.sentence(),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Reduction"))]
struct ReductionOutput {
    at: String,
    /// Who did it, as well as that is known: `during-turn` is somebody while an agent worked.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["person", "agent", "during-turn", "unknown"])))]
    author: &'static str,
    agent: Option<String>,
    /// The client's own id of the session.
    session: Option<String>,
    text: String,
}

impl ReductionOutput {
    fn line(&self) -> String {
        let who = match (self.author, &self.agent) {
            ("person", _) => "a person".to_owned(),
            ("agent", Some(agent)) => agent.clone(),
            ("during-turn", Some(agent)) => format!("in a turn of {agent}"),
            _ => "unknown".to_owned(),
        };
        format!("  {}  {who}: {}\n", self.at, visible(&self.text))
    }
}

/// What the person of one session was told.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SharedFiles"))]
struct SharedFilesOutput {
    at: String,
    agent: Option<String>,
    /// The client's own id of the session.
    session: Option<String>,
    text: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Policy"))]
struct PolicyOutput<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["none", "sound", "broken"])))]
    state: &'static str,
    /// The files that it comes from, in the order in which they apply.
    files: Vec<String>,
    presets: &'a [String],
    problems: &'a [String],
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Trust"))]
struct TrustOutput<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["trusted", "changed", "untrusted"])))]
    state: &'static str,
    /// What is ignored for lack of trust.
    ignored: Vec<CheckOutput<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Switch"))]
struct SwitchOutput {
    on: bool,
    /// Why the gate is off.
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CallingSession {
    agent: Agent,
    id: String,
    slug: Option<String>,
    on: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct LastCheckpoint {
    checkpoint_id: String,
    stage_id: String,
    created_at: String,
    status: &'static str,
    /// Whether a run can go on from it: it is valid, or what is missing is kept.
    resumable: bool,
    #[serde(skip)]
    standing: &'static str,
}

impl LastCheckpoint {
    fn newest(project: &Path) -> Option<Self> {
        let newest = checkpoint::list(project, None, None).ok()?.checkpoints.into_iter().next()?;
        let layout = Layout::new(project, &newest.report_title, &newest.run_id).ok()?;
        let checked = checkpoint::validate(&layout, &newest.checkpoint_id, Depth::Quick);
        Some(Self {
            resumable: checked.is_ok_and(|checked| checked.is_usable()),
            standing: newest.standing(),
            status: newest.status.name(),
            checkpoint_id: newest.checkpoint_id,
            stage_id: newest.stage_id,
            created_at: newest.created_at,
        })
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Resumable {
    Workflow {
        command: String,
        feature: Option<String>,
        /// The phase to go on with.
        phase: Option<String>,
        status: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    Run {
        report_title: String,
        run_id: String,
        /// The state of the run.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["INTERRUPTED", "ABORTED", "FAILED"])))]
        status: &'static str,
    },
}

impl Resumable {
    fn sentence(&self) -> String {
        match self {
            Self::Workflow { command, feature, phase, status } => {
                let feature = feature.as_ref().map(|feature| format!(" ({})", visible(feature)));
                let phase = visible(phase.as_deref().unwrap_or_default());
                let status = status.as_deref().unwrap_or_default().replace('_', " ");
                format!("workflow {}{}: {phase} {status}", visible(command), feature.unwrap_or_default())
            }
            Self::Run { report_title, run_id, status } => {
                let (title, name) = (visible(report_title), visible(run_id));
                format!("run {name} of {title}: {status}, `checkstone resume {name}`")
            }
        }
    }
}

/// Where git cannot be asked, there is none to tell of.
fn newest_snapshot(repository: &Repository) -> Option<Snapshot> {
    let snapshots = Snapshots::of(repository.clone(), &environment::git()).ok()?;
    snapshots.list(WhichWorktrees::ThisWorktree).ok()?.into_iter().next()
}

/// Unfinished workflows; what cannot be read cannot be resumed.
fn resumable(workflows: &StateDirectory) -> Vec<Resumable> {
    let (listed, _) = workflows.list().unwrap_or_default();
    let summaries = listed.iter().map(|one| Summary::of(&one.stem, &one.workflow));
    let unfinished = summaries.filter(|summary| summary.phase.is_some());
    let resumable = unfinished.map(|Summary { command, feature, phase, phase_status, .. }| {
        Resumable::Workflow { command, feature, phase, status: phase_status }
    });
    resumable.collect()
}

/// The newest few that are not complete and that nobody has in hand. They are called what their folders are called, which
/// is what `resume` knows them by.
fn unfinished_runs(project: &Path) -> Vec<Resumable> {
    let found = runs::all(project).into_iter().filter(|found| !control::is_taken(&found.layout));
    let unfinished = found.filter_map(|FoundRun { layout, .. }| {
        let record = Record::read(&layout.events()).ok().filter(Record::is_unfinished)?;
        let status = match record.state {
            // Its supervisor is lost.
            RunState::InProgress | RunState::Planned => RunState::Interrupted.name(),
            state => state.name(),
        };
        let (report_title, run_id) = (layout.title().to_owned(), layout.run().to_owned());
        Some(Resumable::Run { report_title, run_id, status })
    });
    unfinished.take(RUNS).collect()
}

fn policy(root: Option<&Path>, journal: Option<&mut Journal>) -> Result<PolicyState, CommandError> {
    let Some(root) = root else { return Ok(PolicyState::None) };
    let Some(texts) = repository_policy::of(root) else { return Ok(PolicyState::None) };
    let policy = match texts.load() {
        Ok(policy) => policy,
        Err(problems) => {
            let problems = problems.0.iter().map(ToString::to_string).collect();
            return Ok(PolicyState::Broken { texts, problems });
        }
    };
    let standing = journal_access::standing(journal, &texts, &policy)?;
    let nothing_asked_for = nothing_asked_for(root, &policy).map(|(why, _)| why);
    Ok(PolicyState::Sound { texts, policy: Box::new(policy), standing, nothing_asked_for })
}

fn session(
    state: &Path,
    root: Option<&Path>,
    mut journal: Option<&mut Journal>,
) -> Result<Option<CallingSession>, CommandError> {
    let Some(session) = AgentSession::calling(journal.as_deref_mut(), root)? else { return Ok(None) };
    let slug = session.recorded(journal)?.and_then(|recorded| recorded.slug);
    let on = !switch::is_off(state, session.agent.name(), &session.id);
    Ok(Some(CallingSession { agent: session.agent, id: session.id, slug, on }))
}

/// What was noted, and sessions whose hooks are not called.
fn reductions(
    journal: &mut Journal,
    state: &Path,
    root: Option<&Path>,
) -> Result<Vec<ReductionOutput>, CommandError> {
    let since = Timestamp::now().checked_sub(REDUCTIONS_SHOWN).unwrap_or(Timestamp::MIN);
    let unheard = match root {
        Some(root) => unheard_sessions::find(journal, state, root, since)?,
        None => Vec::new(),
    };
    let unheard = unheard.into_iter().map(|unheard| ReductionOutput {
        at: format!("{:.0}", unheard.prompt_at),
        author: Author::Unknown.as_str(),
        text: unheard.sentence(),
        agent: Some(unheard.session.agent),
        session: Some(unheard.session.client_id),
    });
    let noted = journal.read(|reader| reader.recent_notices(root, since, REDUCTIONS))?;
    let noted = noted.into_iter().map(|notice| ReductionOutput {
        at: format!("{:.0}", notice.at),
        author: notice.author.as_str(),
        agent: notice.agent,
        session: notice.client_id,
        text: notice.text,
    });
    Ok(unheard.chain(noted).collect())
}

fn shared_files(journal: &mut Journal, root: Option<&Path>) -> Result<Vec<SharedFilesOutput>, CommandError> {
    let since = Timestamp::now().checked_sub(REDUCTIONS_SHOWN).unwrap_or(Timestamp::MIN);
    let noted = journal.read(|reader| reader.shared_files(root, since, REDUCTIONS))?;
    let output = noted.into_iter().map(|notice| SharedFilesOutput {
        at: format!("{:.0}", notice.at),
        agent: notice.agent,
        session: notice.client_id,
        text: notice.text,
    });
    Ok(output.collect())
}

fn off(policy: &PolicyState, session: Option<&CallingSession>) -> Option<String> {
    let reason = if environment::is_switched_off() {
        "`CHECKSTONE=off` is set"
    } else if session.is_some_and(|session| !session.on) {
        "this session is switched off (`checkstone session --on`)"
    } else {
        match policy {
            PolicyState::None => "there is no policy here",
            PolicyState::Broken { .. } => "the policy is broken",
            PolicyState::Sound { policy, .. } if !policy.gate.enabled => "`enabled = false` in the policy",
            PolicyState::Sound { .. } => return None,
        }
    };
    Some(reason.to_owned())
}

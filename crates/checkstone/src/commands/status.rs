//! `checkstone status`: what is on here, what was decided last, and where it is kept.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use autosave::AutonomousExecution;
use changes::Repository;
use checkpoint::ListedCheckpoint;
use gate::policy::Policy;
use journal::{Journal, Of, switch};
use keeping::snapshot::{Snapshot, Snapshots, WhichWorktrees};
use run::record::Record;
use run::state::RunState;
use run::{control, runs};
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
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy;

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

/// How many runs are shown.
const RUNS: usize = 5;

pub(crate) fn run(arguments: &StatusArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.repository.folder()?;
    let status = Status::of(&folder)?;
    if let (false, Some(root)) = (arguments.json, &status.root)
        && let Err(problems) = repository_policy::files(root).user.load()
    {
        let warning = format!("your configuration has mistakes and is not followed:\n{problems}");
        printer.warning(Warning::new(warning));
    }
    printer.answer(arguments.json, &status.output(), || status.text(printer.width()))
}

/// Everything that is told.
struct Status {
    state: PathBuf,
    root: Option<PathBuf>,
    policy: PolicyState,
    session: Option<CallingSession>,
    /// Why the gate is off; `None` where it is on.
    off: Option<String>,
    journal_problem: Option<String>,
    verdicts: Vec<ListedVerdict>,
    /// Unfinished workflows.
    resumable: Vec<Summary>,
    /// The newest of this working tree.
    snapshot: Option<Snapshot>,
    autosave: AutosaveStatus,
    /// Runs that nobody has in hand and that are not complete.
    runs: Vec<Record>,
    last_checkpoint: Option<ListedCheckpoint>,
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

impl Status {
    fn of(folder: &Path) -> Result<Self, CommandError> {
        let workflows = StateDirectory::of(folder, &environment::git());
        let repository = workflows.repository();
        let root = repository.map(|repository| repository.root.as_path());
        let state = journal_access::state_directory()?;
        let mut problem = None;
        let mut journal = or_nothing(journal_access::open_existing(&state), &mut problem);
        let policy = or_nothing(policy(root, journal.as_mut()), &mut problem);
        let session = or_nothing(session(&state, root, journal.as_mut()), &mut problem);
        let of = root.map_or(Of::Everyone, Of::Repository);
        let verdicts = journal.as_mut().map_or(Ok(Vec::new()), |journal| recent(journal, of, VERDICTS));
        let verdicts = or_nothing(verdicts, &mut problem);
        let autosave = or_nothing(AutosaveStatus::of(root, journal.as_mut()), &mut problem);
        let off = off(&policy, session.as_ref())
            .or_else(|| problem.is_some().then(|| "the journal cannot be used".to_owned()));
        let project = root.unwrap_or(folder);
        let checkpoints = checkpoint::list(project, None, None).ok();
        Ok(Self {
            state,
            root: root.map(Path::to_owned),
            policy,
            session,
            off,
            journal_problem: problem,
            verdicts,
            resumable: resumable(&workflows),
            snapshot: repository.and_then(newest_snapshot),
            autosave,
            runs: unfinished_runs(project),
            last_checkpoint: checkpoints.and_then(|listing| listing.checkpoints.into_iter().next()),
        })
    }

    fn output(&self) -> StatusOutput<'_> {
        let (state, texts, presets, problems) = match &self.policy {
            PolicyState::None => ("none", None, &[][..], &[][..]),
            PolicyState::Broken { texts, problems } => ("broken", Some(texts), &[][..], problems.as_slice()),
            PolicyState::Sound { texts, policy, .. } => {
                ("sound", Some(texts), policy.presets.as_slice(), &[][..])
            }
        };
        let root = self.root.as_deref().unwrap_or(Path::new(""));
        let trust = match &self.policy {
            PolicyState::Sound { standing, .. } => TrustOutput {
                state: standing.word(),
                ignored: standing.ignored.iter().map(CheckOutput::of).collect(),
            },
            _ => TrustOutput { state: "untrusted", ignored: Vec::new() },
        };
        let workflows = self.resumable.iter().map(|workflow| Resumable::Workflow {
            command: &workflow.command,
            feature: workflow.feature.as_deref(),
            phase: workflow.phase.as_deref(),
            status: workflow.phase_status.as_deref(),
        });
        let runs = self.runs.iter().map(|run| Resumable::Run {
            report_title: &run.title,
            run_id: &run.run,
            status: state_of(run),
        });
        StatusOutput {
            version: env!("CARGO_PKG_VERSION"),
            state_directory: self.state.to_string_lossy(),
            repository: self.root.as_ref().map(|root| root.to_string_lossy()),
            policy: PolicyOutput {
                state,
                files: texts.map(|texts| files(root, texts)).unwrap_or_default(),
                presets,
                problems,
            },
            trust,
            switch: SwitchOutput { on: self.off.is_none(), reason: self.off.as_deref() },
            session: self.session.as_ref(),
            journal_problem: self.journal_problem.as_deref(),
            verdicts: &self.verdicts,
            autonomous_execution: self.autosave.execution(),
            autosave: self.autosave.output(),
            snapshot: self.snapshot.as_ref().map(SnapshotOutput::of),
            last_checkpoint: self.last_checkpoint.as_ref().map(|checkpoint| LastCheckpoint {
                checkpoint_id: &checkpoint.checkpoint_id,
                stage_id: &checkpoint.stage_id,
                created_at: &checkpoint.created_at,
                status: checkpoint.status.name(),
            }),
            resumable: workflows.chain(runs).collect(),
        }
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{STRONG}{name:<11}{STRONG:#} {value}");
        };
        match &self.off {
            None if self.nothing_asked_for().is_some() => {
                line(
                    "gate",
                    &format!("{DOUBTFUL}on, but nothing is asked for in this repository{DOUBTFUL:#}"),
                );
            }
            None => line("gate", &format!("{GOOD}on{GOOD:#}, for every client that calls `checkstone hook`")),
            Some(reason) => line("gate", &format!("{BAD}off{BAD:#}: {reason}")),
        }
        match &self.root {
            Some(root) => line("repository", &root.to_string_lossy()),
            None => line("repository", "none here"),
        }
        line("policy", &self.policy_sentence());
        if let Some(trust) = self.trust_sentence() {
            line("trust", &trust);
        }
        if let Some(state) = &self.session {
            let slug = state.slug.as_deref().map(|slug| format!(", work item {}", visible(slug)));
            let off = if state.on { "" } else { ", switched off" };
            let (agent, id) = (state.agent.name(), visible(&state.id));
            line("session", &format!("{agent} {id}{}{off}", slug.unwrap_or_default()));
        }
        for (name, value) in self.autosave.lines() {
            line(name, &value);
        }
        if let Some(snapshot) = &self.snapshot {
            line("snapshot", format!("{} {}", snapshot.id, about(snapshot)).trim_end());
        }
        // In the sandbox of an agent this is so, and its hooks are not in there.
        let unwritable = match journal_access::is_writable(&self.state) {
            true => String::new(),
            false => {
                format!(", {DOUBTFUL}which cannot be written from here{DOUBTFUL:#} (`checkstone doctor`)")
            }
        };
        line("state", &format!("{}{unwritable}", self.state.to_string_lossy()));
        if let Some(problem) = &self.journal_problem {
            line("journal", &format!("{BAD}{}{BAD:#}", visible(problem)));
        }
        for workflow in &self.resumable {
            let feature = workflow.feature.as_ref().map(|feature| format!(" ({})", visible(feature)));
            let phase = visible(workflow.phase.as_deref().unwrap_or_default());
            let status = workflow.phase_status.as_deref().unwrap_or_default().replace('_', " ");
            let (command, feature) = (visible(&workflow.command), feature.unwrap_or_default());
            line("resumable", &format!("workflow {command}{feature}: {phase} {status}"));
        }
        for run in &self.runs {
            let (title, name) = (visible(&run.title), visible(&run.run));
            line(
                "resumable",
                &format!("run {name} of {title}: {}, `checkstone resume {name}`", state_of(run)),
            );
        }
        if let Some(checkpoint) = &self.last_checkpoint {
            let (id, stage) = (visible(&checkpoint.checkpoint_id), visible(&checkpoint.stage_id));
            line("checkpoint", &format!("{id} of {stage}, {}", checkpoint.status.name()));
        }
        if !self.verdicts.is_empty() {
            let _ = writeln!(text, "\n{STRONG}Last verdicts{STRONG:#} (`checkstone explain ID`)");
            text.push_str(&listed_lines(&self.verdicts, width));
        }
        text
    }

    fn policy_sentence(&self) -> String {
        match &self.policy {
            PolicyState::None => "none, so every stop passes".to_owned(),
            PolicyState::Broken { problems, .. } => {
                let count = counted(problems.len(), "mistake");
                format!("{BAD}broken{BAD:#}: {count}, see `checkstone policy check`")
            }
            PolicyState::Sound { texts, policy, .. } => {
                let mut from: Vec<String> = texts.texts.iter().map(|text| text.name.clone()).collect();
                from.extend(policy.presets.iter().map(|preset| format!("preset {preset}")));
                let nothing = self.nothing_asked_for().map(|why| format!(": {why} (`checkstone doctor`)"));
                format!("{}{}", from.join(", "), nothing.unwrap_or_default())
            }
        }
    }

    fn nothing_asked_for(&self) -> Option<&str> {
        match &self.policy {
            PolicyState::Sound { nothing_asked_for, .. } => nothing_asked_for.as_deref(),
            PolicyState::None | PolicyState::Broken { .. } => None,
        }
    }

    /// Only where there is something that needs it.
    fn trust_sentence(&self) -> Option<String> {
        let PolicyState::Sound { standing, .. } = &self.policy else { return None };
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
    switch: SwitchOutput<'a>,
    /// The agent session that asks.
    session: Option<&'a CallingSession>,
    journal_problem: Option<&'a str>,
    verdicts: &'a [ListedVerdict],
    autonomous_execution: AutonomousExecution,
    autosave: AutosaveStatusOutput<'a>,
    /// The newest snapshot of this working tree.
    snapshot: Option<SnapshotOutput<'a>>,
    /// The newest checkpoint of all runs of this project.
    #[serde(rename = "lastCheckpoint")]
    last_checkpoint: Option<LastCheckpoint<'a>>,
    /// What was begun and not finished.
    resumable: Vec<Resumable<'a>>,
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
struct SwitchOutput<'a> {
    on: bool,
    /// Why the gate is off.
    reason: Option<&'a str>,
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
struct LastCheckpoint<'a> {
    checkpoint_id: &'a str,
    stage_id: &'a str,
    created_at: &'a str,
    status: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Resumable<'a> {
    Workflow {
        command: &'a str,
        feature: Option<&'a str>,
        /// The phase to go on with.
        phase: Option<&'a str>,
        status: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Run {
        report_title: &'a str,
        run_id: &'a str,
        /// The state of the run.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["INTERRUPTED", "ABORTED", "FAILED"])))]
        status: &'static str,
    },
}

/// Where git cannot be asked, there is none to tell of.
fn newest_snapshot(repository: &Repository) -> Option<Snapshot> {
    let snapshots = Snapshots::of(repository.clone(), &environment::git()).ok()?;
    snapshots.list(WhichWorktrees::ThisWorktree).ok()?.into_iter().next()
}

/// What cannot be read cannot be resumed.
fn resumable(workflows: &StateDirectory) -> Vec<Summary> {
    let (listed, _) = workflows.list().unwrap_or_default();
    let summaries = listed.iter().map(|one| Summary::of(&one.stem, &one.workflow));
    summaries.filter(|summary| summary.phase.is_some()).collect()
}

/// The newest few; a record that cannot be read cannot be resumed. They are called what their folders are called, which is
/// what `resume` knows them by.
fn unfinished_runs(project: &Path) -> Vec<Record> {
    let found = runs::all(project).into_iter().filter(|found| !control::is_taken(&found.layout));
    let records = found.filter_map(|found| {
        let (title, run) = (found.layout.title().to_owned(), found.layout.run().to_owned());
        Some(Record { title, run, ..Record::read(&found.layout.events()).ok()? })
    });
    records.filter(Record::is_unfinished).take(RUNS).collect()
}

/// A run in progress that nobody has in hand has lost its supervisor.
fn state_of(run: &Record) -> &'static str {
    match run.state {
        RunState::InProgress | RunState::Planned => RunState::Interrupted.name(),
        state => state.name(),
    }
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

//! What `checkstone status` prints, as JSON and for people.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agents::registration::settings;
use anstyle::Style;
use autosave::AutonomousExecution;
use checkpoint::Depth;
use checkpoint::layout::Layout;
use serde::Serialize;
use text::wrap;
use transcript::{Agent, visible};

use super::super::autosave_status::{AutosaveStatus, AutosaveStatusOutput};
use super::super::explain::{ListedVerdict, listed_lines};
use super::super::snapshot::SnapshotOutput;
use super::policy_state::{PolicyOutput, PolicyState, TrustOutput};
use super::reduction::{ReductionOutput, SharedFilesOutput};
use super::resumable::Resumable;
use crate::git_hook::{GitHookName, KnownGitHook};
use crate::known_registrations::{self, MissingRegistration};
use crate::printer::{BAD, DOUBTFUL, GOOD, Printer, STRONG};
use crate::unproven_work::{UnprovenFileOutput, UnprovenWork};

/// The column in which values begin.
pub(super) const INDENT: usize = 12;

/// What `checkstone status --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Status"))]
pub(crate) struct StatusOutput<'a> {
    pub(super) version: &'static str,
    pub(super) state_directory: Cow<'a, str>,
    #[serde(skip)]
    pub(super) is_state_writable: bool,
    pub(super) repository: Option<Cow<'a, str>>,
    pub(super) policy: PolicyOutput<'a>,
    pub(super) trust: TrustOutput<'a>,
    pub(super) switch: SwitchOutput,
    /// The agent session that asks.
    pub(super) session: Option<CallingSession>,
    /// Settings files from which our hooks vanished.
    pub(super) missing_registrations: Vec<MissingRegistrationOutput>,
    /// Hooks of git's in this repository that verify, or should.
    pub(super) git_hooks: Vec<KnownGitHookOutput>,
    /// What reduced checking in the last days, or tried to; newest first.
    pub(super) reductions: Vec<ReductionOutput>,
    /// Files that two sessions changed at the same time in the last days, by the one that stopped later; newest first.
    pub(super) shared_files: Vec<SharedFilesOutput>,
    pub(super) journal_problem: Option<String>,
    /// Files of the working tree whose present content is unproven, the newest first.
    pub(super) unproven: Vec<UnprovenFileOutput>,
    /// The same in other repositories that the last session here worked in.
    pub(super) unproven_beside: Vec<UnprovenBeside>,
    pub(super) verdicts: Vec<ListedVerdict>,
    pub(super) autonomous_execution: AutonomousExecution,
    pub(super) autosave: AutosaveStatusOutput<'a>,
    /// The newest snapshot of this working tree.
    pub(super) snapshot: Option<SnapshotOutput<'a>>,
    /// The newest checkpoint of all runs of this project.
    #[serde(rename = "lastCheckpoint")]
    pub(super) last_checkpoint: Option<LastCheckpoint>,
    /// What was begun and not finished.
    pub(super) resumable: Vec<Resumable>,
    /// The state of sending to the team's database, in a sentence; null if nothing is sent.
    pub(super) team: Option<String>,
}

impl StatusOutput<'_> {
    pub(super) fn text(
        &self,
        policy: &PolicyState,
        unproven: &UnprovenWork,
        autosave: &AutosaveStatus,
        about_snapshot: Option<String>,
        printer: &Printer,
    ) -> String {
        let narrow = printer.narrow_width();
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{STRONG}{name:<11}{STRONG:#} {}", wrap(value, INDENT, narrow));
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
        let unwritable = match self.is_state_writable {
            true => String::new(),
            false => {
                format!(", {DOUBTFUL}which cannot be written from here{DOUBTFUL:#} (`checkstone doctor`)")
            }
        };
        line("state", &format!("{}{unwritable}", self.state_directory));
        if let Some(problem) = &self.journal_problem {
            line("journal", &format!("{BAD}{}{BAD:#}", visible(problem)));
        }
        if let Some(team) = self.team.as_deref().filter(|team| !policy.explains(team)) {
            line("team", &format!("{} (`checkstone team status`)", visible(team)));
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
            text.push_str(&listed_lines(&self.verdicts, printer.width()));
        }
        text
    }
}

/// What is unproven in another repository.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct UnprovenBeside {
    repository: String,
    files: Vec<UnprovenFileOutput>,
    #[serde(skip)]
    sentence: String,
}

impl UnprovenBeside {
    pub(super) fn of((root, unproven): &(PathBuf, UnprovenWork)) -> Self {
        Self {
            repository: root.to_string_lossy().into_owned(),
            files: unproven.output(),
            sentence: unproven.sentence().unwrap_or_default(),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MissingRegistration"))]
pub(super) struct MissingRegistrationOutput {
    agent: Agent,
    file: String,
    /// When the hooks were seen there last.
    seen_at: String,
    #[serde(skip)]
    what: String,
}

impl MissingRegistrationOutput {
    pub(super) fn of(missing: &MissingRegistration) -> Self {
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
pub(super) struct KnownGitHookOutput {
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
    pub(super) fn of(hook: &KnownGitHook) -> Self {
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Switch"))]
pub(super) struct SwitchOutput {
    pub(super) on: bool,
    /// Why the gate is off.
    pub(super) reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct CallingSession {
    pub(super) agent: Agent,
    pub(super) id: String,
    pub(super) slug: Option<String>,
    pub(super) on: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct LastCheckpoint {
    checkpoint_id: String,
    stage_id: String,
    created_at: String,
    status: &'static str,
    /// Whether a run can continue from it: it is valid, or what is missing is kept.
    resumable: bool,
    #[serde(skip)]
    standing: &'static str,
}

impl LastCheckpoint {
    pub(super) fn newest(project: &Path) -> Option<Self> {
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

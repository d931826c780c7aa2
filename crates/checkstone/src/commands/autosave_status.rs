//! What `checkstone status` says of autosave: how far it goes here, the last save, its push, and the counts.

use std::path::Path;

use autosave::{AutonomousExecution, RouterDecision, save_run};
use changes::Repository;
use gate::policy::{Autosave, AutosaveMode};
use journal::{AutosaveCounts, AutosaveOutcome, Journal, JournalError, PushState};
use serde::Serialize;
use transcript::visible;

use crate::environment;
use crate::error::CommandError;
use crate::printer::{BAD, DOUBTFUL, GOOD};
use crate::saving_environment;

#[derive(Debug, Default)]
pub(crate) struct AutosaveStatus {
    settings: Autosave,
    /// The repository's own file asks for something that the user does not trust it with.
    is_ignored: bool,
    /// A save that a stop has left is at work.
    is_running: bool,
    last: Option<journal::Autosave>,
    /// How often the session of the last save was saved.
    iteration: u64,
    counts: AutosaveCounts,
}

impl AutosaveStatus {
    pub(crate) fn of(root: Option<&Path>, mut journal: Option<&mut Journal>) -> Result<Self, CommandError> {
        let Some(root) = root else { return Ok(Self::default()) };
        // A policy that is broken is told elsewhere, and nothing is saved by it.
        let (settings, is_ignored) =
            saving_environment::of_repository(root, journal.as_deref_mut()).unwrap_or_default();
        let saving = environment::state_directory().map(saving_environment::settings);
        let is_running = saving.zip(Repository::discover(root).ok());
        let is_running =
            is_running.is_some_and(|(saving, repository)| autosave::is_running(&saving, &repository));
        let known = Self { settings, is_ignored, is_running, ..Self::default() };
        let Some(journal) = journal else { return Ok(known) };
        let read = journal.read(|reader| -> Result<_, JournalError> {
            let last = reader.recent_autosaves(Some(root), 1)?.pop();
            let session = last.as_ref().and_then(|last| last.session);
            let iteration = session.map_or(Ok(0), |session| reader.iterations(session))?;
            Ok((last, iteration, reader.autosave_counts(Some(root))?))
        });
        let (last, iteration, counts) = read?;
        Ok(Self { last, iteration, counts, ..known })
    }

    /// As other programs know it.
    pub(crate) fn execution(&self) -> AutonomousExecution {
        let Some(last) = &self.last else { return AutonomousExecution::idle(self.settings.mode) };
        let decision = RouterDecision {
            route: match last.outcome {
                AutosaveOutcome::Saved => "direct",
                AutosaveOutcome::Nothing => "none",
                AutosaveOutcome::Advised => "advice",
                AutosaveOutcome::Failed => "signal",
            },
            percent: last.percent,
            iteration: self.iteration,
            commit: last.commit.clone(),
            branch: last.branch.clone(),
            snapshot: last.snapshot.clone(),
            push: last.push.as_str().to_owned(),
            detail: last.detail.clone(),
        };
        AutonomousExecution::of(self.settings.mode, &last.reason, decision)
    }

    pub(crate) fn output(&self) -> AutosaveStatusOutput<'_> {
        AutosaveStatusOutput {
            mode: self.settings.mode,
            threshold: self.settings.threshold,
            ignored: self.is_ignored,
            running: self.is_running,
            last: self.last.as_ref().map(|last| LastSave {
                at: last.at.to_string(),
                reason: &last.reason,
                percent: last.percent,
                outcome: last.outcome.as_str(),
                detail: &last.detail,
                commit: last.commit.as_deref(),
                branch: last.branch.as_deref(),
                snapshot: last.snapshot.as_deref(),
                milliseconds: last.milliseconds,
                push: LastPush {
                    state: last.push.as_str(),
                    detail: &last.push_detail,
                    milliseconds: last.push_milliseconds,
                },
            }),
            counts: self.counts,
        }
    }

    /// Only where there is something to tell.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if self.is_ignored {
            let why = "`[autosave]` of `checkstone.toml` is ignored, see `checkstone trust`";
            lines.push(("autosave", format!("{DOUBTFUL}not trusted{DOUBTFUL:#}: {why}")));
        }
        let threshold = self.settings.threshold;
        match self.settings.mode {
            AutosaveMode::Off => {}
            AutosaveMode::Normal => {
                lines.push(("autosave", format!("notifies you when the context is {threshold} % full")));
            }
            AutosaveMode::Autonomous => lines.push((
                "autosave",
                format!("{GOOD}on{GOOD:#}: saves when the context is {threshold} % full"),
            )),
        }
        if self.is_running {
            lines.push(("saving", "a save is under way".to_owned()));
        }
        if let Some(last) = &self.last {
            let style = if last.outcome == AutosaveOutcome::Failed { BAD } else { GOOD };
            let outcome = last.outcome.as_str();
            let at = last.at.strftime("%Y-%m-%d %H:%M");
            let detail = visible(&last.detail);
            lines.push(("last save", format!("{at} {style}{outcome}{style:#}: {detail}")));
            let commit = last.commit.as_deref().map(save_run::short).unwrap_or_default();
            let detail = visible(&last.push_detail);
            match last.push {
                PushState::None => {}
                PushState::Started => lines.push(("push", format!("{commit} is being pushed"))),
                PushState::Pushed => lines.push(("push", format!("{GOOD}done{GOOD:#}: {detail}"))),
                PushState::Failed => lines.push(("push", format!("{BAD}failed{BAD:#}: {detail}"))),
            }
            let AutosaveCounts { saved, failed, pushed, pushes_failed, mean_milliseconds, .. } = self.counts;
            let mean = mean_milliseconds.map_or_else(String::new, |mean| format!(", {mean} ms each"));
            lines.push((
                "saves",
                format!("{saved} saved{mean}, {failed} failed, {pushed} pushed, {pushes_failed} not pushed"),
            ));
        }
        lines
    }
}

/// What is saved when the context fills up, and what was.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Autosave"))]
pub(crate) struct AutosaveStatusOutput<'a> {
    mode: AutosaveMode,
    /// Percent.
    threshold: u8,
    /// The repository's own file asks for something else and is not trusted.
    ignored: bool,
    /// A save that a stop has left to the background is under way.
    running: bool,
    last: Option<LastSave<'a>>,
    #[serde(with = "Counts")]
    #[cfg_attr(feature = "schema", schemars(with = "Counts"))]
    counts: AutosaveCounts,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LastSave<'a> {
    at: String,
    reason: &'a str,
    percent: Option<u64>,
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["saved", "nothing", "advised", "failed"])))]
    outcome: &'static str,
    detail: &'a str,
    commit: Option<&'a str>,
    branch: Option<&'a str>,
    snapshot: Option<&'a str>,
    milliseconds: u64,
    push: LastPush<'a>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LastPush<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["none", "started", "pushed", "failed"])))]
    state: &'static str,
    detail: &'a str,
    milliseconds: Option<u64>,
}

/// Of this repository; what was only advised does not count.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Counts"))]
#[serde(remote = "AutosaveCounts")]
struct Counts {
    all: u64,
    saved: u64,
    failed: u64,
    pushed: u64,
    pushes_failed: u64,
    mean_milliseconds: Option<u64>,
    longest_milliseconds: Option<u64>,
}

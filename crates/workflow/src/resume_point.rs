//! Where a workflow goes on: the phase under way, else the one that failed, else the next one (P1), else one whose status
//! nobody here knows.

use serde::Serialize;

use crate::format::{Phase, Status, WorkflowFile};

/// This many of the last summaries are told.
const SUMMARIES: usize = 3;

/// Where a workflow resumes. Everything is null or empty if there is nothing to resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumePoint {
    /// The phase to continue with.
    pub phase: Option<String>,
    /// The result of the last completed phase.
    pub summary: Option<String>,
    /// The status of `phase`.
    pub status: Option<Status>,
    /// Why `phase` failed.
    pub error: Option<String>,
    /// The result of `phase` itself so far.
    pub progress: Option<String>,
    /// The results of the last completed phases, the latest first.
    pub summaries: Vec<PhaseSummary>,
    /// The task that the workflow was at.
    pub task: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSummary {
    pub phase: String,
    pub summary: String,
}

impl ResumePoint {
    pub fn of(file: &WorkflowFile) -> Self {
        if file.completed_at.is_some() {
            return Self::default();
        }
        let (phase, status) = match next(file) {
            Some((phase, status)) => (Some(phase), Some(status)),
            None => (None, None),
        };
        let details = phase.and_then(|name| file.phase(name));
        let summaries: Vec<PhaseSummary> = file
            .state
            .completed_phases
            .iter()
            .rev()
            .filter_map(|name| {
                let summary = file.phase(name)?.context_summary.clone()?;
                Some(PhaseSummary { phase: name.clone(), summary })
            })
            .take(SUMMARIES)
            .collect();
        let last = file.state.completed_phases.last().and_then(|name| file.phase(name));
        Self {
            phase: phase.map(ToOwned::to_owned),
            summary: last.and_then(|phase| phase.context_summary.clone()),
            status,
            error: details.filter(|_| status == Some(Status::Failed)).and_then(|phase| phase.error.clone()),
            progress: details.and_then(|phase| phase.context_summary.clone()),
            summaries,
            task: file.state.current_task.clone(),
        }
    }
}

fn next(file: &WorkflowFile) -> Option<(&str, Status)> {
    if let Some(current) = file.state.current_phase.as_deref() {
        let status = file.phase(current).map_or(Status::InProgress, |phase| phase.status);
        return Some((current, status));
    }
    // Times are texts of one format, so their order is the order of the letters; of equal ones the last counts.
    let failed = file.phases.iter().filter(|(_, phase)| phase.status == Status::Failed);
    if let Some((name, _)) = failed.max_by_key(|(_, phase): &&(String, Phase)| phase.updated_at.as_deref()) {
        return Some((name, Status::Failed));
    }
    let to_come = file.state.pending_phases.first().map(|name| {
        // Of two that were under way at once, the first one still is.
        let under_way = file.phase(name).filter(|phase| phase.status == Status::InProgress);
        (name.as_str(), under_way.map_or(Status::Pending, |phase| phase.status))
    });
    let unknown = || file.phases.iter().find(|(_, phase)| phase.status == Status::Unknown);
    to_come.or_else(|| unknown().map(|(name, _)| (name.as_str(), Status::Unknown)))
}

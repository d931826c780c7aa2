//! Tells the services outside that a phase or a workflow has ended, where the user wants that.

use jiff::Timestamp;
use workflow::integrations::webhook::PhaseEvent;
use workflow::{Name, StateDirectory, Status, Workflow};

use crate::integrations::Integrations;
use crate::printer::Printer;

/// `status` is what the phase was set to just now; only an end is told.
pub(super) fn tell_of_phase(
    state: &StateDirectory,
    name: &Name,
    phase: &str,
    status: Option<Status>,
    workflow: &Workflow,
    printer: &Printer,
) {
    let event = match status {
        Some(Status::Complete) => "phase.complete",
        Some(Status::Failed) => "phase.failed",
        _ => return,
    };
    let known = workflow.file().phase(phase);
    tell(state, name, printer, |told| PhaseEvent {
        event: event.to_owned(),
        phase: Some(phase.to_owned()),
        status: status.map(|status| status.to_string()).unwrap_or_default(),
        summary: known.and_then(|known| known.context_summary.clone()),
        error: known.and_then(|known| known.error.clone()),
        ..told
    });
}

pub(super) fn tell_of_workflow(state: &StateDirectory, name: &Name, workflow: &Workflow, printer: &Printer) {
    let file = workflow.file();
    let last = file.state.completed_phases.last().and_then(|phase| file.phase(phase));
    tell(state, name, printer, |told| PhaseEvent {
        event: "workflow.complete".to_owned(),
        status: "complete".to_owned(),
        summary: last.and_then(|last| last.context_summary.clone()),
        ..told
    });
}

fn tell(
    state: &StateDirectory,
    name: &Name,
    printer: &Printer,
    complete: impl FnOnce(PhaseEvent) -> PhaseEvent,
) {
    let integrations = Integrations::read(state.root(), printer);
    let branch = state.repository().and_then(changes::Repository::branch);
    let issue = integrations.issue(name.feature(), branch.as_deref());
    let event = complete(PhaseEvent {
        at: Timestamp::now().to_string(),
        repository: state.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        command: name.command().to_owned(),
        feature: name.feature().map(str::to_owned),
        head_commit: state.head(),
        branch,
        issue: issue.map(|issue| issue.to_string()),
        ..PhaseEvent::default()
    });
    integrations.tell(&event, printer);
}

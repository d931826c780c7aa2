//! What becomes of a workflow when one of its phases is updated, and when it is completed. Pure.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::error::WorkflowError;
use crate::format::{Status, with_status};
use crate::workflow::{Workflow, object_at, time};

const LONGEST_PHASE_NAME: usize = 100;

/// What is said about a phase. What is not said stays as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseUpdate {
    pub status: Option<Status>,
    pub context_summary: Option<String>,
    /// Added to those that are known.
    pub files_created: Vec<String>,
    /// Added to those that are known.
    pub files_modified: Vec<String>,
    pub error: Option<String>,
    /// The workflow's current task; an empty one removes it.
    pub current_task: Option<String>,
    /// Further keys of the phase.
    pub other: Map<String, Value>,
}

impl Workflow {
    /// With the phase as `update` says. An update reopens a workflow that was complete (P8).
    pub fn with_phase(
        &self,
        name: &str,
        update: &PhaseUpdate,
        now: Timestamp,
    ) -> Result<Self, WorkflowError> {
        if name.is_empty() || name.len() > LONGEST_PHASE_NAME || name.chars().any(char::is_control) {
            return Err(WorkflowError::PhaseName { name: text::first_characters(name, 100).to_owned() });
        }
        check_types(name, &update.other)?;
        self.changed(|document| {
            document.shift_remove("completed_at");
            let phases = object_at(document, "phases");
            if let Some(status) = phases.get(name).filter(|phase| !phase.is_object() && !phase.is_null()) {
                let phase = Value::Object(with_status(status));
                phases.insert(name.to_owned(), phase);
            }
            update_phase(object_at(phases, name), update, now);
            let state = object_at(document, "state");
            if let Some(status) = update.status {
                update_state(state, name, status);
            }
            match update.current_task.as_deref() {
                Some("") => drop(state.shift_remove("current_task")),
                Some(task) => set(state, "current_task", task),
                None => {}
            }
        })
    }

    /// As completed: nothing is under way or to come. One that is complete already stays as complete as it was.
    pub fn completed(&self, now: Timestamp) -> Result<Self, WorkflowError> {
        self.changed(|document| {
            let state = object_at(document, "state");
            state.insert("current_phase".to_owned(), Value::Null);
            state.insert("pending_phases".to_owned(), Value::Array(Vec::new()));
            if !self.is_complete() {
                set(document, "completed_at", &time(now));
            }
        })
    }
}

/// What another tool wrote stays, whatever it is; what is written here keeps to the format.
fn check_types(name: &str, other: &Map<String, Value>) -> Result<(), WorkflowError> {
    let is_list = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    for (key, value) in other {
        let expected = match key.as_str() {
            "files_created" | "files_modified" if !is_list(value) => "a list of strings",
            "status" | "started_at" | "updated_at" | "context_summary" | "error" if !value.is_string() => {
                "a string"
            }
            _ => continue,
        };
        let problem = format!("this is not a workflow: `phases.{name}.{key}` must be {expected}");
        return Err(WorkflowError::NotAWorkflow { problem });
    }
    Ok(())
}

fn update_phase(phase: &mut Map<String, Value>, update: &PhaseUpdate, now: Timestamp) {
    let status = update.status.map(Status::as_str).or(match phase.contains_key("status") {
        true => None,
        false => Some(Status::Pending.as_str()),
    });
    if let Some(status) = status {
        set(phase, "status", status);
    }
    let has_begun = phase.get("started_at").is_some_and(|at| !at.is_null());
    if update.status == Some(Status::InProgress) && !has_begun {
        set(phase, "started_at", &time(now));
    }
    set(phase, "updated_at", &time(now));
    if let Some(summary) = &update.context_summary {
        set(phase, "context_summary", summary);
    }
    add(phase, "files_created", &update.files_created);
    add(phase, "files_modified", &update.files_modified);
    match &update.error {
        Some(error) => set(phase, "error", error),
        // The error of an earlier try is none of this one.
        None if update.status.is_some_and(|status| status != Status::Failed) => {
            phase.shift_remove("error");
        }
        None => {}
    }
    for (key, value) in &update.other {
        phase.insert(key.clone(), value.clone());
    }
}

fn update_state(state: &mut Map<String, Value>, name: &str, status: Status) {
    let is_current = state.get("current_phase").and_then(Value::as_str) == Some(name);
    if status == Status::InProgress {
        set(state, "current_phase", name);
    } else if is_current || !state.contains_key("current_phase") {
        state.insert("current_phase".to_owned(), Value::Null);
    }
    list(state, "completed_phases", name, Some(status == Status::Complete));
    list(
        state,
        "pending_phases",
        name,
        match status {
            Status::Pending => Some(true),
            // The format leaves a phase among those to come until it has ended.
            Status::InProgress => None,
            Status::Complete | Status::Failed | Status::Skipped => Some(false),
            Status::Unknown => None,
        },
    );
}

/// Sees to it that the list has the name once, or not at all; `None` leaves it as it is. A text that another tool wrote
/// in place of a list is its first item.
fn list(state: &mut Map<String, Value>, key: &str, name: &str, has: Option<bool>) {
    let mut names = match state.get_mut(key).map(Value::take) {
        Some(Value::Array(names)) => names,
        None | Some(Value::Null) => Vec::new(),
        Some(one) => vec![one],
    };
    match has {
        Some(true) if !names.iter().any(|other| other == name) => names.push(Value::from(name)),
        Some(false) => names.retain(|other| other != name),
        _ => {}
    }
    state.insert(key.to_owned(), Value::Array(names));
}

/// Adds the files that are not in the list yet.
fn add(phase: &mut Map<String, Value>, key: &str, files: &[String]) {
    if files.is_empty() {
        return;
    }
    for file in files {
        list(phase, key, file, Some(true));
    }
}

fn set(object: &mut Map<String, Value>, key: &str, text: &str) {
    object.insert(key.to_owned(), Value::from(text));
}

//! One workflow in memory: the document as it was written, every unknown key in its place, and what was read from it.
//! It never changes: a step gives a new one.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::error::WorkflowError;
use crate::format::{WorkflowFile, Wrong};
use crate::json_text;
use crate::name::Name;
use crate::tokens::{self, MAX_SUMMARY_TOKENS};

/// The commands of the format, and the phases that each usually has.
pub const USUAL_PHASES: [(&str, &[&str]); 7] = [
    ("start", &["branch", "issue-creation"]),
    ("design", &["research", "planning", "specs"]),
    ("reconcile", &["analysis", "reconciliation"]),
    ("research", &["discovery", "synthesis"]),
    ("implement", &["implementation", "validation"]),
    ("ship", &["pre-flight", "commit", "push"]),
    ("review", &["analysis", "feedback"]),
];

/// `None` for a command that the format does not name.
pub fn usual_phases(command: &str) -> Option<&'static [&'static str]> {
    USUAL_PHASES.iter().find(|(name, _)| *name == command).map(|(_, phases)| *phases)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    document: Map<String, Value>,
    file: WorkflowFile,
}

impl Workflow {
    /// A new one, with its phases before it.
    pub fn new(name: &Name, phases: &[String], now: Timestamp) -> Self {
        let document = object(json!({
            "command": name.command,
            "feature": name.feature,
            "version": 1,
            "head_commit": null,
            "started_at": time(now),
            "updated_at": time(now),
            "state": {
                "current_phase": null,
                "completed_phases": [],
                "pending_phases": phases,
            },
            "phases": {},
        }));
        Self::from_document(document).unwrap_or_else(|_| unreachable!("it was written a line above"))
    }

    /// Any object of this format, from wherever.
    pub fn from_value(value: Value) -> Result<Self, WorkflowError> {
        let Value::Object(document) = value else {
            let problem = "a workflow must be a JSON object".to_owned();
            return Err(WorkflowError::NotAWorkflow { problem });
        };
        Self::from_document(document).map_err(unreadable)
    }

    pub(crate) fn from_document(document: Map<String, Value>) -> Result<Self, Wrong> {
        Ok(Self { file: WorkflowFile::read(&document)?, document })
    }

    pub fn file(&self) -> &WorkflowFile {
        &self.file
    }

    /// Every key, in the order of the file.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// The same for other programs, which may not take half a character.
    pub fn readable_document(&self) -> Map<String, Value> {
        json_text::readable_object(&self.document)
    }

    pub fn is_complete(&self) -> bool {
        self.file.completed_at.is_some()
    }

    /// The name that it gives itself; the file's name decides where it gives none.
    pub fn name(&self) -> Name {
        Name { command: self.file.command.clone(), feature: self.file.feature.clone() }
    }

    /// A copy with changes, which must keep to the format.
    pub(crate) fn changed(
        &self,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<Self, WorkflowError> {
        let mut document = self.document.clone();
        change(&mut document);
        Self::from_document(document).map_err(unreadable)
    }

    /// Two-space JSON, as all tools of this format write it.
    pub(crate) fn text(&self) -> String {
        let mut text = json_text::pretty(&self.document);
        text.push('\n');
        text
    }

    /// No summary may be longer than the limit.
    pub(crate) fn check_summaries(&self) -> Result<(), WorkflowError> {
        let state = ("state.context_summary".to_owned(), &self.file.state.context_summary);
        let phases = self
            .file
            .phases
            .iter()
            .map(|(name, phase)| (format!("phases.{name}.context_summary"), &phase.context_summary));
        for (place, summary) in std::iter::once(state).chain(phases) {
            let checked = summary.as_deref().map(|text| tokens::validate(text, MAX_SUMMARY_TOKENS));
            if let Some(message) = checked.and_then(|checked| checked.error) {
                return Err(WorkflowError::SummaryTooLong { place, message });
            }
        }
        Ok(())
    }

    /// The summaries that pass the limit and are long nevertheless, by their place, with the estimate.
    pub fn long_summaries(&self, above: usize) -> Vec<(String, usize)> {
        self.file
            .phases
            .iter()
            .filter_map(|(name, phase)| {
                let estimate = tokens::estimate(phase.context_summary.as_deref()?);
                (estimate > above).then(|| (name.clone(), estimate))
            })
            .collect()
    }
}

/// For a document that comes from no file.
fn unreadable(wrong: Wrong) -> WorkflowError {
    match wrong {
        Wrong::Version(found) => WorkflowError::UnsupportedVersion { found },
        Wrong::Shape(shape) => {
            WorkflowError::NotAWorkflow { problem: format!("this is not a workflow: {shape}") }
        }
    }
}

/// ISO 8601 with milliseconds.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// The object under a key, made where there is none.
pub(crate) fn object_at<'a>(parent: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = parent.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(object) => object,
        _ => unreachable!("it was made an object a line above"),
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

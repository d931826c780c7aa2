//! The file format, version 1, as types: what is read from a document, and what the published schema says. The
//! document itself is kept beside this with every key in its place, known or not (see `workflow`).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::issue_record::OwnRecord;
use crate::json_text::readable;

/// The state of a workflow, `{command}-checkpoint.json` or `{command}-{feature}.json` in `.claude/state`
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowFile {
    /// Usually `start`, `design`, `reconcile`, `research`, `implement`, `ship` or `review`.
    pub command: String,
    /// What is worked on.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub feature: Option<String>,
    /// The version of the format.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1)))]
    pub version: u64,
    /// What HEAD was at the last save.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub head_commit: Option<String>,
    /// ISO 8601
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Option<String>,
    /// ISO 8601
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub updated_at: Option<String>,
    /// ISO 8601; not there while the workflow is open.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub completed_at: Option<String>,
    pub state: State,
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, Phase>"))]
    pub phases: Vec<(String, Phase)>,
    /// What the ship gate said last.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub gate: Option<Gate>,
    /// What only checkstone keeps here.
    #[cfg_attr(feature = "schema", schemars(default, with = "Option<OwnRecord>"))]
    pub checkstone: OwnRecord,
}

#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    /// The phase under way.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub current_phase: Option<String>,
    pub completed_phases: Vec<String>,
    pub pending_phases: Vec<String>,
    /// The id of a task, such as `T002`.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub current_task: Option<String>,
    /// At most 500 words.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub context_summary: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// `pending`, `in_progress`, `complete`, `failed` or `skipped`; another word is kept.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub status: Status,
    /// The word of a status that is unknown.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other_status: Option<String>,
    /// ISO 8601; when it was first in progress.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub started_at: Option<String>,
    /// ISO 8601
    #[cfg_attr(feature = "schema", schemars(default))]
    pub updated_at: Option<String>,
    /// At most 500 words.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub context_summary: Option<String>,
    #[cfg_attr(feature = "schema", schemars(default))]
    pub files_created: Vec<String>,
    #[cfg_attr(feature = "schema", schemars(default))]
    pub files_modified: Vec<String>,
    /// Why it failed.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    #[serde(alias = "in-progress")]
    InProgress,
    Complete,
    Failed,
    Skipped,
    // Another tool's word, which stays in the file.
    Unknown,
}

impl Status {
    pub const ALL: [Self; 5] = [Self::Pending, Self::InProgress, Self::Complete, Self::Failed, Self::Skipped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => formatter.write_str("at an unknown status"),
            known => formatter.write_str(&known.as_str().replace('_', " ")),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    pub ship_allowed: bool,
    /// What has to be done first, one sentence each.
    pub blockers: Vec<String>,
    /// The commit that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub head_commit: Option<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Wrong {
    Version(String),
    Shape(String),
}

impl WorkflowFile {
    /// Unknown keys are nobody's business here; what is missing is empty. Other tools load any value, so a field of
    /// another type is taken by its text; only the objects that everything is in have to be objects.
    pub(crate) fn read(document: &Map<String, Value>) -> Result<Self, Wrong> {
        let version = match document.get("version") {
            Some(version) if version.as_f64() == Some(1.0) => 1,
            Some(other) => {
                return Err(Wrong::Version(text::first_characters(&other.to_string(), 40).to_owned()));
            }
            None => return Err(Wrong::Version("none".to_owned())),
        };
        let top = LocatedObject { path: String::new(), object: document };
        let phases = match top.object("phases")? {
            None => Vec::new(),
            Some(phases) => phases
                .object
                .iter()
                .map(|(name, value)| (readable(name).into_owned(), Phase::of(value)))
                .collect(),
        };
        Ok(Self {
            command: top.word("command").unwrap_or_default(),
            feature: top.word("feature"),
            version,
            head_commit: top.word("head_commit"),
            started_at: top.text("started_at"),
            updated_at: top.text("updated_at"),
            // As other tools ask: zero and an empty text are no time.
            completed_at: top.text("completed_at").filter(|at| !at.is_empty() && at != "0"),
            state: top.object("state")?.map(|state| State::read(&state)).unwrap_or_default(),
            phases,
            gate: top.object("gate").ok().flatten().map(|gate| Gate::read(&gate)),
            checkstone: OwnRecord::read(document),
        })
    }

    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|(other, _)| other == name).map(|(_, phase)| phase)
    }
}

impl State {
    fn read(place: &LocatedObject<'_>) -> Self {
        Self {
            current_phase: place.word("current_phase"),
            completed_phases: place.texts("completed_phases"),
            pending_phases: place.texts("pending_phases"),
            current_task: place.word("current_task"),
            context_summary: place.text("context_summary"),
        }
    }
}

impl Phase {
    /// A text alone is a status.
    fn of(value: &Value) -> Self {
        match value {
            Value::Object(object) => Self::read(&LocatedObject { path: String::new(), object }),
            other => Self::read(&LocatedObject { path: String::new(), object: &with_status(other) }),
        }
    }

    fn read(place: &LocatedObject<'_>) -> Self {
        let word = place.text("status").unwrap_or_else(|| Status::Pending.as_str().to_owned());
        let status = Status::ALL.into_iter().find(|known| known.as_str() == word);
        Self {
            status: status.unwrap_or(Status::Unknown),
            other_status: status.is_none().then_some(word),
            started_at: place.text("started_at"),
            updated_at: place.text("updated_at"),
            context_summary: place.text("context_summary"),
            files_created: place.texts("files_created"),
            files_modified: place.texts("files_modified"),
            error: place.text("error"),
        }
    }

    /// Its status, in the file's own word if the format has no such status.
    pub fn status_in_words(&self) -> String {
        self.other_status.clone().unwrap_or_else(|| self.status.to_string())
    }
}

impl Gate {
    fn read(place: &LocatedObject<'_>) -> Self {
        Self {
            ship_allowed: place.get("ship_allowed") == Some(&Value::Bool(true)),
            blockers: place.texts("blockers"),
            head_commit: place.word("head_commit"),
        }
    }
}

struct LocatedObject<'a> {
    path: String,
    object: &'a Map<String, Value>,
}

impl<'a> LocatedObject<'a> {
    /// Present, and neither null nor false.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !matches!(value, Value::Null | Value::Bool(false)))
    }

    /// A name or an id; nothing else can be one.
    fn word(&self, key: &str) -> Option<String> {
        self.get(key).filter(|value| value.is_string() || value.is_number()).map(text_of)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(text_of)
    }

    /// One that stands alone is a list of one.
    fn texts(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(text_of).collect(),
            Some(one) => vec![text_of(one)],
        }
    }

    fn object(&self, key: &str) -> Result<Option<Self>, Wrong> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(None),
            // Nothing is lost when it becomes an empty object.
            Some(Value::Array(items)) if items.is_empty() => Ok(None),
            Some(Value::Object(object)) => Ok(Some(Self { path: self.path_of(key), object })),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn wrong(&self, key: &str, expected: &str) -> Wrong {
        Wrong::Shape(format!("`{}` must be {expected}", self.path_of(key)))
    }
}

/// The phase that another tool wrote as its status alone.
pub(crate) fn with_status(status: &Value) -> Map<String, Value> {
    Map::from_iter([("status".to_owned(), status.clone())])
}

/// What is not a string counts by its JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => readable(text).into_owned(),
        other => readable(&other.to_string()).into_owned(),
    }
}

//! Whether a document is a hand-off of the protocol, and whether its summary is short enough. Everything that is wrong
//! is told at once, each by its field.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use text::{counted, nearest};

use super::request::Request;
use super::response::Response;
use super::truncate::truncate;
use super::word::{Decision, ExpectedOutput, Mode, Phase, Status};
use crate::tokens;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Request,
    Response,
}

/// What becomes of a response whose summary is too long. A request is always rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Oversized {
    #[default]
    Warn,
    Truncate,
    Reject,
}

/// How long a summary may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// More words than this are too many.
    pub summary: usize,
    /// A larger estimate is worth a warning.
    pub estimate: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { summary: tokens::MAX_SUMMARY_TOKENS, estimate: tokens::ESTIMATE_WARNING }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    pub kind: Kind,
    /// Null if the document has none.
    pub task_id: Option<String>,
    /// Whether it may be handed over: there are no problems.
    pub accepted: bool,
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
    /// Null if there is no summary.
    pub summary: Option<CheckedSummary>,
    /// The document as it may be handed over; null if it is rejected.
    pub document: Option<Document>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// The field, such as `context.relevant_files[2]`; empty for the document itself.
    pub field: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedSummary {
    pub field: String,
    /// Words between white space: what decides.
    pub tokens: usize,
    pub limit: usize,
    /// What a model would probably count.
    pub estimate: usize,
    /// How many tokens the document's summary has after it was cut; null if it was not.
    pub truncated_to: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Document {
    Request(Box<Request>),
    Response(Box<Response>),
}

const CONTEXT: &[&str] =
    &["feature", "spec_path", "relevant_files", "constraints", "previous_summary", "previous_findings"];
const REQUEST: &[&str] =
    &["task_id", "phase", "mode", "context", "instructions", "expected_output", "checkstone"];
const RESPONSE: &[&str] = &[
    "task_id",
    "phase",
    "status",
    "decision",
    "findings",
    "context_summary",
    "tokens_used",
    "issues",
    "checkstone",
];

/// The kind is told by the fields where the caller does not say it.
pub fn check(document: Value, kind: Option<Kind>, limits: &Limits, oversized: Oversized) -> Report {
    let Value::Object(mut fields) = document else {
        let message = format!("the document is {}, not an object", described(&document));
        return Report {
            kind: kind.unwrap_or(Kind::Request),
            task_id: None,
            accepted: false,
            problems: vec![Problem { field: String::new(), message }],
            warnings: Vec::new(),
            summary: None,
            document: None,
        };
    };
    let kind = kind.unwrap_or_else(|| kind_of(&fields));
    let mut checker = Checker::default();
    checker.text(&fields, "task_id", Need::Required);
    checker.word(&fields, "phase", Phase::NAMES);
    let summary = match kind {
        Kind::Request => checker.request(&mut fields, limits),
        Kind::Response => checker.response(&mut fields, limits, oversized),
    };
    checker.slips(&fields, "", if kind == Kind::Request { REQUEST } else { RESPONSE });
    let task_id = fields.get("task_id").and_then(Value::as_str).map(str::to_owned);
    let document = checker.problems.is_empty().then(|| typed(kind, fields)).and_then(|typed| {
        typed
            .map_err(|error| checker.problem("checkstone", format!("the recorded facts are broken: {error}")))
            .ok()
    });
    Report {
        kind,
        task_id,
        accepted: checker.problems.is_empty(),
        problems: checker.problems,
        warnings: checker.warnings,
        summary,
        document,
    }
}

/// How many fields of the protocol a value has, of a request or of a response.
pub(super) fn known_fields(value: &Value) -> usize {
    let count = |names: &[&str]| names.iter().filter(|name| value.get(name).is_some()).count();
    count(REQUEST).max(count(RESPONSE))
}

fn kind_of(fields: &Map<String, Value>) -> Kind {
    let count = |names: &[&str]| names.iter().filter(|name| fields.contains_key(**name)).count();
    let response = count(&["status", "decision", "findings", "context_summary", "issues"]);
    let request = count(&["mode", "context", "instructions", "expected_output"]);
    if response > request { Kind::Response } else { Kind::Request }
}

fn typed(kind: Kind, fields: Map<String, Value>) -> Result<Document, serde_json::Error> {
    let document = Value::Object(fields);
    Ok(match kind {
        Kind::Request => Document::Request(Box::new(serde_json::from_value(document)?)),
        Kind::Response => Document::Response(Box::new(serde_json::from_value(document)?)),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

#[derive(Default)]
struct Checker {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Checker {
    fn request(&mut self, fields: &mut Map<String, Value>, limits: &Limits) -> Option<CheckedSummary> {
        self.word(fields, "mode", Mode::NAMES);
        self.text(fields, "instructions", Need::Required);
        self.word(fields, "expected_output", ExpectedOutput::NAMES);
        let context = match fields.get_mut("context") {
            Some(Value::Object(context)) => context,
            Some(other) => {
                self.wrong("context", other, "an object");
                return None;
            }
            None => {
                let message = "`context` is missing: an object with what the sub-agent must know";
                self.problem("context", message);
                return None;
            }
        };
        self.old_name(context);
        for name in ["feature", "spec_path"] {
            self.text_at(context.get(name), &format!("context.{name}"), Need::Optional);
        }
        for name in ["relevant_files", "constraints"] {
            self.texts(context, name);
        }
        self.slips(context, "context.", CONTEXT);
        let field = "context.previous_summary";
        self.text_at(context.get("previous_summary"), field, Need::Optional);
        let text = context.get("previous_summary").and_then(Value::as_str)?;
        let summary = self.count(field, text, limits);
        if summary.tokens > summary.limit {
            self.problem(field, too_long(&summary));
        }
        Some(summary)
    }

    fn response(
        &mut self,
        fields: &mut Map<String, Value>,
        limits: &Limits,
        oversized: Oversized,
    ) -> Option<CheckedSummary> {
        self.word(fields, "status", Status::NAMES);
        self.word(fields, "decision", Decision::NAMES);
        if let Some(used) =
            fields.get("tokens_used").filter(|used| !used.is_null() && used.as_u64().is_none())
        {
            self.wrong("tokens_used", used, "a whole number");
        }
        if let Some(issues) = fields.get("issues").filter(|issues| !issues.is_array()) {
            self.wrong("issues", issues, "a list");
        }
        let field = "context_summary";
        self.text(fields, field, Need::Required);
        let text = fields.get(field).and_then(Value::as_str)?.to_owned();
        let mut summary = self.count(field, &text, limits);
        if summary.tokens > summary.limit {
            let message = too_long(&summary);
            match oversized {
                Oversized::Warn => self.warning(field, message),
                Oversized::Reject => self.problem(field, message),
                Oversized::Truncate => {
                    let cut = truncate(&text, summary.limit);
                    summary.truncated_to = Some(tokens::count(&cut));
                    self.warning(field, format!("{message}; it was cut"));
                    fields.insert(field.to_owned(), Value::String(cut));
                }
            }
        }
        Some(summary)
    }

    /// `previous_findings` is what `previous_summary` was once called. Where both are given, they must not disagree.
    fn old_name(&mut self, context: &mut Map<String, Value>) {
        let Some(old) = context.remove("previous_findings") else { return };
        match context.get("previous_summary") {
            None | Some(Value::Null) => {
                context.insert("previous_summary".to_owned(), old);
            }
            Some(new) if old.is_null() || *new == old => {}
            Some(_) => self.problem(
                "context.previous_findings",
                "`context.previous_findings` is the old name of `previous_summary`, and both are there with \
                 different texts: keep one",
            ),
        }
    }

    fn count(&mut self, field: &str, text: &str, limits: &Limits) -> CheckedSummary {
        let summary = CheckedSummary {
            field: field.to_owned(),
            tokens: tokens::count(text),
            limit: limits.summary,
            estimate: tokens::estimate(text),
            truncated_to: None,
        };
        if summary.tokens <= summary.limit && summary.estimate > limits.estimate {
            self.warning(
                field,
                format!(
                    "`{field}` has {}, but a model would count about {} tokens: shorten it",
                    counted(summary.tokens, "word"),
                    summary.estimate
                ),
            );
        }
        summary
    }

    fn word(&mut self, fields: &Map<String, Value>, name: &str, allowed: &[&'static str]) {
        let one_of = listed(allowed);
        match fields.get(name) {
            None | Some(Value::Null) => {
                self.problem(name, format!("`{name}` is missing: it is one of {one_of}"));
            }
            Some(Value::String(text)) if allowed.contains(&text.as_str()) => {}
            Some(Value::String(text)) => {
                let message = match nearest(text, allowed.iter().copied()) {
                    Some(near) => {
                        format!("`{name}` is `{text}`: did you mean `{near}`? It is one of {one_of}")
                    }
                    None => format!("`{name}` is `{text}`: it must be one of {one_of}"),
                };
                self.problem(name, message);
            }
            Some(other) => {
                let message = format!("`{name}` is {}: it must be one of {one_of}", described(other));
                self.problem(name, message);
            }
        }
    }

    fn text(&mut self, fields: &Map<String, Value>, name: &str, need: Need) {
        self.text_at(fields.get(name), name, need);
    }

    fn text_at(&mut self, value: Option<&Value>, field: &str, need: Need) {
        match (value, need) {
            (Some(Value::String(text)), Need::Required) if text.trim().is_empty() => {
                self.problem(field, format!("`{field}` is empty: say it in a few words"));
            }
            (Some(Value::String(_)), _) | (None | Some(Value::Null), Need::Optional) => {}
            (None | Some(Value::Null), Need::Required) => {
                self.problem(field, format!("`{field}` is missing: say it in a few words"));
            }
            (Some(other), _) => self.wrong(field, other, "a text"),
        }
    }

    fn texts(&mut self, context: &mut Map<String, Value>, name: &str) {
        match context.get(name) {
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_string()) {
                    self.wrong(&format!("context.{name}[{index}]"), item, "a text");
                }
            }
            // Nothing is an empty list.
            Some(Value::Null) => {
                context.remove(name);
            }
            None => {}
            Some(other) => self.wrong(&format!("context.{name}"), other, "a list of texts"),
        }
    }

    /// A name that is unknown and near to one that is missing is probably a slip; any other unknown one is kept in
    /// silence.
    fn slips(&mut self, fields: &Map<String, Value>, within: &str, known: &[&'static str]) {
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let missing = known.iter().copied().filter(|known| !fields.contains_key(*known));
            if let Some(near) = nearest(name, missing) {
                let message =
                    format!("`{within}{name}` is not a field of the protocol: did you mean `{near}`?");
                self.warning(&format!("{within}{name}"), message);
            }
        }
    }

    fn wrong(&mut self, field: &str, found: &Value, expected: &str) {
        self.problem(field, format!("`{field}` is {}; it must be {expected}", described(found)));
    }

    fn problem(&mut self, field: &str, message: impl Into<String>) {
        self.problems.push(Problem { field: field.to_owned(), message: message.into() });
    }

    fn warning(&mut self, field: &str, message: impl Into<String>) {
        self.warnings.push(Problem { field: field.to_owned(), message: message.into() });
    }
}

/// In the words that every tool of the protocol says it with.
fn too_long(summary: &CheckedSummary) -> String {
    let CheckedSummary { tokens, limit, .. } = summary;
    format!("Context summary exceeds {limit} token limit (actual: {tokens} tokens)")
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub(super) fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

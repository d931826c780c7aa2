//! A cell as nbformat 4.5 wants it, with the ids and tags that ours are known by.

use checkpoint::hash;
use checkpoint::manifest::{Manifest, Status};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use supervise::marker::Marker;

use crate::json::set;

/// Tag of the cells that stand for checkpoints, as other tools of the field look for it.
const CHECKPOINT_TAG: &str = "gyoshu-checkpoint";

/// The format allows so many characters in an id.
const LONGEST_ID: usize = 64;

/// A code cell of ours.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NewCell {
    pub id: String,
    pub source: String,
    /// As the format has them; long texts in one piece.
    pub outputs: Vec<Value>,
    pub execution_count: Option<u64>,
    pub metadata: Map<String, Value>,
}

impl NewCell {
    /// The cell that stands for a checkpoint, whose manifest lies at `path` below the root. The marker is printed when
    /// somebody runs it.
    pub fn checkpoint(manifest: &Manifest, path: &str) -> Self {
        let one_line = |text: &str| text.replace(char::is_control, " ");
        let Manifest { checkpoint_id: checkpoint, stage_id: stage, created_at, .. } = manifest;
        let kind = if manifest.status == Status::Saved { "saved" } else { "emergency" };
        let mut marker = Marker::new("CHECKPOINT", Some(kind))
            .with("id", checkpoint)
            .with("stage", stage)
            .with("manifest", path);
        if let Some(reason) = manifest.reason {
            marker = marker.with("reason", reason.name());
        }
        let marker = marker.to_string();
        let source = format!(
            "# {}\n# {}\nprint({})",
            one_line(&marker),
            one_line(created_at),
            crate::python_literal::python_literal(&marker)
        );
        let about = json!({"type": "checkpoint", "checkpointId": checkpoint, "stageId": stage, "createdAt": created_at});
        let metadata = [("gyoshu".to_owned(), about), ("tags".to_owned(), json!([CHECKPOINT_TAG]))];
        let id = manifest.notebook.checkpoint_cell_id.clone();
        Self { id, source, metadata: Map::from_iter(metadata), ..Self::default() }
    }

    pub(super) fn into_value(self) -> Value {
        let outputs: Vec<Value> = self.outputs.into_iter().map(with_lines).collect();
        let cell = json!({
            "cell_type": "code",
            "execution_count": self.execution_count,
            "id": self.id,
            "metadata": self.metadata,
            "outputs": outputs,
            "source": split_lines(&self.source),
        });
        sorted(cell)
    }
}

/// The id of the cell that one attempt at a stage has: the same whenever it is asked for.
pub fn stage_cell_id(run: &str, stage: &str, attempt: u32) -> String {
    stable_id(stage, &[run, stage, &attempt.to_string()])
}

/// The id of the cell that stands for the checkpoint after that attempt.
pub fn checkpoint_cell_id(run: &str, stage: &str, attempt: u32) -> String {
    stable_id("checkpoint", &[run, stage, &attempt.to_string()])
}

/// The id of the cell that stands for the emergency checkpoint of that attempt.
pub fn emergency_cell_id(run: &str, stage: &str, attempt: u32) -> String {
    stable_id("emergency", &[run, stage, &attempt.to_string()])
}

/// The id of the cell that rehydrated a checkpoint before that attempt.
pub fn rehydration_cell_id(run: &str, checkpoint: &str, stage: &str, attempt: u32) -> String {
    stable_id("rehydration", &[run, checkpoint, stage, &attempt.to_string()])
}

fn stable_id(name: &str, parts: &[&str]) -> String {
    let hash = hash::of_bytes(parts.join("\0").as_bytes());
    let allowed = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    let name: String = name.chars().take(40).map(allowed).collect();
    let hash: String = hash.chars().take(12).collect();
    format!("{name}-{hash}")
}

/// The same id with a number behind it, within the length that the format allows.
pub(super) fn numbered_id(id: &str, number: usize) -> String {
    let end = format!("-{number}");
    let begin: String = id.chars().take(LONGEST_ID - end.len()).collect();
    format!("{begin}{end}")
}

/// Text as Jupyter's library splits it: a list of lines with their ends, by Python's idea of a line.
pub(super) fn split_lines(text: &str) -> Value {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        line.push(character);
        let ends = match character {
            '\r' => characters.peek() != Some(&'\n'),
            '\n' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => true,
            _ => false,
        };
        if ends {
            lines.push(Value::String(std::mem::take(&mut line)));
        }
    }
    if !line.is_empty() {
        lines.push(Value::String(line));
    }
    Value::Array(lines)
}

fn with_lines(mut output: Value) -> Value {
    if let Some(Value::String(text)) = output.get("text") {
        let lines = split_lines(text);
        set(&mut output, "text", lines);
    }
    if let Some(data) = output.get("data") {
        let lines = lines_of_data(data);
        set(&mut output, "data", lines);
    }
    output
}

/// Texts of a display in lines; pictures and JSON stay in one piece.
pub(super) fn lines_of_data(data: &Value) -> Value {
    let Value::Object(data) = data else { return json!({}) };
    let lines = data.iter().map(|(kind, content)| match content {
        Value::String(text) if has_lines(kind) => (kind.clone(), split_lines(text)),
        other => (kind.clone(), other.clone()),
    });
    Value::Object(lines.collect())
}

fn has_lines(kind: &str) -> bool {
    kind.starts_with("text/") || ["application/javascript", "image/svg+xml"].contains(&kind)
}

/// Keys in the order in which Jupyter's library writes them, so that a notebook does not change when Jupyter saves it.
pub(super) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

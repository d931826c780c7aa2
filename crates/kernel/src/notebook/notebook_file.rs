//! A notebook's text, taken apart only as far as needed: cells and other values that we do not change keep their own
//! bytes, so that numbers, unknown keys and formatting survive.

use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::NotebookError;
use super::new_cell::{numbered_id, sorted};
use crate::json::{at, set};

pub(super) struct NotebookFile {
    /// Every key but `cells`, in the file's order, with the place of `cells` among them.
    values: Vec<(String, String)>,
    cells_at: usize,
    cells: Vec<NotebookCell>,
}

struct NotebookCell {
    id: Option<String>,
    text: String,
}

impl NotebookFile {
    pub(super) fn new(metadata: &Value) -> Self {
        let values = [("metadata", metadata.clone()), ("nbformat", json!(4)), ("nbformat_minor", json!(5))];
        let values = values.map(|(key, value)| (key.to_owned(), text_of(&sorted(value), 1)));
        Self { values: values.into(), cells_at: 0, cells: Vec::new() }
    }

    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, NotebookError> {
        let failed = |error| NotebookError::Parse { path: path.to_owned(), error };
        let entries: Entries = serde_json::from_slice(bytes).map_err(failed)?;
        let mut file = Self { values: Vec::new(), cells_at: 0, cells: Vec::new() };
        for (key, value) in entries.0 {
            if key == "cells" {
                let cells: Vec<Box<RawValue>> = serde_json::from_str(value.get()).map_err(failed)?;
                file.cells_at = file.values.len();
                for cell in cells {
                    let known: KnownKeys = serde_json::from_str(cell.get()).map_err(failed)?;
                    file.cells.push(NotebookCell { id: known.id, text: cell.get().to_owned() });
                }
            } else {
                file.values.push((key, value.get().to_owned()));
            }
        }
        let number = |wanted: &str| {
            let value = file.values.iter().find(|(key, _)| key == wanted);
            value.and_then(|(_, text)| text.parse::<u64>().ok())
        };
        match (number("nbformat"), number("nbformat_minor").unwrap_or(0)) {
            (Some(4), 5..) => {}
            (Some(4), _) => file.upgrade(),
            (version, _) => {
                return Err(NotebookError::Version { path: path.to_owned(), version: version.unwrap_or(0) });
            }
        }
        Ok(file)
    }

    /// To 4.5, whose only news is that every cell has an id.
    fn upgrade(&mut self) {
        for (key, text) in &mut self.values {
            if key == "nbformat_minor" {
                *text = "5".to_owned();
            }
        }
        for place in 0..self.cells.len() {
            let Some(mut value) = self.cell(place) else { continue };
            if value.get("id").is_none() {
                let id = self.free_id(&json!(format!("cell-{place}")));
                set(&mut value, "id", json!(id));
                if let Some(cell) = self.cells.get_mut(place) {
                    *cell = NotebookCell { id: Some(id), text: text_of(&value, 2) };
                }
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.cells.iter().position(|cell| cell.id.as_deref() == Some(id))
    }

    pub(super) fn cell(&self, place: usize) -> Option<Value> {
        serde_json::from_str(&self.cells.get(place)?.text).ok()
    }

    pub(super) fn insert(&mut self, place: usize, cell: &Value) {
        let id = at(cell, "id").as_str().map(str::to_owned);
        self.cells.insert(place.min(self.cells.len()), NotebookCell { id, text: text_of(cell, 2) });
    }

    /// Outputs, count and metadata of ours for a cell that is there; what others added to its metadata stays.
    pub(super) fn set_results(&mut self, place: usize, ours: &Value) {
        let Some(mut value) = self.cell(place) else { return };
        for key in ["execution_count", "outputs"] {
            set(&mut value, key, at(ours, key).clone());
        }
        if let (Some(theirs), Some(ours)) =
            (value.get_mut("metadata").and_then(Value::as_object_mut), at(ours, "metadata").as_object())
        {
            for (key, content) in ours {
                theirs.insert(key.clone(), content.clone());
            }
        }
        if let Some(cell) = self.cells.get_mut(place) {
            cell.text = text_of(&value, 2);
        }
    }

    pub(super) fn free_id(&self, id: &Value) -> String {
        let id = id.as_str().unwrap_or("cell");
        let free = (2..).map(|number| numbered_id(id, number)).find(|id| self.position(id).is_none());
        free.unwrap_or_else(|| id.to_owned())
    }

    pub(super) fn text(&self) -> String {
        let mut parts: Vec<String> =
            self.values.iter().map(|(key, text)| format!(" {}: {text}", json!(key))).collect();
        let cells: Vec<&str> = self.cells.iter().map(|cell| cell.text.as_str()).collect();
        let cells = match cells.is_empty() {
            true => " \"cells\": []".to_owned(),
            false => format!(" \"cells\": [\n  {}\n ]", cells.join(",\n  ")),
        };
        parts.insert(self.cells_at.min(parts.len()), cells);
        format!("{{\n{}\n}}\n", parts.join(",\n"))
    }
}

/// Whether two cells have the same source, in whatever form it is written.
pub(super) fn same_source(one: Option<&Value>, other: &Value) -> bool {
    one.is_some_and(|one| source(one) == source(other))
}

pub(super) fn source(cell: &Value) -> String {
    match at(cell, "source") {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// One space a level, as Jupyter's library writes.
fn text_of(value: &Value, level: usize) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // A value has string keys and finite numbers only: this cannot fail.
    let _ = serde::Serialize::serialize(value, &mut serializer);
    let text = String::from_utf8_lossy(&bytes);
    // Line breaks inside of strings are escaped, so these are all between values.
    text.replace('\n', &format!("\n{}", " ".repeat(level)))
}

#[derive(Deserialize)]
struct KnownKeys {
    #[serde(default)]
    id: Option<String>,
}

/// An object's keys and values in their order, the values as they are written.
struct Entries(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a notebook")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<String, Box<RawValue>>()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

//! Reads a document key by key and notes all that is wrong with it, each with its place.

use std::ops::Range;
use std::sync::Arc;

use toml::de::DeValue;

use crate::document::{Document, Key, Table, Value};
use crate::lines::Lines;
use crate::problem::{At, Place, Problem};
use crate::table::{Shape, TableOfKeys, TableReference};

/// So many slips are answered with the name that was meant; with more of them the file is another kind of file.
const SUGGESTIONS: usize = 20;

/// A key that more tables have could belong anywhere.
const MOST_PLACES: usize = 3;

/// Whether a message may quote what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    Values,
    /// The values may be tokens: a message names the key instead.
    KeysOnly,
}

/// A key and what it is set to; for an item of an array, the key of the array.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'v, 'a> {
    pub key: &'v Key<'a>,
    pub value: &'v Value<'a>,
}

#[derive(Debug)]
pub struct Reader<'a> {
    file: Arc<str>,
    text: &'a str,
    lines: Lines<'a>,
    quoting: Quoting,
    suggestions: usize,
    /// Every key of the document that is being read.
    reference: Option<fn() -> TableReference>,
    pub problems: Vec<Problem>,
    /// What is allowed and probably not meant.
    pub warnings: Vec<Problem>,
    /// Values that whoever asked for the reading wants to look at again.
    pub noted: Vec<At<String>>,
}

impl<'a> Reader<'a> {
    /// `text` is that of the document, `file` how it is called in messages.
    pub fn new(file: &str, text: &'a str, quoting: Quoting) -> Self {
        let text = crate::document::without_byte_order_mark(text);
        Self {
            file: file.into(),
            text,
            lines: Lines::of(text),
            quoting,
            suggestions: SUGGESTIONS,
            reference: None,
            problems: Vec::new(),
            warnings: Vec::new(),
            noted: Vec::new(),
        }
    }

    /// Reads the document as a table of known keys; `None` if it is not TOML.
    pub fn read<T: TableOfKeys>(&mut self) -> Option<T::Layer> {
        self.reference = Some(T::reference);
        match Document::parse(&self.file, self.text) {
            Ok(document) => Some(T::read(document.root(), self)),
            Err(problems) => {
                self.problems.extend(problems.0);
                None
            }
        }
    }

    pub fn place(&self, span: Range<usize>) -> Place {
        let (line, column) = self.lines.place(span.start);
        Place { file: Arc::clone(&self.file), line, column }
    }

    pub fn problem(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.problems.push(self.place(span).problem(message));
    }

    pub fn quotes_values(&self) -> bool {
        self.quoting == Quoting::Values
    }

    /// The value as a message may show it.
    pub fn found(&self, entry: Entry<'_, '_>) -> String {
        if !self.quotes_values() {
            return entry.key.get_ref().to_string();
        }
        let found = self.text.get(entry.value.span()).unwrap_or_default();
        text::first_characters(found.lines().next().unwrap_or_default().trim_matches(['"', '\'']), 60)
            .to_owned()
    }

    pub fn wrong(&mut self, entry: Entry<'_, '_>, expected: &str) {
        self.problem(entry.value.span(), format!("`{}` is not {expected}", self.found(entry)));
    }

    /// Notes a name that is none of those that are known.
    pub fn unknown<'n>(
        &mut self,
        place: Place,
        message: String,
        written: &str,
        known: impl Iterator<Item = &'n str>,
    ) {
        let nearest = match self.suggestions.checked_sub(1) {
            Some(left) => {
                self.suggestions = left;
                text::nearest(written, known)
            }
            None => None,
        };
        self.problems.push(Problem { nearest, ..place.problem(message) });
    }

    /// Notes a key that the table does not have: where it belongs if another table has it, or which one was meant.
    pub(crate) fn unknown_key<'n>(&mut self, key: &Key<'_>, known: impl Iterator<Item = &'n str>) {
        let (name, place) = (key.get_ref(), self.place(key.span()));
        let message = format!("unknown key `{name}`");
        let places = if self.suggestions > 0 { self.places_of(name) } else { Vec::new() };
        let unknown = Some(name.to_string());
        if (1..=MOST_PLACES).contains(&places.len()) {
            self.suggestions -= 1;
            let message = format!("{message}; it belongs {}", places.join(" or "));
            self.problems.push(Problem { unknown, ..place.problem(message) });
        } else {
            self.unknown(place, message, name, known);
            self.problems.last_mut().into_iter().for_each(|problem| problem.unknown.clone_from(&unknown));
        }
    }

    /// The tables of the document that have a key of this name.
    fn places_of(&self, name: &str) -> Vec<String> {
        let mut places = Vec::new();
        let mut waiting: Vec<(String, TableReference)> =
            self.reference.map(|reference| (String::new(), reference())).into_iter().collect();
        while let Some((place, table)) = waiting.pop() {
            for key in table.keys {
                if key.name == name {
                    places.push(if place.is_empty() {
                        "at the top of the file".to_owned()
                    } else {
                        format!("in `{place}`")
                    });
                }
                let path = match place.trim_matches(['[', ']']) {
                    "" => key.name.to_owned(),
                    above => format!("{above}.{}", key.name),
                };
                match key.shape {
                    Shape::Table(table) => waiting.push((format!("[{path}]"), table)),
                    Shape::Tables(table) | Shape::MergedTables { table, .. } => {
                        waiting.push((format!("[[{path}]]"), table));
                    }
                    Shape::NamedTables(Some(table)) => waiting.push((format!("[{path}.ID]"), table)),
                    _ => {}
                }
            }
        }
        places.sort();
        places
    }

    pub fn string(&mut self, entry: Entry<'_, '_>) -> Option<String> {
        match entry.value.get_ref() {
            DeValue::String(text) => Some(text.clone().into_owned()),
            _ => {
                self.wrong(entry, "a string");
                None
            }
        }
    }

    /// An array of strings, each with its place.
    pub fn strings(&mut self, entry: Entry<'_, '_>) -> Option<Vec<At<String>>> {
        let DeValue::Array(items) = entry.value.get_ref() else {
            self.wrong(entry, "an array of strings");
            return None;
        };
        let items = items.iter().filter_map(|value| {
            let text = self.string(Entry { key: entry.key, value })?;
            Some(At { value: text, place: self.place(value.span()) })
        });
        Some(items.collect())
    }

    pub fn table<'v, 'd>(&mut self, entry: Entry<'v, 'd>) -> Option<&'v Table<'d>> {
        match entry.value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong(entry, "a table");
                None
            }
        }
    }

    /// `[[name]]`, each with its entry.
    pub fn tables<'v, 'd>(&mut self, entry: Entry<'v, 'd>) -> Vec<(Entry<'v, 'd>, &'v Table<'d>)> {
        let DeValue::Array(items) = entry.value.get_ref() else {
            self.wrong(entry, "an array of tables");
            return Vec::new();
        };
        let items = items.iter().filter_map(|value| {
            let entry = Entry { key: entry.key, value };
            Some((entry, self.table(entry)?))
        });
        items.collect()
    }
}

//! A text that is TOML, with the place of every key and value.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::lines::Lines;
use crate::problem::{Place, Problems};

/// A key as it is written, without its quotes.
pub type Key<'a> = Spanned<Cow<'a, str>>;
pub type Value<'a> = Spanned<DeValue<'a>>;
pub type Table<'a> = DeTable<'a>;

#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    root: Table<'a>,
}

impl<'a> Document<'a> {
    /// All that is wrong with the text is found in one go; what is left of a broken one is not looked at, since that would
    /// only give more of the same mistakes. Nothing of the text is quoted: it may hold a token.
    pub fn parse(file: &str, text: &'a str) -> Result<Self, Problems> {
        let text = without_byte_order_mark(text);
        let (root, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            return Ok(Self { text, root: root.into_inner() });
        }
        let (file, lines) = (Arc::from(file), Lines::of(text));
        let problems = errors.iter().map(|error| {
            let (line, column) = lines.place(error.span().unwrap_or(0..0).start);
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            Place { file: Arc::clone(&file), line, column }.problem(message)
        });
        Err(Problems::sorted(problems.collect()))
    }

    pub fn root(&self) -> &Table<'a> {
        &self.root
    }

    /// The text of some of the top-level keys. Each stays on its line and column; everything else, comments included, is left
    /// out.
    pub fn text_of(&self, mut is_kept: impl FnMut(&str, &DeValue<'_>) -> bool) -> String {
        let mut kept = Vec::new();
        for (key, value) in &self.root {
            if is_kept(key.get_ref(), value.get_ref()) {
                self.statements(key.span(), value, &mut kept);
            }
        }
        kept.sort_unstable_by_key(|statement| statement.start);
        let mut text = String::with_capacity(self.text.len());
        let line_ends = |text: &mut String, left_out: Range<usize>| {
            let left_out = self.text.get(left_out).unwrap_or_default();
            text.extend(left_out.chars().filter(|character| *character == '\n'));
        };
        let mut end = 0;
        for statement in kept {
            line_ends(&mut text, end..statement.start);
            end = statement.end;
            text.push_str(self.text.get(statement).unwrap_or_default());
        }
        line_ends(&mut text, end..self.text.len());
        text
    }

    /// The headers and assignments that make up a value. Each begins a line of its own, with nothing but spaces and the rest
    /// of a dotted key before `key`.
    fn statements(&self, key: Range<usize>, value: &Value<'_>, found: &mut Vec<Range<usize>>) {
        let starts_with = |value: &Value<'_>, opening: &str| {
            self.text.get(value.span()).is_some_and(|text| text.starts_with(opening))
        };
        let from_line_start = |start: usize, end: usize| {
            let before = self.text.get(..start).unwrap_or_default();
            before.rfind('\n').map_or(0, |at| at + 1)..end
        };
        let mut table = |header: Option<&Value<'_>>, table: &Table<'_>| {
            found.extend(header.map(|header| from_line_start(header.span().start, header.span().end)));
            for (key, value) in table {
                self.statements(key.span(), value, found);
            }
        };
        match value.get_ref() {
            // `[[name]]`, each with a header of its own; in `name = [{…}]` the tables begin with a brace.
            DeValue::Array(items)
                if items.first().is_some_and(|item| is_table(item) && starts_with(item, "[")) =>
            {
                for item in items.iter() {
                    if let DeValue::Table(inner) = item.get_ref() {
                        table(Some(item), inner);
                    }
                }
            }
            // A table that is only named on the way to another one, `a` in `[a.b]`, has no header: its place is that of the key.
            DeValue::Table(inner) if !starts_with(value, "{") => {
                table(starts_with(value, "[").then_some(value), inner);
            }
            _ => found.push(from_line_start(key.start, value.span().end)),
        }
    }
}

fn is_table(value: &Value<'_>) -> bool {
    matches!(value.get_ref(), DeValue::Table(_))
}

/// Editors of some systems put one at the beginning; it is no part of the first line.
pub(crate) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

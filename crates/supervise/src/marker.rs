//! Stage markers: lines such as `[STAGE:progress:pct=40:msg=half way]` with which a stage tells how it goes. A marker is
//! told, never believed: the exit status decides about a stage.
//!
//! The plain grammar has no way to put `:` or `]` into a value. The extension: a value in double quotes that holds one
//! of the two (`msg="loading: part [1]"`) is one value, with `\"`, `\\`, `\n` and `\r` for what cannot stand there itself;
//! a bare part likewise. Quotes around anything else are ordinary characters, as in the plain grammar, and so are
//! quotes that are not closed right before a `:` or the `]`.

mod reader;
mod taxonomy;

use std::collections::BTreeMap;
use std::fmt;

pub use reader::{LONGEST_LINE, Reader};
pub use taxonomy::{category, kinds};

/// The one type whose attributes are a reference of its own grammar (`arxiv:2301.12345`), and never split.
const UNSPLIT: &str = "CITATION";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marker {
    /// The type, with `-` read as `_`; also one that [`category`] does not know.
    pub kind: String,
    pub subtype: Option<String>,
    /// In the order of their first appearance; a later value replaces an earlier one.
    pub attributes: Vec<(String, String)>,
    /// What stands after the bracket, without the white space around it.
    pub text: String,
}

impl Marker {
    /// A marker without attributes and text.
    pub fn new(kind: &str, subtype: Option<&str>) -> Self {
        Self { kind: kind.to_owned(), subtype: subtype.map(str::to_owned), ..Self::default() }
    }

    /// The same marker with one attribute more.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.set(key.to_owned(), value.to_owned());
        self
    }

    /// The value of an attribute; empty if the key stood alone.
    pub fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Where the line belongs in the taxonomy; `None` for a type that it does not have.
    pub fn category(&self) -> Option<&'static str> {
        category(&self.kind)
    }

    /// `[CHECKPOINT:saved:…]`: what the stage has written so far is worth keeping.
    pub fn is_checkpoint(&self) -> bool {
        self.kind == "CHECKPOINT" && self.subtype.as_deref() == Some("saved")
    }

    /// Reads one line, with or without its line end; `None` if it is no marker.
    pub fn parse(line: &str) -> Option<Self> {
        let inside = line.trim_start().strip_prefix('[')?;
        let length = inside.find(|character: char| !is_of_kind(character))?;
        let (kind, rest) = inside.split_at_checked(length)?;
        if !kind.starts_with(|first: char| first.is_ascii_uppercase()) {
            return None;
        }
        let mut marker = Self::new(&kind.replace('-', "_"), None);
        if let Some(text) = rest.strip_prefix(']') {
            marker.text = text.trim().to_owned();
            return Some(marker);
        }
        let rest = rest.strip_prefix(':')?;
        if marker.kind == UNSPLIT {
            let (whole, text) = rest.split_once(']').filter(|(whole, _)| !whole.is_empty())?;
            marker.subtype = Some(whole.to_owned());
            marker.text = text.trim().to_owned();
            return Some(marker);
        }
        // `[STAGE:]` is no marker.
        if rest.starts_with(']') {
            return None;
        }
        marker.clone().with_parts(rest, Part::read).or_else(|| marker.with_parts(rest, Part::read_plain))
    }

    /// The parts up to the closing bracket, and the text after it.
    fn with_parts(mut self, mut rest: &str, read: fn(&str) -> Option<(Part, &str)>) -> Option<Self> {
        loop {
            let (part, after) = read(rest)?;
            self.take(part);
            if let Some(text) = after.strip_prefix(']') {
                self.text = text.trim().to_owned();
                return Some(self);
            }
            rest = after.strip_prefix(':')?;
        }
    }

    fn take(&mut self, part: Part) {
        match part {
            Part::Pair(key, value) => self.set(key, value),
            Part::Bare(bare) if bare.is_empty() => {}
            Part::Bare(bare) if self.subtype.is_none() => self.subtype = Some(bare),
            Part::Bare(bare) => self.set(bare, String::new()),
        }
    }

    fn set(&mut self, key: String, value: String) {
        match self.attributes.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.attributes.push((key, value)),
        }
    }
}

fn is_of_kind(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// What stands between two colons.
enum Part {
    Pair(String, String),
    Bare(String),
}

impl Part {
    /// The part at the beginning of the text, and what follows it: a `:` or the closing `]`.
    fn read(text: &str) -> Option<(Self, &str)> {
        if let Some((bare, after)) = quoted(text, &[':', ']', '=', '\\']) {
            return Some((Self::Bare(bare), after));
        }
        let (part, after) = Self::read_plain(text)?;
        let Self::Pair(key, value) = part else { return Some((part, after)) };
        // A value in quotes may go on after the first colon or bracket.
        match text.get(key.len() + 1..).and_then(|value| quoted(value, &[':', ']', '\\'])) {
            Some((value, after)) => Some((Self::Pair(key, value), after)),
            None => Some((Self::Pair(key, value), after)),
        }
    }

    /// The same without quotes.
    fn read_plain(text: &str) -> Option<(Self, &str)> {
        let (plain, after) = text.split_at_checked(text.find([':', ']'])?)?;
        let part = match plain.split_once('=') {
            Some((key, value)) => Self::Pair(key.to_owned(), value.to_owned()),
            None => Self::Bare(plain.to_owned()),
        };
        Some((part, after))
    }
}

/// A quoted text at the beginning, without its quotes, and what follows it; `None` if the plain grammar applies:
/// the quote is not closed before a `:` or `]`, or there is nothing in it that asks for quotes.
fn quoted<'a>(text: &'a str, asks_for_quotes: &[char]) -> Option<(String, &'a str)> {
    let inside = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut characters = inside.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                itself => itself,
            }),
            '"' => {
                let (raw, after) = (inside.get(..at)?, inside.get(at + 1..)?);
                let applies = after.starts_with([':', ']']) && raw.contains(asks_for_quotes);
                return applies.then_some((value, after));
            }
            other => value.push(other),
        }
    }
    None
}

/// Writes the marker such that [`Marker::parse`] reads the same again. What no grammar can carry is replaced: a line
/// break in the text becomes a space, and what would end a key or a citation becomes `_`.
impl fmt::Display for Marker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{}", self.kind)?;
        let subtype = self.subtype.as_deref().filter(|subtype| !subtype.is_empty());
        if self.kind == UNSPLIT {
            let reference = subtype.map(|subtype| subtype.replace([']', '\n', '\r'], "_"));
            reference.map_or(Ok(()), |reference| write!(formatter, ":{reference}"))?;
        } else {
            if let Some(subtype) = subtype {
                write!(formatter, ":{}", written(subtype, &[':', ']', '=', '\n', '\r']))?;
            }
            for (key, value) in &self.attributes {
                let key = key.replace([':', ']', '=', '"', '\n', '\r'], "_");
                write!(formatter, ":{key}={}", written(value, &[':', ']', '\n', '\r']))?;
            }
        }
        formatter.write_str("]")?;
        let text = self.text.replace(['\n', '\r'], " ");
        if !text.trim().is_empty() {
            write!(formatter, " {}", text.trim())?;
        }
        Ok(())
    }
}

/// A part as it stands in a marker: in quotes where it holds what needs them, or could be taken for quoted.
fn written(value: &str, needs_quotes: &[char]) -> String {
    if !value.contains(needs_quotes) && !value.starts_with('"') {
        return value.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// How many markers of each type there were, unknown types among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<String, u64>);

impl Counts {
    pub fn count(&mut self, marker: &Marker) {
        *self.0.entry(marker.kind.clone()).or_default() += 1;
    }

    /// The types that the taxonomy does not have.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, u64)> {
        let unknown = self.0.iter().filter(|(kind, _)| category(kind).is_none());
        unknown.map(|(kind, number)| (kind.as_str(), *number))
    }
}

//! How a JSON text is laid out, and edits that keep to it: what is added looks like its neighbours, what is taken
//! away leaves no trace.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use super::json_text::JsonText;
use super::status_line::StatusLine;
use super::{Group, Lists};

/// A piece of the text, and what comes in its place.
pub(super) type Edit = (Range<usize>, String);

/// What can be added, each as the clients write it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Addition<'a> {
    Group(&'a Group),
    List([&'a Group; 1]),
    Lists(Lists<'a>),
    StatusLine(&'a StatusLine),
    Value(&'a Value),
}

#[derive(Debug)]
pub(super) struct Layout {
    text: String,
    /// One step of indentation.
    step: String,
    line_end: &'static str,
    /// Members of the whole object stand on lines of their own.
    is_spread: bool,
}

impl Layout {
    pub(super) fn of(text: &str, json: &JsonText) -> Self {
        let whole = json.whole();
        let first = json.members(&whole).first().map(|member| member.range.start);
        let before_first = text.get(whole.start + 1..first.unwrap_or(whole.end)).unwrap_or_default();
        let mut layout = Self {
            text: text.to_owned(),
            step: "  ".to_owned(),
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
            is_spread: before_first.contains('\n') || first.is_none(),
        };
        if let Some(first) = first.filter(|_| layout.is_spread) {
            let outer = layout.indentation(whole.start).len();
            let step = layout.indentation(first).get(outer..).filter(|step| !step.is_empty());
            layout.step = step.unwrap_or("  ").to_owned();
        }
        layout
    }

    /// The spaces at the beginning of the line in which a place is.
    fn indentation(&self, at: usize) -> &str {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let rest = line.trim_start_matches([' ', '\t']);
        line.get(..line.len() - rest.len()).unwrap_or_default()
    }

    /// Adds `new` behind the `present` items of a container; each with its name where the container is an object.
    pub(super) fn append(
        &self,
        json: &JsonText,
        container: &Range<usize>,
        present: &[Range<usize>],
        new: &[(Option<&str>, Addition<'_>)],
    ) -> Vec<Edit> {
        let inside = container.start + 1..container.end - 1;
        let content = self.text.get(inside.clone()).unwrap_or_default();
        // Where the last item or comment ends.
        let content_end = inside.start + content.trim_end().len();
        let on_own_lines = match present.first() {
            Some(first) => self.text.get(inside.start..first.start).unwrap_or_default().contains('\n'),
            None => self.is_spread,
        };
        let outer = self.indentation(container.start);
        if !on_own_lines {
            let is_spread = self.is_spread && content.contains('\n');
            let gap = if is_spread || self.has_space_after_commas(json, present) { ", " } else { "," };
            let items: Vec<String> = new.iter().map(|item| self.rendered(item, outer, is_spread)).collect();
            let items = items.join(gap);
            return match present.last() {
                Some(last) => vec![(last.end..last.end, format!("{gap}{items}"))],
                // Before a comment, which might reach to the end of its line.
                None => vec![(inside.start..inside.start, items)],
            };
        }
        let indentation = match present.first() {
            Some(first) => self.indentation(first.start).to_owned(),
            None => format!("{outer}{}", self.step),
        };
        let line = format!("{}{indentation}", self.line_end);
        let items: Vec<String> = new.iter().map(|item| self.rendered(item, &indentation, true)).collect();
        let items = format!("{line}{}", items.join(&format!(",{line}")));
        let close = format!("{}{outer}", self.line_end);
        let rest = content_end..inside.end;
        match present.last() {
            Some(last) => vec![(last.end..last.end, ",".to_owned()), (content_end..content_end, items)],
            None if content.trim().is_empty() => vec![(inside, items + &close)],
            None if self.text.get(rest).unwrap_or_default().contains('\n') => {
                vec![(content_end..content_end, items)]
            }
            None => vec![(content_end..content_end, items + &close)],
        }
    }

    /// Takes the items away that are marked.
    pub(super) fn take(
        &self,
        json: &JsonText,
        container: &Range<usize>,
        items: &[Range<usize>],
        marked: &[bool],
    ) -> Vec<Edit> {
        let mut edits = Vec::new();
        let last_kept = marked.iter().rposition(|marked| !marked);
        for (number, item) in items.iter().enumerate() {
            if marked.get(number) != Some(&true) {
                continue;
            }
            let before = self.text.get(..item.start).unwrap_or_default();
            let mut start = before.trim_end_matches([' ', '\t', '\r', '\n']).len().max(container.start + 1);
            if self.is_comment(json, start - 1) && !self.line_ends_after(items, marked, number) {
                // What follows must not get into the comment's line.
                start = item.start;
            }
            edits.push((start..item.end, String::new()));
            // The comma behind, where something stays behind; else the one before.
            let (left, right) = match last_kept {
                Some(kept) if kept > number => (Some(item), items.get(number + 1)),
                _ => (number.checked_sub(1).and_then(|previous| items.get(previous)), Some(item)),
            };
            let comma = left.zip(right).and_then(|(left, right)| json.comma_between(left.end, right.start));
            edits.extend(comma.map(|comma| (comma..comma + 1, String::new())));
        }
        if last_kept.is_none() {
            let from = items.last().map_or(container.start + 1, |item| item.end);
            let rest = from..container.end - 1;
            let has_comment = self.text.get(container.clone()) != Some(json.slice(container));
            if !has_comment && self.text.get(rest.clone()).is_some_and(|rest| rest.trim().is_empty()) {
                edits.push((rest, String::new()));
            }
        }
        edits
    }

    fn is_comment(&self, json: &JsonText, at: usize) -> bool {
        let is_space = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        is_space(Some(&json.byte(at))) && !is_space(self.text.as_bytes().get(at))
    }

    /// Whether nothing stands behind an item in its line, once it and the marked ones that follow are gone.
    fn line_ends_after(&self, items: &[Range<usize>], marked: &[bool], number: usize) -> bool {
        let mut end = items.get(number).map_or(0, |item| item.end);
        for (item, marked) in items.iter().zip(marked).skip(number + 1) {
            let between = self.text.get(end..item.start).unwrap_or_default();
            if !marked || between.trim() != "," {
                break;
            }
            end = item.end;
        }
        let rest = self.text.get(end..).unwrap_or_default().trim_start_matches([',', ' ', '\t', '\r']);
        rest.starts_with('\n')
    }

    fn has_space_after_commas(&self, json: &JsonText, present: &[Range<usize>]) -> bool {
        match present {
            [first, second, ..] => json
                .comma_between(first.end, second.start)
                .is_some_and(|comma| json.byte(comma + 1).is_ascii_whitespace()),
            _ => self.text.contains("\": "),
        }
    }

    fn rendered(
        &self,
        (name, addition): &(Option<&str>, Addition<'_>),
        outer: &str,
        is_spread: bool,
    ) -> String {
        let mut bytes = Vec::new();
        // Strings and numbers can always be written, and a vector takes them.
        let (colon, text) = if is_spread {
            let formatter = serde_json::ser::PrettyFormatter::with_indent(self.step.as_bytes());
            let _ = addition.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter));
            let text = String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{outer}", self.line_end));
            (": ", text)
        } else {
            let _ = addition.serialize(&mut serde_json::Serializer::new(&mut bytes));
            (":", String::from_utf8_lossy(&bytes).into_owned())
        };
        match name {
            Some(name) => format!("\"{name}\"{colon}{text}"),
            None => text,
        }
    }
}

/// The text with the edits, which do not overlap except where a piece taken away holds another.
pub(super) fn applied(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut edited = String::with_capacity(text.len() + 1024);
    let mut at = 0;
    for (range, new) in edits {
        edited.push_str(text.get(at..range.start.max(at)).unwrap_or_default());
        edited.push_str(&new);
        at = at.max(range.end);
    }
    edited.push_str(text.get(at..).unwrap_or_default());
    edited
}

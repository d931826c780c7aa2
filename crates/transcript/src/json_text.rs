//! Text out of JSON without copying more than is kept: borrowed strings, and snippets that decode only the
//! head and the tail of a string of megabytes.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A JSON string, borrowed from the line where it has no escapes. A plain `Option<Cow<str>>` field would
/// copy always.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn owned(&self) -> String {
        self.0.clone().into_owned()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(value)))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(value.to_owned())))
            }
            fn visit_string<E: Error>(self, value: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(value)))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// The characters of a JSON string literal (as written, with or without its quotes). Escapes that are cut
/// off or broken are left out: the caller may hand in any part of a literal.
pub(crate) fn decode(literal: &str) -> String {
    let mut text = String::new();
    decode_to(&mut text, literal);
    text
}

/// Adds the characters to `text`.
fn decode_to(text: &mut String, literal: &str) {
    let mut rest = literal.strip_prefix('"').unwrap_or(literal);
    text.reserve(rest.len());
    while let Some(backslash) = memchr::memchr2(b'\\', b'"', rest.as_bytes()) {
        let (plain, escape) = rest.split_at(backslash);
        text.push_str(plain);
        let mut characters = escape.chars();
        if characters.next() == Some('"') {
            return;
        }
        match characters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => {
                let (character, after) = unicode_escape(characters.as_str());
                text.extend(character);
                rest = after;
                continue;
            }
            Some(character) => text.push(character),
            None => {}
        }
        rest = characters.as_str();
    }
    text.push_str(rest);
}

/// The character after `\u`, which may take a second escape; and what comes after it.
fn unicode_escape(digits: &str) -> (Option<char>, &str) {
    let Some((unit, after)) = hex_unit(digits) else { return (None, "") };
    if let Some(character) = char::from_u32(unit) {
        return (Some(character), after);
    }
    let low = after.strip_prefix("\\u").and_then(hex_unit);
    match low {
        Some((low, after_low)) if (0xD800..0xDC00).contains(&unit) && (0xDC00..0xE000).contains(&low) => {
            (char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), after_low)
        }
        _ => (None, after),
    }
}

fn hex_unit(digits: &str) -> Option<(u32, &str)> {
    let unit = u32::from_str_radix(digits.get(..4)?, 16).ok()?;
    Some((unit, digits.get(4..)?))
}

/// The first `bytes` of a literal or a little less, never cutting an escape in two.
pub(crate) fn literal_head(literal: &str, bytes: usize) -> &str {
    match literal.get(..safe_cut(literal, bytes)) {
        Some(head) => head,
        None => literal,
    }
}

/// The last `bytes` of a literal or a little less, never beginning inside an escape.
pub(crate) fn literal_tail(literal: &str, bytes: usize) -> &str {
    let cut = safe_cut(literal, literal.len().saturating_sub(bytes));
    literal.get(cut..).unwrap_or_default()
}

/// The offset at or shortly after `offset` that is between two characters and not inside an escape.
fn safe_cut(literal: &str, offset: usize) -> usize {
    let mut offset = literal.ceil_char_boundary(offset);
    let bytes = literal.as_bytes();
    // An escape is at most six bytes, so only a backslash in the five before can reach over the cut. Of a
    // run of backslashes only every other one begins an escape.
    let near = offset.saturating_sub(5);
    if let Some(found) = bytes.get(near..offset).and_then(|part| memchr::memrchr(b'\\', part)) {
        let backslash = near + found;
        let run = bytes
            .get(..=backslash)
            .unwrap_or_default()
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        if run % 2 == 1 {
            let length = if bytes.get(backslash + 1) == Some(&b'u') { 6 } else { 2 };
            offset = offset.max(backslash + length);
        }
    }
    literal.ceil_char_boundary(offset.min(literal.len()))
}

/// Decodes a literal piece by piece, so that one of megabytes takes no more memory than a short one.
pub(crate) fn decode_in_pieces(literal: &str, mut take: impl FnMut(&str)) {
    const PIECE: usize = 64 * 1024;
    let mut rest = literal.strip_prefix('"').unwrap_or(literal);
    let mut text = String::new();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(safe_cut(rest, PIECE.min(rest.len())));
        text.clear();
        decode_to(&mut text, piece);
        take(&text);
        rest = behind;
    }
}

/// Collects the head and the tail of a text that arrives in pieces, and forgets what is between.
#[derive(Debug)]
pub(crate) struct Snippet {
    limit: usize,
    text: String,
    /// Where `text` continues after a gap.
    gap: Option<usize>,
}

impl Snippet {
    /// At most `limit` characters.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, text: String::new(), gap: None }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let half = self.limit * 4;
        if text.len() <= 2 * half {
            self.text.push_str(text);
        } else {
            self.text.push_str(text.get(..text.ceil_char_boundary(half)).unwrap_or_default());
            self.gap = Some(self.text.len());
            self.text.push_str(text.get(text.floor_char_boundary(text.len() - half)..).unwrap_or_default());
        }
        self.compact();
    }

    /// A JSON string literal; of a long one only the ends are decoded.
    pub(crate) fn push_literal(&mut self, literal: &str) {
        // A character takes one byte of JSON mostly, and twelve at the most; each end shows half of them.
        for bytes_a_character in [1, 12] {
            let half = self.limit * bytes_a_character;
            if literal.len() <= 2 * half {
                break;
            }
            let begin = self.text.len();
            decode_to(&mut self.text, literal_head(literal, half));
            let gap = self.text.len();
            decode_to(&mut self.text, literal_tail(literal, half));
            let is_enough = |text: Option<&str>| {
                text.is_some_and(|text| text.trim_end().chars().nth(self.limit / 2).is_some())
            };
            if bytes_a_character == 12
                || (is_enough(self.text.get(begin..gap)) && is_enough(self.text.get(gap..)))
            {
                self.gap = Some(gap);
                self.compact();
                return;
            }
            self.text.truncate(begin);
        }
        decode_to(&mut self.text, literal);
        self.compact();
    }

    /// Keeps the buffer at a few times the limit, however much is pushed.
    fn compact(&mut self) {
        let keep = self.limit * 4;
        if self.text.len() <= 8 * keep {
            return;
        }
        let head_end = self.text.ceil_char_boundary(self.gap.unwrap_or(keep).min(keep));
        let tail_start = self.text.floor_char_boundary(self.text.len() - keep);
        self.text.replace_range(head_end..tail_start.max(head_end), "");
        self.gap = Some(head_end);
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        let text = self.text.as_str();
        let fits = self.gap.is_none() && (text.len() <= self.limit || text.chars().nth(self.limit).is_none());
        if fits {
            self.text.shrink_to_fit();
            return self.text;
        }
        let (head, tail) = text.split_at(self.gap.unwrap_or(text.len()).min(text.len()));
        let tail = if self.gap.is_some() { tail } else { text };
        let half = self.limit / 2;
        let head_end = head.char_indices().nth(half.saturating_sub(1)).map_or(head.len(), |(at, _)| at);
        let tail_start = tail.char_indices().nth_back(half.saturating_sub(1)).map_or(0, |(at, _)| at);
        let (head, tail) =
            (head.get(..head_end).unwrap_or_default(), tail.get(tail_start..).unwrap_or_default());
        format!("{head}…{tail}")
    }
}

/// The ends of `text` in at most `limit` characters. A text that is given away and fits is not copied.
pub(crate) fn snippet<'a>(text: impl Into<Cow<'a, str>>, limit: usize) -> String {
    match text.into() {
        Cow::Owned(mut text) if text.len() <= limit => {
            text.truncate(text.trim_end().len());
            text
        }
        text => {
            let mut snippet = Snippet::new(limit);
            snippet.push(&text);
            snippet.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decoding_agrees_with_the_json_parser() {
        for text in ["", "plain", "a\n\t\"\\\\ b", "üñí 🎉 日本", "\u{0}\u{1f}", "C:\\path\\n"] {
            let literal = serde_json::to_string(text).unwrap();
            assert_eq!(decode(&literal), text);
        }
        assert_eq!(decode(r#""\ud83c\udf89 \u00fc \/""#), "🎉 ü /");
    }

    #[test]
    fn a_broken_literal_gives_what_it_can() {
        for (literal, text) in [
            (r"abc\", "abc"),
            (r"abc\u12", "abc"),
            (r"\ud83c alone", " alone"),
            (r"\udf89 low", " low"),
            (r"a\qb", "aqb"),
        ] {
            assert_eq!(decode(literal), text, "{literal}");
        }
    }

    /// T22: a result of megabytes is kept as 500 characters, head and tail.
    #[test]
    fn a_long_text_keeps_head_and_tail() {
        let text = format!("HEAD{}TAIL", "x".repeat(5_000_000));
        let by_literal = {
            let mut snippet = Snippet::new(500);
            snippet.push_literal(&serde_json::to_string(&text).unwrap());
            snippet.finish()
        };
        for short in [snippet(&text, 500), by_literal] {
            assert_eq!(short.chars().count(), 500);
            assert!(short.starts_with("HEADxx") && short.ends_with("xxTAIL") && short.contains('…'));
        }
    }

    #[test]
    fn many_pieces_stay_bounded() {
        let mut snippet = Snippet::new(500);
        for piece in 0..100_000 {
            snippet.push(&format!("piece {piece} "));
            assert!(snippet.text.len() < 20_000);
        }
        let text = snippet.finish();
        assert!(text.starts_with("piece 0 ") && text.ends_with("piece 99999"), "{text}");
        assert_eq!(text.chars().count(), 500);
    }

    proptest! {
        #[test]
        fn a_snippet_is_the_text_or_its_ends(text in "\\PC{0,80}|[\\\\\"ünx\n]{0,2000}") {
            let mut whole = Snippet::new(100);
            whole.push_literal(&serde_json::to_string(&text).unwrap());
            let by_literal = whole.finish();
            prop_assert_eq!(&by_literal, &snippet(&text, 100));
            prop_assert!(by_literal.chars().count() <= 100);
            let trimmed = text.trim_end();
            if trimmed.chars().count() <= 100 && text.len() <= 800 {
                prop_assert_eq!(by_literal, trimmed);
            } else if let Some((head, tail)) = by_literal.split_once('…') {
                prop_assert!(text.starts_with(head));
                prop_assert!(trimmed.ends_with(tail));
            }
        }

        #[test]
        fn no_cut_falls_into_an_escape(text in "[\\\\\"ü\u{1}🎉x\n]{1,60}", at in 0_usize..400) {
            let literal = serde_json::to_string(&text).unwrap();
            let inner = &literal[1..literal.len() - 1];
            let cut = safe_cut(inner, at.min(inner.len()));
            prop_assert_eq!(decode(&inner[..cut]) + &decode(&inner[cut..]), text);
        }
    }
}

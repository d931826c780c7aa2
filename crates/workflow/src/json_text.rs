//! JSON as tools in JavaScript write it. A text that was cut in the middle of a character ends with half of a surrogate
//! pair, `\ud83c`, which no Rust string can hold. In memory such a half is two private characters, and it is written
//! back as it was; whoever reads it sees a replacement character.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Stands before the half of a pair, and before itself.
const MARK: char = '\u{10fffd}';
const MARK_BYTES: &[u8] = "\u{10fffd}".as_bytes();

/// The private character for the first surrogate; the others follow it.
const FIRST: u32 = 0x10_f000;
const SURROGATES: std::ops::Range<u32> = 0xd800..0xe000;
const HIGH: std::ops::Range<u32> = 0xd800..0xdc00;

pub(crate) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(&storable(json))
}

/// The same JSON with every lone half as characters that a string can hold.
pub(crate) fn storable(json: &[u8]) -> Cow<'_, [u8]> {
    let is_odd = |window: &[u8]| window.starts_with(b"\\u") || window == MARK_BYTES;
    if !json.windows(MARK_BYTES.len()).any(is_odd) {
        return Cow::Borrowed(json);
    }
    let mut stored = Vec::with_capacity(json.len() + 64);
    let mut rest = json;
    while let Some(first) = rest.first() {
        let (taken, character) = match escape(rest) {
            Some(high) if HIGH.contains(&high) => match rest.get(6..).and_then(escape) {
                Some(low) if SURROGATES.contains(&low) && !HIGH.contains(&low) => {
                    (12, char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)))
                }
                _ => (6, half(high)),
            },
            Some(low) if SURROGATES.contains(&low) => (6, half(low)),
            Some(_) => (6, None),
            None if rest.starts_with(MARK_BYTES) => (MARK_BYTES.len(), Some(MARK)),
            // What a backslash escapes is no beginning of an escape.
            None if *first == b'\\' => (2, None),
            None => (1, None),
        };
        let (piece, after) = rest.split_at(taken.min(rest.len()));
        match character {
            Some(MARK) => stored.extend([MARK_BYTES, MARK_BYTES].concat()),
            Some(private) if is_half(private) && taken == 6 => {
                stored.extend(format!("{MARK}{private}").bytes());
            }
            _ => stored.extend(piece),
        }
        rest = after;
    }
    Cow::Owned(stored)
}

/// The number of `\uXXXX`, if the text begins with one.
fn escape(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn half(surrogate: u32) -> Option<char> {
    char::from_u32(FIRST + surrogate - SURROGATES.start)
}

fn is_half(character: char) -> bool {
    (FIRST..FIRST + SURROGATES.end - SURROGATES.start).contains(&u32::from(character))
}

/// Two-space JSON, with the lone halves as they were.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    unmarked(&text, |half| format!("\\u{:04x}", u32::from(half) - FIRST + SURROGATES.start)).into_owned()
}

/// A text for people and for other programs, which could do nothing with half a character.
pub(crate) fn readable(text: &str) -> Cow<'_, str> {
    unmarked(text, |_| char::REPLACEMENT_CHARACTER.to_string())
}

/// Every text and every key of an object, readable.
pub fn readable_object(object: &Map<String, Value>) -> Map<String, Value> {
    object.iter().map(|(key, value)| (readable(key).into_owned(), readable_value(value))).collect()
}

pub(crate) fn readable_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(readable(text).into_owned()),
        Value::Array(items) => items.iter().map(readable_value).collect(),
        Value::Object(object) => Value::Object(readable_object(object)),
        other => other.clone(),
    }
}

fn unmarked(text: &str, shown: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            (MARK, Some(MARK)) => plain.extend(characters.next()),
            (MARK, Some(private)) if is_half(private) => {
                characters.next();
                plain.push_str(&shown(private));
            }
            _ => plain.push(character),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read, as people see it, and what is written back.
    fn both_ways(json: &str) -> (String, String) {
        let value: Value = parse(json.as_bytes()).unwrap();
        (readable_value(&value).to_string(), pretty(&value))
    }

    #[test]
    fn half_a_character_is_read_and_written_back_as_it_was() {
        for (json, readable) in [
            (r#""cut \ud83c""#, "\"cut \u{fffd}\""),
            (r#""\udf89 cut""#, "\"\u{fffd} cut\""),
            (r#""\ud83c\ud83c""#, "\"\u{fffd}\u{fffd}\""),
            (r#""\ud83cx\udf89""#, "\"\u{fffd}x\u{fffd}\""),
            // Not an escape: the backslash is escaped itself.
            (r#""\\ud83c""#, r#""\\ud83c""#),
            (r#""\\\ud83c""#, "\"\\\\\u{fffd}\""),
            // The characters that are used here may be in a text as well.
            ("\"\u{10fffd}\"", "\"\u{10fffd}\""),
            ("\"\u{10fffd}\u{10f000}\"", "\"\u{10fffd}\u{10f000}\""),
            ("\"\u{10f000}\"", "\"\u{10f000}\""),
        ] {
            assert_eq!(both_ways(json), (readable.to_owned(), json.to_owned()));
        }
    }

    #[test]
    fn whole_characters_are_what_they_are_however_they_are_spelled() {
        assert_eq!(both_ways(r#""\ud83c\udf89 \u00fc \n""#).1, "\"🎉 ü \\n\"");
        assert_eq!(both_ways("\"\\udbff\\udffd\"").1, "\"\u{10fffd}\"");
        assert_eq!(both_ways("\"\\udbfc\\udc00\"").1, "\"\u{10f000}\"");
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for json in [r#""\ud8"#, r#""\u"#, "\\", r#""\uzzzz""#, "\u{10fffd}"] {
            assert!(parse::<Value>(json.as_bytes()).is_err(), "{json}");
        }
    }
}

//! Where things stand in a JSON text, by byte position, so that it can be edited without touching anything else.
//!
//! The text is checked whole by a real parser first; what follows here only finds the places, and goes no deeper than entries of ours.
//! Comments are blanked to spaces of the same length before, so that positions hold in both texts.

use std::ops::Range;

use serde_json::Value;

/// Ours are above this. What other people nest deeper stays as it is written: a parser may have no room for it.
const DEEPEST: usize = 16;

/// A text without its comments, known to be JSON. The positions are those of the original.
#[derive(Debug)]
pub(super) struct JsonText {
    text: String,
    pub(super) has_comments: bool,
}

/// A name and its value in an object.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// From the name's first quote to the value's end.
    pub(super) range: Range<usize>,
    pub(super) value: Range<usize>,
}

impl JsonText {
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let (text, has_comments) = blank_comments(text);
        serde_json::from_str::<serde::de::IgnoredAny>(&text)?;
        Ok(Self { text, has_comments })
    }

    pub(super) fn whole(&self) -> Range<usize> {
        let start = self.skip_space(0);
        start..self.value_end(start)
    }

    pub(super) fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    pub(super) fn is_object(&self, range: &Range<usize>) -> bool {
        self.byte(range.start) == b'{'
    }

    pub(super) fn is_array(&self, range: &Range<usize>) -> bool {
        self.byte(range.start) == b'['
    }

    pub(super) fn members(&self, object: &Range<usize>) -> Vec<Member> {
        let mut members = Vec::new();
        for name in self.items(object) {
            let colon = self.skip_space(name.end);
            let value = self.skip_space(colon + 1);
            let value = value..self.value_end(value);
            let written = self.slice(&name);
            // A name that cannot be decoded is none that anyone asks for.
            let decoded = serde_json::from_str(written).unwrap_or_else(|_| written.to_owned());
            members.push(Member { name: decoded, range: name.start..value.end, value });
        }
        members
    }

    pub(super) fn elements(&self, array: &Range<usize>) -> Vec<Range<usize>> {
        self.items(array)
    }

    /// The value at a place. What cannot be decoded is as it is written: JavaScript writes half a surrogate pair, and reads any number.
    pub(super) fn value(&self, place: &Range<usize>) -> Value {
        self.value_within(place, DEEPEST)
    }

    fn value_within(&self, place: &Range<usize>, levels: usize) -> Value {
        let written = self.slice(place);
        match self.byte(place.start) {
            b'{' | b'[' if levels == 0 => Value::from(written),
            b'{' => {
                let members = self.members(place).into_iter();
                members.map(|member| (member.name, self.value_within(&member.value, levels - 1))).collect()
            }
            b'[' => {
                self.elements(place).iter().map(|element| self.value_within(element, levels - 1)).collect()
            }
            _ => serde_json::from_str(written).unwrap_or_else(|_| Value::from(written)),
        }
    }

    /// The elements of an array; of an object the names.
    fn items(&self, container: &Range<usize>) -> Vec<Range<usize>> {
        let is_object = self.is_object(container);
        let close = container.end.saturating_sub(1);
        let mut items = Vec::new();
        let mut at = self.skip_space(container.start + 1);
        while at < close {
            let end = self.value_end(at);
            items.push(at..end);
            at = self.skip_space(end);
            if is_object {
                let value = self.skip_space(at + 1);
                at = self.skip_space(self.value_end(value));
            }
            // Over the comma.
            at = self.skip_space(at + 1);
        }
        items
    }

    /// Where the comma between two neighbours stands.
    pub(super) fn comma_between(&self, left_end: usize, right_start: usize) -> Option<usize> {
        let found = self.text.get(left_end..right_start)?.find(',')?;
        Some(left_end + found)
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn skip_space(&self, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
    }

    /// The end of the value that begins at `from`; always beyond `from`.
    fn value_end(&self, from: usize) -> usize {
        match self.byte(from) {
            b'"' => self.string_end(from),
            b'{' | b'[' => {
                let (mut depth, mut at) = (0_usize, from);
                while at < self.text.len() {
                    match self.byte(at) {
                        b'"' => {
                            at = self.string_end(at);
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    at += 1;
                    if depth == 0 {
                        break;
                    }
                }
                at
            }
            _ => {
                let rest = self.text.as_bytes().get(from..).unwrap_or_default();
                let is_scalar = |byte: &&u8| !byte.is_ascii_whitespace() && !b",:]}".contains(byte);
                from + rest.iter().take_while(is_scalar).count().max(1)
            }
        }
    }

    fn string_end(&self, from: usize) -> usize {
        from + string_length(self.text.get(from..).unwrap_or_default())
    }
}

/// `//` to the end of the line and `/* … */` become spaces; line ends inside stay.
fn blank_comments(text: &str) -> (String, bool) {
    let mut blanked = String::with_capacity(text.len());
    let mut rest = text;
    let mut has_comments = false;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                rest.get(2..).and_then(|rest| rest.find("*/")).map_or(0, |end| end + 4)
            }
            _ => 0,
        };
        let is_comment = character == '/' && length > 0;
        let (piece, after) = rest.split_at(if length > 0 { length } else { character.len_utf8() });
        if is_comment {
            has_comments = true;
            blanked.extend(
                piece.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { byte as char } else { ' ' }),
            );
        } else {
            blanked.push_str(piece);
        }
        rest = after;
    }
    (blanked, has_comments)
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_spaces_and_strings_stay() {
        let text = "{ // a \"b\"\n \"x//y\": /* ü\n */ \"\\\"/*\" }";
        let (blanked, has_comments) = blank_comments(text);
        assert_eq!(blanked, "{         \n \"x//y\":      \n    \"\\\"/*\" }");
        assert!(has_comments);
        assert_eq!(blanked.len(), text.len());
        assert!(!blank_comments("{\"a\": \"/b/*c*/\"}").1);
        assert!(JsonText::parse("{ /* never closed").is_err());
        assert!(JsonText::parse("{\"a\": /*/ 1}").is_err());
    }

    #[test]
    fn places_are_found() {
        let text = "  {\"a\" : [1, {\"b\":\"]}\"} , [] ],\"\\u0062\":null }\n";
        let json = JsonText::parse(text).unwrap();
        let members = json.members(&json.whole());
        let found: Vec<_> =
            members.iter().map(|member| (member.name.as_str(), json.slice(&member.value))).collect();
        assert_eq!(found, [("a", "[1, {\"b\":\"]}\"} , [] ]"), ("b", "null")]);
        let elements = json.elements(&members[0].value);
        let elements: Vec<_> = elements.iter().map(|element| json.slice(element)).collect();
        assert_eq!(elements, ["1", "{\"b\":\"]}\"}", "[]"]);
        assert_eq!(json.slice(&members[0].range), "\"a\" : [1, {\"b\":\"]}\"} , [] ]");
    }
}

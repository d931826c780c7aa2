//! Text as a person would read it, without the escape sequences of a terminal.

use std::borrow::Cow;

/// Without the escape sequences of a terminal: colours and cursor (`ESC [ … letter`), links and titles (`ESC ] … BEL`). Ends
/// of lines always stay.
pub fn without_colours(text: &str) -> Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    if memchr::memchr(0x1b, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, sequence)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        let is_end: fn(char) -> bool = match sequence.as_bytes().first() {
            Some(b'[') => |character| character.is_ascii_alphabetic(),
            Some(b']') => |character| character == '\u{7}' || character == '\\',
            _ => |_| true,
        };
        let end = sequence
            .char_indices()
            .find(|(_, character)| matches!(character, '\n' | '\r') || is_end(*character));
        rest = match end {
            Some((at, '\n' | '\r')) => sequence.get(at..).unwrap_or_default(),
            Some((at, character)) => sequence.get(at + character.len_utf8()..).unwrap_or_default(),
            None => "",
        };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

//! A line as a person would read it: without the escape sequences of a terminal, and without what others put in front of
//! it, such as the time or the name of a service.

use std::borrow::Cow;

/// Without the escape sequences of a terminal.
pub(crate) fn without_colours(text: &str) -> Cow<'_, str> {
    if memchr::memchr(0x1b, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
        } else if characters.next() == Some('[') {
            for end in characters.by_ref() {
                if end.is_ascii_alphabetic() {
                    break;
                }
            }
        }
    }
    Cow::Owned(plain)
}

/// The line without the first thing in front of it: a time, `[1] `, `web:test: `, `packages/api test: `, `web-1  | `,
/// `│ `. None if there is nothing of the kind.
pub(crate) fn without_prefix(line: &str) -> Option<&str> {
    bracketed(line).or_else(|| timed(line)).or_else(|| piped(line)).or_else(|| named(line))
}

/// Names of services and packages are short; a sentence is none.
const LONGEST_NAME: usize = 60;

/// `[1] `, `[INFO] `, `[12:00:01] `, `[@scope/web]: `
fn bracketed(line: &str) -> Option<&str> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let is_short = inside.len() <= LONGEST_NAME && !inside.contains('[');
    rest.strip_prefix(' ').filter(|_| is_short).map(str::trim_start)
}

/// `12:00:01 `, `2024-05-06T07:08:09.123Z `, `2024-05-06 07:08:09,123 `
fn timed(line: &str) -> Option<&str> {
    let end = line.find(|character: char| !(character.is_ascii_digit() || "-:.,/TZ+ ".contains(character)));
    let (time, rest) = line.split_at(end?);
    let is_time = time.ends_with(' ')
        && time.matches(':').count() >= 2
        && time.starts_with(|first: char| first.is_ascii_digit());
    // The number at the line's own beginning is not of the time: `07:08:09 5 passed`.
    let own =
        time.trim_end().rsplit_once(' ').filter(|(_, last)| last.chars().all(|digit| digit.is_ascii_digit()));
    let own = own.and_then(|(before, _)| line.get(before.len()..)).unwrap_or(rest);
    is_time.then_some(own.trim_start())
}

/// `web-1  | `, `│ `
fn piped(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(['|', '│', '┃'])?;
    let name = name.trim_end();
    let is_name = name.len() <= LONGEST_NAME && !name.contains(char::is_whitespace);
    rest.strip_prefix(' ').filter(|_| is_name).map(str::trim_start)
}

/// `web:test: `, `@scope/web:test: `, `packages/api test: `
fn named(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(": ")?;
    let is_name = match name.split_once(' ') {
        None => name.contains(':'),
        Some((folder, script)) => {
            !script.contains(' ') && !folder.contains(':') && folder.contains(['/', '.', '@'])
        }
    };
    (is_name && name.len() <= LONGEST_NAME && !name.is_empty()).then_some(rest.trim_start())
}

//! One line per decision, in the file `log` of the state directory: appended in one write, so that lines of
//! processes side by side never mix; rotated to `log.1` … `log.3`.
//!
//! What a line says is the caller's; control characters are made visible here, so that a line stays one.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use files::{FileError, Lock, regular_file};
use text::head;

const FILE_NAME: &str = "log";
const LARGEST_FILE: u64 = 1024 * 1024;
const KEPT: u32 = 3;
const LONGEST_LINE: usize = 4096;

pub fn append(state_directory: &Path, line: &str) -> Result<(), FileError> {
    let path = state_directory.join(FILE_NAME);
    let mut text = one_line(line);
    text.push('\n');
    let (mut file, size) = open(state_directory, &path)?;
    if size > 0 && size + text.len() as u64 > LARGEST_FILE && rotate(state_directory, &path) {
        (file, _) = open(state_directory, &path)?;
    }
    // One write, never a second one for what a full disk left out: another process's line may be between.
    let written = file.write(text.as_bytes());
    let whole = |written| if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) };
    written.and_then(whole).map_err(FileError::failed("append to", &path))
}

fn open(state_directory: &Path, path: &Path) -> Result<(File, u64), FileError> {
    let file = match regular_file::append(path, 0o600) {
        Err(error) if error.is_not_found() => {
            crate::state_directory::create(state_directory)?;
            regular_file::append(path, 0o600)?
        }
        opened => opened?,
    };
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((file, size))
}

/// Whether the file was rotated, by this process or another. Where it cannot be, it grows on: a line is
/// worth more than the bound.
fn rotate(state_directory: &Path, path: &Path) -> bool {
    let Ok(_lock) = Lock::acquire(&state_directory.join("log.lock"), Duration::ZERO) else { return false };
    // Another process may have rotated between our look and our lock.
    if path.metadata().is_ok_and(|log| log.len() < LARGEST_FILE / 2) {
        return true;
    }
    let numbered = |number: u32| state_directory.join(format!("{FILE_NAME}.{number}"));
    for number in (1..KEPT).rev() {
        let _ = fs_err::rename(numbered(number), numbered(number + 1));
    }
    fs_err::rename(path, numbered(1)).is_ok()
}

/// Line breaks and other control characters become visible escapes, and so do the characters that turn the
/// direction of text; what is too long is cut.
fn one_line(text: &str) -> String {
    let cut = head(text, LONGEST_LINE);
    let mut line = String::with_capacity(cut.len() + 1);
    for character in cut.chars() {
        let turns_text =
            matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match character {
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            '\r' => line.push_str("\\r"),
            _ if character.is_control() || turns_text => {
                // Writing to a string cannot fail.
                let _ = write!(line, "\\u{{{:x}}}", u32::from(character));
            }
            _ => line.push(character),
        }
    }
    if cut.len() < text.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_whatever_is_in_it() {
        for (text, line) in [
            ("plain ü", "plain ü"),
            ("a\nb\r\n\tc", "a\\nb\\r\\n\\tc"),
            ("\u{1b}[31mred\u{0}\u{7f}", "\\u{1b}[31mred\\u{0}\\u{7f}"),
            ("over\u{202e}ride\u{2028}", "over\\u{202e}ride\\u{2028}"),
            ("\u{85}", "\\u{85}"),
        ] {
            assert_eq!(one_line(text), line);
        }
        assert!(one_line(&"ü".repeat(10_000)).len() <= LONGEST_LINE + 3);
    }
}

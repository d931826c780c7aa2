//! A command as others may read it: each value that is or may be a secret is blanked, and the rest stays, since a run that
//! nobody recognises says nothing. A value ends where the shell ends its word.

use super::value_place::value_place;
use super::{WITHHELD, seen, without_values};

/// Stands for a value while others are looked for. It begins as a reference to a variable does, which is no value.
const BLANK: &str = "$\u{1a}";

/// The command without the values. What is in pieces, or in another form, is for the caller to look for in the result.
pub(crate) fn command_without_values(command: &str) -> String {
    // What was blanked before stays as it is.
    let mut text = command.replace('\u{1a}', " ").replace(WITHHELD, BLANK);
    while let Some((at, length)) = known_shape(&text) {
        let end = end_of_token(&text, at + length);
        text.replace_range(at..end, BLANK);
    }
    let mut done = 0;
    while let Some(at) = first_value(&text, done) {
        let end = end_of_word(&text, at);
        text.replace_range(at..end, BLANK);
        done = at + BLANK.len();
    }
    // A place that is seen only from the beginning of its line, before one that is blank already; and values on lines of their own.
    without_values(&text).replace(BLANK, WITHHELD)
}

/// Where something stands that is a secret by its own shape, or by its name and its looks, and how long it is.
fn known_shape(text: &str) -> Option<(usize, usize)> {
    let found = seen(text.as_bytes(), false).into_iter();
    let is_new = |secret: &[u8]| !secret.starts_with(BLANK.as_bytes()) && !secret.is_empty();
    let found = found.filter(|(_, at, secret)| is_new(secret) && text.is_char_boundary(*at));
    found.map(|(_, at, secret)| (at, secret.len())).min()
}

/// The first place of a value behind `done`, on any line. A text in quotes is on one line, whatever is in it.
fn first_value(text: &str, done: usize) -> Option<usize> {
    let mut lines = text.as_bytes().to_vec();
    for (place, letter, within) in letters(text) {
        if letter == '\n' && within != Within::Nothing {
            lines.splice(place..=place, [b' ']);
        }
    }
    let lines = String::from_utf8(lines).ok()?;
    let mut start = 0;
    for line in lines.split_inclusive('\n') {
        let end = start + line.len();
        if end > done {
            let found = value_place(line.trim_end_matches('\n')).map(|at| start + at);
            // What is named before a blank one is not looked at again.
            let is_new = |at: &usize| {
                *at >= done && *at < end && !text.get(*at..).unwrap_or_default().starts_with(BLANK)
            };
            if let Some(found) = found.filter(is_new) {
                return Some(found);
            }
        }
        start = end;
    }
    None
}

/// As far as letters go of which tokens are made.
fn end_of_token(text: &str, end: usize) -> usize {
    let rest = text.as_bytes().get(end..).unwrap_or_default();
    let is_of_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-+/=.~".contains(byte);
    let end = end + rest.iter().take_while(is_of_token).count();
    (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Where the shell ends the word that has the byte `at` in it: at a space or an operator outside of quotes. In quotes, at their end;
/// in a comment, at the end of the line.
fn end_of_word(text: &str, at: usize) -> usize {
    let mut behind = letters(text).into_iter().filter(|(place, ..)| *place >= at);
    let Some((_, _, beginning)) = behind.next() else { return text.len() };
    let is_end = |letter: char, within: Within| match beginning {
        Within::Quotes | Within::Comment => within != beginning && within != Within::Escape,
        Within::Nothing | Within::Escape => {
            within == Within::Nothing && (letter.is_whitespace() || ";|&()<>".contains(letter))
        }
    };
    let end = behind.find(|(_, letter, within)| is_end(*letter, *within));
    end.map_or(text.len(), |(place, ..)| place)
}

/// What a letter stands in. A quotation mark itself is a letter of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Nothing,
    Quotes,
    Comment,
    /// Behind a backslash.
    Escape,
}

/// The letters of a command with their places, as a shell reads them.
fn letters(text: &str) -> Vec<(usize, char, Within)> {
    let mut quote: Option<char> = None;
    let (mut is_escaped, mut is_comment, mut before) = (false, false, ' ');
    let mut read = |(place, letter): (usize, char)| {
        is_comment &= letter != '\n';
        let within = match quote {
            _ if is_comment => Within::Comment,
            _ if is_escaped => {
                is_escaped = false;
                Within::Escape
            }
            Some(open) if open == letter => {
                quote = None;
                Within::Nothing
            }
            Some(open) => {
                is_escaped = open == '"' && letter == '\\';
                Within::Quotes
            }
            None => {
                is_escaped = letter == '\\';
                is_comment = letter == '#' && before.is_whitespace();
                quote = Some(letter).filter(|letter| matches!(letter, '\'' | '"'));
                Within::Nothing
            }
        };
        before = letter;
        (place, letter, within)
    };
    text.char_indices().map(&mut read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_value_is_blanked() {
        for (command, shown) in [
            (
                "env API_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789 pytest -q",
                "env API_TOKEN=(withheld) pytest -q",
            ),
            (
                "API_KEY='a b' DB_PASSWORD=x\\ y make test",
                "API_KEY='(withheld)' DB_PASSWORD=(withheld) make test",
            ),
            ("npm test -- --token abc --grep cart", "npm test -- --token (withheld) --grep cart"),
            (
                "curl -H \"Authorization: Bearer abc12345 x\" h && pytest",
                "curl -H \"Authorization: Bearer (withheld)\" h && pytest",
            ),
            ("mysql -uroot -pswordfish < a.sql; pytest", "mysql -uroot (withheld) < a.sql; pytest"),
            (
                "DATABASE_URL=postgres://kim:swordfish@db/x pytest",
                "DATABASE_URL=postgres://(withheld) pytest",
            ),
            ("TOKEN=$TOKEN pytest -q", "TOKEN=$TOKEN pytest -q"),
            ("pytest -q --tb=short", "pytest -q --tb=short"),
            ("sh -c 'PASSWORD=a b; pytest'", "sh -c 'PASSWORD=(withheld)'"),
            ("pytest # the password is sword fish", "pytest # the password is (withheld)"),
            ("PASSWORD=\"a\nb c\" pytest", "PASSWORD=\"(withheld)\" pytest"),
            ("env API_TOKEN=(withheld) pytest -q", "env API_TOKEN=(withheld) pytest -q"),
        ] {
            let once = command_without_values(command);
            assert_eq!(once, shown, "{command}");
            assert_eq!(command_without_values(&once), shown, "again: {command}");
        }
    }
}

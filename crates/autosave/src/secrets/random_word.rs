//! Words that look random, in texts that leave the machine and lose nothing worth having without them: a key that nothing
//! beside it calls one. In files and commits there are too many innocent ones.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Captures, Regex};

use super::checks::switches;

/// Shorter ones are names and numbers of versions.
const SHORTEST: usize = 12;

/// A part of digits and letters in groups: a licence, a code for emergencies, an id.
const SHORTEST_GROUP: usize = 4;
const FEWEST_GROUPS: usize = 3;

/// The text with `shown` where a word looks random. Of a path only that part is left out.
pub(super) fn without_random_words<'a>(text: &'a str, shown: &str) -> Cow<'a, str> {
    static WORD: OnceLock<Option<Regex>> = OnceLock::new();
    let Some(pattern) = WORD.get_or_init(|| Regex::new(r"[A-Za-z0-9_+/=.~-]{12,}").ok()) else {
        return Cow::Borrowed(text);
    };
    pattern.replace_all(text, |found: &Captures<'_>| {
        let word = found.get(0).map_or("", |word| word.as_str());
        let random: Vec<&str> = pieces(word).filter(|piece| is_random(piece)).collect();
        let length: usize = random.iter().map(|piece| piece.len()).sum();
        // What is random for a good part is random as a whole: base64 has slashes too.
        if length * 3 > word.len() {
            return shown.to_owned();
        }
        random.iter().fold(word.to_owned(), |word, piece| word.replace(piece, shown))
    })
}

fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.split(['/', '.', '~'])
}

/// Whether a word without dots and slashes looks random.
fn is_random(piece: &str) -> bool {
    let parts = || piece.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_group = |part: &&str| part.len() >= SHORTEST_GROUP && is_mixed(part);
    parts().any(is_random_part) || parts().filter(is_group).count() >= FEWEST_GROUPS
}

fn is_random_part(part: &str) -> bool {
    if part.len() < SHORTEST || is_commit(part) {
        return false;
    }
    let count = |is: fn(&u8) -> bool| part.bytes().filter(&is).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let takes_turns = switches(part.as_bytes());
    // A time such as 20260131T120000Z has two letters, and a name has its digits in one place.
    let is_mixed = (digits >= 2 && takes_turns >= 3) || (digits == 1 && takes_turns >= 5);
    (is_mixed && letters >= 3 && !is_words(part)) || takes_turns * 2 >= part.len()
}

fn is_mixed(part: &str) -> bool {
    part.bytes().any(|byte| byte.is_ascii_digit()) && part.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// As git writes it, whole or shortened.
fn is_commit(part: &str) -> bool {
    let is_hexadecimal = part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hexadecimal && (part.len() <= SHORTEST || part.len() == 40)
}

/// Words and numbers that are written together: `parseUtf8Header2`.
fn is_words(part: &str) -> bool {
    let runs = part.split(|letter: char| !letter.is_ascii_lowercase());
    let in_words: usize = runs.map(str::len).filter(|length| *length >= 3).sum();
    let numbers = part.split(|letter: char| !letter.is_ascii_digit()).filter(|run| !run.is_empty());
    in_words * 2 > part.len() && numbers.count() <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_are_left_out_and_others_stay() {
        for (text, shown) in [
            ("use zQ8kV3nT6wYb1LxC9mRd now", "use … now"),
            ("(cioXa81KqLm20PzRt7Wv5)", "(…)"),
            ("wJalrXUtn3FEMI/K7MDENG1x9Q/bPxRfiCY", "…"),
            ("0f3b9c1e5d7a2468ace013579bdf2468", "…"),
            ("a1b2-c3d4-e5f6-0789", "…"),
            ("3f2a1b4c-5d6e-4f70-8a9b-0c1d2e3f4a5b", "…"),
            ("mfrggzdfmz2wq2lk5x", "…"),
            (
                "packages/website/source/assets/images/q8kV3nT6wYb1LxC9.svg",
                "packages/website/source/assets/images/….svg",
            ),
            ("d41d8cd98f00b204e9800998ecf8427e00000000", "d41d8cd98f00b204e9800998ecf8427e00000000"),
            ("5e1f0c9a 0123456789012345", "5e1f0c9a 0123456789012345"),
            ("crates/autosave/tests/autosave/main.rs", "crates/autosave/tests/autosave/main.rs"),
            ("parseUtf8Header20 StringLiteralKind2", "parseUtf8Header20 StringLiteralKind2"),
            (
                "20261116T080112Z-notes.md 2026-11-16T08:01:12Z",
                "20261116T080112Z-notes.md 2026-11-16T08:01:12Z",
            ),
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
            ("test_that_the_parser_reads_utf16_le", "test_that_the_parser_reads_utf16_le"),
        ] {
            assert_eq!(without_random_words(text, "…"), shown, "{text}");
        }
    }
}

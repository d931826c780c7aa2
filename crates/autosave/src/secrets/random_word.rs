//! Words that look random, in texts that leave the machine and lose nothing worth having without them: a key that nothing
//! beside it calls one. In files and commits there are too many innocent ones.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Captures, Regex};

use super::checks::switches;
use super::unguessable::unguessable_bits;

/// Shorter ones are names and numbers of versions, unless they are like a generated password.
const SHORTEST: usize = 12;
const SHORTEST_GENERATED: usize = 8;

/// So much of a shorter one has to be unguessable.
const UNGUESSABLE: f64 = 38.0;

/// A part of digits and letters in groups: a licence, a code for emergencies, an id.
const SHORTEST_GROUP: usize = 4;
const FEWEST_GROUPS: usize = 3;

/// Shorter words with marks are sentences, operators and smileys.
const SHORTEST_WITH_MARKS: usize = 8;

/// The marks that generated passwords have and words have not; `=`, brackets and the like are code.
const MARKS: &str = "!#$%&*^@?~";

/// So much of a commit's id is shown. It tells the commit, and opens nothing if it was none.
const SHOWN_OF_COMMIT: usize = 10;

/// The text with `shown` where a word looks random. Of a path only that part is left out.
pub(super) fn without_random_words(text: &str, shown: &str) -> String {
    let mut told = without_marked_words(text, shown);
    if let Cow::Owned(changed) = without_unmarked_words(&told, shown) {
        told = changed;
    }
    told
}

/// Without words such as a generator makes them with all the keys there are: `l9cDo#!GbVMs`.
fn without_marked_words(text: &str, shown: &str) -> String {
    let is_between =
        |letter: char| letter.is_whitespace() || !letter.is_ascii() || "\"'`/\\,;()<>=".contains(letter);
    text.split_inclusive(is_between)
        .map(|piece| {
            let word = piece.trim_end_matches(is_between);
            let word = word.trim_matches(['.', ':', '[', ']', '{', '}']);
            if is_marked(word) { piece.replacen(word, shown, 1) } else { piece.to_owned() }
        })
        .collect()
}

fn is_marked(word: &str) -> bool {
    // The mark at an end is the sentence's, or a variable's.
    let inner = word.trim_matches(|letter| MARKS.contains(letter));
    let marks = inner.chars().filter(|letter| MARKS.contains(*letter)).count();
    // `README.md#L12` is a place in a file.
    if word.len() < SHORTEST_WITH_MARKS || marks < if word.contains('.') { 2 } else { 1 } {
        return false;
    }
    let has = |is: fn(&u8) -> bool| word.bytes().filter(is).count();
    let (small, large, digits) =
        (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase), has(u8::is_ascii_digit));
    let is_mixed = match (small > 0, large > 0) {
        (true, true) => digits >= 1,
        (false, false) => false,
        _ => digits >= 2 && word.len() >= SHORTEST_WITH_MARKS + 2,
    };
    let in_words: usize =
        word.split(|letter: char| !letter.is_ascii_lowercase()).map(str::len).filter(|run| *run >= 3).sum();
    is_mixed && switches(word.as_bytes()) * 5 >= word.len() * 2 && in_words * 3 <= word.len()
}

fn without_unmarked_words<'a>(text: &'a str, shown: &str) -> Cow<'a, str> {
    static WORD: OnceLock<Option<Regex>> = OnceLock::new();
    let Some(pattern) = WORD.get_or_init(|| Regex::new(r"[A-Za-z0-9_+/=.~-]{8,}").ok()) else {
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
        let told = random.iter().fold(word.to_owned(), |word, piece| word.replace(piece, shown));
        let ids =
            word.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| is_whole_commit(part));
        ids.fold(told, |told, id| told.replace(id, &format!("{}…", text::head(id, SHOWN_OF_COMMIT))))
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
    if is_commit(part) {
        return false;
    }
    if part.len() < SHORTEST {
        return part.len() >= SHORTEST_GENERATED && is_generated(part);
    }
    let count = |is: fn(&u8) -> bool| part.bytes().filter(&is).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let takes_turns = switches(part.as_bytes());
    // A time such as 20260131T120000Z has two letters, and a name has its digits in one place.
    let is_mixed = (digits >= 2 && takes_turns >= 3) || (digits == 1 && takes_turns >= 5);
    (is_mixed && letters >= 3 && !is_words(part)) || takes_turns * 2 >= part.len()
}

/// Letters of both sizes and digits in no order: `Xk9vP2mQ`.
fn is_generated(part: &str) -> bool {
    let has = |is: fn(&u8) -> bool| part.bytes().any(|byte| is(&byte));
    let is_of_all = [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase].into_iter().all(has);
    is_of_all && unguessable_bits(part.as_bytes()) >= UNGUESSABLE
}

fn is_mixed(part: &str) -> bool {
    part.bytes().any(|byte| byte.is_ascii_digit()) && part.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// As git writes it, whole or shortened.
fn is_commit(part: &str) -> bool {
    (is_hexadecimal(part) && part.len() <= SHORTEST) || is_whole_commit(part)
}

fn is_whole_commit(part: &str) -> bool {
    part.len() == 40 && is_hexadecimal(part)
}

fn is_hexadecimal(part: &str) -> bool {
    part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
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
            ("at d41d8cd98f00b204e9800998ecf8427e00000000.", "at d41d8cd98f…."),
            ("user admin and RV5IfLBcbf please, not WebGL2View", "user admin and … please, not WebGL2View"),
            ("log in with l9cDo#!GbVMs please", "log in with … please"),
            ("conf/dH2Sa%JeY^60bR", "conf/…"),
            ("(kT%m97k!Mcy1yl4Ae)", "(…)"),
            ("是ND7V1&ZbH^MNLK。", "是…。"),
            ("k7m#9q!x2p0w", "…"),
            (
                "Does 50% of C#7 work? Yes! $HOME1/x @types/node18 #1234 a&&b x!=3 v1.2.3!",
                "Does 50% of C#7 work? Yes! $HOME1/x @types/node18 #1234 a&&b x!=3 v1.2.3!",
            ),
            (
                "README.md#L12-L20 file.rs?plain=1 Vec<u8>&[u16] *const_ptr8",
                "README.md#L12-L20 file.rs?plain=1 Vec<u8>&[u16] *const_ptr8",
            ),
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

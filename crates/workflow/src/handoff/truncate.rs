//! A summary cut to the limit. The cut is marked, since a reader who does not know of it takes half for all.

use crate::tokens;

/// Stands for what was cut away; one token by the count that decides.
pub const CUT: &str = "[…]";

/// The beginning of `text` with at most `limit` tokens, the mark included; as it is where it fits.
pub fn truncate(text: &str, limit: usize) -> String {
    if tokens::count(text) <= limit {
        return text.to_owned();
    }
    let Some(kept) = limit.checked_sub(1) else { return String::new() };
    let beginning = first_words(text, kept);
    if beginning.is_empty() { CUT.to_owned() } else { format!("{beginning} {CUT}") }
}

/// Up to the end of the word with this number.
fn first_words(text: &str, number: usize) -> &str {
    let mut words = 0;
    let mut in_word = false;
    for (place, character) in text.char_indices() {
        let white = tokens::is_white(character);
        if !white && !in_word {
            words += 1;
        }
        in_word = !white;
        if words > number {
            let before = text.get(..place).unwrap_or_default();
            return before.trim_end_matches(tokens::is_white);
        }
    }
    text
}

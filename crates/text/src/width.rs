//! Text that fits a terminal: cut to a width or wrapped between words, by the columns that it takes there.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::without_colours;

/// `text` in at most `width` columns, with a mark where it was cut.
pub fn fit(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| text.width() > *width) else { return text.to_owned() };
    let mut fitted = String::new();
    let mut taken = 1;
    for character in text.chars() {
        taken += character.width().unwrap_or(0);
        if taken > width {
            break;
        }
        fitted.push(character);
    }
    fitted.push('…');
    fitted
}

/// `text` wrapped between words, each line after the first behind `indent` spaces; the first one begins in that
/// column already. A word that is longer than a line stays whole, and so does what stands in backticks, if it fits a line. Colours
/// take no room. No line break at the end.
pub fn wrap(text: &str, indent: usize, width: Option<usize>) -> String {
    wrap_behind("", text, indent, width)
}

/// As `wrap`, with `heading` in front, which counts but is not returned.
pub fn wrap_behind(heading: &str, text: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let room = width.saturating_sub(indent).max(20);
    let mut wrapped = String::new();
    let mut taken = columns(heading);
    for (number, word) in words(text, room).into_iter().enumerate() {
        let space = usize::from(number > 0);
        if taken > 0 && taken + space + columns(word) > room {
            wrapped.truncate(wrapped.trim_end().len());
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            taken = 0;
        } else if space > 0 {
            wrapped.push(' ');
            taken += 1;
        }
        wrapped.push_str(word);
        taken += columns(word);
    }
    wrapped
}

fn columns(text: &str) -> usize {
    without_colours(text).width()
}

/// What may not be broken: words, and names and commands in backticks as a whole where they fit a line.
fn words(text: &str, room: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let ends = || rest.match_indices(' ').map(|(at, _)| at).chain([rest.len()]);
        let is_whole = |end: &usize| {
            let word = rest.get(..*end).unwrap_or_default();
            word.matches('`').count() % 2 == 0 && columns(word) <= room
        };
        let end = ends().find(is_whole).or_else(|| ends().next()).unwrap_or(rest.len());
        words.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_by_columns_not_by_characters() {
        assert_eq!(fit("日本語テスト", Some(7)), "日本語…");
        assert_eq!(fit("plain", Some(5)), "plain");
        assert_eq!(fit("plainer", Some(5)), "plai…");
        assert_eq!(fit("anything", None), "anything");
    }

    #[test]
    fn text_wraps_between_words() {
        let text = "one two three four five six";
        assert_eq!(wrap(text, 2, Some(22)), "one two three four\n  five six");
        assert_eq!(wrap(text, 2, None), text);
        assert_eq!(wrap(&"x".repeat(40), 0, Some(30)), "x".repeat(40));
        assert_eq!(wrap_behind("heading: ", text, 2, Some(22)), "one two\n  three four five six");
        assert_eq!(
            wrap("run the `cargo test -q`, then stop", 0, Some(20)),
            "run the\n`cargo test -q`,\nthen stop"
        );
        let unclosed = "a ` alone is no reason to go on and on";
        assert_eq!(wrap(unclosed, 0, Some(20)), "a ` alone is no\nreason to go on and\non");
        assert_eq!(
            wrap("\u{1b}[31mred\u{1b}[0m and three words", 0, Some(20)),
            "\u{1b}[31mred\u{1b}[0m and three words"
        );
    }
}

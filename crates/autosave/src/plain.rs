//! Text from outside on one line, bounded, and in notes as code: neither a heading, nor a comment that hides the rest,
//! nor a mention that a client would follow.

/// One line without control characters, at most so many characters of it. A word of letters and digits is not cut in two:
/// the half of a key is still half a key.
pub(crate) fn line(text: &str, most: usize) -> String {
    let visible = transcript::visible(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if visible.chars().count() <= most {
        return visible;
    }
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || "_-+/=.".contains(letter);
    let mut kept = text::first_characters(&visible, most.saturating_sub(1));
    if visible.chars().nth(most.saturating_sub(1)).is_some_and(is_of_word) {
        kept = kept.trim_end_matches(is_of_word);
    }
    format!("{}…", kept.trim_end())
}

/// The text as Markdown code, whatever backticks are in it.
pub(crate) fn code(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Code may not begin or end with a backtick of its own.
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_on_its_line_and_in_its_code() {
        assert_eq!(line("a\n\n## b\t\u{1b}[1mc", 99), "a ## b \u{241b}[1mc");
        assert_eq!(line(&"ü".repeat(10), 4), "üüü…");
        assert_eq!(line("one two three", 11), "one two…");
        assert_eq!(line("one two three", 8), "one two…");
        assert_eq!(line("onetwothree", 8), "…");
        assert_eq!(code("@/etc/passwd <!--"), "`@/etc/passwd <!--`");
        assert_eq!(code("a `b` ``c"), "```a `b` ``c```");
        assert_eq!(code("`b`"), "`` `b` ``");
    }
}

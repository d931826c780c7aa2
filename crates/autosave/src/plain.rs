//! Text from outside on one line, bounded, and in notes as code: neither a heading, nor a comment that hides the rest,
//! nor a mention that a client would follow. Paths do not say whose home they are in.

use std::sync::OnceLock;

use regex::Regex;

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

/// The text with paths from the root of the repository, or from `~`, and without the name of the home that they are in.
pub(crate) fn without_home(text: &str, root: &str) -> String {
    static HOME: OnceLock<Option<Regex>> = OnceLock::new();
    // Claude Code names folders after the path of the project, with dashes.
    let pattern = r"(^|[^A-Za-z0-9_.~-])(?:/(?:home|Users|var/home)/[^/\s\x22'`:;,)<>]+|/root\b|[A-Za-z]:[\\/]+Users[\\/]+[^\\/\s\x22'`]+|-(?:home|Users|root)-[^/\s\x22'`]*)";
    let home = HOME.get_or_init(|| Regex::new(pattern).ok());
    let root = root.trim_end_matches('/');
    let inside = match root.is_empty() {
        true => text.to_owned(),
        false => text.replace(&format!("{root}/"), "").replace(root, "."),
    };
    home.as_ref().map_or(inside.clone(), |home| home.replace_all(&inside, "$1~").into_owned())
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
    fn a_home_is_not_named() {
        for (text, shown) in [
            ("see /home/kim/work/app/src/a.rs", "see src/a.rs"),
            ("in /home/kim/work/app", "in ."),
            ("cat /home/kim/.ssh/config", "cat ~/.ssh/config"),
            ("/Users/kim/notes.md and \"/root/x\"", "~/notes.md and \"~/x\""),
            ("file:///home/kim/a C:\\Users\\kim\\b", "file://~/a ~\\b"),
            ("~/.claude/projects/-home-kim-work-app/a.jsonl", "~/.claude/projects/~/a.jsonl"),
            ("/srv/home/page.html /rooted", "/srv/home/page.html /rooted"),
        ] {
            assert_eq!(without_home(text, "/home/kim/work/app"), shown, "{text}");
        }
    }

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

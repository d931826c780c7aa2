//! Numbers with their noun, and lists that are counted where they are long.

use std::fmt::Display;

use crate::visible;

/// `1 file`, `2 files`, `2 processes`.
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// Names in backticks: three, and how many more. Each stays on its line, whatever is in it.
pub fn listed<Name: Display>(names: impl IntoIterator<Item = Name>) -> String {
    const MOST: usize = 3;
    let mut names: Vec<String> =
        names.into_iter().map(|name| format!("`{}`", visible(&name.to_string()))).collect();
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    match (more, names.split_last()) {
        (0, Some((last, first))) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (0, _) => names.concat(),
        _ => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_is_said_as_people_say_it() {
        assert_eq!(counted(1, "process"), "1 process");
        assert_eq!(
            ["", "a", "ab", "abc", "abcde"].map(|names| listed(names.chars())),
            ["", "`a`", "`a` and `b`", "`a`, `b` and `c`", "`a`, `b`, `c` and 2 more"]
        );
        assert_eq!(listed(["a`)\n\n1. b", "c\u{1b}[1m"]), "`a`)⏎⏎1. b` and `c␛[1m`");
        assert_eq!((counted(2, "process"), counted(0, "file")), ("2 processes".into(), "0 files".into()));
    }
}

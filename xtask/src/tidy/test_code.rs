//! House rules of test code: whole outputs are compared, and a test neither looks at the clock nor sleeps: it waits for
//! events, in the one helper for that.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Assertions that look for a piece of a text; what is left of them must stay below this.
const MOST_CONTAINS: usize = 100;

/// Where tests wait.
const WAITING: &str = "crates/sandbox/src/waiting.rs";

const CLOCK: [&str; 4] = ["sleep(", "Instant::now", "SystemTime::now", "elapsed()"];

/// What is wrong in these files, each a path and its text.
pub(crate) fn wrong<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut pieces = Vec::new();
    for (name, text) in files {
        let code = without_texts(text);
        let Some(begin) = begin_of_tests(name, &code) else { continue };
        let place =
            |at: usize| format!("{name}:{}", code.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1);
        if name != WAITING {
            for word in CLOCK {
                for (at, _) in code.match_indices(word).filter(|(at, _)| *at >= begin) {
                    wrong
                        .push(format!("{}: `{word}` in a test; wait for an event with `sandbox`", place(at)));
                }
            }
        }
        for assertion in assertions(&code).into_iter().filter(|assertion| assertion.start >= begin) {
            let found = code.get(assertion.clone()).unwrap_or_default().match_indices("contains(");
            pieces.extend(found.map(|(at, _)| place(assertion.start + at)));
        }
    }
    if pieces.len() >= MOST_CONTAINS {
        let all = pieces.join("\n  ");
        wrong.push(format!("{} assertions with `contains`; compare whole outputs:\n  {all}", pieces.len()));
    }
    wrong
}

/// From where on a file is test code.
fn begin_of_tests(name: &str, code: &str) -> Option<usize> {
    let is_test_code =
        name.starts_with("crates/") && (name.contains("/tests/") || name.starts_with("crates/sandbox/"));
    if is_test_code { Some(0) } else { code.find("#[cfg(test)]").filter(|_| name.starts_with("crates/")) }
}

/// The code, line for line, without comments and without what stands in quotes.
fn without_texts(text: &str) -> String {
    static TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r##"(?s)//[^\n]*|r#".*?"#|r"[^"]*"|"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\[^']+|\\')'"##).ok()
    });
    let lines_only = |found: &Captures<'_>| {
        "\n".repeat(found.get(0).map_or(0, |found| found.as_str().matches('\n').count()))
    };
    match TEXT.as_ref() {
        Some(pattern) => pattern.replace_all(text, lines_only).into_owned(),
        None => text.to_owned(),
    }
}

/// The calls of `assert!` and its relatives, arguments included.
fn assertions(code: &str) -> Vec<Range<usize>> {
    let openings = ["assert!(", "assert_eq!(", "assert_ne!("];
    let mut found = Vec::new();
    for opening in openings {
        for (start, _) in code.match_indices(opening) {
            let mut depth = 0_usize;
            let length = code.bytes().skip(start).position(|byte| {
                match byte {
                    b'(' => depth += 1,
                    b')' => depth -= 1,
                    _ => {}
                }
                byte == b')' && depth == 0
            });
            found.push(start..length.map_or(code.len(), |length| start + length));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::wrong;

    #[test]
    fn clocks_and_pieces_are_found_by_line_in_code_and_not_in_texts() {
        let text = "fn f() {\n    // sleep(1)\n    let script = \"sleep(1)\";\n    let raw = r#\"a \"sleep(2)\"\"#;\n    \
                    let quote = '\"';\n    std::thread::sleep(LONG);\n}\n";
        assert_eq!(
            wrong([("crates/gate/tests/gate/a.rs", text), ("crates/gate/src/a.rs", text)].into_iter()),
            ["crates/gate/tests/gate/a.rs:6: `sleep(` in a test; wait for an event with `sandbox`"]
        );
        let unit =
            "fn f() { Instant::now(); }\n#[cfg(test)]\nmod tests {\n    fn g() { begun.elapsed(); }\n}\n";
        assert_eq!(
            wrong([("crates/gate/src/a.rs", unit)].into_iter()),
            ["crates/gate/src/a.rs:4: `elapsed()` in a test; wait for an event with `sandbox`"]
        );
    }

    #[test]
    fn a_hundred_pieces_are_too_many() {
        let one = "assert!(text.contains(\"a (piece\"), \"{text}\");\nlet all = text.contains(\"b\");\n";
        assert_eq!(wrong([("crates/gate/tests/a.rs", one.repeat(99).as_str())].into_iter()).len(), 0);
        let told = wrong([("crates/gate/tests/a.rs", one.repeat(100).as_str())].into_iter());
        let lines: Vec<&str> = told[0].lines().collect();
        assert_eq!(
            (lines[0], lines[1], lines.len()),
            ("100 assertions with `contains`; compare whole outputs:", "  crates/gate/tests/a.rs:1", 101)
        );
    }
}

//! What became of a text: its code compared, token by token.

use serde::{Deserialize, Serialize};

use crate::language::{Language, language_of};
use crate::lexer::{Lexer, Share};
use crate::script::script_ending;

/// What an edit did to a text, from what needs no proof to what does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Nature {
    /// The text is the same.
    Nothing,
    /// White space that means nothing in this language.
    Layout,
    /// Comments and documentation inside of the code.
    Comments,
    /// The number of the file's own version.
    Version,
    /// Anything else, and whatever cannot be decided.
    #[default]
    Code,
}

/// A longer text is not lexed.
const LONGEST: usize = 1024 * 1024;

/// What became of the whole file at `path`; `None` if there was none, or is none any more.
pub fn nature(path: &str, before: Option<&str>, after: Option<&str>) -> Nature {
    compared(path, before.unwrap_or_default(), after.unwrap_or_default(), Share::Whole)
}

/// What became of a part of the file at `path`, of whose surroundings nothing is known.
pub fn nature_of_part(path: &str, before: &str, after: &str) -> Nature {
    compared(path, before, after, Share::Part)
}

fn compared(path: &str, before: &str, after: &str, share: Share) -> Nature {
    if before == after {
        return Nature::Nothing;
    }
    let by_first_line = || {
        let ending = script_ending(path, after).or_else(|| script_ending(path, before))?;
        language_of(&format!("script.{ending}"))
    };
    match language_of(path).or_else(by_first_line) {
        Some(language) if before.len().max(after.len()) <= LONGEST => {
            let found = lexed(language, before, after, share);
            if found == Nature::Code && share == Share::Part && is_inside_comment(language, before, after) {
                return Nature::Comments;
            }
            found
        }
        _ => Nature::Code,
    }
}

fn lexed(language: &'static Language, before: &str, after: &str, share: Share) -> Nature {
    let mut past = Past { old: Lexer::new(language, before, share), before_key: "", key: "", sign: "" };
    if !past.skip_to(common_lines(before, after)) {
        return Nature::Code;
    }
    let Past { mut old, mut before_key, mut key, mut sign } = past;
    let mut new = old.over(after);
    let same_end = common_end(before, after);
    let mut nature = Nature::Layout;
    loop {
        let (was, is) = (old.next(), new.next());
        if old.is_doubtful || new.is_doubtful {
            return Nature::Code;
        }
        match (was, is) {
            (None, None) => break,
            (Some(was), Some(is)) if was == is => (before_key, key, sign) = (key, sign, is.text),
            (Some(was), Some(is))
                if is_version(was.text)
                    && is_version(is.text)
                    && names_version(language, before_key, key, sign) =>
            {
                nature = Nature::Version;
                (before_key, key, sign) = (key, sign, is.text);
            }
            _ => return Nature::Code,
        }
        if old.will_go_on_as(&new, same_end) {
            break;
        }
    }
    if old.comments() != new.comments() { nature.max(Nature::Comments) } else { nature }
}

/// What both texts begin with, lexed once for both.
#[derive(Clone)]
struct Past<'a> {
    old: Lexer<'a>,
    /// The last three tokens.
    before_key: &'a str,
    key: &'a str,
    sign: &'a str,
}

impl Past<'_> {
    /// Lexes up to the place or a little less; `false` where that is doubtful. A token says by where it ends whether more of the text
    /// decided what it is, so that it is taken back if it ends too late.
    fn skip_to(&mut self, place: usize) -> bool {
        const STEP: usize = 256;
        if place == 0 {
            return true;
        }
        let mut sure = self.clone();
        loop {
            let token = self.old.next();
            if self.old.position() > place {
                *self = sure;
                return true;
            }
            let (false, Some(token)) = (self.old.is_doubtful, token) else { return false };
            (self.before_key, self.key, self.sign) = (self.key, self.sign, token.text);
            if self.old.position() > sure.old.position() + STEP {
                sure = self.clone();
            }
        }
    }
}

/// Texts are compared so many bytes at once.
const BLOCK: usize = 64;

/// Where the last line break is of what both texts begin with, or a little before.
fn common_lines(before: &str, after: &str) -> usize {
    let blocks = before.as_bytes().chunks_exact(BLOCK).zip(after.as_bytes().chunks_exact(BLOCK));
    let length = blocks.take_while(|(before, after)| before == after).count() * BLOCK;
    before.as_bytes().get(..length).and_then(|same| same.iter().rposition(|byte| *byte == b'\n')).unwrap_or(0)
}

/// How much both texts have in common at their ends, or a little less.
fn common_end(before: &str, after: &str) -> usize {
    let blocks = before.as_bytes().rchunks_exact(BLOCK).zip(after.as_bytes().rchunks_exact(BLOCK));
    blocks.take_while(|(before, after)| before == after).count() * BLOCK
}

/// `version =` at the beginning of a statement, and `"version":` in a file of data; an argument or a field may mean anything. What
/// a file depends on is named by other keys, or has its version in a table.
fn names_version(language: &Language, before: &str, key: &str, sign: &str) -> bool {
    let key = key.trim_matches(['"', '\'', '_']).to_ascii_lowercase();
    let is_version =
        matches!(key.as_str(), "version" | "marketing_version" | "current_project_version" | "app_version");
    let is_data = || language.endings.iter().any(|ending| matches!(*ending, "json" | "jsonc" | "yaml"));
    is_version && ((sign == ":" && is_data()) || (sign == "=" && before.trim().is_empty()))
}

fn is_version(text: &str) -> bool {
    let number = text.trim_matches(['"', '\'']).trim_start_matches('v');
    number.starts_with(|character: char| character.is_ascii_digit())
        && number.contains('.')
        && number.chars().all(|character| character.is_ascii_alphanumeric() || ".-+".contains(character))
}

/// Lines that all begin with `*`, as those of a comment do whose beginning is not in this part.
fn is_inside_comment(language: &Language, before: &str, after: &str) -> bool {
    let has_stars = language.block_comments.iter().any(|(open, _)| *open == "/*");
    let is_star = |line: &str| {
        let line = line.trim();
        line.is_empty() || line == "*" || line.starts_with("* ")
    };
    let opens = before.trim().starts_with("* ") || after.trim().starts_with("* ");
    has_stars && opens && before.lines().chain(after.lines()).all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of signs that could each begin a regular expression is gone through once.
    #[test]
    fn an_endless_regular_expression_costs_nothing() {
        let text = "/[".repeat(LONGEST / 2);
        assert_eq!(nature("a.js", Some("/["), Some(&text)), Nature::Code);
    }

    /// W5: only comments, blank lines or docstrings changed.
    #[test]
    fn w5_comments_blank_lines_and_docstrings_are_no_code() {
        for (path, before, after, expected) in [
            ("a.py", "x = 1", "x = 1", Nature::Nothing),
            ("a.py", "x = 1", "x = 2", Nature::Code),
            ("a.py", "x = 1\n", "x = 1\n\n\n", Nature::Layout),
            ("a.py", "x = 1\ny = 2", "x = 1  # one\ny = 2", Nature::Comments),
            ("a.py", "# old\nx = 1", "x = 1", Nature::Comments),
            ("a.py", "x = '# old'", "x = '# new'", Nature::Code),
            ("a.py", "if x:\n    y()\nz()", "if x:\n    y()\n    z()", Nature::Code),
            (
                "a.py",
                "def f():\n    \"\"\"Old.\"\"\"\n    return 1",
                "def f():\n    \"\"\"New\n    words.\"\"\"\n    return 1",
                Nature::Comments,
            ),
            ("a.py", "def f():\n    return 1", "def f():\n    '''New.'''\n    return 1", Nature::Comments),
            ("a.py", "x = f(\n    \"\"\"a\"\"\"\n)", "x = f(\n    \"\"\"b\"\"\"\n)", Nature::Code),
            ("a.py", "    \"\"\"a\"\"\"\n)", "    \"\"\"b\"\"\"\n)", Nature::Code),
            ("a.py", "the end.\n    \"\"\"\n    x = 1", "the end!\n    \"\"\"\n    x = 1", Nature::Code),
            ("a.rs", "let a = 'x'; // why", "let a = 'x'; // because", Nature::Comments),
            ("a.rs", "fn f<'a>(x: &'a str) {}", "fn f<'a>( x: &'a str )\n{}", Nature::Layout),
            ("a.rs", "a - -b", "a--b", Nature::Code),
            ("a.rs", "/* a /* b */ c */ x", "/* d */ x", Nature::Comments),
            ("a.rs", "let s = r#\"// a\"#;", "let s = r#\"// b\"#;", Nature::Code),
            ("a.ts", "const u = 'http://a' // a", "const u = 'http://a' // b", Nature::Comments),
            ("a.ts", "const u = `//${a}`", "const u = `//${b}`", Nature::Code),
            ("a.ts", "x = /['\"]/ // a", "x = /['\"]/ // b", Nature::Comments),
            ("a.ts", " * Old words\n * @param x", " * New words\n * @param x", Nature::Comments),
            ("a.ts", "/**\n * Old\n */\nf()", "/**\n * New\n */\nf()", Nature::Comments),
            ("a.ts", "return\nx", "return x", Nature::Code),
            ("a.go", "// Old\nfunc F() {}", "// New\nfunc F() {}", Nature::Comments),
            ("a.go", "//go:build linux\npackage a", "//go:build windows\npackage a", Nature::Code),
            (
                "a.go",
                "//go:build linux\n// Old\npackage a",
                "//go:build linux\n// New\npackage a",
                Nature::Comments,
            ),
            ("a.sh", "#!/bin/sh\nls", "#!/bin/bash\nls", Nature::Code),
            ("a.sh", "#!/bin/sh\nls # a", "#!/bin/sh\nls # b", Nature::Comments),
            ("a.sh", "x = 1", "x=1", Nature::Code),
            ("a.sh", "[$a = b]", "[ $a = b ]", Nature::Code),
            ("a.css", "div .x {}", "div.x {}", Nature::Code),
            ("a.py", "Client(version=\"1.0\")", "Client(version=\"2.0\")", Nature::Code),
            ("a.sh", "echo a # b", "echo a # c", Nature::Comments),
            ("a.sh", "echo ${#a}", "echo ${#b}", Nature::Code),
            ("a.sh", "cat <<E\n# a\nE", "cat <<E\n# b\nE", Nature::Code),
            ("a.rb", "=begin\nold\n=end\nx", "=begin\nnew\n=end\nx", Nature::Comments),
            ("a.html", "<p>a</p><!-- a -->", "<p>a</p><!-- b -->", Nature::Comments),
            ("a.html", "<p>don't</p>", "<p>do</p>", Nature::Code),
            ("a.css", "a{b: c}", "a {\n  b: c\n}\n", Nature::Layout),
            ("a.sql", "select 1 -- a", "select 1 -- b", Nature::Comments),
            ("Makefile", "all:\n\tcc a.c", "all:\n\n\tcc a.c\n", Nature::Layout),
            ("notes.unknown", "a", "a ", Nature::Code),
        ] {
            assert_eq!(nature_of_part(path, before, after), expected, "{path}: {before:?} → {after:?}");
        }
    }

    /// In a whole file it is known what a string at its beginning is.
    #[test]
    fn whole_files_are_lexed_from_their_beginning() {
        for (path, before, after, expected) in [
            ("a.py", Some("'''Old.'''\nx = 1"), Some("'''New.'''\nx = 1"), Nature::Comments),
            ("a.py", None, Some("# only words\n"), Nature::Comments),
            ("a.py", None, Some("x = 1\n"), Nature::Code),
            ("a.py", Some("x = 1\n"), None, Nature::Code),
            ("a.py", None, Some("\n"), Nature::Layout),
        ] {
            assert_eq!(nature(path, before, after), expected, "{path}: {before:?} → {after:?}");
        }
    }

    /// What long texts have in common is lexed once, and what follows a change only as far as it can matter.
    #[test]
    fn a_change_in_the_middle_of_a_long_file() {
        let lines = |line: &str| line.repeat(40);
        let plain_then_doubtful = &format!("{}\ncat <<E\nE\n", "ls ".repeat(BLOCK));
        for (path, above, before, after, below, expected) in [
            ("a.rs", "let a = 1;\n", "f(); // old\n", "f(); // new\n", "let b = 2;\n", Nature::Comments),
            ("a.rs", "let a = 1;\n", "f(1);\n", "f(2);\n", "let b = 2;\n", Nature::Code),
            ("a.rs", "/* open\n", "x old\n", "x new\n", "*/\n", Nature::Comments),
            ("a.ts", "a = 1\n", "/*\n old\n", "/*\n new\n", "b */\n", Nature::Comments),
            ("a.ts", "a = 1\n", "b = `\n// old\n", "b = `\n// new\n", "c`\n", Nature::Code),
            ("a.ts", "a = 1\n", "/* old */\n", "", "b = 2\n", Nature::Comments),
            ("a.py", "x = 1\n", "if x:\n  y()\n", "if x:\n    y()\n", "z = 2\n", Nature::Code),
            ("a.py", "x = 1\n", "y = 1\n\n", "y = 1\n", "z = 2\n", Nature::Layout),
            ("a.py", "x = 1\n", "\"\"\"Old.\"\"\"\n", "\"\"\"New.\"\"\"\n", "z = 2\n", Nature::Comments),
            ("a.rb", "x = 1\n", "=begin\nold\n=end\n", "=begin\nnew\n=end\n", "y = 2\n", Nature::Comments),
            ("a.toml", "[a]\n", "version = \"1.0\"\n", "version = \"1.1\"\n", "b = 2\n", Nature::Version),
            // What is doubtful before the change may reach into it; behind it, it is the same on both sides.
            ("a.sh", "cat <<E\nE\n", "# old\n", "# new\n", "ls\n", Nature::Code),
            ("a.sh", "ls\n", "ls # old\n", "ls # new\n", plain_then_doubtful, Nature::Comments),
        ] {
            let [old, new] = [before, after].map(|middle| [&lines(above), middle, &lines(below)].concat());
            assert_eq!(nature(path, Some(&old), Some(&new)), expected, "{path}: {before:?} → {after:?}");
        }
    }

    /// W6: a version number alone changes no code; a dependency's does.
    #[test]
    fn w6_only_a_version_number_changed() {
        for (path, before, after, expected) in [
            ("package.json", r#""version": "1.2.3","#, r#""version": "1.2.4","#, Nature::Version),
            ("package.json", r#""react": "18.2.0""#, r#""react": "18.3.0""#, Nature::Code),
            ("Cargo.toml", r#"version = "0.1.0""#, r#"version = "0.2.0""#, Nature::Version),
            ("Cargo.toml", r#"a = { version = "0.1.0" }"#, r#"a = { version = "0.2.0" }"#, Nature::Code),
            ("a.py", r#"__version__ = "1.0""#, r#"__version__ = "1.1""#, Nature::Version),
            ("a.py", r#"api_version = "1.0""#, r#"api_version = "1.1""#, Nature::Code),
            ("a.yaml", "version: 1.0.0", "version: 1.0.1 # next", Nature::Version),
        ] {
            assert_eq!(nature_of_part(path, before, after), expected, "{path}: {before:?} → {after:?}");
        }
    }
}

//! Words as the program gets them: without quotes and escapes. What only the shell could expand (variables,
//! substitutions, globs, braces, tildes) stays as written, and the word says that it is not known.

use serde::{Deserialize, Serialize};

use super::opaque::Stripped;

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word {
    Known(String),
    /// Parts of it stand as written in the command.
    Unexpanded {
        unexpanded: String,
    },
}

impl Word {
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Unexpanded { .. } => None,
        }
    }

    /// The text, known or as written.
    pub fn text(&self) -> &str {
        match self {
            Self::Known(text) | Self::Unexpanded { unexpanded: text } => text,
        }
    }

    /// A word of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self::Unexpanded { unexpanded: String::new() }
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self::Known(text.to_owned())
    }
}

/// Takes the quotes and escapes off a word as it stands in a stripped command.
pub(crate) fn unquote(raw: &str, command: &Stripped<'_>) -> Word {
    let unexpanded = raw.starts_with('~');
    let mut reader = Unquoter { rest: raw, text: String::with_capacity(raw.len()), unexpanded, command };
    reader.unquoted();
    if reader.unexpanded {
        Word::Unexpanded { unexpanded: command.restore(&reader.text) }
    } else {
        Word::Known(reader.text)
    }
}

struct Unquoter<'a> {
    rest: &'a str,
    text: String,
    unexpanded: bool,
    command: &'a Stripped<'a>,
}

impl Unquoter<'_> {
    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next();
        self.rest = characters.as_str();
        character
    }

    fn unquoted(&mut self) {
        while let Some(character) = self.next() {
            match character {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.text.push(escaped),
                },
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '$' if self.rest.starts_with('\'') => {
                    self.next();
                    self.ansi_quoted();
                }
                '$' if self.rest.starts_with('"') => {
                    self.next();
                    self.double_quoted();
                }
                '$' | '`' => self.expansion(character),
                '<' | '>' if self.rest.starts_with('(') => self.expansion(character),
                '*' | '?' | '(' => {
                    self.unexpanded = true;
                    self.text.push(character);
                }
                '[' => {
                    self.unexpanded |= self.rest.contains(']');
                    self.text.push(character);
                }
                '{' => {
                    let inner = self.rest.split('}').next().unwrap_or_default();
                    self.unexpanded |=
                        inner.len() < self.rest.len() && (inner.contains(',') || inner.contains(".."));
                    self.text.push(character);
                }
                _ => self.text.push(character),
            }
        }
    }

    fn single_quoted(&mut self) {
        let (quoted, after) = self.rest.split_once('\'').unwrap_or((self.rest, ""));
        self.text.push_str(self.command.string(quoted));
        self.rest = after;
    }

    fn double_quoted(&mut self) {
        if let Some((quoted, after)) = self.rest.split_once('"') {
            let string = self.command.string(quoted);
            if !std::ptr::eq(string, quoted) {
                let mut inner =
                    Unquoter { rest: string, text: String::new(), unexpanded: false, command: self.command };
                inner.double_quoted();
                self.text.push_str(&inner.text);
                self.rest = after;
                return;
            }
        }
        while let Some(character) = self.next() {
            match character {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => self.text.push(escaped),
                    Some(plain) => {
                        self.text.push('\\');
                        self.text.push(plain);
                    }
                },
                '$' | '`' => self.expansion(character),
                _ => self.text.push(character),
            }
        }
    }

    /// `$'…'`
    fn ansi_quoted(&mut self) {
        while let Some(character) = self.next() {
            match character {
                '\'' => return,
                '\\' => self.ansi_escape(),
                _ => self.text.push(character),
            }
        }
    }

    fn ansi_escape(&mut self) {
        let character = match self.next() {
            None => return,
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('e' | 'E') => '\u{1b}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('x') => return self.number(16, 2),
            Some('u') => return self.number(16, 4),
            Some('U') => return self.number(16, 8),
            Some(digit @ '0'..='7') => {
                let more = self.rest.chars().take(2).take_while(|next| next.is_digit(8)).count();
                let digits = format!("{digit}{}", self.rest.get(..more).unwrap_or_default());
                self.rest = self.rest.get(more..).unwrap_or_default();
                return self.text.extend(u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32));
            }
            Some(other @ ('\\' | '\'' | '"' | '?')) => other,
            Some(other) => {
                self.text.push('\\');
                other
            }
        };
        self.text.push(character);
    }

    fn number(&mut self, radix: u32, most: usize) {
        let length = self.rest.chars().take(most).take_while(|next| next.is_digit(radix)).count();
        let digits = self.rest.get(..length).unwrap_or_default();
        self.text.extend(u32::from_str_radix(digits, radix).ok().and_then(char::from_u32));
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    /// Copies an expansion as written; a lone `$` is itself.
    fn expansion(&mut self, first: char) {
        let length = expansion_length(first, self.rest);
        if length > 0 {
            self.unexpanded = true;
        }
        self.text.push(first);
        self.text.push_str(self.rest.get(..length).unwrap_or_default());
        self.rest = self.rest.get(length..).unwrap_or_default();
    }
}

/// How much of `rest` belongs to the expansion that `first` begins.
fn expansion_length(first: char, rest: &str) -> usize {
    if first == '`' {
        return closing(rest, "`");
    }
    match rest.chars().next() {
        Some('(') => closing(rest, ")"),
        Some('{') => closing(rest, "}"),
        Some('[') => closing(rest, "]"),
        Some(next) if next == '_' || next.is_ascii_alphabetic() => rest
            .find(|character: char| character != '_' && !character.is_ascii_alphanumeric())
            .unwrap_or(rest.len()),
        Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => 1,
        _ => 0,
    }
}

/// The length up to and with the character that closes what has been opened, quotes and nesting respected.
fn closing(rest: &str, last: &str) -> usize {
    let mut open: Vec<char> = if last == "`" { vec!['`'] } else { Vec::new() };
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        let innermost = open.last().copied();
        match character {
            '\\' => {
                characters.next();
            }
            '\'' if innermost == Some('\'') => {
                open.pop();
            }
            _ if innermost == Some('\'') => {}
            '\'' if innermost != Some('"') => open.push('\''),
            '"' | '`' if innermost == Some(character) => {
                open.pop();
            }
            '"' | '`' => open.push(character),
            '(' | '{' | '['
                if innermost != Some('"') || rest.get(..at).is_some_and(|before| before.ends_with('$')) =>
            {
                open.push(match character {
                    '(' => ')',
                    '{' => '}',
                    _ => ']',
                });
            }
            ')' | '}' | ']' if innermost == Some(character) => {
                open.pop();
            }
            _ => continue,
        }
        if open.is_empty() {
            return at + character.len_utf8();
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::opaque;
    use proptest::prelude::*;

    fn unquote(raw: &str) -> Word {
        let stripped = opaque::strip(raw);
        super::unquote(&stripped.text, &stripped)
    }

    #[test]
    fn quotes_and_escapes_come_off() {
        for (raw, text) in [
            ("plain", "plain"),
            ("''", ""),
            ("'a b'", "a b"),
            (r"'it'\''s'", "it's"),
            (r#""a \"b\" \\ \n""#, r#"a "b" \ \n"#),
            (r"a\ b\$c", "a b$c"),
            ("a\\\nb", "ab"),
            ("\"a\\\nb\"", "ab"),
            (r"$'a\n\t\x41\101\u00e9\'\\'", "a\n\tAAé'\\"),
            (r#"$"hello""#, "hello"),
            ("a$", "a$"),
            ("HEAD~1", "HEAD~1"),
            ("{}", "{}"),
            ("[", "["),
            ("'*.py'", "*.py"),
            (r#""$""#, "$"),
            ("ü'ñ'", "üñ"),
            ("a{b", "a{b"),
            ("a{b}c", "a{b}c"),
            ("a[b", "a[b"),
            ("a>b", "a>b"),
            ("a~b", "a~b"),
            ("\\", ""),
            (r"$'\a\b\e\E\f\v\r\?\q'", "\u{7}\u{8}\u{1b}\u{1b}\u{c}\u{b}\r?\\q"),
            (r"$'\x4a\x4\7\1012\U0001f389\u41'", "J\u{4}\u{7}A2🎉A"),
            (r#""a\`b\c""#, r"a`b\c"),
            (
                "\"a longer text 'of' more than \\\"sixteen\\\"\"b",
                "a longer text 'of' more than \"sixteen\"b",
            ),
        ] {
            assert_eq!(unquote(raw), Word::Known(text.to_owned()), "{raw}");
        }
    }

    #[test]
    fn what_only_the_shell_can_expand_stays_as_written() {
        for (raw, text) in [
            ("$x", "$x"),
            ("\"$x y\"", "$x y"),
            ("${a:-b c}/d", "${a:-b c}/d"),
            ("\"$(echo \"a)b\")\"/x", "$(echo \"a)b\")/x"),
            ("`a b`", "`a b`"),
            ("*.py", "*.py"),
            ("file?", "file?"),
            ("[ab]c", "[ab]c"),
            ("{a,b}", "{a,b}"),
            ("x{1..3}", "x{1..3}"),
            ("~/x", "~/x"),
            ("<(a b)", "<(a b)"),
            ("$((1+2))", "$((1+2))"),
            ("$1", "$1"),
            ("$_a1", "$_a1"),
            ("$a_b-$?$", "$a_b-$?$"),
            ("$a'\"'", "$a\""),
            ("\"$a'b'\"", "$a'b'"),
            ("${a:-'}'}b", "${a:-'}'}b"),
            ("$[1+[2]]b", "$[1+[2]]b"),
            ("$(a \\) \"b)\")c", "$(a \\) \"b)\")c"),
            ("`a \"$(b)\"`c", "`a \"$(b)\"`c"),
            ("a{b}*", "a{b}*"),
            (">(a)b", ">(a)b"),
        ] {
            assert_eq!(unquote(raw), Word::Unexpanded { unexpanded: text.to_owned() }, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_quoted_text_comes_back(text in "\\PC{0,40}|[ab'\"\\\\$`*~{}\n ]{0,40}") {
            let single = format!("'{}'", text.replace('\'', r"'\''"));
            prop_assert_eq!(unquote(&single), Word::Known(text.clone()));
            let mut double = String::from("\"");
            for character in text.chars() {
                if matches!(character, '"' | '\\' | '$' | '`') {
                    double.push('\\');
                }
                double.push(character);
            }
            double.push('"');
            prop_assert_eq!(unquote(&double), Word::Known(text));
        }

        #[test]
        fn any_text_is_unquoted(raw in "[ab'\"\\\\$`*~{}()\\[\\]xuU0-9\n é]{0,60}") {
            let _ = unquote(&raw);
        }
    }
}

//! Rust text as a Python string literal. Names of files and runs are data: this is the only way in which they come into
//! generated code.

use std::fmt::Write;

/// Quoted and escaped, so that Python reads back exactly this text. Letters of any language stay readable; whatever else
/// is not plain ASCII is escaped, since some of it reorders or hides what a person sees.
pub(crate) fn python_literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            ' '..='~' => literal.push(character),
            _ if character.is_alphanumeric() => literal.push(character),
            _ => {
                let _ = write!(literal, "\\U{:08x}", u32::from(character));
            }
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::python_literal;

    #[test]
    fn quotes_breaks_and_hidden_characters_are_escaped() {
        assert_eq!(python_literal(r#"a"b\c"#), r#""a\"b\\c""#);
        assert_eq!(python_literal("a\nb\u{202e}é"), "\"a\\nb\\U0000202eé\"");
    }
}

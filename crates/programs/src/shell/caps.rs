//! What is refused before the parser sees it. The parser's time grows with the square of nested
//! substitutions, and its stack with long lists, expansions and arithmetic; a stack overflow would end the
//! process, and no agent may be held by that. Every count is taken from the very bytes that the parser gets,
//! whatever they mean, so that no trick of quoting goes around it.

use super::NotUnderstood;

/// With here-documents and strings, which cost little.
pub(crate) const LONGEST_WITH_BODIES: usize = 4 * 1024 * 1024;
const LONGEST: usize = 256 * 1024;
const MOST_SUBSTITUTIONS: usize = 16;
const MOST_BACKTICKS: usize = 16;
/// Lists are as deep as they are long. Of each of these the parser takes several times as many on a stack of
/// 2 MB in an unoptimised build.
const MOST_OPERATORS: usize = 3000;
const MOST_EXPANSIONS: usize = 500;
/// Parentheses, braces and words that open something.
const MOST_OPENINGS: usize = 150;
/// Inside `((` and `[[` each of these can be one level deeper.
const MOST_ARITHMETIC: usize = 700;

pub(crate) fn check(text: &str) -> Result<(), NotUnderstood> {
    if text.len() > LONGEST {
        return Err(NotUnderstood::TooLong);
    }
    let (mut substitutions, mut backticks, mut operators, mut expansions, mut arithmetic) = (0, 0, 0, 0, 0);
    let mut openings =
        text.split(|character: char| !character.is_ascii_lowercase()).filter(|word| opens(word)).count();
    let mut has_arithmetic = false;
    let mut previous = b' ';
    for &byte in text.as_bytes() {
        match byte {
            b'(' if matches!(previous, b'$' | b'<' | b'>') => substitutions += 1,
            b'`' => backticks += 1,
            b'{' | b'[' if previous == b'$' => expansions += 1,
            b'{' | b'(' => openings += 1,
            _ => {}
        }
        if matches!(byte, b'&' | b';' | b'|' | b'\n') && byte != previous {
            operators += 1;
        }
        if matches!(byte, b'!'..=b'/' | b':'..=b'?' | b'^' | b'|' | b'~')
            && !matches!(byte, b'"' | b'\'' | b'#' | b'.' | b';')
        {
            arithmetic += 1;
        }
        has_arithmetic |= matches!((previous, byte), (b'(', b'(') | (b'[', b'[') | (b'$', b'['));
        previous = byte;
    }
    if substitutions > MOST_SUBSTITUTIONS {
        Err(NotUnderstood::TooManySubstitutions)
    } else if backticks > MOST_BACKTICKS {
        Err(NotUnderstood::TooManyBackticks)
    } else if operators > MOST_OPERATORS {
        Err(NotUnderstood::TooManyOperators)
    } else if openings > MOST_OPENINGS {
        Err(NotUnderstood::TooDeep)
    } else if expansions > MOST_EXPANSIONS || (has_arithmetic && arithmetic > MOST_ARITHMETIC) {
        Err(NotUnderstood::TooManyExpansions)
    } else {
        Ok(())
    }
}

fn opens(word: &str) -> bool {
    matches!(word, "if" | "elif" | "while" | "until" | "for" | "case" | "select" | "function" | "coproc")
}

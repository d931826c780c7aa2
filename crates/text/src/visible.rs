//! Text from outside that cannot steer whoever shows it: a terminal by control characters, a reader by lines that look like ours.

/// Text on one line, without control characters: a newline shows as `⏎`, an escape as `␛`, so that nothing a program
/// printed can move the cursor or hide a line. So are characters that turn the direction of writing, and those that nobody sees
/// and a model reads.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        match character {
            '\n' | '\u{2028}' | '\u{2029}' => shown.push('⏎'),
            '\t' => shown.push(' '),
            '\r' => {}
            '\u{0}'..='\u{1f}' => {
                shown.push(
                    char::from_u32(0x2400 + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER),
                );
            }
            '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{e0000}'..='\u{e007f}' => {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
            character => shown.push(character),
        }
    }
    shown
}

/// The same for a text of ours with texts from outside in it: its lines stay lines.
pub fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_printed_can_steer_a_terminal() {
        assert_eq!(visible("a\nb\t\u{1b}[2Jc\r\u{202e}d\u{9b}\n"), "a⏎b ␛[2Jc\u{fffd}d\u{fffd}");
        assert_eq!(visible("a\u{2028}b\u{61c}c\u{e0041}"), "a⏎b\u{fffd}c\u{fffd}");
    }

    #[test]
    fn lines_of_ours_stay_lines() {
        assert_eq!(visible_lines("1. a\u{7}\n\n2. \u{1b}]0;b\r\n"), "1. a␇\n\n2. ␛]0;b\n");
        assert_eq!(visible_lines(&visible_lines("a\u{1b}\n b")), "a␛\n b");
    }
}

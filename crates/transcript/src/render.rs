//! The turn as plain text, for people and for notes: what was asked, done and said, in order.

use std::fmt::Write as _;

use crate::model::{Call, Outcome, Reading};

/// One line a call, a paragraph a message. Control characters are made visible: the text comes from programs.
pub fn plain(reading: &Reading) -> String {
    let mut text = String::new();
    if let Some(turn) = &reading.turn {
        text.push_str("user: ");
        text.push_str(&visible(&turn.prompt));
        text.push('\n');
    }
    let mut messages = reading.messages.iter().peekable();
    for place in 0..=reading.calls.len() {
        while let Some(message) = messages.next_if(|message| message.calls_before <= place) {
            let _ = writeln!(text, "agent: {}", visible(&message.text));
        }
        if let Some(call) = reading.calls.get(place) {
            let _ = writeln!(text, "{}", call_line(call));
        }
    }
    text
}

fn call_line(call: &Call) -> String {
    let mut line = match &call.subagent {
        Some(id) => format!("{} (sub-agent {})", visible(&call.tool), visible(id)),
        None => visible(&call.tool),
    };
    if let Some(command) = &call.command {
        let _ = write!(line, ": {}", visible(command));
    } else if !call.paths.is_empty() {
        let _ = write!(line, ": {}", visible(&call.paths.join(", ")));
    }
    let outcome = match call.outcome {
        Outcome::Ok => "ok",
        Outcome::Error => "error",
        Outcome::Unknown => "unknown",
    };
    let _ = write!(line, " → {outcome}");
    if let Some(code) = call.exit_code.filter(|code| *code != 0) {
        let _ = write!(line, " ({code})");
    }
    if call.user_stopped {
        line.push_str(" (stopped by the user)");
    }
    line
}

/// Text without control characters: a newline shows as `⏎`, an escape as `␛`, so that nothing a program
/// printed can move the cursor or hide a line.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        match character {
            '\n' => shown.push('⏎'),
            '\t' => shown.push(' '),
            '\r' => {}
            '\u{0}'..='\u{1f}' => {
                shown.push(
                    char::from_u32(0x2400 + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER),
                );
            }
            '\u{7f}'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
            character => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_printed_can_steer_a_terminal() {
        assert_eq!(visible("a\nb\t\u{1b}[2Jc\r\u{202e}d\u{9b}\n"), "a⏎b ␛[2Jc\u{fffd}d\u{fffd}");
    }
}

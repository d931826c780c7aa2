//! The turn as plain text, for people and for notes: what was asked, done and said, in order.

use std::fmt::Write as _;

use text::visible;

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

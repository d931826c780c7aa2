//! The argument of Codex CLI's `notify` program, which it starts at the end of a turn without waiting for it.
//!
//! Seen in 0.166.0: the transcript is written before the call. The TUI leaves its work to a daemon of the user, so
//! the program's environment, `TMUX_PANE` included, is that of the TUI which started the daemon, not of the one whose
//! turn ended. Threads that Codex opens for itself, to find a title for example, are told too; they have no transcript.

use std::path::PathBuf;

use serde::Deserialize;

use crate::field::{self, Field, fields};
use crate::notification::{Notification, NotifyForm};
use crate::payload::PayloadError;

pub(super) const NOTIFY: NotifyForm = NotifyForm { parse, not_interactive: "codex_exec" };

fields! {
    #[serde(rename_all = "kebab-case")]
    NotificationFields {
        #[serde(rename = "type")] kind, thread_id, turn_id, cwd, client, last_assistant_message, input_messages,
    }
}

/// `None` is a notification of something else than the end of a turn.
fn parse(argument: &[u8]) -> Result<Option<Notification>, PayloadError> {
    if argument.trim_ascii_start().first() != Some(&b'{') {
        return Err(PayloadError::NotAnObject);
    }
    let written: NotificationFields<'_> =
        serde_json::from_slice(argument).map_err(PayloadError::Malformed)?;
    let kind = field::name(written.kind).ok_or(PayloadError::NoEvent)?;
    let (Some(thread), Some(cwd), "agent-turn-complete") =
        (field::name(written.thread_id), field::name(written.cwd), kind.as_str())
    else {
        return Ok(None);
    };
    Ok(Some(Notification {
        thread,
        turn: field::name(written.turn_id),
        cwd: PathBuf::from(cwd),
        client: field::name(written.client),
        last_text: field::name(written.last_assistant_message),
        prompt: field::read::<Vec<Field<'_>>>(written.input_messages)
            .and_then(|messages| field::name(*messages.last()?)),
    }))
}

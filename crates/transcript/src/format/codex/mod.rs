//! Codex CLI: rollouts in JSON lines.

mod calls;
mod normaliser;
mod output;
mod script;
mod subagent_files;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_kind = ["session_meta", "turn_context", "event_msg", "response_item", "compacted"]
            .contains(&line.kind());
        is_kind && line.has("timestamp") && line.has("payload")
    },
    session_signs: &[
        "*** ",
        r#""changes":"#,
        r#""type":"read""#,
        r#"{\"task_name\":"#,
        r#"{\"agent_id\":"#,
        r#""agent_message","id":"#,
        "<subagent_notification>",
        "close_agent",
    ],
    subagents: SubagentFiles::Named(subagent_files::named),
    ..HostFormat::BASE
};

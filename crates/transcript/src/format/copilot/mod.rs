//! Copilot CLI: JSON lines, append only. Each line is an event, its kind first.

mod calls;
mod normaliser;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_event = ["type", "data", "id", "timestamp"].iter().all(|name| line.has(name));
        is_event && !["uuid", "sessionId", "payload"].iter().any(|name| line.has(name))
    },
    session_signs: &[r#""toolRequests":[{"#],
    // They write into the transcript of the agent that launched them.
    subagents: SubagentFiles::None,
    wakes_agent: true,
    ..HostFormat::BASE
};

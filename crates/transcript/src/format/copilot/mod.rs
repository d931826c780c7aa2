//! Copilot CLI: JSON lines, append only. Each line is an event, its kind first.

mod calls;
mod normaliser;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let about = line.kind().split_once('.').map_or("", |(about, _)| about);
        let is_known =
            ["session", "user", "assistant", "tool", "hook", "system", "subagent"].contains(&about);
        is_known && ["data", "id", "timestamp"].iter().all(|name| line.has(name))
    },
    session_signs: &[r#""toolRequests":[{"#],
    // They write into the transcript of the agent that launched them.
    subagents: SubagentFiles::None,
    wakes_agent: true,
    ..HostFormat::BASE
};

//! Copilot CLI: JSON lines, append only. Each line is an event, its kind first.

mod calls;
mod normaliser;

use std::sync::LazyLock;

use text::WordFinder;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_event = ["type", "data", "id", "timestamp"].iter().all(|name| line.has(name));
        is_event && !["uuid", "sessionId", "payload"].iter().any(|name| line.has(name))
    },
    document: None,
    database: None,
    is_own_prompt: |_| false,
    session_signs: LazyLock::new(|| WordFinder::new(&[r#""toolRequests":[{"#])),
    // They write into the transcript of the agent that launched them.
    subagents: SubagentFiles::None,
    has_single_prompts: false,
    has_long_variants: false,
    wakes_agent: true,
};

//! Droid: JSON lines, append only. Messages with Claude Code's blocks in them, in an envelope of its own.

mod calls;
mod normaliser;

use std::sync::LazyLock;

use text::WordFinder;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_message = line.is("message") && ["id", "message"].iter().all(|name| line.has(name));
        let is_start = line.is("session_start") && line.has("hostId");
        is_message || is_start || (line.is("agent_turn_outcome") && line.has("turnId"))
    },
    document: None,
    database: None,
    is_own_prompt: |_| false,
    session_signs: LazyLock::new(|| WordFinder::new(&[r#""file_path":"#])),
    subagents: SubagentFiles::None,
    has_single_prompts: true,
    has_long_variants: false,
    wakes_agent: false,
};

//! Droid: JSON lines, append only. Messages with Claude Code's blocks in them, in an envelope of its own.

mod calls;
mod normaliser;
mod subagent_files;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_message = line.is("message") && ["id", "message"].iter().all(|name| line.has(name));
        let is_start = line.is("session_start") && line.has("hostId");
        is_message || is_start || (line.is("agent_turn_outcome") && line.has("turnId"))
    },
    session_signs: &[r#""file_path":"#, normaliser::LAUNCHED, normaliser::ENDED],
    subagents: SubagentFiles::Named(subagent_files::launched_by),
    has_single_prompts: true,
    wakes_agent: true,
    ..HostFormat::BASE
};

//! Droid: JSON lines, append only. Messages with Claude Code's blocks in them, in an envelope of its own.

mod calls;
mod normaliser;
mod subagent_files;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        match line.kind() {
            // The envelope alone is also another program's.
            "message" => line.has_inside("message", &["visibility", "interactionMode", "modelId"]),
            "session_start" => line.has("hostId") || line.has("owner"),
            "agent_turn_outcome" => line.has("turnId"),
            _ => false,
        }
    },
    session_signs: &[r#""file_path":"#, normaliser::LAUNCHED, normaliser::ENDED],
    subagents: SubagentFiles::Named(subagent_files::launched_by),
    has_single_prompts: true,
    wakes_agent: true,
    ..HostFormat::BASE
};

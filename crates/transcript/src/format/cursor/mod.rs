//! Cursor: JSON lines, append only, by public descriptions of them; no file of the real program was seen. Messages with Claude Code's
//! blocks in them, without ids, times and results: how a command ended is not in them.

mod calls;
mod normaliser;

use super::HostFormat;

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_message = line.has_only(&["role", "message"]) && line.has_inside("message", &["content"]);
        is_message || (line.kind() == "turn_ended" && line.has("status"))
    },
    session_signs: &[r#""tool_use""#],
    has_single_prompts: true,
    ..HostFormat::BASE
};

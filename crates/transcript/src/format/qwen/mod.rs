//! Qwen Code: JSON lines, append only. Claude Code's envelope, with Gemini's parts inside.

mod normaliser;

use std::path::Path;

use super::{HostFormat, SubagentFiles, subagent_folder};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_entry = line.has("uuid") && line.has("sessionId");
        // Older versions do not say where a line comes from.
        is_entry && (line.has("provenance") || line.has_inside("message", &["parts"]))
    },
    session_signs: &[r#""functionCall":"#],
    // `<project>/chats/<session>.jsonl` has `<project>/subagents/<session>/agent-<id>.jsonl`.
    subagents: SubagentFiles::Listed(|transcript, began| {
        let project = transcript.parent().and_then(Path::parent);
        let folder = project
            .zip(transcript.file_stem())
            .map(|(project, session)| project.join("subagents").join(session));
        folder.map(|folder| subagent_folder::written_since(&folder, began)).unwrap_or_default()
    }),
    has_single_prompts: true,
    ..HostFormat::BASE
};

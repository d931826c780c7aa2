//! Claude Code: JSON lines, append only.

mod calls;
mod line;
mod normaliser;
mod result;

use super::{HostFormat, SubagentFiles, subagent_folder};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let is_entry = line.has("uuid") && line.has("isSidechain");
        let has_id = ["sessionId", "leafUuid", "messageId"].iter().any(|name| line.has(name));
        is_entry || (has_id && normaliser::is_kind_of_note(line.kind()))
    },
    is_own_prompt: |prompt| prompt.starts_with(normaliser::TASK_NOTIFICATION),
    session_signs: &[
        r#""file_path":"#,
        r#""notebook_path":"#,
        r#""isAsync":true"#,
        "<task-notification>",
        r#""task_id":"#,
    ],
    subagents: SubagentFiles::Listed(|transcript, began| {
        subagent_folder::written_since(&transcript.with_extension("").join("subagents"), began)
    }),
    has_long_variants: true,
    wakes_agent: true,
    ..HostFormat::BASE
};

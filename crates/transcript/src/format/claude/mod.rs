//! Claude Code: JSON lines, append only.

mod calls;
mod line;
mod normaliser;
mod result;
mod subagent_files;

use std::sync::LazyLock;

use text::WordFinder;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        let has_id = ["sessionId", "uuid", "leafUuid"].iter().any(|name| line.has(name));
        line.has("type") && has_id && !line.has("payload") && !line.has("provenance")
    },
    document: None,
    database: None,
    is_own_prompt: |prompt| prompt.starts_with(normaliser::TASK_NOTIFICATION),
    session_signs: LazyLock::new(|| {
        WordFinder::new(&[
            r#""file_path":"#,
            r#""notebook_path":"#,
            r#""isAsync":true"#,
            "<task-notification>",
            r#""task_id":"#,
        ])
    }),
    subagents: SubagentFiles::Listed(subagent_files::since),
    has_single_prompts: false,
    has_long_variants: true,
    wakes_agent: true,
};

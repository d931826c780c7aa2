//! Qwen Code: JSON lines, append only. Claude Code's envelope, with Gemini's parts inside.

mod normaliser;

use std::sync::LazyLock;

use text::WordFinder;

use super::{HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| ["provenance", "uuid", "sessionId"].iter().all(|name| line.has(name)),
    document: None,
    database: None,
    is_own_prompt: |_| false,
    session_signs: LazyLock::new(|| WordFinder::new(&[r#""functionCall":"#])),
    subagents: SubagentFiles::None,
    has_single_prompts: true,
    has_long_variants: false,
    wakes_agent: false,
};

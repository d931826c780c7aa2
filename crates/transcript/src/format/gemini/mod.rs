//! Gemini CLI: an append-only log of records, and the single document of older versions.

mod document;
mod normaliser;
mod subagent_files;

use super::{DocumentFormat, HostFormat, SubagentFiles};

pub(super) static FORMAT: HostFormat = HostFormat {
    record: normaliser::record,
    wrote: |line| {
        ["$set", "$rewindTo", "projectHash"].iter().any(|name| line.has(name))
            || (line.kind() == "gemini" && line.has("id") && line.has("content"))
    },
    document: Some(DocumentFormat {
        sign: r#""projectHash""#,
        messages: document::messages,
        record: document::record,
    }),
    is_own_prompt: normaliser::is_injected,
    session_signs: &[r#""toolCalls":"#],
    subagents: SubagentFiles::Named(subagent_files::named),
    has_single_prompts: true,
    ..HostFormat::BASE
};

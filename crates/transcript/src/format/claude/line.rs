//! The lines that Claude Code writes: only the fields that say something about a turn.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::format::content::{self, Content, Present};
use crate::json_reader::{self, RawJson};
use crate::json_text::Text;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClaudeLine<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) is_sidechain: bool,
    #[serde(default)]
    pub(super) is_meta: bool,
    #[serde(default)]
    pub(super) is_compact_summary: bool,
    #[serde(borrow)]
    pub(super) agent_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) prompt_id: Option<Text<'a>>,
    pub(super) prompt_source: Option<Present>,
    pub(super) turn_origin: Option<Present>,
    #[serde(default, deserialize_with = "content::instant")]
    pub(super) timestamp: Option<Timestamp>,
    #[serde(borrow)]
    pub(super) message: Option<ClaudeMessage<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_use_result: ToolUseResult<'a>,
    pub(super) tool_denial_kind: Option<Present>,
    #[serde(borrow)]
    pub(super) permission_mode: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) cwd: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) attachment: Option<Attachment<'a>>,
    #[serde(borrow)]
    pub(super) operation: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<RawJson<'a>>,
    pub(super) compact_metadata: Option<CompactMetadata>,
}

#[derive(Deserialize)]
pub(super) struct ClaudeMessage<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a, Block<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    pub(super) usage: Option<ClaudeTokens>,
}

#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<RawJson<'a>>,
    #[serde(borrow)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<RawJson<'a>>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct ClaudeTokens {
    #[serde(default)]
    pub(super) input_tokens: Option<u64>,
    #[serde(default)]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    pub(super) output_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) prompt: Option<RawJson<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<RawJson<'a>>,
    #[serde(borrow)]
    pub(super) hook_event: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactMetadata {
    pub(super) post_tokens: Option<u64>,
}

/// The tool's own account of its result: an object for success, a string or a list otherwise.
#[derive(Default)]
pub(super) struct ToolUseResult<'a> {
    pub(super) given: bool,
    /// The blocks of another program's answer: its status is not told.
    pub(super) is_foreign: bool,
    pub(super) background_task: Option<Text<'a>>,
    pub(super) agent: Option<Text<'a>>,
    pub(super) is_async: bool,
    pub(super) interrupted: bool,
    /// The exit code was not 0, and the client knows that this is no failure (`grep` without a match).
    pub(super) interpreted: bool,
    pub(super) made_file: bool,
    pub(super) task: Option<Task<'a>>,
    pub(super) stdout: Option<RawJson<'a>>,
    pub(super) stderr: Option<RawJson<'a>>,
    /// The command in the background that an older version was asked about.
    pub(super) shell: Option<RawJson<'a>>,
    pub(super) status: Option<RawJson<'a>>,
    pub(super) exit_code: Option<RawJson<'a>>,
    pub(super) file: FileTexts<'a>,
}

/// What a tool says about the text of the file that it changed.
#[derive(Default)]
pub(super) struct FileTexts<'a> {
    pub(super) path: Option<RawJson<'a>>,
    pub(super) original: Option<RawJson<'a>>,
    pub(super) old: Option<RawJson<'a>>,
    pub(super) new: Option<RawJson<'a>>,
    pub(super) content: Option<RawJson<'a>>,
    pub(super) replace_all: bool,
    /// The person changed what the agent proposed: what was written is not told.
    pub(super) is_modified: bool,
}

#[derive(Deserialize)]
pub(super) struct Task<'a> {
    #[serde(borrow)]
    pub(super) task_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<Text<'a>>,
    #[serde(rename = "exitCode")]
    pub(super) exit_code: Option<i32>,
    #[serde(borrow)]
    pub(super) output: Option<RawJson<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolUseResult<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ResultVisitor;
        impl<'de> Visitor<'de> for ResultVisitor {
            type Value = ToolUseResult<'de>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a tool's result")
            }
            fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
                Ok(ToolUseResult::default())
            }
            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(ToolUseResult::default())
            }
            fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
                Ok(ToolUseResult::default())
            }
            fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
                Ok(ToolUseResult::default())
            }
            fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
                Ok(ToolUseResult::default())
            }
            fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
                Ok(ToolUseResult::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
                while sequence.next_element::<IgnoredAny>()?.is_some() {}
                Ok(ToolUseResult { is_foreign: true, ..ToolUseResult::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut result = ToolUseResult { given: true, ..ToolUseResult::default() };
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    match key.as_str() {
                        "backgroundTaskId" => result.background_task = map.next_value()?,
                        "agentId" => result.agent = map.next_value()?,
                        "isAsync" => result.is_async = is_true(map.next_value()?),
                        "interrupted" => result.interrupted = is_true(map.next_value()?),
                        "returnCodeInterpretation" => {
                            result.interpreted = map.next_value::<Option<Present>>()?.is_some();
                        }
                        "type" => {
                            result.made_file = map.next_value::<RawJson<'_>>()?.get() == r#""create""#;
                        }
                        "task" => {
                            result.task = json_reader::from_str(map.next_value::<RawJson<'_>>()?.get()).ok()
                        }
                        "stdout" => result.stdout = map.next_value()?,
                        "stderr" => result.stderr = map.next_value()?,
                        "shellId" => result.shell = map.next_value()?,
                        "status" => result.status = map.next_value()?,
                        "exitCode" => result.exit_code = map.next_value()?,
                        "filePath" => result.file.path = map.next_value()?,
                        "originalFile" => result.file.original = map.next_value()?,
                        "oldString" => result.file.old = map.next_value()?,
                        "newString" => result.file.new = map.next_value()?,
                        "content" => result.file.content = map.next_value()?,
                        "replaceAll" => result.file.replace_all = is_true(map.next_value()?),
                        "userModified" => result.file.is_modified = is_true(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(result)
            }
        }
        deserializer.deserialize_any(ResultVisitor)
    }
}

fn is_true(value: RawJson<'_>) -> bool {
    value.get() == "true"
}

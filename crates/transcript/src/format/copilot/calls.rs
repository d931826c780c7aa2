//! Copilot CLI's calls: which command or file each of its tools is given.

use serde::Deserialize;

use crate::entry::{COMMAND, CallMade, set_paths};
use crate::file_edit::FileEdit;
use crate::format::{content, patch};
use crate::json_reader::{self, RawJson};
use crate::json_text::Text;
use crate::model::{Call, Kind};

/// What the agent asked for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolRequest<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Option<RawJson<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolArguments<'a> {
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    path: Option<RawJson<'a>>,
    #[serde(borrow)]
    file_text: Option<RawJson<'a>>,
    #[serde(borrow)]
    old_str: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_str: Option<RawJson<'a>>,
    #[serde(borrow, rename = "shellId")]
    shell_id: Option<RawJson<'a>>,
}

impl ToolRequest<'_> {
    pub(super) fn call(&self) -> CallMade {
        let mut call = Call { id: self.tool_call_id.owned(), tool: self.name.owned(), ..Call::default() };
        let mut polls = None;
        let arguments =
            self.arguments.and_then(|raw| json_reader::from_str::<ToolArguments<'_>>(raw.get()).ok());
        let arguments = arguments.unwrap_or_default();
        call.kind = match call.tool.as_str() {
            "bash" | "powershell" => Kind::Shell,
            "view" => Kind::Read,
            "edit" | "apply_patch" => Kind::Edit,
            "create" => Kind::Write,
            _ => Kind::Other,
        };
        match call.tool.as_str() {
            "apply_patch" => patch::edit(&mut call, &content::string(self.arguments).unwrap_or_default()),
            // They look after a shell that an earlier call started.
            "read_bash" | "write_bash" | "stop_bash" | "read_powershell" | "write_powershell"
            | "stop_powershell" => {
                polls = content::string(arguments.shell_id);
            }
            _ if call.kind == Kind::Shell => {
                call.command =
                    content::string(arguments.command).map(|text| text::shortened_to_bytes(text, COMMAND));
            }
            _ if call.kind != Kind::Other => {
                let path = content::string(arguments.path);
                call.edits.extend(path.as_deref().and_then(|path| arguments.edit(path)));
                set_paths(&mut call, path.into_iter().collect());
            }
            _ => {}
        }
        CallMade { call, polls, ..CallMade::default() }
    }
}

impl ToolArguments<'_> {
    fn edit(&self, path: &str) -> Option<FileEdit> {
        let [file, old, new] = [self.file_text, self.old_str, self.new_str].map(content::literal);
        match (file, old, new) {
            // The tool makes new files only.
            (Some(file), ..) => Some(FileEdit::made(path, file)),
            (None, Some(old), Some(new)) => Some(FileEdit::of_part(path, old, new)),
            _ => None,
        }
    }
}

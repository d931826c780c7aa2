//! What Claude Code's tools were asked to do: commands, files that are read, and edits.

use serde::Deserialize;

use super::line::Block;
use crate::entry::{COMMAND, set_paths};
use crate::file_edit::FileEdit;
use crate::format::content;
use crate::json_reader::{self, RawJson};
use crate::json_text::Text;
use crate::model::{Call, Kind};

#[derive(Deserialize)]
struct Input<'a> {
    #[serde(borrow)]
    cmd: Option<RawJson<'a>>,
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    file_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    notebook_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    edits: Option<RawJson<'a>>,
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
    #[serde(borrow)]
    old_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_string: Option<RawJson<'a>>,
}

#[derive(Deserialize)]
struct EditOfMany<'a> {
    #[serde(borrow)]
    file_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    old_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_string: Option<RawJson<'a>>,
}

pub(super) fn tool_use(block: &Block<'_>) -> Call {
    let tool = block.name.as_ref().map(Text::owned).unwrap_or_default();
    let kind = match tool.as_str() {
        "Bash" | "PowerShell" => Kind::Shell,
        "Read" | "NotebookRead" => Kind::Read,
        "Edit" | "MultiEdit" | "NotebookEdit" => Kind::Edit,
        "Write" => Kind::Write,
        _ => Kind::Other,
    };
    let id = block.id.as_ref().map(Text::owned).unwrap_or_default();
    let mut call = Call { id, tool, kind, ..Call::default() };
    let input = block.input.and_then(|input| json_reader::from_str::<Input<'_>>(input.get()).ok());
    let Some(input) = input else { return call };
    // What takes a command is a shell, whatever it is called.
    let foreign =
        if call.tool.starts_with("mcp__") { content::string(input.command.or(input.cmd)) } else { None };
    if foreign.is_some() {
        call.kind = Kind::Shell;
        call.command = foreign.map(|text| text::shortened_to_bytes(text, COMMAND));
        return call;
    }
    match kind {
        Kind::Shell => {
            call.command = content::string(input.command).map(|text| text::shortened_to_bytes(text, COMMAND))
        }
        Kind::Other => {}
        Kind::Read | Kind::Edit | Kind::Write => {
            let mut paths: Vec<String> =
                [input.file_path, input.notebook_path].into_iter().filter_map(content::string).collect();
            let edits =
                input.edits.and_then(|edits| json_reader::from_str::<Vec<EditOfMany<'_>>>(edits.get()).ok());
            let mut edited = |path: Option<&String>, old, new| {
                if let (Some(path), Some(old), Some(new)) =
                    (path, content::literal(old), content::literal(new))
                {
                    call.edits.push(FileEdit::of_part(path, old, new));
                }
            };
            edited(paths.first(), input.old_string, input.new_string);
            for edit in edits.iter().flatten() {
                let path = content::string(edit.file_path);
                edited(path.as_ref().or(paths.first()), edit.old_string, edit.new_string);
                paths.extend(path.filter(|path| !paths.contains(path)));
            }
            if let (Kind::Write, Some(path), Some(content)) =
                (kind, paths.first(), content::literal(input.content))
            {
                call.edits.push(FileEdit::written(path, None, content));
            }
            set_paths(&mut call, paths);
        }
    }
    call
}

//! Cursor's calls: which command or file each of its tools is given. They have no ids, and nothing says how they ended.

use serde::Deserialize;

use crate::entry::{COMMAND, set_paths};
use crate::file_edit::FileEdit;
use crate::format::{content, patch};
use crate::json_reader::{self, RawJson};
use crate::model::{Call, Kind};

#[derive(Default, Deserialize)]
#[serde(default)]
struct CursorInput<'a> {
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    working_directory: Option<RawJson<'a>>,
    #[serde(borrow, alias = "file_path", alias = "target_file", alias = "target_notebook")]
    path: Option<RawJson<'a>>,
    #[serde(borrow, alias = "content")]
    contents: Option<RawJson<'a>>,
    #[serde(borrow)]
    old_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_string: Option<RawJson<'a>>,
    #[serde(borrow, alias = "input")]
    patch: Option<RawJson<'a>>,
}

pub(super) fn call(tool: String, input: Option<RawJson<'_>>) -> Call {
    let kind = match tool.as_str() {
        "Shell" => Kind::Shell,
        "Read" => Kind::Read,
        "StrReplace" | "EditNotebook" | "Delete" | "ApplyPatch" => Kind::Edit,
        "Write" => Kind::Write,
        _ => Kind::Other,
    };
    let mut call = Call { tool, kind, ..Call::default() };
    let input = input.and_then(|input| json_reader::from_str::<CursorInput<'_>>(input.get()).ok());
    let input = input.unwrap_or_default();
    match (kind, call.tool.as_str()) {
        (Kind::Other, _) => {}
        (Kind::Shell, _) => {
            call.command = content::string(input.command).map(|text| text::shortened_to_bytes(text, COMMAND));
            call.cwd = content::string(input.working_directory).filter(|folder| !folder.is_empty());
        }
        (_, "ApplyPatch") => patch::edit(&mut call, &content::string(input.patch).unwrap_or_default()),
        _ => {
            let path = content::string(input.path);
            if let Some(path) = path.as_deref().filter(|_| kind != Kind::Read) {
                let part = content::literal(input.old_string).zip(content::literal(input.new_string));
                let part = part.map(|(old, new)| FileEdit::of_part(path, old, new));
                let whole = content::literal(input.contents);
                let whole = whole.map(|contents| FileEdit::written(path, None, contents));
                call.edits = part.into_iter().chain(whole).collect();
            }
            set_paths(&mut call, path.into_iter().collect());
        }
    }
    call
}

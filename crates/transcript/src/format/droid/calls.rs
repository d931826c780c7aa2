//! Droid's calls: which command or file each of its tools is given.

use serde::Deserialize;

use crate::entry::{COMMAND, set_paths};
use crate::file_edit::FileEdit;
use crate::format::{content, patch};
use crate::json_reader::{self, RawJson};
use crate::model::{Call, Kind};

#[derive(Default, Deserialize)]
#[serde(default)]
struct DroidInput<'a> {
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    file_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
    #[serde(borrow, alias = "old_string")]
    old_str: Option<RawJson<'a>>,
    #[serde(borrow, alias = "new_string")]
    new_str: Option<RawJson<'a>>,
    #[serde(borrow)]
    input: Option<RawJson<'a>>,
    #[serde(borrow)]
    changes: Vec<PartChange<'a>>,
}

/// One of several edits of a file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PartChange<'a> {
    #[serde(borrow)]
    old_str: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_str: Option<RawJson<'a>>,
}

pub(super) fn call(id: String, tool: String, input: Option<RawJson<'_>>) -> Call {
    let kind = match tool.as_str() {
        "Execute" => Kind::Shell,
        "Read" => Kind::Read,
        "Edit" | "MultiEdit" | "ApplyPatch" => Kind::Edit,
        "Create" | "Write" => Kind::Write,
        _ => Kind::Other,
    };
    let mut call = Call { id, tool, kind, ..Call::default() };
    let input = input.and_then(|input| json_reader::from_str::<DroidInput<'_>>(input.get()).ok());
    let input = input.unwrap_or_default();
    match (kind, call.tool.as_str()) {
        (Kind::Other, _) => {}
        (Kind::Shell, _) => {
            call.command = content::string(input.command).map(|text| text::shortened_to_bytes(text, COMMAND));
        }
        (_, "ApplyPatch") => patch::edit(&mut call, &content::string(input.input).unwrap_or_default()),
        _ => {
            let path = content::string(input.file_path);
            if let Some(path) = path.as_deref().filter(|_| kind != Kind::Read) {
                call.edits = input.edits(path);
            }
            set_paths(&mut call, path.into_iter().collect());
        }
    }
    call
}

impl DroidInput<'_> {
    fn edits(&self, path: &str) -> Vec<FileEdit> {
        let part = |[old, new]: [Option<RawJson<'_>>; 2]| {
            Some(FileEdit::of_part(path, content::literal(old)?, content::literal(new)?))
        };
        let parts = self.changes.iter().map(|change| [change.old_str, change.new_str]);
        let parts = parts.chain([[self.old_str, self.new_str]]).filter_map(part);
        let whole = content::literal(self.content).map(|content| FileEdit::written(path, None, content));
        parts.chain(whole).collect()
    }
}

//! Where Droid's sub-agents write.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;

use crate::format::IdentifiedFiles;
use crate::json_reader;
use crate::json_text::Text;

/// The first line of a session is shorter.
const LONGEST_START: u64 = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionStart<'a> {
    #[serde(borrow)]
    calling_session_id: Option<Text<'a>>,
    #[serde(borrow)]
    calling_tool_use_id: Option<Text<'a>>,
}

/// Sessions beside the parent's, whose first line names it and one of these calls.
pub(super) fn launched_by(transcript: &Path, calls: &[String]) -> IdentifiedFiles {
    let session = transcript.file_stem().and_then(|stem| stem.to_str());
    let (false, Some(folder), Some(session)) = (calls.is_empty(), transcript.parent(), session) else {
        return Vec::new();
    };
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        // No symbolic link is followed: a link in there is not the client's doing.
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let (Some(id), true) = (id.filter(|id| *id != session), is_file) else { continue };
        if is_launched(&entry.path(), session, calls) == Some(true) {
            files.push((id.to_owned(), entry.path()));
        }
    }
    files.sort();
    files
}

fn is_launched(file: &Path, session: &str, calls: &[String]) -> Option<bool> {
    let mut line = String::new();
    BufReader::new(fs_err::File::open(file).ok()?.take(LONGEST_START)).read_line(&mut line).ok()?;
    let start = json_reader::from_str::<SessionStart<'_>>(line.trim_end()).ok()?;
    let call = start.calling_tool_use_id?;
    Some(start.calling_session_id?.as_str() == session && calls.iter().any(|id| id == call.as_str()))
}

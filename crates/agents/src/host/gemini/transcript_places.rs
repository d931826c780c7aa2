//! Where Gemini CLI keeps its transcripts.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::transcripts::{Introduction, files_of, first_line, folders_of, head_lines, is_same, spelled};

/// `tmp/<project>/chats/session-….jsonl`, or `.json` in older versions.
pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    let projects = folders_of(&home.join("tmp"));
    let files = projects.iter().flat_map(|project| files_of(&project.join("chats")));
    let is_session = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("session-"))
    };
    files.filter(is_session).collect()
}

/// Gemini CLI keeps a folder for each project, with the project's path in a file of it.
pub(super) fn of_folder(home: &Path, folder: &Path) -> Vec<PathBuf> {
    let is_of_folder = |project: &PathBuf| root(project).is_some_and(|root| is_same(&root, folder));
    let projects = folders_of(&home.join("tmp")).into_iter().filter(is_of_folder);
    projects.flat_map(|project| files_of(&project.join("chats"))).collect()
}

fn root(project: &Path) -> Option<PathBuf> {
    let root = fs_err::read_to_string(project.join(".project_root")).ok()?;
    Some(PathBuf::from(root.trim_end_matches('\n')))
}

pub(super) fn introduction(transcript: &Path) -> Introduction {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct GeminiHead {
        session_id: Option<String>,
        project_hash: Option<String>,
        kind: Option<String>,
    }
    let head = first_line(transcript).and_then(|line| serde_json::from_slice::<GeminiHead>(&line).ok());
    // The older single document has the same fields at its top, each on a line of its own.
    let head = head.unwrap_or_else(|| GeminiHead {
        session_id: document_field(transcript, "sessionId"),
        project_hash: document_field(transcript, "projectHash"),
        kind: None,
    });
    // `tmp/<project>/chats/session-….jsonl`, with the project's path in a file of its folder.
    let project = transcript.parent().and_then(Path::parent);
    Introduction {
        session: head.session_id,
        folder: project.and_then(root).map(spelled),
        folder_hash: head.project_hash,
        is_subagent: head.kind.as_deref() == Some("subagent"),
    }
}

fn document_field(transcript: &Path, name: &str) -> Option<String> {
    head_lines(transcript)?.find_map(|line| {
        let line = String::from_utf8(line).ok()?;
        let value = line.trim().strip_prefix(&format!("\"{name}\": \""))?;
        value.trim_end_matches(',').strip_suffix('"').map(str::to_owned)
    })
}

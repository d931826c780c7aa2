//! Where the clients keep their transcripts: the one of a Codex thread, and the newest ones of a folder. Searches are
//! bounded, follow no link out of the client's own folder, and find nothing where a client changed its ways.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use files::{Links, regular_file};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;
use transcript::{Agent, unix_spelling};

/// So many folders of days are looked into, the newest first: two years of daily work.
const DAYS: usize = 750;

/// So many files are compared.
const FILES: usize = 20_000;

/// Of so many of the newest files the beginning is read.
const HEADS: usize = 200;

/// The first line of a Codex transcript holds the model's instructions too.
const LONGEST_HEAD: u64 = 4 * 1024 * 1024;

/// So much of a sub-agent's thread is looked through for what a person asked in it.
const LARGEST_THREAD: u64 = 256 * 1024 * 1024;

/// The kind of an event stands at the beginning of its line.
const LONGEST_EVENT_HEAD: usize = 160;

/// So many lines may stand before the one that names the folder.
const HEAD_LINES: usize = 50;

/// How a transcript introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Introduction {
    pub session: Option<String>,
    pub folder: Option<PathBuf>,
    /// Gemini CLI's name for the folder: the SHA-256 of its path, in hexadecimal.
    pub folder_hash: Option<String>,
    pub is_subagent: bool,
}

/// The transcript of a Codex thread, under `home` (`~/.codex`). A thread that was rewound has several files; the one
/// written last counts.
pub fn codex_rollout(home: &Path, thread: &str) -> Option<PathBuf> {
    let is_it = |path: &PathBuf| {
        path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| names(stem, thread))
    };
    let mut looked_at = 0;
    for day in codex_days(home) {
        let files = files_of(&day);
        looked_at += files.len();
        let found: Vec<PathBuf> = files.into_iter().filter(is_it).collect();
        if let Some(newest) = newest_first(found).into_iter().next() {
            return Some(newest);
        }
        if looked_at > FILES {
            break;
        }
    }
    None
}

/// `rollout-<time>-<thread>` or `rollout-<time>-<thread>_<rewinding>`.
fn names(stem: &str, thread: &str) -> bool {
    let thread_part = stem.rsplit_once('_').map_or(stem, |(before, _)| before);
    !thread.is_empty() && thread_part.strip_suffix(thread).is_some_and(|before| before.ends_with('-'))
}

/// The transcripts of `agent` for this folder, at most `limit`, those first that were written last. `home` is the
/// client's own folder.
pub fn of_folder(agent: Agent, home: &Path, folder: &Path, limit: usize) -> Vec<PathBuf> {
    let candidates = match agent {
        Agent::Claude => files_of(&home.join("projects").join(claude_name(folder))),
        Agent::Gemini => gemini_files(home, folder),
        Agent::Codex => codex_files(home),
    };
    let is_of_folder = |path: &PathBuf| match agent {
        Agent::Claude | Agent::Gemini => true,
        Agent::Codex => {
            let introduction = introduction(agent, path);
            !introduction.is_subagent && introduction.folder.is_some_and(|own| is_same(&own, folder))
        }
    };
    newest_first(candidates).into_iter().take(HEADS).filter(is_of_folder).take(limit).collect()
}

/// What the beginning of a transcript, or its name, tells.
pub fn introduction(agent: Agent, transcript: &Path) -> Introduction {
    match agent {
        Agent::Claude => Introduction {
            session: transcript.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned),
            folder: claude_folder(transcript),
            is_subagent: is_claude_subagent(transcript),
            ..Introduction::default()
        },
        Agent::Gemini => gemini_introduction(transcript),
        Agent::Codex => codex_introduction(transcript).unwrap_or_default(),
    }
}

/// The transcripts' files under `path`, or `path` itself, in the order of their names. Sub-agents of Claude Code are known
/// by where their files lie; those of the others by their introductions. Symbolic links are not followed.
pub fn under(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let files = files_of(&folder).into_iter().filter(|file| !is_claude_subagent(file));
        found.extend(files);
        let inside = entries(&folder, std::fs::FileType::is_dir);
        folders.extend(inside.into_iter().filter(|folder| folder.file_name() != Some("subagents".as_ref())));
    }
    found.sort_unstable();
    found
}

/// `subagents/agent-<id>.jsonl`; older versions kept `agent-<id>.jsonl` beside the sessions.
fn is_claude_subagent(transcript: &Path) -> bool {
    transcript.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("agent-"))
}

/// Where the session began: its first records may not say.
fn claude_folder(transcript: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct ClaudeLine {
        cwd: Option<PathBuf>,
    }
    let mut lines = head_lines(transcript)?;
    lines.find_map(|line| serde_json::from_slice::<ClaudeLine>(&line).ok()?.cwd).map(spelled)
}

fn gemini_introduction(transcript: &Path) -> Introduction {
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
        folder: project.and_then(gemini_root).map(spelled),
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

fn codex_introduction(transcript: &Path) -> Option<Introduction> {
    #[derive(Deserialize)]
    struct CodexHead {
        payload: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        id: Option<String>,
        cwd: Option<PathBuf>,
        thread_source: Option<String>,
        parent_thread_id: Option<String>,
        timestamp: Option<String>,
        source: Option<ThreadSource>,
    }
    /// The client's kind, or who started the thread.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ThreadSource {
        Subagent { subagent: IgnoredAny },
        Other(IgnoredAny),
    }
    let head: CodexHead = serde_json::from_slice(&first_line(transcript)?).ok()?;
    let Meta { id, cwd, thread_source, parent_thread_id, timestamp, source } = head.payload;
    let was_spawned = parent_thread_id.is_some()
        || thread_source.as_deref() == Some("subagent")
        || matches!(source, Some(ThreadSource::Subagent { subagent: IgnoredAny }));
    let is_subagent =
        was_spawned && !instant(timestamp.as_deref()).is_some_and(|began| person_goes_on(transcript, began));
    Some(Introduction { session: id, folder: cwd.map(spelled), is_subagent, ..Introduction::default() })
}

/// What is copied from the parent's thread has the time of the copy.
const COPYING: SignedDuration = SignedDuration::from_secs(5);

/// Whether somebody asked something in a sub-agent's thread after its own work was over: then it is a session (W29).
fn person_goes_on(transcript: &Path, began: Timestamp) -> bool {
    #[derive(Deserialize)]
    struct EventLine {
        timestamp: String,
        payload: EventKind,
    }
    #[derive(Deserialize)]
    struct EventKind {
        r#type: String,
    }
    let Ok(file) = regular_file::open(transcript, Links::Follow) else { return false };
    let lines = BufReader::new(file.take(LARGEST_THREAD)).split(b'\n').map_while(Result::ok);
    let mut is_over = false;
    for line in lines {
        let head = String::from_utf8_lossy(line.get(..LONGEST_EVENT_HEAD).unwrap_or(&line)).into_owned();
        if !head.contains("\"task_complete\"") && !head.contains("\"user_message\"") {
            continue;
        }
        let Ok(event) = serde_json::from_slice::<EventLine>(&line) else { continue };
        match event.payload.r#type.as_str() {
            "task_complete" => {
                let ended = instant(Some(&event.timestamp));
                is_over |= ended.is_some_and(|ended| ended.duration_since(began) > COPYING);
            }
            "user_message" if is_over => return true,
            _ => {}
        }
    }
    false
}

fn instant(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

/// The folder of a session on Windows, as its files are spelled.
fn spelled(folder: PathBuf) -> PathBuf {
    let mut text = folder.to_string_lossy().into_owned();
    unix_spelling(&mut text);
    PathBuf::from(text)
}

fn first_line(path: &Path) -> Option<Vec<u8>> {
    head_lines(path)?.next()
}

fn head_lines(path: &Path) -> Option<impl Iterator<Item = Vec<u8>>> {
    let file = regular_file::open(path, Links::Follow).ok()?.take(LONGEST_HEAD);
    Some(BufReader::new(file).split(b'\n').map_while(Result::ok).take(HEAD_LINES))
}

/// Claude Code names a project's folder by its path, with a dash for everything but letters and digits.
fn claude_name(folder: &Path) -> String {
    let dash = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    folder.to_string_lossy().chars().map(dash).collect()
}

/// Gemini CLI keeps a folder for each project, with the project's path in a file of it.
fn gemini_files(home: &Path, folder: &Path) -> Vec<PathBuf> {
    let is_of_folder = |project: &PathBuf| gemini_root(project).is_some_and(|root| is_same(&root, folder));
    let projects = folders_of(&home.join("tmp")).into_iter().filter(is_of_folder);
    projects.flat_map(|project| files_of(&project.join("chats"))).collect()
}

fn gemini_root(project: &Path) -> Option<PathBuf> {
    let root = fs_err::read_to_string(project.join(".project_root")).ok()?;
    Some(PathBuf::from(root.trim_end_matches('\n')))
}

fn codex_files(home: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for day in codex_days(home) {
        files.extend(files_of(&day));
        if files.len() > FILES {
            break;
        }
    }
    files
}

/// `sessions/<year>/<month>/<day>`, the newest first.
fn codex_days(home: &Path) -> Vec<PathBuf> {
    let mut days = Vec::new();
    for year in folders_of(&home.join("sessions")) {
        for month in folders_of(&year) {
            days.extend(folders_of(&month));
            if days.len() > DAYS {
                return days;
            }
        }
    }
    days
}

/// The real folders in a folder, by name from the last one on.
fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let mut folders = entries(folder, std::fs::FileType::is_dir);
    folders.sort_unstable_by(|left, right| right.cmp(left));
    folders.truncate(FILES);
    folders
}

/// The transcripts in a folder.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = entries(folder, std::fs::FileType::is_file);
    files
        .retain(|file| file.extension().is_some_and(|extension| extension == "jsonl" || extension == "json"));
    files
}

fn entries(folder: &Path, wanted: impl Fn(&std::fs::FileType) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let is_wanted = |entry: &fs_err::DirEntry| entry.file_type().is_ok_and(|kind| wanted(&kind));
    entries.filter_map(Result::ok).filter(is_wanted).map(|entry| entry.path()).collect()
}

fn newest_first(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut dated: Vec<(SystemTime, PathBuf)> = files
        .into_iter()
        .filter_map(|file| Some((fs_err::metadata(&file).ok()?.modified().ok()?, file)))
        .collect();
    dated.sort_unstable_by(|left, right| right.cmp(left));
    dated.into_iter().map(|(_, file)| file).collect()
}

fn is_same(left: &Path, right: &Path) -> bool {
    left == right
        || matches!((fs_err::canonicalize(left), fs_err::canonicalize(right)), (Ok(left), Ok(right)) if left == right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_is_known_by_the_thread_at_the_end_of_its_name() {
        let thread = "01a1dd46-616f-7481-a7e0-0a1e66112dfb";
        for (stem, is_it) in [
            ("rollout-2026-11-15T03-35-39-01a1dd46-616f-7481-a7e0-0a1e66112dfb", true),
            (
                "rollout-2026-11-15T03-35-51-01a1dd46-616f-7481-a7e0-0a1e66112dfb_01a1dd46-903b-7792-a896-112ce61bf195",
                true,
            ),
            ("rollout-2026-11-15T03-35-39-01a1dd46-616f-7481-a7e0-0a1e66112dfc", false),
            ("rollout-2026-11-15T03-35-39-0", false),
        ] {
            assert_eq!(names(stem, thread), is_it, "{stem}");
        }
        assert!(!names("rollout-2026-11-15T03-35-39-01a1dd46", ""));
    }

    #[test]
    fn claude_code_names_a_folder_by_its_path() {
        assert_eq!(claude_name(Path::new("/home/dev/proj_1.x")), "-home-dev-proj-1-x");
    }
}

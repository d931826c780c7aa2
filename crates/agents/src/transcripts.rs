//! Where the clients keep their transcripts: the one of a session, and the newest ones of a folder. Searches are
//! bounded, follow no link out of the client's own folder, and find nothing where a client changed its ways.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use files::{Links, regular_file};
use serde::Deserialize;
use transcript::{Agent, unix_spelling};

use crate::host::{agent_that, host};

/// So many files are compared.
pub(crate) const FILES: usize = 20_000;

/// Of so many of the newest files the beginning is read.
const HEADS: usize = 200;

/// The first line of a transcript can hold the model's instructions too.
const LONGEST_HEAD: u64 = 4 * 1024 * 1024;

/// So many lines may stand before the one that names the folder.
const HEAD_LINES: usize = 50;

/// How a transcript introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Introduction {
    pub session: Option<String>,
    pub folder: Option<PathBuf>,
    /// The client's own name for the folder: the SHA-256 of its path, in hexadecimal.
    pub folder_hash: Option<String>,
    pub is_subagent: bool,
}

/// The transcript of a session, in the client's own folder `home`, if the client names its files so.
pub fn of_session(agent: Agent, home: &Path, session: &str) -> Option<PathBuf> {
    host(agent).transcripts.of_session.and_then(|find| find(home, session))
}

/// The transcripts of `agent` for this folder, at most `limit`, those first that were written last. `home` is the
/// client's own folder.
pub fn of_folder(agent: Agent, home: &Path, folder: &Path, limit: usize) -> Vec<PathBuf> {
    let places = &host(agent).transcripts;
    let is_of_folder = |path: &PathBuf| {
        let introduction = if places.is_folder_inside { introduction(agent, path) } else { return true };
        !introduction.is_subagent && introduction.folder.is_some_and(|own| is_same(&own, folder))
    };
    let candidates = newest_first((places.of_folder)(home, folder));
    candidates.into_iter().take(HEADS).filter(is_of_folder).take(limit).collect()
}

/// The one that was written last.
pub fn newest(agent: Agent, home: &Path) -> Option<PathBuf> {
    newest_first((host(agent).transcripts.all)(home)).into_iter().next()
}

/// What the beginning of a transcript, or its name, tells.
pub fn introduction(agent: Agent, transcript: &Path) -> Introduction {
    (host(agent).transcripts.introduction)(transcript)
}

/// The transcripts under a folder, in the order of their names: files, and the sessions of databases. Sub-agents are known by the names
/// of their files, or else by their introductions. Symbolic links are not followed.
pub fn under(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let files = files_of(&folder).into_iter().filter(|file| !is_of_subagent(file));
        found.extend(files);
        let databases = entries(&folder, std::fs::FileType::is_file).into_iter();
        let is_database = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "db");
        found.extend(databases.filter(is_database).flat_map(|database| in_database(&database)));
        let inside = entries(&folder, std::fs::FileType::is_dir);
        folders.extend(inside.into_iter().filter(|folder| folder.file_name() != Some("subagents".as_ref())));
    }
    found.sort_unstable();
    found
}

/// The sessions in a file that is a database of a client, without those of sub-agents.
pub fn in_database(file: &Path) -> Vec<PathBuf> {
    let sessions = transcript::sessions(file).into_iter().filter(|session| !session.is_subagent);
    sessions.map(|session| session.path).collect()
}

/// Whether a sub-agent of this host writes this file, which its hooks are called with as with a session's.
pub fn is_subagent(agent: Agent, file: &Path) -> bool {
    (host(agent).transcripts.is_subagent_file)(file)
}

fn is_of_subagent(file: &Path) -> bool {
    agent_that(|host| (host.transcripts.is_subagent_file)(file)).is_some()
}

/// The folder of a session on Windows, as its files are spelled.
pub(crate) fn spelled(folder: PathBuf) -> PathBuf {
    let mut text = folder.to_string_lossy().into_owned();
    unix_spelling(&mut text);
    PathBuf::from(text)
}

pub(crate) fn first_line(path: &Path) -> Option<Vec<u8>> {
    head_lines(path)?.next()
}

pub(crate) fn head_lines(path: &Path) -> Option<impl Iterator<Item = Vec<u8>>> {
    let file = regular_file::open(path, Links::Follow).ok()?.take(LONGEST_HEAD);
    Some(BufReader::new(file).split(b'\n').map_while(Result::ok).take(HEAD_LINES))
}

/// The real folders in a folder, by name from the last one on.
pub(crate) fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let mut folders = entries(folder, std::fs::FileType::is_dir);
    folders.sort_unstable_by(|left, right| right.cmp(left));
    folders.truncate(FILES);
    folders
}

/// The transcripts in a folder.
pub(crate) fn files_of(folder: &Path) -> Vec<PathBuf> {
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

pub(crate) fn newest_first(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut dated: Vec<(SystemTime, PathBuf)> =
        files.into_iter().filter_map(|file| Some((modified(&file)?, file))).collect();
    // Sessions in one database are of the same time, and in their order already.
    dated.sort_by(|(left, _), (right, _)| right.cmp(left));
    dated.into_iter().map(|(_, file)| file).collect()
}

/// When a file, or the database that holds a session, was written to last.
fn modified(file: &Path) -> Option<SystemTime> {
    let found = fs_err::metadata(file).or_else(|_| fs_err::metadata(file.parent().unwrap_or(file)));
    found.ok()?.modified().ok()
}

pub(crate) fn is_same(left: &Path, right: &Path) -> bool {
    left == right
        || matches!((fs_err::canonicalize(left), fs_err::canonicalize(right)), (Ok(left), Ok(right)) if left == right)
}

/// Where the session began: its first records may not say.
pub(crate) fn first_folder(transcript: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct FolderLine {
        cwd: Option<PathBuf>,
    }
    let mut lines = head_lines(transcript)?;
    lines.find_map(|line| serde_json::from_slice::<FolderLine>(&line).ok()?.cwd).map(spelled)
}

/// Some clients name a project's folder by its path, with a dash for everything but letters and digits.
pub(crate) fn dashed(folder: &Path) -> String {
    let dash = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    folder.to_string_lossy().chars().map(dash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_its_path() {
        assert_eq!(dashed(Path::new("/home/dev/proj_1.x")), "-home-dev-proj-1-x");
    }
}

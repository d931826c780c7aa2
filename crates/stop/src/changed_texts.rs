//! What the texts of changed files say if their names and the transcript do not: the language of a script without an ending, by
//! its first line, and that an edit only touched comments, by the text that HEAD has.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use change_set::{BytePath, Change, ChangeSet, ChangedFile};
use changes::GitProgram;
use contents::Nature;
use files::{FileError, Folder};
use programs::repository::Language;

const MOST_SCRIPTS: usize = 500;
const LONGEST_LINE: u64 = 200;
const MOST_TEXTS: usize = 200;
pub(crate) const LARGEST_TEXT: u64 = 1024 * 1024;

/// The endings that these files would have by their first lines, of those whose names have none. Paths are from the root.
pub fn script_endings<'a>(root: &Path, paths: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, String> {
    // What a build tool writes to start itself is no code of the repository: `gradlew`, `configure`.
    let is_of_tool =
        |name: &str| Language::of_program(name).is_some() || Language::of_manifest(name).is_some();
    let may_be_script = |path: &&str| !split(path).1.contains('.') && !is_of_tool(split(path).1);
    let paths = paths.into_iter().filter(may_be_script).take(MOST_SCRIPTS);
    let ending = |path: &'a str| {
        let (folder, name) = split(path);
        let file = Folder::open(root).and_then(|root| root.below(folder)?.file(name)).ok()?;
        let mut line = Vec::new();
        file.take(LONGEST_LINE).read_to_end(&mut line).ok()?;
        let ending = contents::script_ending(path, &String::from_utf8_lossy(&line))?;
        Some((path.to_owned(), ending.to_owned()))
    };
    paths.filter_map(ending).collect()
}

/// The files whose code is what HEAD has: only comments, layout or a version number differ.
pub(crate) fn without_need(
    repository: &changes::Repository,
    git: &GitProgram,
    set: &ChangeSet,
) -> Vec<String> {
    let is_edited = |file: &&ChangedFile| matches!(file.change, Change::Modified | Change::Mode);
    let paths: Vec<&BytePath> =
        set.files.iter().filter(is_edited).map(|file| &file.path).take(MOST_TEXTS).collect();
    if paths.is_empty() {
        return Vec::new();
    }
    let before = changes::committed_texts(repository, git, "HEAD", &paths).unwrap_or_default();
    let is_same_code = |(path, before): (&&BytePath, Option<String>)| {
        let path = path.to_string();
        let after = text(&repository.root, &path).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
        (contents::nature(&path, Some(&before?), Some(&after)) != Nature::Code).then_some(path)
    };
    paths.iter().zip(before).filter_map(is_same_code).collect()
}

/// The text of a file in the working tree; no link is followed.
pub(crate) fn text(root: &Path, path: &str) -> Result<Vec<u8>, FileError> {
    let (folder, name) = split(path);
    Folder::open(root)?.below(folder)?.read(name, LARGEST_TEXT)
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

//! What the texts of changed files say if their names and the transcript do not: the language of a script without an ending, by
//! its first line; that only comments changed, by the text before; and which of the texts in the transcript it is.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use change_set::{BytePath, Change, ChangeSet, ChangedFile, How};
use changes::state::ContentIdentity;
use changes::{Baseline, GitProgram, KnownFile};
use contents::{Nature, TextHash};
use files::{FileError, Folder};
use gate::Inputs;
use programs::repository::Language;
use transcript::FileEdit;

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

/// Where the texts are found that changed files had before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextsBefore<'a> {
    pub(crate) repository: &'a changes::Repository,
    pub(crate) git: &'a GitProgram,
    /// The beginning of the turn; what was committed then stands for it if nobody looked.
    pub(crate) baseline: Option<&'a Baseline>,
}

impl TextsBefore<'_> {
    /// The changed files that are asked for and whose code is what it was: only comments, layout or a version number differ.
    pub(crate) fn without_need(
        self,
        set: &ChangeSet,
        inputs: &Inputs,
        is_asked: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let is_compared = |file: &&ChangedFile| self.is_comparable(file) && is_asked(&file.path.to_string());
        let files: Vec<&ChangedFile> = set.files.iter().filter(is_compared).take(MOST_TEXTS).collect();
        let is_old = |file: &&&ChangedFile| file.change != Change::Added;
        let old: Vec<&BytePath> = files.iter().filter(is_old).map(|file| &file.path).collect();
        let before = self.texts(&old);
        let is_same_code = |file: &&ChangedFile| {
            let path = file.path.to_string();
            let before = before.get(&file.path);
            if before.is_none() && file.change != Change::Added {
                return None;
            }
            let after = String::from_utf8(text(&self.repository.root, &path).ok()?).ok()?;
            let ending = inputs.script_endings.get(&path);
            let code_path = ending.map_or_else(|| path.clone(), |ending| format!("{path}.{ending}"));
            let nature = contents::nature(&code_path, before.map(String::as_str), Some(&after));
            (nature != Nature::Code).then_some(path)
        };
        files.iter().filter_map(is_same_code).collect()
    }

    /// Whether the file on disk is all that changed, and it is known what it was before.
    fn is_comparable(self, file: &ChangedFile) -> bool {
        // What HEAD has then is the work of the turn.
        let is_own_head = self.baseline.is_none() && file.how.contains(&How::Committed);
        matches!(file.change, Change::Modified | Change::Mode | Change::Added)
            && !is_own_head
            && gate::is_on_disk_alone(file)
    }

    fn texts(self, paths: &[&BytePath]) -> BTreeMap<BytePath, String> {
        let known: BTreeMap<&BytePath, &KnownFile> = self
            .baseline
            .iter()
            .flat_map(|baseline| &baseline.files)
            .map(|known| (&known.path, known))
            .collect();
        let (dirty, committed): (Vec<&BytePath>, Vec<&BytePath>) =
            paths.iter().partition(|path| known.contains_key(*path));
        let mut texts = BTreeMap::new();
        let commit = self.baseline.map_or(Some("HEAD"), |baseline| baseline.head.as_deref());
        if let (Some(commit), false) = (commit, committed.is_empty()) {
            let found =
                changes::committed_texts(self.repository, self.git, commit, &committed).unwrap_or_default();
            let found = committed.into_iter().zip(found);
            texts.extend(found.filter_map(|(path, text)| Some((path.clone(), text?))));
        }
        // What was not committed is in git's store if it was staged, or if a snapshot was taken.
        let blob = |path: &BytePath| match &known.get(path)?.state.content()?.identity {
            ContentIdentity::Blob(id) => Some(id.as_str()),
            ContentIdentity::Ends(_) | ContentIdentity::Unread(()) => None,
        };
        let blobs: Vec<(&BytePath, &str)> =
            dirty.into_iter().filter_map(|path| Some((path, blob(path)?))).collect();
        let ids: Vec<&str> = blobs.iter().map(|(_, id)| *id).collect();
        let git = changes::git::Git::of(self.repository, self.git);
        let stored = git.and_then(|git| {
            changes::blobs(&|arguments, input| git.run(arguments, input), &ids, LARGEST_TEXT)
        });
        let stored = stored.unwrap_or_default();
        let text = |(path, id): (&BytePath, &str)| {
            Some((path.clone(), String::from_utf8(stored.get(id)?.clone()).ok()?))
        };
        texts.extend(blobs.into_iter().filter_map(text));
        texts
    }
}

/// What changed files hold now, of those whose whole text the timeline shows.
pub(crate) fn present(root: &Path, set: &ChangeSet, inputs: &Inputs) -> BTreeMap<String, TextHash> {
    let shown = gate::files_shown_whole(inputs);
    let paths = set.files.iter().map(|file| file.path.to_string()).filter(|path| shown.contains(path));
    let hash = |path: String| {
        let now = String::from_utf8(text(root, &path).ok()?).ok()?;
        Some((path, FileEdit::hash_of_whole(&now)?))
    };
    paths.take(MOST_TEXTS).filter_map(hash).collect()
}

/// The text of a file in the working tree; no link is followed.
pub(crate) fn text(root: &Path, path: &str) -> Result<Vec<u8>, FileError> {
    let (folder, name) = split(path);
    Folder::open(root)?.below(folder)?.read(name, LARGEST_TEXT)
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

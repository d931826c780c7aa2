//! Where the notes of a save go: a small file of its own, which no later save touches. The client's notes file (CLAUDE.md,
//! GEMINI.md, AGENTS.md) has a section that says where they are and never changes either.
//!
//! Two machines or branches that save would otherwise change the same lines of one file, and every `git merge` and
//! `git pull --rebase` would stop there. A merge driver would resolve it only in clones that are configured for it. Files that
//! are added and never changed, deleted or renamed merge by themselves everywhere: even one file a session would not, since a
//! merge sees two versions of it if one of its saves was pushed on top of other commits and the next one was not yet.

use std::path::{Path, PathBuf};

use change_set::BytePath;
use files::{TemporaryFile, atomic_file};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::notes::{self, NEW_FILE_MODE, NotesError, Updated};

/// From the top of the repository.
pub const FOLDER: &str = ".checkstone/notes";

/// The section of the client's notes file.
pub const INDEX: &str = "Notes on the sessions here are in `.checkstone/notes/`, one file for each save. Their names begin with \
                         the time: the last one is the newest.";

/// Begins the name of what a section said before there was a folder: before all times.
const EARLIER: &str = "00000000-earlier";

/// What is being made, for the next run after a kill.
const MADE: &str = "notes-made.json";

/// Files that a save has written, and what is needed to take them back.
#[derive(Debug)]
pub(crate) struct SessionNotes {
    /// The client's notes file.
    pub(crate) index: Updated,
    /// What this save says.
    pub(crate) file: BytePath,
    made: MadeFiles,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct MadeFiles {
    paths: Vec<BytePath>,
    #[serde(skip)]
    root: PathBuf,
    #[serde(skip)]
    aside: PathBuf,
}

/// Notes that are about to be written.
#[derive(Debug)]
pub(crate) struct NewNotes<'a> {
    /// The client's notes file.
    pub(crate) index: &'a str,
    pub(crate) title: &'a str,
    /// Markdown.
    pub(crate) body: &'a str,
    pub(crate) at: Timestamp,
}

impl NewNotes<'_> {
    /// The file of this save, by its time and content: the same said twice is one file.
    pub(crate) fn file(&self) -> (String, String) {
        let text = format!("# {}\n\n{}\n", self.title, self.body.trim_matches('\n'));
        // Two saves may be of one second, and the last name is the newest.
        let time = self.at.strftime("%Y%m%dT%H%M%S%.3fZ");
        (format!("{FOLDER}/{time}-{}.md", short_hash(&text)), text)
    }

    /// Writes them. `clean` takes secrets out of what an earlier section says, which moves into a file too.
    pub(crate) fn write(
        &self,
        root: &Path,
        aside: &Path,
        clean: impl Fn(&str) -> String,
    ) -> Result<SessionNotes, NotesError> {
        let mut made = MadeFiles { paths: Vec::new(), root: root.to_owned(), aside: aside.to_owned() };
        let (file, text) = self.file();
        let mut files = vec![(file.clone(), text)];
        if let Some(earlier) = notes::section_of(root, self.index)?.filter(|text| text != INDEX) {
            let text = format!("# Notes from before\n\n{}\n", clean(&earlier).trim_matches('\n'));
            files.push((format!("{FOLDER}/{EARLIER}-{}.md", short_hash(&text)), text));
        }
        let written = made.make(&files).and_then(|()| notes::update(root, self.index, INDEX, aside));
        match written {
            Ok(index) => Ok(SessionNotes { index, file: BytePath::from(file.as_str()), made }),
            Err(error) => {
                made.remove();
                Err(error)
            }
        }
    }
}

impl SessionNotes {
    /// Everything that is to be committed. What somebody else changes in the client's notes file is theirs to commit.
    pub(crate) fn paths(&self) -> Vec<BytePath> {
        let mut paths = vec![self.file.clone()];
        paths.extend(Some(self.index.relative.clone()).filter(|_| self.index.is_changed()));
        paths.extend(self.made.paths.iter().filter(|path| **path != self.file).cloned());
        paths
    }

    /// They stay as they are now.
    pub(crate) fn settle(&self) {
        self.index.settle();
        self.made.settle();
    }

    /// Takes all of it back; false if somebody changed the client's notes file meanwhile. A failing commit hook may have changed
    /// what was written, as formatters do.
    pub(crate) fn put_back(&self, is_after_hook: bool) -> Result<bool, NotesError> {
        self.made.remove();
        if is_after_hook { self.index.put_back_after_hook() } else { self.index.put_back() }
    }
}

impl MadeFiles {
    fn make(&mut self, files: &[(String, String)]) -> Result<(), NotesError> {
        let mut missing = Vec::new();
        for (name, text) in files {
            let path = notes::real_path(&self.root, name)?;
            if path.symlink_metadata().is_err() {
                self.paths.push(BytePath::from(name.as_str()));
                missing.push((path, text));
            }
        }
        // Before there is anything to find.
        if let Ok(text) = serde_json::to_vec(self) {
            let _ = fs_err::create_dir_all(&self.aside);
            let _ = fs_err::write(self.aside.join(MADE), text);
        }
        for (path, text) in missing {
            atomic_file::replace_if_unchanged(&path, None, text.as_bytes(), NEW_FILE_MODE)?;
        }
        Ok(())
    }

    fn settle(&self) {
        let _ = fs_err::remove_file(self.aside.join(MADE));
    }

    /// What was made, and a folder that is empty then.
    fn remove(&self) {
        for path in &self.paths {
            let path = self.root.join(path.as_path());
            let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
            else {
                continue;
            };
            for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
                let found = entry.file_name();
                let is_ours = |found: &str| found == name || TemporaryFile::is_left_of(found, name);
                if found.to_str().is_some_and(is_ours) {
                    let _ = fs_err::remove_file(entry.path());
                }
            }
        }
        let mut folder = Some(Path::new(FOLDER));
        while let Some(path) = folder.filter(|path| !path.as_os_str().is_empty()) {
            // Fails where something is in it, or was made before.
            let _ = fs_err::remove_dir(self.root.join(path));
            folder = path.parent();
        }
        self.settle();
    }
}

/// Takes back what a killed run has made and not committed. `in_head` tells which version of a file HEAD has.
pub(crate) fn bring_back(root: &Path, aside: &Path, in_head: impl Fn(&BytePath) -> Option<Option<String>>) {
    notes::bring_back(root, aside, &in_head);
    let Ok(text) = fs_err::read(aside.join(MADE)) else { return };
    let mut made: MadeFiles = serde_json::from_slice(&text).unwrap_or_default();
    (made.root, made.aside) = (root.to_owned(), aside.to_owned());
    made.paths.retain(|path| has(path) && in_head(path) == Some(None));
    made.remove();
}

/// What the last save says. The names of the files begin with the time.
pub(crate) fn newest(root: &Path) -> Option<String> {
    let files = fs_err::read_dir(root.join(FOLDER)).ok()?.flatten();
    fs_err::read_to_string(files.map(|file| file.path()).max()?).ok()
}

/// Whether a path is a file of notes.
pub(crate) fn has(path: &BytePath) -> bool {
    path.as_path().starts_with(FOLDER)
}

fn short_hash(text: &str) -> String {
    text::hexadecimal(&Sha256::digest(text)).get(..8).unwrap_or_default().to_owned()
}

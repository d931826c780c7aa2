//! What a file on disk is at one instant: its kind and an identity of its content, cheap enough to be taken of
//! every dirty file at every prompt.
//!
//! The identity is git's own blob id, computed here: no git process per file, and comparable with the ids that
//! git prints. It is taken of the bytes on disk, before any filter. A file over `LARGEST_HASHED` bytes is known
//! by its size, its modification time and its two ends; beyond `HASH_BUDGET` bytes in one call files are known by
//! size and modification time only.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use change_set::BytePath;
use files::{Links, regular_file};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use text::hexadecimal;

use crate::repository::Repository;

const LARGEST_HASHED: u64 = 4 * 1024 * 1024;
const HASH_BUDGET: u64 = 64 * 1024 * 1024;
const SAMPLE: u64 = 64 * 1024;

/// File times come from a clock that ticks in milliseconds: within this span of a state, a file may change
/// again without a new time.
pub const CLOCK_TICK_NS: i64 = 100_000_000;

/// Git's mode of a path that is not there.
pub(crate) const ABSENT: &str = "000000";

/// Git's object format, which decides what a blob id is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectFormat {
    #[default]
    Sha1,
    Sha256,
}

impl ObjectFormat {
    pub fn of_id(id: &str) -> Self {
        if id.len() == 64 { Self::Sha256 } else { Self::Sha1 }
    }

    /// The tree without a file, which git knows without having it.
    pub fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }
}

/// A path at one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FileState {
    /// Nothing there, or nothing that git would see: a folder, or a path behind a symbolic link.
    Absent,
    File(FileContent),
    Executable(FileContent),
    Symlink(FileContent),
    /// A submodule, or another repository inside this one.
    Repository {
        commit: Option<String>,
        /// A hash over the dirty files inside; `None` if there are none, or nobody looked.
        dirt: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileContent {
    pub size: u64,
    pub modified_ns: i64,
    /// When content or metadata changed last, which nobody can set back.
    pub changed_ns: i64,
    #[serde(flatten)]
    pub identity: ContentIdentity,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentIdentity {
    /// The blob id of the whole content.
    Blob(String),
    /// Of a large file: a hash over size, modification time and both ends.
    Ends(String),
    /// Only size and modification time are known.
    Unread(()),
}

impl FileContent {
    /// What tells this content from another.
    pub(crate) fn identity_or_times(&self) -> String {
        match &self.identity {
            ContentIdentity::Blob(id) | ContentIdentity::Ends(id) => id.clone(),
            ContentIdentity::Unread(()) => format!("{} {}", self.size, self.modified_ns),
        }
    }
}

impl FileState {
    pub fn content(&self) -> Option<&FileContent> {
        match self {
            Self::File(content) | Self::Executable(content) | Self::Symlink(content) => Some(content),
            Self::Absent | Self::Repository { .. } => None,
        }
    }

    pub fn is_absent(&self) -> bool {
        *self == Self::Absent
    }

    /// Git's mode of such a file, as in its output.
    pub(crate) fn git_mode(&self) -> &'static str {
        match self {
            Self::Absent => ABSENT,
            Self::File(_) => "100644",
            Self::Executable(_) => "100755",
            Self::Symlink(_) => "120000",
            Self::Repository { .. } => "160000",
        }
    }
}

/// The working tree of one repository, looked at file by file.
#[derive(Debug)]
pub struct Disk<'a> {
    root: &'a Path,
    format: ObjectFormat,
    hashed: u64,
    /// Folders that are known to be real ones, down from the root, and those that are not.
    folders: HashMap<PathBuf, bool>,
}

impl<'a> Disk<'a> {
    pub fn new(root: &'a Path, format: ObjectFormat) -> Self {
        Self { root, format, hashed: 0, folders: HashMap::new() }
    }

    pub fn state(&mut self, path: &BytePath) -> FileState {
        let Some((metadata, full)) = self.metadata(path) else { return FileState::Absent };
        self.state_of(&full, &metadata)
    }

    /// Git's mode of what is at `path` now, without a look at the content: [`ABSENT`] where nothing is.
    pub fn git_mode(&mut self, path: &BytePath) -> &'static str {
        match self.metadata(path) {
            None => ABSENT,
            Some((metadata, full)) if metadata.is_dir() => Repository::at(&full).map_or(ABSENT, |_| "160000"),
            Some((metadata, _)) => mode_of(&metadata),
        }
    }

    /// Metadata of what is at `path` itself, never of what a link points to. A path that leads out of the tree,
    /// by `..` or by a linked folder, is not there.
    pub fn metadata(&mut self, path: &BytePath) -> Option<(Metadata, PathBuf)> {
        let relative = path.as_path();
        let stays_inside = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !stays_inside || !relative.parent().is_none_or(|parent| self.is_real_folder(parent)) {
            return None;
        }
        let full = self.root.join(relative);
        let metadata = full.symlink_metadata().ok()?;
        Some((metadata, full))
    }

    fn is_real_folder(&mut self, relative: &Path) -> bool {
        if relative.as_os_str().is_empty() {
            return true;
        }
        if let Some(known) = self.folders.get(relative) {
            return *known;
        }
        let real = relative.parent().is_none_or(|parent| self.is_real_folder(parent))
            && self.root.join(relative).symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        self.folders.insert(relative.to_owned(), real);
        real
    }

    fn state_of(&mut self, full: &Path, metadata: &Metadata) -> FileState {
        if metadata.is_dir() {
            return match Repository::at(full) {
                Some(inner) => FileState::Repository { commit: inner.head_commit(), dirt: None },
                None => FileState::Absent,
            };
        }
        let size = metadata.len();
        let content = |identity| FileContent {
            size,
            modified_ns: modified_ns(metadata),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            identity,
        };
        if metadata.is_symlink() {
            let target = fs_err::read_link(full).unwrap_or_default();
            return FileState::Symlink(content(ContentIdentity::Blob(blob_id(
                self.format,
                target.as_os_str().as_bytes(),
            ))));
        }
        let identity =
            if !metadata.is_file() || self.hashed.saturating_add(size.min(LARGEST_HASHED)) > HASH_BUDGET {
                ContentIdentity::Unread(())
            } else {
                self.hashed += size.min(LARGEST_HASHED);
                identity(self.format, full, metadata).unwrap_or(ContentIdentity::Unread(()))
            };
        if metadata.mode() & 0o100 != 0 {
            FileState::Executable(content(identity))
        } else {
            FileState::File(content(identity))
        }
    }

    /// Whether what is at `path` differs from `before`, a state taken at `taken_ns`. Reads the content only
    /// where the times do not answer. Dirt inside a submodule is left to the caller.
    pub(crate) fn differs(&mut self, path: &BytePath, before: &FileState, taken_ns: i64) -> bool {
        let found = self.metadata(path);
        if let (Some((metadata, _)), Some(content)) = (&found, before.content())
            && before.git_mode() == mode_of(metadata)
            && content.size == metadata.len()
            && content.modified_ns == modified_ns(metadata)
        {
            let changed_ns = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
            let settled = changed_ns.saturating_add(CLOCK_TICK_NS) < taken_ns;
            if settled && content.changed_ns == changed_ns {
                return false;
            }
            if matches!(content.identity, ContentIdentity::Unread(())) {
                return false;
            }
        }
        let now = match found {
            Some((metadata, full)) => {
                let grown = before.content().is_some_and(|content| content.size != metadata.len());
                if grown && metadata.is_file() {
                    return true;
                }
                // The budget is for states that are taken; a comparison reads one bounded file and must not guess.
                self.hashed = 0;
                self.state_of(&full, &metadata)
            }
            None => FileState::Absent,
        };
        match (before, &now) {
            (FileState::Repository { commit: before, .. }, FileState::Repository { commit: now, .. }) => {
                before != now
            }
            _ => {
                std::mem::discriminant(before) != std::mem::discriminant(&now)
                    || before.content().map(|content| &content.identity)
                        != now.content().map(|content| &content.identity)
            }
        }
    }

    /// The blob id of what is on disk, however large; `None` for what has none.
    pub fn blob_id(&mut self, path: &BytePath) -> Option<String> {
        let (metadata, full) = self.metadata(path)?;
        if metadata.is_symlink() {
            return Some(blob_id(self.format, fs_err::read_link(full).ok()?.as_os_str().as_bytes()));
        }
        hash_file(self.format, &full, metadata.len()).ok()
    }
}

/// Git's mode of what is no folder.
fn mode_of(metadata: &Metadata) -> &'static str {
    match metadata {
        link if link.is_symlink() => "120000",
        program if program.mode() & 0o100 != 0 => "100755",
        _ => "100644",
    }
}

pub fn modified_ns(metadata: &Metadata) -> i64 {
    nanoseconds(metadata.mtime(), metadata.mtime_nsec())
}

/// An instant as file times and records have it: nanoseconds since 1970.
pub fn nanoseconds_of(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

pub fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

fn identity(format: ObjectFormat, full: &Path, metadata: &Metadata) -> io::Result<ContentIdentity> {
    if metadata.len() <= LARGEST_HASHED {
        return hash_file(format, full, metadata.len()).map(ContentIdentity::Blob);
    }
    let mut file = regular_file::open(full, Links::Refuse)?;
    let mut hash = Sha1::new();
    hash.update(metadata.len().to_le_bytes());
    hash.update(modified_ns(metadata).to_le_bytes());
    let mut ends = Vec::new();
    (&mut file).take(SAMPLE).read_to_end(&mut ends)?;
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(SAMPLE)))?;
    file.take(SAMPLE).read_to_end(&mut ends)?;
    hash.update(&ends);
    Ok(ContentIdentity::Ends(hexadecimal(&hash.finalize())))
}

/// The blob id of a file of `size` bytes; an error where it has another size meanwhile.
fn hash_file(format: ObjectFormat, full: &Path, size: u64) -> io::Result<String> {
    hash_blob(format, &mut regular_file::open(full, Links::Refuse)?, size)
}

fn hash_blob(format: ObjectFormat, source: &mut dyn Read, size: u64) -> io::Result<String> {
    match format {
        ObjectFormat::Sha1 => hash_reader(Sha1::new(), source, size),
        ObjectFormat::Sha256 => hash_reader(Sha256::new(), source, size),
    }
}

fn hash_reader<D: Digest>(mut hash: D, source: &mut dyn Read, size: u64) -> io::Result<String> {
    hash.update(format!("blob {size}\0"));
    let mut buffer = vec![0; usize::try_from(size.clamp(1, SAMPLE)).unwrap_or(1)];
    let mut total = 0;
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(buffer.get(..count).unwrap_or_default());
        total += count as u64;
    }
    if total != size {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file changed while it was read"));
    }
    Ok(hexadecimal(&hash.finalize()))
}

fn blob_id(format: ObjectFormat, mut bytes: &[u8]) -> String {
    let size = bytes.len() as u64;
    // Reading from memory cannot fail.
    hash_blob(format, &mut bytes, size).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_ids_are_those_of_git() {
        assert_eq!(blob_id(ObjectFormat::Sha1, b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(blob_id(ObjectFormat::Sha1, b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(
            blob_id(ObjectFormat::Sha256, b""),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }

    struct Tree {
        folder: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }
        fn write(&self, name: &str, content: &[u8]) {
            fs_err::write(self.folder.path().join(name), content).unwrap();
        }
        fn disk(&self) -> Disk<'_> {
            Disk::new(self.folder.path(), ObjectFormat::Sha1)
        }
    }

    /// The earliest instant: every file time is "after the state was taken", so only the content decides.
    const NEVER_SETTLED: i64 = 0;

    #[test]
    fn rewriting_the_same_bytes_is_no_change() {
        let tree = Tree::new();
        tree.write("a", b"one");
        let path = BytePath::from("a");
        let before = tree.disk().state(&path);
        tree.write("a", b"one");
        assert!(!tree.disk().differs(&path, &before, NEVER_SETTLED));
        tree.write("a", b"two");
        assert!(tree.disk().differs(&path, &before, NEVER_SETTLED));
    }

    /// The times of a settled file answer for its content, so it is not read again.
    #[test]
    fn a_settled_file_is_not_read_again() {
        let tree = Tree::new();
        tree.write("a", b"one");
        let path = BytePath::from("a");
        let mut before = tree.disk().state(&path);
        if let FileState::File(content) = &mut before {
            content.identity = ContentIdentity::Blob("an id that no content has".to_owned());
        }
        assert!(!tree.disk().differs(&path, &before, i64::MAX));
        assert!(tree.disk().differs(&path, &before, NEVER_SETTLED));
    }

    #[test]
    fn a_large_file_is_known_by_its_ends() {
        let tree = Tree::new();
        let mut content = vec![7; 5 * 1024 * 1024];
        tree.write("large", &content);
        let path = BytePath::from("large");
        let before = tree.disk().state(&path);
        assert!(matches!(before.content().unwrap().identity, ContentIdentity::Ends(_)));
        assert!(!tree.disk().differs(&path, &before, NEVER_SETTLED));
        *content.last_mut().unwrap() = 8;
        tree.write("large", &content);
        assert!(tree.disk().differs(&path, &before, NEVER_SETTLED));
    }

    #[test]
    fn a_call_reads_no_more_than_its_budget() {
        let tree = Tree::new();
        let content = vec![1; 4 * 1024 * 1024];
        let mut disk = tree.disk();
        let mut unread = 0;
        for number in 0..20 {
            let name = number.to_string();
            tree.write(&name, &content);
            let state = disk.state(&BytePath::from(name.as_str()));
            unread += usize::from(state.content().unwrap().identity == ContentIdentity::Unread(()));
        }
        assert_eq!(unread, 4);
    }

    /// Invariant: no symbolic link is followed out of the tree.
    #[test]
    fn a_path_behind_a_link_or_outside_is_not_there() {
        let outside = Tree::new();
        outside.write("secret", b"x");
        let tree = Tree::new();
        std::os::unix::fs::symlink(outside.folder.path(), tree.folder.path().join("link")).unwrap();
        for path in ["link/secret", "../secret", "/etc/passwd", "."] {
            assert_eq!(tree.disk().state(&BytePath::from(path)), FileState::Absent, "{path}");
        }
        assert!(matches!(tree.disk().state(&BytePath::from("link")), FileState::Symlink(_)));
    }
}

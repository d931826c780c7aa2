//! Files that git takes for unchanged although their bytes are not those of the blob: a filter such as git-lfs, line
//! endings, an encoding. A snapshot keeps the bytes on disk, so these have to be found.
//!
//! Where no attribute and no `core.autocrlf` is set anywhere, there are none, and that is known at the cost of two
//! small git processes beside the main one. Otherwise sizes tell: converting line endings or `$Id$` always changes the
//! size. Only files with a filter or an encoding whose size is equal are read.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use change_set::BytePath;
use changes::git::{Git, RunningGit};
use changes::state::{Disk, ObjectFormat};
use changes::{Error, Repository};

use super::index_bytes;
use crate::difference::listed;

const ATTRIBUTES_FILE: &[u8] = b".gitattributes";
const SYSTEM_ATTRIBUTES: &str = "/etc/gitattributes";
const ATTRIBUTES: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

/// Asked of git while it looks at the tree.
#[derive(Debug)]
pub(super) struct ConversionQuestion {
    config: RunningGit,
    attributes_of_user: RunningGit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    Never,
    /// By attributes.
    Some,
    /// `core.autocrlf` is on: every text file.
    LineEndings,
}

impl ConversionQuestion {
    pub(super) fn start(git: &Git) -> Result<Self, Error> {
        Ok(Self {
            config: git.start(&["config", "-z", "--list"], &[])?,
            attributes_of_user: git.start(&["var", "GIT_ATTR_GLOBAL"], &[])?,
        })
    }

    pub(super) fn answer(self, repository: &Repository) -> Result<Conversion, Error> {
        let config = self.config.finish()?;
        let mut autocrlf =
            config.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"core.autocrlf"));
        // A key without a value means true. The last one counts.
        let value = autocrlf
            .next_back()
            .map(|value| value.strip_prefix(b"\n").unwrap_or(b"true").to_ascii_lowercase());
        let off: [&[u8]; 5] = [b"false", b"no", b"off", b"0", b""];
        if value.is_some_and(|value| !off.contains(&value.as_slice())) {
            // Its answer is not needed any more.
            drop(self.attributes_of_user);
            return Ok(Conversion::LineEndings);
        }
        // Versions before 2.41 do not know the question: then there may be such a file.
        let user = match self.attributes_of_user.finish() {
            Ok(paths) => paths.split(|byte| *byte == b'\n').any(|path| {
                !path.is_empty()
                    && BytePath::from(path).as_path().metadata().is_ok_and(|found| found.len() > 0)
            }),
            Err(_) => true,
        };
        let is_there = |path: &Path| path.metadata().is_ok_and(|found| found.len() > 0);
        let some = user
            || is_there(Path::new(SYSTEM_ATTRIBUTES))
            || is_there(&repository.common_dir.join("info/attributes"))
            || is_there(&repository.root.join(".gitattributes"))
            || in_index(&repository.git_dir);
        Ok(if some { Conversion::Some } else { Conversion::Never })
    }
}

impl Conversion {
    /// An attributes file that the index did not show is there as well.
    pub(super) fn or_by(self, attributes: bool) -> Self {
        if self == Self::Never && attributes { Self::Some } else { self }
    }
}

pub(super) fn is_attributes_file(path: &BytePath) -> bool {
    path.file_name() == ATTRIBUTES_FILE
}

/// Whether the index may list an attributes file. Its bytes tell in the versions that write names out; in version 4
/// names are cut, and the answer is yes.
fn in_index(git_dir: &Path) -> bool {
    let mut version = [0; 8];
    let Ok(mut index) = fs_err::File::open(git_dir.join("index")) else { return false };
    if index.read_exact(&mut version).is_err() {
        return false;
    }
    version.ends_with(&[0, 0, 0, 4]) || index_bytes::has(git_dir, ATTRIBUTES_FILE)
}

/// The tracked files whose bytes on disk are not those of their blob, except those in `looked_at`.
pub(super) fn find(
    git: &Git,
    repository: &Repository,
    conversion: Conversion,
    looked_at: impl Fn(&BytePath) -> bool,
) -> Result<BTreeSet<BytePath>, Error> {
    if conversion == Conversion::Never {
        return Ok(BTreeSet::new());
    }
    let listing = git.run(&["ls-files", "-z", "--stage"], &[])?;
    let tracked = listed(&listing, "git ls-files")?.into_iter();
    let is_plain = |mode: &str, stage: &str| mode.starts_with("100") && stage == "0";
    let tracked: Vec<(String, BytePath)> = tracked
        .filter(|([mode, _, stage], path)| is_plain(mode, stage) && !looked_at(path))
        .map(|([_, id, _], path)| (id, path))
        .collect();
    let paths: Vec<u8> = tracked.iter().flat_map(|(_, path)| [path.as_bytes(), b"\0"].concat()).collect();
    let answers = git.run(&[&["check-attr", "-z", "--stdin"], &ATTRIBUTES[..]].concat(), &paths)?;
    let answers: Vec<&[u8]> = answers.split(|byte| *byte == 0).collect();
    let per_file = ATTRIBUTES.len() * 3;
    let mut candidates = Vec::new();
    for ((id, path), answer) in tracked.iter().zip(answers.chunks(per_file)) {
        let value = |at: usize| answer.get(at * 3 + 2).copied().unwrap_or_default();
        let is_set = |at: usize| !matches!(value(at), b"unspecified" | b"unset");
        let reads = is_set(4) || is_set(5);
        let by_default = conversion == Conversion::LineEndings && value(0) != b"unset";
        if reads || by_default || (0..4).any(is_set) {
            candidates.push((id, path, reads));
        }
    }
    let ids: String = candidates.iter().map(|(id, ..)| format!("{id}\n")).collect();
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sizes = git.run(&["cat-file", "--batch-check=%(objectsize)"], ids.as_bytes())?;
    let sizes = String::from_utf8_lossy(&sizes);
    let mut found = BTreeSet::new();
    for ((id, path, reads), size) in candidates.into_iter().zip(sizes.lines()) {
        let mut disk = Disk::new(&repository.root, ObjectFormat::of_id(id));
        // What is not there although git takes it for unchanged is not checked out.
        let Some((metadata, _)) = disk.metadata(path) else { continue };
        let equal_size = size.parse() == Ok(metadata.size());
        if !equal_size || (reads && disk.blob_id(path).as_ref() != Some(id)) {
            found.insert(path.clone());
        }
    }
    Ok(found)
}

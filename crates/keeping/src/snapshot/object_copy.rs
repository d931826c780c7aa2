//! Every object of a repository in another folder of objects, for a mirror that has none yet. Packs get a second name there, which
//! takes neither time nor room; they are copied only if the file systems differ. What lies outside of packs is packed, a part at a
//! time. No history is walked, so that a large one costs no more than a small one; and whatever ends the copying, the next run
//! goes on from there.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use changes::git::{Git, WRITING};

use super::SnapshotError;
use super::leftovers::UnfinishedPacks;
use crate::leftover_file::entries;

/// Outside of packs, so much is packed at a time: well within the limit of any git process.
const MOST_BYTES: u64 = 32 << 20;
const MOST_OBJECTS: usize = 5000;

/// So often the packs are listed while somebody replaces them by others.
const ATTEMPTS: usize = 5;

/// Whose objects are copied, and where to: folders of objects, with the git of each.
pub(super) struct ObjectCopy<'a> {
    pub(super) source: &'a Git,
    pub(super) from: PathBuf,
    pub(super) target: &'a Git,
    pub(super) to: PathBuf,
}

impl ObjectCopy<'_> {
    /// Whether all objects are in the folder itself. A partial clone has not got all, and others borrow some.
    pub(super) fn is_possible(&self) -> bool {
        let is_partial = |path: PathBuf| path.extension().is_some_and(|found| found == "promisor");
        !self.from.join("info/alternates").exists() && !entries(&self.from.join("pack")).any(is_partial)
    }

    pub(super) fn run(&self) -> Result<(), SnapshotError> {
        // These before the packs: whoever packs them meanwhile has the pack ready before they are gone.
        let mut part = String::new();
        let (mut count, mut size) = (0, 0);
        for (id, bytes) in self.missing_loose()? {
            part.push_str(&format!("{id}\n"));
            (count, size) = (count + 1, size + bytes);
            if count >= MOST_OBJECTS || size >= MOST_BYTES {
                self.pack(&part)?;
                part.clear();
                (count, size) = (0, 0);
            }
        }
        if !part.is_empty() {
            self.pack(&part)?;
        }
        link_packs(&self.from.join("pack"), &self.to.join("pack"))
            .map_err(|source| SnapshotError::Mirror { folder: self.to.clone(), source })
    }

    /// The objects outside of packs that the target does not have, with the sizes of their files.
    fn missing_loose(&self) -> Result<Vec<(String, u64)>, SnapshotError> {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut found = Vec::new();
        for folder in entries(&self.from) {
            let Some(start) = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned) else {
                continue;
            };
            if start.len() != 2 || !is_digits(&start) {
                continue;
            }
            for file in entries(&folder) {
                let rest = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if matches!(rest.len(), 38 | 62) && is_digits(rest) {
                    found.push((format!("{start}{rest}"), file.metadata().map_or(0, |found| found.len())));
                }
            }
        }
        let asked: String = found.iter().map(|(id, _)| format!("{id}\n")).collect();
        let answer = self.target.run(&["cat-file", "--batch-check=%(objectname)"], asked.as_bytes())?;
        let answer = String::from_utf8_lossy(&answer);
        let missing = answer.lines().zip(found).filter(|(line, _)| line.ends_with(" missing"));
        Ok(missing.map(|(_, object)| object).collect())
    }

    fn pack(&self, ids: &str) -> Result<(), SnapshotError> {
        let folder = self.to.join("pack");
        let options =
            ["-c", "core.fsync=all", "-c", "pack.compression=1", "pack-objects", "--window=0", "--quiet"];
        let base = folder.join("pack");
        let arguments = WRITING.iter().chain(&options).map(Path::new).chain([base.as_path()]);
        let unfinished = UnfinishedPacks::look(folder.clone());
        self.source
            .run(&arguments.collect::<Vec<_>>(), ids.as_bytes())
            .inspect_err(|_| unfinished.remove_newer())?;
        Ok(())
    }
}

/// Gives the packs of one folder a second name in another, where that is not there yet.
pub(super) fn link_packs(from: &Path, to: &Path) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        match link_listed(from, to) {
            // Another pack has taken its place.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            ended => return ended,
        }
    }
    link_listed(from, to)
}

fn link_listed(from: &Path, to: &Path) -> io::Result<()> {
    let is_index = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(b"pack-") && name.ends_with(b".idx")
    };
    for index in entries(from).filter(is_index) {
        // The index last: without it git does not look for the pack.
        for extension in ["pack", "rev", "idx"] {
            let source = index.with_extension(extension);
            let target = to.join(source.file_name().unwrap_or_default());
            let is_needed = extension != "rev" || source.exists();
            if is_needed && target.symlink_metadata().is_err() && fs_err::hard_link(&source, &target).is_err()
            {
                copy_on(&source, &target)?;
            }
        }
    }
    Ok(())
}

/// Copies a file that never changes, from where an earlier attempt has ended. What that left is compared first: after a power
/// cut the end of a file may hold anything.
fn copy_on(source: &Path, target: &Path) -> io::Result<()> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = target.with_file_name(name);
    let mut from: File = fs_err::File::open(source)?.into();
    let mut to: File =
        fs_err::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part)?.into();
    let done = common_start(&mut from, &mut to)?;
    to.set_len(done)?;
    from.seek(SeekFrom::Start(done))?;
    to.seek(SeekFrom::Start(done))?;
    io::copy(&mut from, &mut to)?;
    to.sync_all()?;
    fs_err::rename(&part, target)
}

/// How many bytes two files have in common at their beginnings, in whole blocks.
fn common_start(one: &mut File, other: &mut File) -> io::Result<u64> {
    const BLOCK: u64 = 1 << 20;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut common = 0;
    loop {
        first.clear();
        second.clear();
        one.take(BLOCK).read_to_end(&mut first)?;
        other.take(BLOCK).read_to_end(&mut second)?;
        if first.is_empty() || first != second {
            return Ok(common);
        }
        common += first.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kill has left of a copy is its beginning; what a power cut has left may be anything.
    #[test]
    fn a_copy_goes_on_where_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let content = b"0123456789".repeat(300_000);
        fs_err::write(path("source"), &content).unwrap();
        let zeros = [&content[..1_500_000], &[0; 500_000]].concat();
        for left in
            [&content[..2_500_000], b"", &zeros, &b"x".repeat(7000), &[&content[..], b"more"].concat()]
        {
            fs_err::write(path("target.part"), left).unwrap();
            copy_on(&path("source"), &path("target")).unwrap();
            assert!(fs_err::read(path("target")).unwrap() == content, "after {} bytes", left.len());
            assert!(!path("target.part").exists());
        }
    }

    #[test]
    fn what_is_there_already_is_not_copied_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            fs_err::write(folder.path().join(name), content).unwrap();
            File::from(fs_err::File::open(folder.path().join(name)).unwrap())
        };
        let content = b"0123456789".repeat(300_000);
        let start = &content[..2_500_000];
        let common = common_start(&mut file("whole", &content), &mut file("part", start)).unwrap();
        assert_eq!(common, 2 << 20);
    }
}

//! A repository for the time of one comparison. It sees the objects of the user's, and gets those that the working tree
//! has beyond them; nothing is written in the user's.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use change_set::BytePath;
use changes::Repository;
use changes::state::ObjectFormat;
use jiff::Timestamp;

use super::create::{IMPORT, LeftOut, NewSnapshot, TreeReading};
use super::submodule_snapshot::InnerSnapshots;
use super::{SnapshotError, SnapshotReason, Snapshots};

#[derive(Debug)]
pub(super) struct Scratch {
    /// Removed with all in it when this is dropped.
    folder: tempfile::TempDir,
}

impl Scratch {
    pub(super) fn new(parent: &Path, repository: &Repository) -> Result<Self, SnapshotError> {
        let failed = |source| SnapshotError::Scratch { folder: parent.to_owned(), source };
        let folder =
            tempfile::Builder::new().prefix("checkstone-diff-").tempdir_in(parent).map_err(failed)?;
        lay_out(folder.path(), repository.object_format()).map_err(failed)?;
        lend_objects(folder.path(), repository).map_err(failed)?;
        Ok(Self { folder })
    }

    /// The working tree as a commit in here, and what is not in it.
    pub(super) fn take(&self, snapshots: &Snapshots) -> Result<(String, Vec<LeftOut>), SnapshotError> {
        let looked = look(snapshots, self.folder.path())?;
        // Named outright, since a person may have forbidden git to take a folder for a repository by its looks.
        let here = ["--git-dir=.", "-c", "core.fsync=none", "-c", "fastimport.unpackLimit=0"];
        let arguments = [&here[..], &IMPORT].concat();
        let git = snapshots.git.moved_to(self.folder.path());
        let output = git.start_with(&arguments, Stdio::from(looked.input))?.finish()?;
        Ok((String::from_utf8_lossy(&output).trim().to_owned(), looked.facts.left_out))
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.folder.path().join("objects")
    }
}

/// The working tree at one look, submodules aside. What was read lies in `folder`, without a name.
pub(super) fn look(snapshots: &Snapshots, folder: &Path) -> Result<TreeReading, SnapshotError> {
    let new = NewSnapshot {
        reason: SnapshotReason::Asked,
        message: "compared",
        now: Timestamp::UNIX_EPOCH,
        session: None,
        turn: None,
    };
    snapshots.look(&new, "refs/compared", folder, InnerSnapshots::default())
}

/// What git needs to take the folder for a repository: it has no command that makes one without templates and the
/// user's defaults for new ones.
pub(super) fn lay_out(folder: &Path, format: ObjectFormat) -> io::Result<()> {
    let write = |name: &str, content: &[u8]| fs_err::write(folder.join(name), content);
    for name in ["refs", "objects/info", "objects/pack"] {
        fs_err::create_dir_all(folder.join(name))?;
    }
    let format = match format {
        ObjectFormat::Sha1 => "",
        ObjectFormat::Sha256 => "[extensions]\nobjectFormat = sha256\n",
    };
    write("HEAD", b"ref: refs/heads/none\n")?;
    write("config", format!("[core]\nrepositoryFormatVersion = 1\nbare = true\n{format}").as_bytes())
}

fn lend_objects(folder: &Path, repository: &Repository) -> io::Result<()> {
    let mut objects = BytePath::from(repository.common_dir.join("objects").as_path()).quoted();
    objects.push(b'\n');
    fs_err::write(folder.join("objects/info/alternates"), &objects)
}

//! One settings file of a client, or hook of git's, on disk: read with every oddity told, written whole or not at all. A link in its
//! place stays a link, and what it leads to is written; but of a repository's own files only what stays in it.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use files::atomic_file::{self, Replaced};
use files::{FileError, Links, regular_file};

use crate::error::CommandError;

/// A larger file is no settings file.
const LARGEST: u64 = 16 * 1024 * 1024;

/// For files and folders that did not exist: settings can hold secrets.
const NEW_FILE: u32 = 0o600;
const NEW_FOLDER: u32 = 0o700;
const NEW_PROGRAM: u32 = 0o755;

#[derive(Debug)]
pub(crate) struct SettingsFile {
    /// As the client names it.
    pub(crate) path: PathBuf,
    /// Where it really is.
    target: PathBuf,
    /// `None` if there is no file.
    pub(crate) text: Option<String>,
    is_read_only: bool,
    /// The mode of a file that did not exist.
    new_file: u32,
}

/// Why it cannot be used: a sentence that goes on after the file's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsFileError {
    #[error("cannot be inspected: {0}")]
    Look(io::Error),
    #[error("is a broken link")]
    DeadLink,
    #[error("cannot be followed: {0}")]
    Follow(io::Error),
    #[error("is a folder")]
    Folder,
    #[error("is not a regular file")]
    NotAFile,
    #[error("is larger than 16 MiB")]
    TooLarge,
    #[error("cannot be read: {0}")]
    Read(io::ErrorKind),
    #[error("is not UTF-8")]
    NotText,
}

/// Where a file of a repository really is, if a link on the way to it leads out of the repository. Whoever made the repository
/// chose that place, and not the person who works in it: nothing is written there.
pub(crate) fn leads_out_of(root: &Path, path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|place| place.symlink_metadata().is_ok())?;
    let (real_root, real) = (root.canonicalize().ok()?, there.canonicalize().ok()?);
    if real.starts_with(&real_root) {
        return None;
    }
    let rest = path.strip_prefix(there).ok().filter(|rest| !rest.as_os_str().is_empty());
    Some(rest.map_or_else(|| real.clone(), |rest| real.join(rest)))
}

impl SettingsFile {
    pub(crate) fn read(path: &Path) -> Result<Self, SettingsFileError> {
        let absent = |target: PathBuf| Self {
            path: path.to_owned(),
            target,
            text: None,
            is_read_only: false,
            new_file: NEW_FILE,
        };
        match path.symlink_metadata() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(absent(path.to_owned())),
            Err(error) => return Err(SettingsFileError::Look(error)),
        }
        let target = path.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => SettingsFileError::DeadLink,
            _ => SettingsFileError::Follow(error),
        })?;
        let bytes = regular_file::read(&target, Links::Refuse, LARGEST).map_err(|error| match error {
            FileError::NotAFile { .. } if target.is_dir() => SettingsFileError::Folder,
            FileError::NotAFile { .. } => SettingsFileError::NotAFile,
            FileError::TooLarge { .. } => SettingsFileError::TooLarge,
            error => SettingsFileError::Read(error.kind()),
        })?;
        let metadata = fs_err::metadata(&target).map_err(SettingsFileError::Look)?;
        let text = String::from_utf8(bytes).map_err(|_| SettingsFileError::NotText)?;
        // Root may write everything, and still a file without any such bit is meant to stay as it is.
        let is_read_only = metadata.permissions().mode() & 0o222 == 0
            || rustix::fs::access(&target, rustix::fs::Access::WRITE_OK).is_err();
        Ok(Self { path: path.to_owned(), target, text: Some(text), is_read_only, new_file: NEW_FILE })
    }

    /// If it is made, then as a program.
    pub(crate) fn executable(self) -> Self {
        Self { new_file: NEW_PROGRAM, ..self }
    }

    /// Whether it is a program.
    pub(crate) fn is_executable(&self) -> bool {
        fs_err::metadata(&self.target).is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
    }

    /// Why it could not be written, known beforehand.
    pub(crate) fn obstacle(&self) -> Option<String> {
        self.is_read_only.then(|| "is read-only".to_owned())
    }

    pub(crate) fn leads_elsewhere(&self) -> Option<&Path> {
        (self.text.is_some() && self.path.is_symlink()).then_some(self.target.as_path())
    }

    /// Writes the text, if the file is still as it was read.
    pub(crate) fn write(&self, text: &str) -> Result<(), CommandError> {
        if let Some(folder) = self.target.parent().filter(|folder| !folder.exists()) {
            let made = std::fs::DirBuilder::new().recursive(true).mode(NEW_FOLDER).create(folder);
            made.map_err(|error| {
                CommandError::failed(format!("cannot create the folder `{}`: {error}", folder.display()))
            })?;
        }
        let expected = self.text.as_deref().map(str::as_bytes);
        match atomic_file::replace_if_unchanged(&self.target, expected, text.as_bytes(), self.new_file) {
            Ok(Replaced::Yes) => Ok(()),
            Ok(Replaced::Changed) => Err(self.changed_meanwhile()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the file, if it is still as it was read.
    pub(crate) fn remove(&self) -> Result<(), CommandError> {
        let now = fs_err::read(&self.target)?;
        if self.text.as_deref().map(str::as_bytes) != Some(now.as_slice()) {
            return Err(self.changed_meanwhile());
        }
        fs_err::remove_file(&self.target).map_err(CommandError::from)
    }

    fn changed_meanwhile(&self) -> CommandError {
        CommandError::refused(format!(
            "`{}` was changed by another program in the meantime",
            self.path.display()
        ))
        .hint("run the command again")
    }
}

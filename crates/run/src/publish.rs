//! The artifacts of an attempt: what is there, and how an accepted attempt takes the place of the one before it. The whole
//! folder changes its name at once, so that readers see one attempt or the other, never a mixture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use checkpoint::Identity;
use files::{FileError, Folder};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::attempt_artifacts::REPLACED;

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the artifact `{}` is a symbolic link; write a file in its place", path.display())]
    SymbolicLink { path: PathBuf },
    #[error("the artifact `{}` is neither a file nor a folder", path.display())]
    Special { path: PathBuf },
    #[error("`{}` has more than {most} files; put them into one archive, or set `maxFiles`", path.display())]
    TooMany { path: PathBuf, most: usize },
    #[error("the name of the artifact `{}` is not valid text", path.display())]
    NoText { path: PathBuf },
    #[error("the artifact `{}` has a name that means another place on other systems; rename it", path.display())]
    LeadsElsewhere { path: PathBuf },
    #[error("`{}` is a symbolic link; nothing is published through it", path.display())]
    Place { path: PathBuf },
    #[error("`{}` is in the way of publishing; a stage writes into its artifact folder and nowhere else", path.display())]
    InTheWay { path: PathBuf },
}

impl PublishError {
    /// The file or folder that it is about, of those that a stage made.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::SymbolicLink { path }
            | Self::Special { path }
            | Self::TooMany { path, .. }
            | Self::NoText { path }
            | Self::LeadsElsewhere { path } => Some(path),
            _ => None,
        }
    }
}

/// Unless the plan says otherwise. A folder of more files is no artifact and no input: looking at each of them would take longer than most stages.
pub(crate) const MOST_FILES: usize = 200_000;

/// The files below `folder`, as paths below it with `/`, in order. Links and the like are refused.
pub(crate) fn files(folder: &Path) -> Result<Vec<String>, PublishError> {
    files_up_to(folder, MOST_FILES)
}

/// As [`files`]; more than `most` are refused.
pub(crate) fn files_up_to(folder: &Path, most: usize) -> Result<Vec<String>, PublishError> {
    let mut files = entries_up_to(folder, most)?;
    files.retain(|entry| !entry.ends_with('/'));
    Ok(files)
}

/// As [`files_up_to`], and the folders that hold nothing, with a `/` behind them.
pub(crate) fn entries_up_to(folder: &Path, most: usize) -> Result<Vec<String>, PublishError> {
    // A stage may also put a link in the place of the whole folder, which would then be published.
    if folder.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(PublishError::SymbolicLink { path: folder.to_owned() });
    }
    let mut found = Vec::new();
    let looked = walk(folder, "", Strictness::Refuse, most, &mut found);
    if found.len() > most {
        // The folder that has the most of them is the one to look at.
        return Err(PublishError::TooMany { path: crowded(folder, &found), most });
    }
    looked?;
    found.sort();
    Ok(found)
}

/// The folder right below this one that has the most files, if it has most of all.
fn crowded(folder: &Path, files: &[String]) -> PathBuf {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (first, _) in files.iter().filter_map(|file| file.split_once('/')) {
        *counts.entry(first).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    match most.filter(|(_, count)| *count > files.len() / 2) {
        Some((inner, _)) => folder.join(inner),
        None => folder.to_owned(),
    }
}

/// The regular files below `folder` as far as they can be seen; for what was cut short.
pub(crate) fn files_as_far_as_possible(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let _ = walk(folder, "", Strictness::LeaveOut, MOST_FILES, &mut found);
    found.retain(|entry| !entry.ends_with('/'));
    found.sort();
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Strictness {
    Refuse,
    LeaveOut,
}

/// Ends early once there are more than `most`.
fn walk(
    folder: &Path,
    prefix: &str,
    strictness: Strictness,
    most: usize,
    found: &mut Vec<String>,
) -> Result<(), PublishError> {
    let failed = FileError::failed("read the artifacts in", folder);
    let mut is_empty = true;
    for entry in fs_err::read_dir(folder).map_err(&failed)? {
        if found.len() > most {
            return Ok(());
        }
        let entry = entry.map_err(&failed)?;
        is_empty = false;
        let path = entry.path();
        let kind = entry.file_type().map_err(&failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            if strictness == Strictness::LeaveOut {
                continue;
            }
            return Err(PublishError::NoText { path });
        };
        // No manifest can hold it: other systems read the backslash as a separator.
        if name.split('\\').any(|part| part == "..") {
            if strictness == Strictness::LeaveOut {
                continue;
            }
            return Err(PublishError::LeadsElsewhere { path });
        }
        let inner = format!("{prefix}{name}");
        if kind.is_dir() {
            walk(&path, &format!("{inner}/"), strictness, most, found)?;
        } else if kind.is_file() {
            found.push(inner);
        } else if strictness == Strictness::Refuse {
            return Err(if kind.is_symlink() {
                PublishError::SymbolicLink { path }
            } else {
                PublishError::Special { path }
            });
        }
    }
    if is_empty && !prefix.is_empty() {
        found.push(prefix.to_owned());
    }
    Ok(())
}

/// Makes a folder below `root` with all that lead to it; a link on the way is refused.
pub(crate) fn make_folder(root: &Path, folder: &Path) -> Result<(), PublishError> {
    let inner = folder.strip_prefix(root).unwrap_or(folder);
    let mut at = Folder::open(root)?;
    for part in inner.components() {
        let made = match at.folder_made(part) {
            // A stage may have made its folders read-only.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let _writable = at.writable_meanwhile()?;
                at.folder_made(part)
            }
            made => made,
        };
        at = made.map_err(|error| match error {
            FileError::SymbolicLink { path } => PublishError::Place { path },
            error => error.into(),
        })?;
    }
    Ok(())
}

/// Folders without anything in them are part of what a stage made: those of `folders` that are missing below `published` are made.
/// Answers with their names.
pub(crate) fn make_missing_folders<'a>(
    root: &Path,
    published: &Path,
    folders: &'a [String],
) -> Result<Vec<&'a str>, PublishError> {
    let mut made = Vec::new();
    for folder in folders {
        let path = published.join(folder);
        if is_stray(folder) {
            return Err(PublishError::LeadsElsewhere { path });
        }
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            make_folder(root, &path)?;
            made.push(folder.as_str());
        }
    }
    Ok(made)
}

/// Records come from anywhere, too.
fn is_stray(folder: &str) -> bool {
    !Path::new(folder).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// As `make_folder`; but the last one must not be there yet.
pub(crate) fn make_new_folder(root: &Path, folder: &Path) -> Result<(), PublishError> {
    if let Some(parent) = folder.parent() {
        make_folder(root, parent)?;
    }
    Ok(fs_err::create_dir(folder).map_err(FileError::failed("make the folder", folder))?)
}

/// Whether anything but the disk could be in the way of [`publish`].
pub(crate) fn check(artifacts: &Path, published: &Path) -> Result<(), PublishError> {
    let Ok(metadata) = published.symlink_metadata() else { return Ok(()) };
    if metadata.is_symlink() {
        return Err(PublishError::Place { path: published.to_owned() });
    }
    // A stage may have put something there; after the exchange it would be too late to find out.
    let replaced = artifacts.with_file_name(REPLACED);
    match replaced.symlink_metadata() {
        Ok(_) => Err(PublishError::InTheWay { path: replaced }),
        Err(_) => Ok(()),
    }
}

/// Puts the folder of an attempt's artifacts in the place of the published ones. Those that were there before lie in
/// the attempt's folder afterwards, as `replaced`.
pub(crate) fn publish(root: &Path, artifacts: &Path, published: &Path) -> Result<(), PublishError> {
    put_in_place(root, artifacts, published)?;
    let folders = [published.parent(), artifacts.parent()];
    Ok(folders.into_iter().flatten().try_for_each(files::sync_directory)?)
}

/// As [`publish`], for what can be had again after a power cut: nothing is flushed.
pub(crate) fn put_in_place(root: &Path, artifacts: &Path, published: &Path) -> Result<(), PublishError> {
    let failed = |error: Errno| FileError::failed("publish to", published)(error.into());
    if let Some(parent) = published.parent() {
        make_folder(root, parent)?;
    }
    check(artifacts, published)?;
    if published.symlink_metadata().is_err() {
        return Ok(rustix::fs::rename(artifacts, published).map_err(failed)?);
    }
    let replaced = artifacts.with_file_name(REPLACED);
    match renameat_with(CWD, artifacts, CWD, published, RenameFlags::EXCHANGE) {
        Ok(()) => {
            if let Err(error) = rustix::fs::rename(artifacts, &replaced) {
                let _ = renameat_with(CWD, artifacts, CWD, published, RenameFlags::EXCHANGE);
                return Err(failed(error).into());
            }
        }
        // A file system that cannot exchange: for an instant there is none.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            // Somebody who took the run over has them, and the published ones are not ours to touch.
            artifacts.symlink_metadata().map_err(FileError::failed("publish to", published))?;
            rustix::fs::rename(published, &replaced).map_err(failed)?;
            if let Err(error) = rustix::fs::rename(artifacts, published) {
                let _ = rustix::fs::rename(&replaced, published);
                return Err(failed(error).into());
            }
        }
        Err(error) => return Err(failed(error).into()),
    }
    Ok(())
}

/// What a file is known by without reading it; another one after every change of it.
pub(crate) fn identity(path: &Path) -> Option<String> {
    Identity::of_path(path).map(|identity| identity.to_string())
}

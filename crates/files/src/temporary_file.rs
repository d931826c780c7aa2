//! A file that does not have its name yet: written beside, then renamed in one step, and removed if that never happens.
//! Everything that replaces a file is built on this.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;

use crate::{FileError, Folder, random_id};

/// Of the name that a file is made for so many bytes stand in its temporary one, which has to be a file name too.
const SHOWN: usize = 200;

/// Removed when dropped, unless it was placed.
#[derive(Debug)]
pub struct TemporaryFile<'a> {
    folder: &'a Folder,
    name: Vec<u8>,
    file: File,
    is_placed: bool,
}

impl<'a> TemporaryFile<'a> {
    /// A new file `.NAME.….tmp` in the folder, for reading and writing.
    pub fn new(folder: &'a Folder, for_name: impl AsRef<OsStr>, mode: u32) -> Result<Self, FileError> {
        let shown = for_name.as_ref().as_bytes();
        let shown = shown.get(..SHOWN).unwrap_or(shown);
        let name = [b".", shown, b".", random_id().as_bytes(), b".tmp"].concat();
        let file = folder.new_file(OsStr::from_bytes(&name), mode)?;
        Ok(Self { folder, name, file, is_placed: false })
    }

    /// Whether `file` is what a killed process may have left of a file for `for_name`; former versions had shorter ids.
    pub fn is_left_of(file: &str, for_name: &str) -> bool {
        let id = file.strip_prefix('.').and_then(|rest| rest.strip_prefix(for_name));
        let id = id.and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".tmp"));
        id.is_some_and(|id| matches!(id.len(), 6 | 12) && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    }

    /// The same for whatever name.
    pub fn is_left(file: &str) -> bool {
        let name = file.strip_prefix('.').and_then(|rest| rest.strip_suffix(".tmp")?.rsplit_once('.'));
        name.is_some_and(|(name, _)| Self::is_left_of(file, name))
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.name)
    }

    /// Gives it its name, over a file that may be there.
    pub fn replace(&mut self, to: &Folder, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        self.folder.rename(self.name(), to, name)?;
        self.is_placed = true;
        Ok(())
    }

    /// Gives it its name; nothing of that name may be there.
    pub fn place(&mut self, to: &Folder, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        self.folder.rename_new(self.name(), to, name)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = self.folder.remove_file(self.name());
        }
    }
}

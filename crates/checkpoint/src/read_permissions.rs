//! Who may read and execute a file: what its copy in the store has of its permissions, and what is restored from that. Who may
//! write is not part of it: nobody writes into the store, and what is restored is its owner's to write.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde::{Deserialize, Serialize};

/// As records have it: octal, such as `0440`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct ReadPermissions(u32);

impl ReadPermissions {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::of_metadata(&file.metadata()?))
    }

    pub(crate) fn of_metadata(metadata: &Metadata) -> Self {
        Self::of_mode(metadata.mode())
    }

    /// The owner may always read.
    pub(crate) fn of_mode(mode: u32) -> Self {
        Self(0o400 | mode & 0o555)
    }

    /// As far as a remote store knows them.
    pub(crate) fn for_everybody(is_executable: bool) -> Self {
        Self(if is_executable { 0o555 } else { 0o444 })
    }

    pub(crate) fn of_copy(self) -> Permissions {
        Permissions::from_mode(self.0)
    }

    /// Of a new file.
    pub(crate) fn restored(self) -> u32 {
        self.0 | 0o200
    }

    /// Of a file in the place of one that has these: as before, but for nobody who may not read or execute the artifact.
    pub(crate) fn restored_over(self, present: u32) -> u32 {
        present & (self.0 | 0o7222)
    }

    /// For those alone who may read the other file as well.
    pub(crate) fn for_readers_of(self, other: Self) -> Self {
        let readable = other.0 & 0o444;
        Self(self.0 & (0o500 | readable | readable >> 2))
    }

    pub(crate) fn is_for_readers_of(self, other: Self) -> bool {
        self.for_readers_of(other) == self
    }
}

impl From<ReadPermissions> for String {
    fn from(permissions: ReadPermissions) -> Self {
        format!("{:04o}", permissions.0)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a file's permissions, such as `0444`")]
pub struct NoPermissions {
    text: String,
}

impl TryFrom<String> for ReadPermissions {
    type Error = NoPermissions;

    fn try_from(text: String) -> Result<Self, NoPermissions> {
        match u32::from_str_radix(&text, 8) {
            Ok(mode) if mode <= 0o777 => Ok(Self::of_mode(mode)),
            _ => Err(NoPermissions { text }),
        }
    }
}

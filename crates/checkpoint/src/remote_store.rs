//! A second home for the contents of artifacts, such as a bucket: what the local store has is put there before a manifest names
//! it, and what the local store lacks is fetched from there. So a checkpoint can be restored on any host that reaches it.
//!
//! Which one a process uses is for the program to say, once, before anything is saved.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::sync::{Arc, OnceLock};

pub type RemoteError = Box<dyn Error + Send + Sync>;

/// A content to be put there.
#[derive(Debug)]
pub struct RemoteContent {
    pub sha256: String,
    pub file: File,
    pub is_executable: bool,
}

/// A content that was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchedFile {
    pub is_executable: bool,
}

pub trait RemoteStore: fmt::Debug + Send + Sync {
    /// As people know it.
    fn name(&self) -> String;

    /// Puts contents; each is there and was verified by its digest when this returns.
    fn put(&self, title: &str, contents: Vec<RemoteContent>) -> Result<(), RemoteError>;

    /// Writes a content to a file, verified by its digest; none if it is not there.
    fn fetch(&self, title: &str, sha256: &str, to: &File) -> Result<Option<FetchedFile>, RemoteError>;

    /// Removes what is not wanted, once it is old enough that nobody is about to commit it.
    fn free(&self, title: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<(), RemoteError>;
}

static REMOTE: OnceLock<Arc<dyn RemoteStore>> = OnceLock::new();

/// Every store that this process opens from now on has this one behind it.
pub fn use_remote_store(remote: Arc<dyn RemoteStore>) {
    let _ = REMOTE.set(remote);
}

pub(crate) fn in_use() -> Option<Arc<dyn RemoteStore>> {
    REMOTE.get().cloned()
}

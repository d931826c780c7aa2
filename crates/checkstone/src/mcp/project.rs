//! Which project a client is about: the folder that the person named, else the client's first root, else the folder that
//! the server was started in.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio::sync::Mutex;

/// A client that takes longer to name its roots has none.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Project {
    folder: PathBuf,
    /// Whether the person said so.
    is_named: bool,
    /// What the client answered, until it says that this has changed.
    first_root: Mutex<Option<PathBuf>>,
}

impl Project {
    pub(super) fn new(folder: PathBuf, is_named: bool) -> Self {
        Self { folder, is_named, first_root: Mutex::default() }
    }

    pub(super) async fn folder(&self, context: &RequestContext<RoleServer>) -> PathBuf {
        // Newer protocols let no server ask, and their clients start it in the project.
        let may_ask = context.protocol_version().is_some_and(|version| version.has_initialize());
        let has_roots = context.client_capabilities().is_some_and(|can| can.roots.is_some());
        if self.is_named || !may_ask || !has_roots {
            return self.folder.clone();
        }
        let mut known = self.first_root.lock().await;
        if known.is_none() {
            *known = Some(first_root(&context.peer).await.unwrap_or_else(|| self.folder.clone()));
        }
        known.clone().unwrap_or_else(|| self.folder.clone())
    }

    pub(super) async fn forget_roots(&self) {
        *self.first_root.lock().await = None;
    }
}

#[expect(deprecated, reason = "clients of the older protocols still name their folder this way")]
async fn first_root(client: &Peer<RoleServer>) -> Option<PathBuf> {
    let answer = tokio::time::timeout(LONGEST_ANSWER, client.list_roots()).await.ok()?.ok()?;
    let folders = answer.roots.iter().filter_map(|root| folder_of(&root.uri));
    folders.into_iter().find(|folder| folder.is_dir())
}

/// The path in a `file://` address of this machine.
fn folder_of(address: &str) -> Option<PathBuf> {
    let path = address.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        bytes.push(match (first, after.split_first_chunk::<2>()) {
            (b'%', Some((digits, after))) => {
                rest = after;
                u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?
            }
            _ => *first,
        });
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_folders_are_decoded() {
        let folder = |address| folder_of(address).map(|path| path.to_string_lossy().into_owned());
        let cases = [
            ("file:///home/a%20b/%C3%A4", Some("/home/a b/ä")),
            ("file://localhost/srv", Some("/srv")),
            ("file:///100%", Some("/100%")),
            ("file://elsewhere/srv", None),
            ("file:///%zz", None),
            ("https://example.org/srv", None),
        ];
        for (address, expected) in cases {
            assert_eq!(folder(address).as_deref(), expected, "{address}");
        }
    }
}

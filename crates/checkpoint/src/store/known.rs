//! What is known of files without reading them: which content an artifact had when it was last read, and which objects
//! were seen flushed, both by the file's [`Identity`].
//!
//! It is only a cache: whatever is wrong with it, files are read again. A file that was changed in the same tick of the
//! clock as it was read in could change once more unseen, so it is not remembered.
//!
//! It lies in many small parts, by the hash of what it is about, and a part is read when it is asked for: what a save reads and
//! writes of it depends on its own artifacts, not on how many others the store knows.

use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Write as _};
use std::sync::{Mutex, PoisonError};

use files::{FileError, Folder, TemporaryFile};
use serde::{Deserialize, Serialize};

use super::prefix;
use crate::hash;
use crate::identity::Identity;

const FOLDER: &str = ".known";
/// Beyond this, in one part, the oldest knowledge is not worth its reading.
const MOST: usize = 1_000;
const LARGEST: u64 = 16 << 20;

/// Smaller files are read or copied sooner than it is looked up whether that is needed.
pub(crate) const LARGE: u64 = 256 << 10;

#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    folder: Option<Folder>,
    /// Those that were asked for, by their names.
    parts: Mutex<HashMap<String, KnownPart>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct KnownPart {
    files: HashMap<String, (Identity, String)>,
    objects: HashMap<String, Identity>,
    /// Of large objects.
    sizes: HashSet<u64>,
    /// Contents that were put into a remote store, with its name.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    remote: HashMap<String, String>,
    #[serde(skip)]
    is_changed: bool,
}

impl KnownPart {
    fn read(folder: &Folder, name: &str) -> Option<Self> {
        let mut bytes = Vec::new();
        folder.file(name).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        // It is not flushed, so a power cut may leave anything: the first line says whether it is whole.
        let (digest, rest) = bytes.split_at_checked(65)?;
        let whole = digest.strip_suffix(b"\n")? == hash::of_bytes(rest).as_bytes();
        whole.then(|| serde_json::from_slice(rest).ok()).flatten()
    }

    fn write(&self, name: &str, folder: &Folder, temporary: &Folder) -> Result<(), FileError> {
        let failed = |source| FileError::failed("write", &temporary.path().join(name))(source);
        let body = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        let mut written = TemporaryFile::new(temporary, name, 0o644)?;
        let text = [hash::of_bytes(&body).as_bytes(), b"\n", &body].concat();
        written.file().write_all(&text).map_err(failed)?;
        written.replace(folder, name)
    }
}

impl KnownFiles {
    pub(super) fn of(store: &Folder) -> Self {
        Self { folder: store.folder(FOLDER).ok(), parts: Mutex::default() }
    }

    /// Those parts that were changed.
    pub(super) fn write(&self, store: &Folder, temporary: &Folder) -> Result<(), FileError> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, part) in parts.iter_mut().filter(|(_, part)| part.is_changed) {
            part.is_changed = false;
            part.write(name, &store.folder_made(FOLDER)?, temporary)?;
        }
        Ok(())
    }

    fn part<R>(&self, of: &[u8], use_it: impl FnOnce(&mut KnownPart) -> R) -> R {
        self.named_part(prefix(&hash::of_bytes(of)), use_it)
    }

    fn named_part<R>(&self, name: &str, use_it: impl FnOnce(&mut KnownPart) -> R) -> R {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = parts.get_mut(name) {
            return use_it(part);
        }
        let read = self.folder.as_ref().and_then(|folder| KnownPart::read(folder, name));
        use_it(parts.entry(name.to_owned()).or_insert(read.unwrap_or_default()))
    }

    /// The content of the file at that path, where it is the one that was read.
    pub(crate) fn content(&self, path: &str, identity: &Identity) -> Option<String> {
        let same = |part: &mut KnownPart| {
            part.files.get(path).filter(|(known, _)| known == identity).map(|(_, sha256)| sha256.clone())
        };
        self.part(path.as_bytes(), same)
    }

    /// Whether the file at that path was read before, as it is now or otherwise.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.part(path.as_bytes(), |part| part.files.contains_key(path))
    }

    /// Whether something large of this size is in the store.
    pub(crate) fn has_size(&self, size: u64) -> bool {
        size >= LARGE && self.part(&size.to_le_bytes(), |part| part.sizes.contains(&size))
    }

    pub(super) fn object(&self, sha256: &str) -> Option<Identity> {
        self.named_part(prefix(sha256), |part| part.objects.get(sha256).copied())
    }

    /// Whether the content was put into the remote store of this name.
    pub(super) fn is_remote(&self, sha256: &str, name: &str) -> bool {
        self.named_part(prefix(sha256), |part| part.remote.get(sha256).is_some_and(|known| known == name))
    }

    pub(super) fn set_remote(&self, sha256: &str, name: &str) {
        self.named_part(prefix(sha256), |part| {
            let before = part.remote.insert(sha256.to_owned(), name.to_owned());
            part.is_changed |= before.as_deref() != Some(name);
        });
    }

    pub(crate) fn set_content(&self, path: String, identity: Identity, sha256: String) {
        self.part(path.clone().as_bytes(), |part| {
            if part.files.len() >= MOST {
                part.files.clear();
            }
            part.files.insert(path, (identity, sha256));
            part.is_changed = true;
        });
    }

    pub(crate) fn set_object(&self, sha256: String, identity: Identity) {
        let size = identity.size();
        self.named_part(prefix(&sha256.clone()), |part| {
            part.objects.insert(sha256, identity);
            part.is_changed = true;
        });
        if size >= LARGE {
            self.part(&size.to_le_bytes(), |part| part.is_changed |= part.sizes.insert(size));
        }
    }

    pub(crate) fn forget_files(&self, is_there: impl Fn(&str) -> bool) {
        self.retain(|part| part.files.retain(|path, _| is_there(path)));
    }

    pub(crate) fn forget_objects(&self, keep: impl Fn(&str) -> bool) {
        self.retain(|part| {
            part.objects.retain(|sha256, _| keep(sha256));
            part.remote.retain(|sha256, _| keep(sha256));
        });
    }

    fn retain(&self, forget: impl Fn(&mut KnownPart)) {
        let names = self.folder.as_ref().and_then(|folder| folder.entries().ok()).unwrap_or_default();
        for (name, _) in names {
            self.named_part(&name, |part| {
                let count = |part: &KnownPart| part.objects.len() + part.files.len() + part.remote.len();
                let before = count(part);
                forget(part);
                part.is_changed |= count(part) < before;
            });
        }
    }
}

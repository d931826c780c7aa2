//! The hashes of files that stages read and make. Large ones that are what they were when they were last read are not read
//! again; that they are is told by their [`Identity`], and remembered in the title's store.

use std::fs::File;
use std::io;

use files::{FileError, Folder};

use crate::folders::Folders;
use crate::hash;
use crate::identity::Identity;
use crate::layout::Layout;
use crate::read_permissions::ReadPermissions;
use crate::store::{LARGE, Store};
use crate::validate::checkpoints;

/// Without a store every file is read, and nothing is known by its identity.
#[derive(Debug, Default)]
pub struct FileHashes {
    store: Option<Store>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    pub sha256: String,
    pub bytes: u64,
    /// What it can be known by from now on; none if it could change without a trace in it.
    pub identity: Option<Identity>,
    /// None if they are not known.
    pub permissions: Option<ReadPermissions>,
}

impl FileHashes {
    /// With the store of the title, made if it is missing.
    pub fn made(layout: &Layout) -> Result<Self, FileError> {
        let folders = Folders::made(&Folder::open(layout.root())?, layout)?;
        Ok(Self { store: Some(Store::made(&folders.checkpoints)?) })
    }

    /// With the store of the title, if it has one.
    pub fn existing(layout: &Layout) -> Self {
        let root = Folder::open(layout.root());
        let checkpoints = root.and_then(|root| checkpoints(&root, layout.title()));
        let store = checkpoints.and_then(|checkpoints| Store::existing(&checkpoints));
        Self { store: store.ok().flatten() }
    }

    /// A moment by the clock of the file system, for [`Identity::is_settled`].
    pub fn tick(&self) -> Option<Identity> {
        self.store.as_ref().and_then(|store| store.tick().ok())
    }

    /// `name` is what the file is remembered by: its path below the root, if it is there. Reads for as long as it may go on.
    pub fn content(&self, name: &str, file: &File, may_go_on: &dyn Fn() -> bool) -> io::Result<FileContent> {
        // Made before the file is looked at, so that whoever changes it while it is read leaves a later time.
        let tick = self.tick();
        let metadata = file.metadata()?;
        let identity = Identity::new(&metadata);
        let permissions = Some(ReadPermissions::of_metadata(&metadata));
        // As it is now: others learn something meanwhile, such as who saves a checkpoint.
        let known =
            self.store.as_ref().filter(|_| identity.size() >= LARGE).map(|store| (store, store.known()));
        if let Some((_, known)) = &known
            && let Some(sha256) = known.content(name, &identity)
        {
            return Ok(FileContent { sha256, bytes: identity.size(), identity: Some(identity), permissions });
        }
        let hashed = hash::of_file_while(file, may_go_on)?;
        let is_settled = tick.is_some_and(|tick| identity.is_settled(&tick))
            && Identity::of(file)? == identity
            && hashed.bytes == identity.size();
        if let Some((store, _)) = known.filter(|_| is_settled) {
            let known = store.known();
            known.set_content(name.to_owned(), identity, hashed.sha256.clone());
            // A cache that cannot be written costs another reading, no more.
            let _ = store.write_known(&known);
        }
        let identity = is_settled.then_some(identity);
        Ok(FileContent { sha256: hashed.sha256, bytes: hashed.bytes, identity, permissions })
    }
}

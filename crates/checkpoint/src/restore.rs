//! Brings the artifacts of a checkpoint back to their places from the store: each whole or not at all, and read on its way, so
//! that what was damaged in the store is not put anywhere.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;

use files::{FileError, Folder, TemporaryFile};

use crate::artifact_path::{ArtifactPath, PathError};
use crate::hash;
use crate::layout::Layout;
use crate::manifest::Artifact;
use crate::read_permissions::ReadPermissions;
use crate::store::{Store, StoreError, WAIT};
use crate::validate::checkpoints;

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Folder(#[from] FileError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the store has no content for `{path}`: the checkpoint cannot be restored")]
    NotInStore { path: String },
    #[error("what the store has for `{path}` is damaged: the checkpoint cannot be restored")]
    Damaged { path: String },
    #[error("cannot write `{path}`")]
    Write { path: String, source: io::Error },
}

/// Brings back `artifacts`, as [`UsableCheckpoint::to_restore`](crate::UsableCheckpoint::to_restore) names them. What lies in their
/// places is replaced. Answers with the paths that were brought back.
pub fn restore(layout: &Layout, artifacts: &[Artifact]) -> Result<Vec<String>, RestoreError> {
    let mut restored = Vec::new();
    if artifacts.is_empty() {
        return Ok(restored);
    }
    let root = Folder::open(layout.root())?;
    let store = match checkpoints(&root, layout.title()).map(|checkpoints| Store::existing(&checkpoints)) {
        Ok(store) => store?,
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    // Nothing is taken away meanwhile.
    let _lock = store.as_ref().map(|store| store.share(WAIT)).transpose()?;
    for artifact in artifacts {
        let path = artifact.relative_path.clone();
        let Some(store) = &store else { return Err(RestoreError::NotInStore { path }) };
        one(&root, store, artifact)?;
        restored.push(path);
    }
    Ok(restored)
}

/// Whether the store has what [`restore`] would bring back.
pub fn can_restore(layout: &Layout, artifact: &Artifact) -> bool {
    let found = || {
        let checkpoints = checkpoints(&Folder::open(layout.root()).ok()?, layout.title()).ok()?;
        let store = Store::existing(&checkpoints).ok()??;
        let sha256 = &artifact.sha256;
        Some(store.object_identity(sha256).is_some() || store.is_remote(sha256, &store.known()))
    };
    found() == Some(true)
}

fn one(root: &Folder, store: &Store, artifact: &Artifact) -> Result<(), RestoreError> {
    let path = ArtifactPath::parse(&artifact.relative_path)?;
    let shown = || artifact.relative_path.clone();
    let object = match store.object(artifact) {
        Ok(object) => object,
        Err(error) if error.is_not_found() => return Err(RestoreError::NotInStore { path: shown() }),
        Err(error) => return Err(error.into()),
    };
    let mode = mode(&path, root, &object, artifact)?;
    let parent = path.parent_made(root)?;
    let parent = parent.as_ref().unwrap_or(root);
    // What a killed process leaves in the store's own folder is found by prune; another disk needs one beside the artifact.
    let temporary = store.temporary()?;
    let placed = || match place(&temporary, parent, &path.name, &object, artifact, mode) {
        Err(RestoreError::Folder(error)) if error.kind() == io::ErrorKind::CrossesDevices => {
            place(parent, parent, &path.name, &object, artifact, mode)
        }
        placed => placed,
    };
    match placed() {
        // Some programs make what they wrote read-only, folders included.
        Err(RestoreError::Folder(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            let _writable = parent.writable_meanwhile()?;
            placed()
        }
        placed => placed,
    }
}

/// What lies in its place says which mode it has to have, and must not be a link or a folder. Nobody may read it who could not
/// read the artifact or, where that is not recorded, its copy.
fn mode(path: &ArtifactPath, root: &Folder, object: &File, artifact: &Artifact) -> Result<u32, RestoreError> {
    let failed = |source| RestoreError::Write { path: artifact.relative_path.clone(), source };
    match (path.open(root), artifact.permissions) {
        (Ok(present), permissions) => {
            let mode = present.metadata().map_err(failed)?.permissions().mode() & 0o7777;
            Ok(permissions.map_or(mode, |permissions| permissions.restored_over(mode)))
        }
        (Err(PathError::NotFound { .. }), Some(permissions)) => Ok(permissions.restored()),
        (Err(PathError::NotFound { .. }), None) => {
            Ok(ReadPermissions::of(object).map_err(failed)?.restored())
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// A flushed copy in `staging`, moved to its name in `parent`.
fn place(
    staging: &Folder,
    parent: &Folder,
    name: &str,
    object: &File,
    artifact: &Artifact,
    mode: u32,
) -> Result<(), RestoreError> {
    let shown = || artifact.relative_path.clone();
    let writing = |source| RestoreError::Write { path: shown(), source };
    let mut temporary = TemporaryFile::new(staging, name, 0o600)?;
    let (hashed, _) = hash::clone_or_copy(object, temporary.file()).map_err(writing)?;
    if hashed.sha256 != artifact.sha256 {
        return Err(RestoreError::Damaged { path: shown() });
    }
    temporary.file().set_permissions(Permissions::from_mode(mode)).map_err(writing)?;
    temporary.file().sync_all().map_err(writing)?;
    Ok(temporary.replace(parent, name)?)
}

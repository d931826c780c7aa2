//! The emergency checkpoint: made when a stage is interrupted, fails or is lost. It takes no lock and waits for nobody (R3): what
//! it interrupts may hold any of them. It is metadata only, and holds on to what the run had published in the checkpoint before
//! it without looking at it; what the interrupted attempt left can be added afterwards.

use std::io;
use std::path::PathBuf;

use files::{FileError, Folder, atomic_file};

use crate::folders::Folders;
use crate::id;
use crate::layout::{Layout, MANIFEST};
use crate::list::entries;
use crate::manifest::{Manifest, NONE, Sealed};
use crate::save::{self, SaveError, SaveRequest, SavedCheckpoint, Staging, paths, remember, take_in};
use crate::store::{Store, WAIT};
use crate::validate::{Checker, Depth, Issue, checkpoints};

/// Writes the manifest of [`SaveRequest::emergency`], durably, and nothing else.
pub fn emergency(layout: &Layout, request: &SaveRequest) -> Result<SavedCheckpoint, SaveError> {
    let root = Folder::open(layout.root())?;
    let folders = Folders::made(&root, layout)?;
    let run = &folders.run;
    let before = before(layout);
    let ids = run.visible_folders()?;
    let id = id::emergency(id::next_sequence(ids.iter().map(String::as_str)), request.now);
    let sealed = manifest(layout, request, id, before).seal()?;
    let folder = run.new_folder(&sealed.manifest.checkpoint_id)?;
    let path = folder.path().join(MANIFEST);
    if let Err(error) = write(&sealed, &path).and_then(|()| flush(run, &folders, &root)) {
        // An empty folder is no checkpoint.
        let _ = run.remove_all(&sealed.manifest.checkpoint_id);
        return Err(error);
    }
    Ok(SavedCheckpoint {
        sealed,
        path,
        new_objects: 0,
        read: 0,
        identities: Vec::new(),
        pruned: None,
        warnings: Vec::new(),
    })
}

/// Adds what an interrupted attempt left (partial artifacts, kept output) to its emergency checkpoint. The artifacts are taken
/// into the store as any others, so this may wait; the checkpoint stays as it was until the end.
pub fn add_partial(layout: &Layout, id: &str, artifacts: &[PathBuf]) -> Result<SavedCheckpoint, SaveError> {
    let root = Folder::open(layout.root())?;
    let path = layout.manifest(id).map_err(FileError::from)?;
    let checker = Checker::open(layout.root(), layout.title())?;
    let unusable = |issue: Issue| {
        let is_missing = matches!(issue, Issue::ManifestNotFound { .. });
        let kind = if is_missing { io::ErrorKind::NotFound } else { io::ErrorKind::InvalidData };
        SaveError::Write { path: path.clone(), source: io::Error::new(kind, issue.to_string()) }
    };
    let mut manifest = checker.sealed(layout.run(), id).map_err(unusable)?.manifest;
    let paths = paths(layout, artifacts, &[], None)?;
    let store = Store::made(&checkpoints(&root, layout.title())?)?;
    let _lock = store.share(WAIT)?;
    let staging = Staging::new(&store)?;
    let taken = take_in(&root, &store, &store.known(), &staging.tick, &paths, Depth::Quick)?;
    for taken in &taken {
        manifest.artifacts.retain(|artifact| artifact.relative_path != taken.artifact.relative_path);
        manifest.artifacts.push(taken.artifact.clone());
    }
    let sealed = manifest.seal()?;
    write(&sealed, &path)?;
    remember(&store, &taken);
    let new_objects = taken.iter().filter(|taken| taken.new).count();
    let (read, identities) = (taken.len(), Vec::new());
    Ok(SavedCheckpoint { sealed, path, new_objects, read, identities, pruned: None, warnings: Vec::new() })
}

fn flush(run: &Folder, folders: &Folders, root: &Folder) -> Result<(), SaveError> {
    run.sync()?;
    if !machine::names_follow_files(run.as_file()) {
        folders.sync_names(root)?;
    }
    Ok(())
}

fn write(sealed: &Sealed, path: &std::path::Path) -> Result<(), SaveError> {
    atomic_file::write(path, sealed.text.as_bytes(), 0o644)
        .map_err(|error| SaveError::Write { path: path.to_owned(), source: io::Error::other(error) })
}

/// The newest checkpoint whose manifest is whole.
fn before(layout: &Layout) -> Option<Manifest> {
    let checker = Checker::open(layout.root(), layout.title()).ok()?;
    let found = entries(layout.root(), Some(layout.title()), Some(layout.run())).ok()?;
    found.iter().find_map(|entry| Some(checker.sealed(&entry.run, &entry.id).ok()?.manifest))
}

fn manifest(layout: &Layout, request: &SaveRequest, id: String, before: Option<Manifest>) -> Manifest {
    // Artifacts of an imported checkpoint stay imported ones.
    let trust = before.as_ref().map(Manifest::trust).unwrap_or_default();
    // Nobody counts while it is interrupted.
    let counted = before.as_ref().map_or(0, |manifest| manifest.execution_count);
    let execution_count = request.execution_count.max(counted);
    let (mut artifacts, rehydration, python_env) = match before {
        Some(before) => (before.artifacts, before.rehydration, before.python_env),
        None => Default::default(),
    };
    // What other attempts left is in their own checkpoints, as long as those are worth keeping: inherited from one
    // emergency to the next it would never go.
    artifacts.retain(|artifact| artifact.in_attempt().is_empty());
    let is_known = request.python_env.python_path != NONE;
    let python_env = if is_known { request.python_env.clone() } else { python_env };
    let request = SaveRequest { trust, execution_count, python_env, ..request.clone() };
    Manifest { rehydration, ..save::manifest(layout, &request, id, artifacts) }
}

//! Saves a checkpoint: the artifacts are verified and taken into the store, each flushed; then the manifest is written,
//! flushed and moved into its place as one folder, and the run's folder flushed. Whatever happens before that leaves the
//! previous checkpoints as they were, and what happens after it is housekeeping.
//!
//! Artifacts that have not been touched since they were last read are known by their identity and not read again.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use files::{FileError, Folder, random_id};
use jiff::{Timestamp, Unit};
use serde_json::Map;
use text::error_chain;

use crate::artifact_path::{ArtifactPath, PathError};
use crate::folders::Folders;
use crate::hash::{self, Hashed};
use crate::id;
use crate::identity::Identity;
use crate::layout::{Layout, MANIFEST};
use crate::manifest::{
    Artifact, Manifest, ManifestError, NotebookReference, PythonEnvironment, Reason, Rehydration, Sealed,
    Status, TrustLevel,
};
use crate::parallel;
use crate::prune::{self, DEFAULT_KEEP, PruneOutput};
use crate::read_permissions::ReadPermissions;
use crate::store::{KnownFiles, Store, StoreError, StoredContent, WAIT};
use crate::validate::Depth;

/// What is to be saved. `new` has the values of a run without Python.
#[derive(Clone, Debug)]
pub struct SaveRequest {
    pub stage: String,
    pub session: String,
    pub status: Status,
    /// Needed where the status is not `saved`.
    pub reason: Option<Reason>,
    /// The stage saves it on its way.
    pub mid_stage: bool,
    pub trust: TrustLevel,
    pub execution_count: u64,
    pub notebook: NotebookReference,
    pub python_env: PythonEnvironment,
    /// Regular files inside the root: relative to it, or absolute.
    pub artifacts: Vec<PathBuf>,
    /// More of them, which the manifest lists and the store does not take in: there is no second copy of them, and where they are
    /// changed or removed, they are lost.
    pub references: Vec<PathBuf>,
    /// Some of them lie in a folder that gets its place only when the checkpoint is saved.
    pub moves: Option<FolderMove>,
    /// Makes the rehydration from a manifest that has everything else: its id and its artifacts.
    pub rehydrate: Option<fn(&Manifest) -> Rehydration>,
    pub depth: Depth,
    pub limits: SizeLimits,
    /// How many checkpoints of the run stay.
    pub keep: usize,
    pub now: Timestamp,
}

impl SaveRequest {
    pub fn new(stage: &str, now: Timestamp) -> Self {
        Self {
            stage: stage.to_owned(),
            session: "unknown".to_owned(),
            status: Status::Saved,
            reason: None,
            mid_stage: false,
            trust: TrustLevel::Local,
            execution_count: 0,
            notebook: NotebookReference::default(),
            python_env: PythonEnvironment::default(),
            artifacts: Vec::new(),
            references: Vec::new(),
            moves: None,
            rehydrate: None,
            depth: Depth::Quick,
            limits: SizeLimits::default(),
            keep: DEFAULT_KEEP,
            now,
        }
    }

    /// What is known when everything else has gone wrong.
    pub fn emergency(stage: &str, reason: Reason, now: Timestamp) -> Self {
        Self { status: Status::Interrupted, reason: Some(reason), ..Self::new(stage, now) }
    }
}

/// A folder that is about to be moved. Artifacts are named as they will be called, and read where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderMove {
    pub from: PathBuf,
    pub to: PathBuf,
}

impl FolderMove {
    /// Where an artifact lies now; none if it is not one of the folder's.
    fn source(&self, artifact: &Path) -> Option<PathBuf> {
        artifact.strip_prefix(&self.to).ok().map(|inner| self.from.join(inner))
    }
}

/// Of all artifacts of one checkpoint together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeLimits {
    pub warn: u64,
    pub refuse: u64,
}

impl Default for SizeLimits {
    fn default() -> Self {
        Self { warn: 10 << 30, refuse: 100 << 30 }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error(transparent)]
    Artifact(#[from] PathError),
    #[error("`{path}` is listed twice among the artifacts")]
    Twice { path: String },
    #[error("`{path}` changes while it is being saved: let its writer finish first")]
    Changing { path: String },
    #[error("cannot read `{path}`")]
    Read { path: String, source: io::Error },
    #[error("the artifacts have {total} bytes in total, more than the limit of {limit}")]
    TooLarge { total: u64, limit: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] FileError),
    #[error("the manifest cannot be created")]
    Manifest(#[from] ManifestError),
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Something that a person should know; the checkpoint is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveWarning {
    Large {
        total: u64,
        limit: u64,
    },
    /// So much was copied, since the file system cannot clone.
    Copied {
        bytes: u64,
    },
    NotPruned {
        why: String,
    },
}

#[derive(Debug)]
pub struct SavedCheckpoint {
    pub sealed: Sealed,
    pub path: PathBuf,
    /// Artifacts whose content the store did not have.
    pub new_objects: usize,
    /// Artifacts that were read; the others were known by their identity.
    pub read: usize,
    /// What the artifacts of the manifest can be known by, in their order; none for those that could change without a trace in it.
    pub identities: Vec<Option<Identity>>,
    pub pruned: Option<PruneOutput>,
    pub warnings: Vec<SaveWarning>,
}

/// Copies that are smaller are nobody's trouble.
const WORTH_TELLING: u64 = 1 << 30;

pub fn save(layout: &Layout, request: &SaveRequest) -> Result<SavedCheckpoint, SaveError> {
    let root = Folder::open(layout.root())?;
    let paths = paths(layout, &request.artifacts, &request.references, request.moves.as_ref())?;
    let mut warnings = check_size(&root, &paths, request.limits)?;
    let folders = Folders::made(&root, layout)?;
    let store = Store::made(&folders.checkpoints)?;
    let lock = store.share(WAIT)?;
    let staging = Staging::new(&store)?;
    let known = store.known();
    let taken = take_in(&root, &store, &known, &staging.tick, &paths, request.depth)?;
    let artifacts: Vec<Artifact> = taken.iter().map(|taken| taken.artifact.clone()).collect();
    let artifacts = if request.mid_stage { Artifact::in_store(layout, artifacts) } else { artifacts };
    let committing = store.commit(WAIT)?;
    let sealed = commit(layout, request, &root, &store, &folders, staging, artifacts)?;
    remember(&store, &taken);
    drop(committing);
    lock.release();
    let pruned = match prune::prune_after_save(layout, request.keep, Some(&sealed.manifest.checkpoint_id)) {
        Ok(pruned) => Some(pruned),
        Err(error) => {
            warnings.push(SaveWarning::NotPruned { why: error_chain(&error) });
            None
        }
    };
    let path = layout.run_checkpoints().join(&sealed.manifest.checkpoint_id).join(MANIFEST);
    let copied = taken.iter().filter(|taken| taken.is_copy).map(|taken| taken.artifact.size_bytes).sum();
    if copied >= WORTH_TELLING {
        warnings.push(SaveWarning::Copied { bytes: copied });
    }
    let new_objects = taken.iter().filter(|taken| taken.new).count();
    let read = taken.iter().filter(|taken| taken.read).count();
    let identities = taken.iter().map(|taken| taken.settled.then_some(taken.identity)).collect();
    Ok(SavedCheckpoint { sealed, path, new_objects, read, identities, pruned, warnings })
}

/// An artifact, and where its content is kept.
#[derive(Debug)]
pub(super) struct PlacedArtifact {
    path: ArtifactPath,
    /// Where it lies until its folder is moved.
    source: Option<ArtifactPath>,
    /// In its own place alone.
    is_reference: bool,
}

impl PlacedArtifact {
    fn open(&self, root: &Folder) -> Result<File, PathError> {
        self.source.as_ref().unwrap_or(&self.path).open(root)
    }
}

pub(super) fn paths(
    layout: &Layout,
    artifacts: &[PathBuf],
    references: &[PathBuf],
    moves: Option<&FolderMove>,
) -> Result<Vec<PlacedArtifact>, SaveError> {
    let mut seen = HashSet::new();
    let mut paths = Vec::new();
    let stored = artifacts.iter().map(|path| (path, false));
    for (path, is_reference) in stored.chain(references.iter().map(|path| (path, true))) {
        let source = moves.and_then(|moves| moves.source(path));
        let source = source.map(|source| ArtifactPath::inside(layout.root(), &source)).transpose()?;
        let path = ArtifactPath::inside(layout.root(), path)?;
        if !seen.insert(path.text().to_owned()) {
            return Err(SaveError::Twice { path: path.text().to_owned() });
        }
        paths.push(PlacedArtifact { path, source, is_reference });
    }
    Ok(paths)
}

fn check_size(
    root: &Folder,
    artifacts: &[PlacedArtifact],
    limits: SizeLimits,
) -> Result<Vec<SaveWarning>, SaveError> {
    let mut total: u64 = 0;
    for artifact in artifacts {
        let metadata = artifact.open(root)?.metadata().map_err(|source| reading(&artifact.path, source))?;
        total = total.saturating_add(metadata.len());
    }
    if total > limits.refuse {
        return Err(SaveError::TooLarge { total, limit: limits.refuse });
    }
    let large = total > limits.warn;
    Ok(large.then_some(SaveWarning::Large { total, limit: limits.warn }).into_iter().collect())
}

fn reading(path: &ArtifactPath, source: io::Error) -> SaveError {
    SaveError::Read { path: path.text().to_owned(), source }
}

/// The folder that becomes the checkpoint's; removed where it does not.
#[derive(Debug)]
pub(super) struct Staging {
    temporary: Folder,
    name: String,
    folder: Folder,
    /// Made before any artifact is looked at.
    pub(super) tick: Identity,
    moved: bool,
}

impl Staging {
    pub(super) fn new(store: &Store) -> Result<Self, FileError> {
        let temporary = store.temporary()?;
        let name = format!("checkpoint-{}", random_id());
        let folder = temporary.new_folder(&name)?;
        let looking = |source| FileError::Failed { doing: "inspect", path: folder.path().to_owned(), source };
        let tick = Identity::of(folder.as_file()).map_err(looking)?;
        Ok(Self { temporary, name, folder, tick, moved: false })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.moved {
            // Where it cannot be removed, prune finds it.
            let _ = self.temporary.remove_all(&self.name);
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct StoredArtifact {
    pub(super) artifact: Artifact,
    identity: Identity,
    /// A change from now on would show in its identity.
    settled: bool,
    /// The store did not have its content.
    pub(super) new: bool,
    is_copy: bool,
    read: bool,
    /// Somebody may read what is in the store who may not read the artifact.
    is_too_open: bool,
    /// Until just now it was so, and it is known as flushed all the same.
    is_narrowed: bool,
}

/// Takes all artifacts into the store, several at once.
pub(super) fn take_in(
    root: &Folder,
    store: &Store,
    known: &KnownFiles,
    tick: &Identity,
    artifacts: &[PlacedArtifact],
    depth: Depth,
) -> Result<Vec<StoredArtifact>, SaveError> {
    let job = Job { root, store, known, tick, depth, claimed: Mutex::default() };
    let failed = AtomicBool::new(false);
    let taken = parallel::map(artifacts, 1, |artifact| {
        // After a failure the rest is not worth its reading.
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let taken = job.take(artifact);
        failed.fetch_or(taken.is_err(), Ordering::Relaxed);
        Some(taken)
    });
    let mut taken = taken.into_iter().flatten().collect::<Result<Vec<_>, SaveError>>()?;
    for StoredArtifact { artifact, is_narrowed, .. } in taken.iter_mut().filter(|taken| taken.is_too_open) {
        if let Some(permissions) = artifact.permissions {
            *is_narrowed = store.narrow(&artifact.sha256, permissions, known)?;
        }
    }
    let stored = taken.iter().zip(artifacts).filter(|(_, artifact)| !artifact.is_reference);
    store.put_remotely(stored.map(|(taken, _)| taken.artifact.sha256.as_str()), known)?;
    Ok(taken)
}

/// So often a file that changes meanwhile is read again.
const ATTEMPTS: usize = 3;

struct Job<'a> {
    root: &'a Folder,
    store: &'a Store,
    known: &'a KnownFiles,
    tick: &'a Identity,
    depth: Depth,
    claimed: Mutex<HashSet<String>>,
}

impl Job<'_> {
    fn take(&self, artifact: &PlacedArtifact) -> Result<StoredArtifact, SaveError> {
        let PlacedArtifact { path, is_reference, .. } = artifact;
        for _ in 0..ATTEMPTS {
            let file = artifact.open(self.root)?;
            let before = LookedAt::of(&file).map_err(|source| reading(path, source))?;
            if let Some(kept) = self.kept_before(path, before, *is_reference) {
                return Ok(StoredArtifact { read: false, ..taken(path, before, kept, true) });
            }
            let kept = if *is_reference { Self::flush(path, &file) } else { self.keep(path, &file, before) }?;
            let after = LookedAt::of(&file).map_err(|source| reading(path, source))?;
            if before == after && kept.hashed.bytes == before.identity.size() {
                return Ok(taken(path, before, kept, before.identity.is_settled(self.tick)));
            }
        }
        Err(SaveError::Changing { path: path.text().to_owned() })
    }

    /// What is known by its identity is not read.
    fn kept_before(&self, path: &ArtifactPath, file: LookedAt, is_reference: bool) -> Option<StoredContent> {
        if self.depth == Depth::Full {
            return None;
        }
        let sha256 = self.known.content(path.text(), &file.identity)?;
        let hashed = Hashed { sha256, bytes: file.identity.size() };
        if is_reference {
            return Some(StoredContent::elsewhere(hashed));
        }
        self.store.stored(&hashed, file.permissions, self.known)
    }

    fn keep(&self, path: &ArtifactPath, file: &File, is: LookedAt) -> Result<StoredContent, SaveError> {
        // What may be in the store already is read first, and copied only where it is not.
        if self.known.has_path(path.text()) || self.known.has_size(is.identity.size()) {
            let hashed = hash::of_file(file).map_err(|source| reading(path, source))?;
            if let Some(stored) = self.store.stored(&hashed, is.permissions, self.known) {
                return Ok(stored);
            }
        }
        Ok(self.store.put(path.text(), file, self.known, &self.claimed)?)
    }

    /// Its only copy has to be on the disk before the manifest is.
    fn flush(path: &ArtifactPath, file: &File) -> Result<StoredContent, SaveError> {
        let flushed = file.sync_all().and_then(|()| hash::of_file(file));
        Ok(StoredContent::elsewhere(flushed.map_err(|source| reading(path, source))?))
    }
}

/// A file as it was when it was opened.
#[derive(Clone, Copy, PartialEq)]
struct LookedAt {
    identity: Identity,
    permissions: ReadPermissions,
}

impl LookedAt {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let permissions = ReadPermissions::of_metadata(&metadata);
        Ok(Self { identity: Identity::new(&metadata), permissions })
    }
}

fn taken(path: &ArtifactPath, file: LookedAt, kept: StoredContent, settled: bool) -> StoredArtifact {
    let StoredContent { hashed, new, is_copy, is_too_open } = kept;
    let artifact = Artifact {
        relative_path: path.text().to_owned(),
        sha256: hashed.sha256,
        size_bytes: file.identity.size(),
        permissions: Some(file.permissions),
        unknown: Map::new(),
    };
    let (identity, is_narrowed) = (file.identity, false);
    StoredArtifact { artifact, identity, settled, new, is_copy, read: true, is_too_open, is_narrowed }
}

/// Makes the manifest and puts it into its place. The caller holds the commit lock.
fn commit(
    layout: &Layout,
    request: &SaveRequest,
    root: &Folder,
    store: &Store,
    folders: &Folders,
    mut staging: Staging,
    artifacts: Vec<Artifact>,
) -> Result<Sealed, SaveError> {
    let run = &folders.run;
    let ids = run.visible_folders()?;
    let id = id::ordinary(id::next_sequence(ids.iter().map(String::as_str)), request.now);
    let mut manifest = manifest(layout, request, id, artifacts);
    if let Some(rehydrate) = request.rehydrate {
        manifest.rehydration = rehydrate(&manifest);
    }
    let sealed = manifest.seal()?;
    let path = staging.folder.path().join(MANIFEST);
    let mut file = staging.folder.new_file(MANIFEST, 0o644)?;
    let written = file.write_all(sealed.text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|source| SaveError::Write { path, source })?;
    if !store.names_follow {
        staging.folder.sync()?;
    }
    let id = &sealed.manifest.checkpoint_id;
    staging.temporary.rename_new(&staging.name, run, id)?;
    staging.moved = true;
    let flushed =
        run.sync().and_then(|()| if store.names_follow { Ok(()) } else { folders.sync_names(root) });
    if let Err(error) = flushed {
        // Not known to be on the disk, so it must not be taken for saved.
        let _ = run.rename(id, &staging.temporary, &staging.name);
        let _ = staging.temporary.remove_all(&staging.name);
        return Err(error.into());
    }
    Ok(sealed)
}

pub(super) fn manifest(
    layout: &Layout,
    request: &SaveRequest,
    id: String,
    artifacts: Vec<Artifact>,
) -> Manifest {
    Manifest {
        checkpoint_id: id,
        research_session_id: request.session.clone(),
        report_title: layout.title().to_owned(),
        run_id: layout.run().to_owned(),
        stage_id: request.stage.clone(),
        status: request.status,
        reason: request.reason,
        mid_stage: request.mid_stage,
        trust_level: Some(request.trust),
        created_at: written_time(request.now),
        execution_count: request.execution_count,
        notebook: request.notebook.clone(),
        python_env: request.python_env.clone(),
        artifacts,
        rehydration: Rehydration::default(),
        unknown: Map::new(),
    }
}

/// In milliseconds, as the format's own tools write it.
fn written_time(now: Timestamp) -> String {
    let rounded = now.round(Unit::Millisecond).unwrap_or(now);
    format!("{rounded:.3}")
}

/// Notes what was read and flushed. A cache that cannot be written costs another reading, no more.
pub(super) fn remember(store: &Store, taken: &[StoredArtifact]) {
    let known = store.known();
    for taken in taken {
        let sha256 = &taken.artifact.sha256;
        if taken.settled && taken.read {
            known.set_content(taken.artifact.relative_path.clone(), taken.identity, sha256.clone());
        }
        if (taken.new || taken.is_narrowed)
            && let Some(identity) = store.object_identity(sha256)
        {
            known.set_object(sha256.clone(), identity);
        }
        store.note_remote(sha256, &known);
    }
    let _ = store.write_known(&known);
}

//! Whether a checkpoint is what it says: its manifest whole, its artifacts there with their sizes and hashes. What is wrong
//! is told in the words that tools of this format use.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use files::{FileError, Folder};
use text::error_chain;

use crate::artifact_path::{ArtifactPath, PathError};
use crate::hash;
use crate::identity::Identity;
use crate::layout::{ATTEMPTS, Layout, Segment};
use crate::list::{manifest_file, read_limited};
use crate::manifest::{Artifact, Manifest, ManifestError, Sealed, TrustLevel};
use crate::parallel;
use crate::store::{KnownFiles, Store};

/// What a file's content is told by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// By its identity where it was read before and has not been touched since; else by reading it.
    #[default]
    Quick,
    /// By reading it.
    Full,
}

/// One thing that is wrong. Shown as tools of this format word it.
#[derive(Debug, thiserror::Error)]
pub enum Issue {
    #[error("Manifest not found: {path}")]
    ManifestNotFound { path: String },
    /// `why` is for people: the format has one sentence for all of them.
    #[error("Manifest failed to parse or validate")]
    Unparsable { why: String },
    #[error("Manifest SHA256 mismatch: expected {expected} got {actual}")]
    Digest { expected: String, actual: String },
    /// The manifest says that it is another checkpoint than the folder it lies in.
    #[error("Manifest belongs to another checkpoint: {found}")]
    Misplaced { found: String },
    #[error(transparent)]
    Path(PathError),
    #[error("Size mismatch for {path}: expected {expected}, got {actual}")]
    Size { path: String, expected: u64, actual: u64 },
    #[error("SHA256 mismatch for {path}")]
    Content { path: String },
}

impl Issue {
    /// More about it, where its sentence does not say all.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Unparsable { why } => Some(why.clone()),
            Self::Path(PathError::Unreadable { source, .. }) => Some(error_chain(source)),
            _ => None,
        }
    }
}

/// What was found out about one checkpoint.
#[derive(Debug, Default)]
pub struct Validation {
    /// The manifest, where it is whole; what it says of artifacts may still be wrong.
    pub manifest: Option<Sealed>,
    /// Empty if everything is in its place as the manifest says.
    pub issues: Vec<Issue>,
    /// The artifacts that are not in their place as they were, and that the store still has.
    pub to_restore: Vec<Artifact>,
    /// Artifacts that are gone: neither in their place nor in the store.
    pub lost: Vec<Artifact>,
}

impl Validation {
    pub fn is_valid(&self) -> bool {
        self.manifest.is_some() && self.issues.is_empty()
    }

    /// Valid, or made so again by bringing artifacts back from the store.
    pub fn is_usable(&self) -> bool {
        self.manifest.is_some() && self.lost.is_empty()
    }
}

pub fn validate(layout: &Layout, id: &str, depth: Depth) -> Result<Validation, FileError> {
    let id = Segment::visible("checkpoint", id)?;
    Ok(Checker::open(layout.root(), layout.title())?.check(layout.run(), id.as_str(), depth))
}

/// Fewer artifacts than this are looked at faster by one thread than a second one is started.
const WORTH_A_THREAD: usize = 200;

/// Looks at checkpoints of one title, and reads no file twice.
#[derive(Debug)]
pub(super) struct Checker {
    root: Folder,
    title: String,
    checkpoints: Option<Folder>,
    store: Option<Store>,
    known: KnownFiles,
    read: Mutex<HashMap<Identity, String>>,
}

impl Checker {
    pub(super) fn open(root: &Path, title: &str) -> Result<Self, FileError> {
        let root = Folder::open(root)?;
        let title = Segment::visible("report title", title)?.to_string();
        let checkpoints = match checkpoints(&root, &title) {
            Ok(checkpoints) => Some(checkpoints),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let store = checkpoints.as_ref().map(Store::existing).transpose()?.flatten();
        let known = store.as_ref().map(Store::known).unwrap_or_default();
        Ok(Self { root, title, checkpoints, store, known, read: Mutex::default() })
    }

    pub(super) fn check(&self, run: &str, id: &str, depth: Depth) -> Validation {
        let sealed = match self.sealed(run, id) {
            Ok(sealed) => sealed,
            Err(issue) => return Validation { issues: vec![issue], ..Validation::default() },
        };
        // What comes from elsewhere is believed only by reading it.
        let depth = if sealed.manifest.trust() == TrustLevel::Local { depth } else { Depth::Full };
        let mut validated = Validation::default();
        let artifacts = &sealed.manifest.artifacts;
        let share = if depth == Depth::Full { 1 } else { WORTH_A_THREAD };
        let in_place = parallel::map(artifacts, share, |artifact| self.in_place(artifact, depth));
        for (artifact, in_place) in artifacts.iter().zip(in_place) {
            let Err(issue) = in_place else { continue };
            let back = !leads_astray(&issue) && self.in_store(artifact, depth);
            // The folder of an attempt is published as a whole when it is accepted; what it had half-way is in the store.
            let is_gone = matches!(issue, Issue::Path(PathError::NotFound { .. }));
            let is_published = back && is_gone && artifact.relative_path.contains(ATTEMPTS);
            let list = if back { &mut validated.to_restore } else { &mut validated.lost };
            list.push(artifact.clone());
            if !is_published {
                validated.issues.push(issue);
            }
        }
        validated.manifest = Some(sealed);
        validated
    }

    /// Whether a run could go on from it. The store is asked before the artifacts are read.
    pub(super) fn is_usable(&self, run: &str, id: &str) -> bool {
        let Ok(sealed) = self.sealed(run, id) else { return false };
        if sealed.manifest.trust() != TrustLevel::Local {
            return self.check(run, id, Depth::Full).is_usable();
        }
        sealed.manifest.artifacts.iter().all(|artifact| {
            let opened = ArtifactPath::parse(&artifact.relative_path).and_then(|path| path.open(&self.root));
            let astray = opened.is_err_and(|error| leads_astray(&Issue::Path(error)));
            !astray
                && (self.in_store(artifact, Depth::Quick) || self.in_place(artifact, Depth::Quick).is_ok())
        })
    }

    /// The manifest, where it is whole and in its place.
    pub(super) fn sealed(&self, run: &str, id: &str) -> Result<Sealed, Issue> {
        let path = format!("reports/{}/checkpoints/{run}/{id}/checkpoint.json", self.title);
        let missing = || Issue::ManifestNotFound { path: path.clone() };
        let folder = self.checkpoints.as_ref().ok_or_else(missing)?.folder(run);
        let file = match folder.and_then(|run| manifest_file(&run, id)) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Err(missing()),
            Err(error) => return Err(Issue::Unparsable { why: error_chain(&error) }),
        };
        let text = read_limited(&file).map_err(|error| Issue::Unparsable { why: error.to_string() })?;
        let sealed = Manifest::parse(&text).map_err(|error| match error {
            ManifestError::Digest { expected, actual } => Issue::Digest { expected, actual },
            error => Issue::Unparsable { why: error.to_string() },
        })?;
        let says = (&sealed.manifest.run_id, &sealed.manifest.checkpoint_id);
        if (says.0.as_str(), says.1.as_str()) != (run, id) {
            return Err(Issue::Misplaced { found: format!("{}/{}", says.0, says.1) });
        }
        Ok(sealed)
    }

    /// Whether the artifact lies where it was, as it was.
    fn in_place(&self, artifact: &Artifact, depth: Depth) -> Result<(), Issue> {
        let path = ArtifactPath::parse(&artifact.relative_path).map_err(Issue::Path)?;
        let file = path.open(&self.root).map_err(Issue::Path)?;
        let unreadable = |source| {
            let failed = FileError::Failed { doing: "read", path: path.text().into(), source };
            Issue::Path(PathError::Unreadable { path: path.text().to_owned(), source: failed })
        };
        let identity = Identity::of(&file).map_err(unreadable)?;
        if identity.size() != artifact.size_bytes {
            let (expected, actual) = (artifact.size_bytes, identity.size());
            return Err(Issue::Size { path: path.text().to_owned(), expected, actual });
        }
        // It may be what the store has.
        let is_object = || {
            self.store.as_ref().is_some_and(|store| {
                store.object_identity(&artifact.sha256) == Some(identity)
                    && store.has(&artifact.sha256, &self.known)
            })
        };
        let known = self.known.content(path.text(), &identity).filter(|_| depth == Depth::Quick);
        let same = match known {
            Some(sha256) => sha256 == artifact.sha256,
            None if depth == Depth::Quick && is_object() => true,
            None => self.content(&file, identity).map_err(unreadable)? == artifact.sha256,
        };
        if same { Ok(()) } else { Err(Issue::Content { path: path.text().to_owned() }) }
    }

    fn in_store(&self, artifact: &Artifact, depth: Depth) -> bool {
        let Some(store) = &self.store else { return false };
        let is_known =
            || store.has(&artifact.sha256, &self.known) || store.is_remote(&artifact.sha256, &self.known);
        if depth == Depth::Quick && is_known() {
            return true;
        }
        let Ok(file) = store.object(artifact) else { return false };
        let Ok(identity) = Identity::of(&file) else { return false };
        let same = |content: String| content == artifact.sha256;
        identity.size() == artifact.size_bytes && self.content(&file, identity).is_ok_and(same)
    }

    /// The hash of a file, read once.
    fn content(&self, file: &std::fs::File, identity: Identity) -> std::io::Result<String> {
        let known = self.read.lock().ok().and_then(|read| read.get(&identity).cloned());
        if let Some(sha256) = known {
            return Ok(sha256);
        }
        let sha256 = hash::of_file(file)?.sha256;
        if let Ok(mut read) = self.read.lock() {
            read.insert(identity, sha256.clone());
        }
        Ok(sha256)
    }
}

/// A path that must not be used, whatever the store has.
fn leads_astray(issue: &Issue) -> bool {
    let Issue::Path(error) = issue else { return false };
    !matches!(error, PathError::NotFound { .. } | PathError::Unreadable { .. })
}

/// `reports/{title}/checkpoints` below the root.
pub(super) fn checkpoints(root: &Folder, title: &str) -> Result<Folder, FileError> {
    root.folder(crate::layout::REPORTS)?.folder(title)?.folder(crate::layout::CHECKPOINTS)
}

//! Files that travel by content: what of a project a stage needs on a node, and what it made there.

use std::collections::{BTreeSet, HashSet};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use checkpoint::layout::Layout;
use checkpoint::{FileHashes, RemoteContent, RemoteError};
use serde::{Deserialize, Serialize};

use super::ExchangeStore;
use crate::attempt::{FINGERPRINT, Job};
use crate::fingerprint;
use crate::input_content::InputContent;
use crate::plan::Kind;
use crate::publish::PublishError;

/// So many are open, or on their way, at once.
const AT_ONCE: usize = 64;
const FETCHERS: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    #[error("`{path}` cannot be read")]
    Read { path: String, source: io::Error },
    #[error("`{path}` cannot be written")]
    Write { path: String, source: io::Error },
    #[error("`{path}` is not a valid path for a file")]
    LeadsElsewhere { path: String },
    #[error("`{store}` has no content for `{path}`")]
    Missing { store: String, path: String },
    #[error(transparent)]
    Folder(#[from] PublishError),
    #[error(transparent)]
    Name(#[from] checkpoint::layout::NameError),
    #[error("`{store}` cannot be used")]
    Store { store: String, source: RemoteError },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CarriedFile {
    /// Below the folder that they are carried from and to.
    path: String,
    sha256: String,
    is_executable: bool,
}

/// What is carried, and where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CarriedFiles {
    files: Vec<CarriedFile>,
    /// Folders that are made, also if nothing is in them.
    folders: Vec<String>,
}

/// The contents that this process has put: each is put once.
pub(crate) type PutContents = Mutex<HashSet<String>>;

/// What the stage of a job needs of its project: inputs, scripts and modules, and what a session or a resumed stage goes on from.
pub(crate) fn pack(
    job: &Job,
    store: &dyn ExchangeStore,
    put: &PutContents,
) -> Result<CarriedFiles, CarryError> {
    let Some(stage) = job.stage() else { return Ok(CarriedFiles::default()) };
    let (layout, root) = (&job.layout, job.layout.root());
    let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
    let mut folders: BTreeSet<PathBuf> = BTreeSet::from([root.join(&stage.directory)]);
    for input in &stage.inputs {
        let content = InputContent::of(&job.plan, layout, &input.source)?;
        let (files, empty) = content.files_and_folders(job.plan.most_files)?;
        paths.extend(files);
        folders.extend(empty);
    }
    paths.extend(job.code.of_stage(stage).files);
    if !job.to_resume.is_empty() {
        // What it had saved comes from the store, which is made there.
        folders.insert(layout.checkpoints());
    }
    for artifact in &job.to_resume {
        // By which the next attempt knows whether it was the same work.
        let Some((before, inner)) = artifact.relative_path.split_once("/.attempts/") else { continue };
        let attempt: PathBuf = inner.split('/').take(2).collect();
        paths.insert(root.join(before).join(".attempts").join(attempt).join(FINGERPRINT));
    }
    if stage.kind == Kind::Python && job.session.is_some() {
        let earlier = job.earlier.iter().chain(job.session.iter().flat_map(|session| &session.variables));
        paths.extend(earlier.map(|artifact| artifact.path.clone()));
        paths.extend(manifests(layout));
    }
    // What is no longer there is missed where it is needed, and that is told there.
    paths.retain(|path| path.symlink_metadata().is_ok());
    let below = |path: &Path| path.strip_prefix(root).ok().map(Path::to_owned);
    let mut carried =
        CarriedFiles::put(root, paths.iter().filter_map(|path| below(path)), &job.hashes, store, put)?;
    carried.folders = folders.iter().filter_map(|path| below(path)?.to_str().map(str::to_owned)).collect();
    Ok(carried)
}

/// Those of the run's checkpoints.
fn manifests(layout: &Layout) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(layout.run_checkpoints()).into_iter().flatten().flatten();
    let manifest = |name: String| layout.manifest(&name).ok().filter(|manifest| manifest.is_file());
    entries.filter_map(|entry| manifest(entry.file_name().into_string().ok()?)).collect()
}

impl CarriedFiles {
    /// Puts files that lie below a folder.
    pub(crate) fn put(
        folder: &Path,
        paths: impl Iterator<Item = PathBuf>,
        hashes: &FileHashes,
        store: &dyn ExchangeStore,
        put: &PutContents,
    ) -> Result<Self, CarryError> {
        let mut carried = Self::default();
        let mut open: Vec<RemoteContent> = Vec::new();
        for path in paths {
            let shown = path.to_string_lossy().into_owned();
            let reading = |source| CarryError::Read { path: shown.clone(), source };
            let file = fingerprint::open_regular(&folder.join(&path)).map_err(reading)?;
            let content = hashes.content(&shown, &file, &|| true).map_err(reading)?;
            let mode = file.metadata().map_err(reading)?.permissions().mode();
            let (sha256, is_executable) = (content.sha256, mode & 0o111 != 0);
            if put.lock().is_ok_and(|mut put| put.insert(sha256.clone())) {
                open.push(RemoteContent { sha256: sha256.clone(), file, is_executable });
            }
            carried.files.push(CarriedFile { path: shown, sha256, is_executable });
            if open.len() >= AT_ONCE {
                put_all(std::mem::take(&mut open), store, put)?;
            }
        }
        put_all(open, store, put)?;
        Ok(carried)
    }

    /// Writes all files below a folder.
    pub(crate) fn fetch(&self, folder: &Path, store: &dyn ExchangeStore) -> Result<(), CarryError> {
        for inner in &self.folders {
            let path = folder.join(checked(inner)?);
            fs_err::create_dir_all(&path)
                .map_err(|source| CarryError::Write { path: inner.clone(), source })?;
        }
        let share = self.files.len().div_ceil(FETCHERS).max(1);
        std::thread::scope(|scope| {
            let fetchers: Vec<_> = self
                .files
                .chunks(share)
                .map(|files| scope.spawn(move || files.iter().try_for_each(|file| file.fetch(folder, store))))
                .collect();
            fetchers.into_iter().try_for_each(|fetcher| fetcher.join().unwrap_or(Ok(())))
        })
    }

    /// The same where others are there already, which stay as they are if they are among these: a kernel may have them open.
    pub(crate) fn fetch_after(
        &self,
        before: &Self,
        folder: &Path,
        store: &dyn ExchangeStore,
    ) -> Result<(), CarryError> {
        let [there, wanted] = [before, self].map(|carried| carried.files.iter().collect::<HashSet<_>>());
        for file in there.difference(&wanted) {
            let removed = fs_err::remove_file(folder.join(checked(&file.path)?));
            match removed {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(CarryError::Write { path: file.path.clone(), source });
                }
                _ => {}
            }
        }
        let is_missing = |path: &str| folder.join(path).symlink_metadata().is_err();
        let is_new = |file: &&CarriedFile| !there.contains(file) || is_missing(&file.path);
        let files = self.files.iter().filter(is_new).cloned().collect();
        Self { files, folders: self.folders.clone() }.fetch(folder, store)
    }

    /// Only those below one of its folders.
    pub(crate) fn below(&self, folder: &str) -> Self {
        let inner = |file: &CarriedFile| {
            let path = file.path.strip_prefix(folder)?.strip_prefix('/')?.to_owned();
            Some(CarriedFile { path, ..file.clone() })
        };
        Self { files: self.files.iter().filter_map(inner).collect(), folders: Vec::new() }
    }

    /// Only those of these names.
    pub(crate) fn named(&self, names: &[&str]) -> Self {
        let is_named = |file: &&CarriedFile| names.contains(&file.path.as_str());
        Self { files: self.files.iter().filter(is_named).cloned().collect(), folders: Vec::new() }
    }
}

fn put_all(
    contents: Vec<RemoteContent>,
    store: &dyn ExchangeStore,
    put: &PutContents,
) -> Result<(), CarryError> {
    if contents.is_empty() {
        return Ok(());
    }
    let digests: Vec<String> = contents.iter().map(|content| content.sha256.clone()).collect();
    store.put_contents(contents).map_err(|source| {
        if let Ok(mut put) = put.lock() {
            put.retain(|sha256| !digests.contains(sha256));
        }
        CarryError::Store { store: store.name(), source }
    })
}

impl CarriedFile {
    fn fetch(&self, folder: &Path, store: &dyn ExchangeStore) -> Result<(), CarryError> {
        let path = folder.join(checked(&self.path)?);
        let writing = |source| CarryError::Write { path: self.path.clone(), source };
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).map_err(writing)?;
        }
        let file: File = fs_err::File::create(&path).map_err(writing)?.into();
        let fetched = store.fetch_content(&self.sha256, &file);
        let fetched = fetched.map_err(|source| CarryError::Store { store: store.name(), source })?;
        if fetched.is_none() {
            return Err(CarryError::Missing { store: store.name(), path: self.path.clone() });
        }
        let mode = if self.is_executable { 0o755 } else { 0o644 };
        file.set_permissions(Permissions::from_mode(mode)).map_err(writing)
    }
}

/// What comes from elsewhere leads nowhere else.
fn checked(path: &str) -> Result<&Path, CarryError> {
    let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    match is_plain {
        true => Ok(Path::new(path)),
        false => Err(CarryError::LeadsElsewhere { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_elsewhere_leads_nowhere_else() {
        for path in ["../x", "/etc/passwd", "a/../../b", "./a", ".."] {
            assert!(matches!(checked(path), Err(CarryError::LeadsElsewhere { .. })), "{path}");
        }
        assert_eq!(checked("a/b c/d.txt").unwrap(), Path::new("a/b c/d.txt"));
    }

    #[test]
    fn only_artifacts_become_artifacts() {
        let file =
            |path: &str| CarriedFile { path: path.to_owned(), sha256: "0".repeat(64), is_executable: false };
        let names = ["artifacts/out", "artifacts-too/out", "output.log", "job.json"];
        let all = CarriedFiles { files: names.map(file).to_vec(), folders: Vec::new() };
        let paths = |files: CarriedFiles| files.files.into_iter().map(|file| file.path).collect::<Vec<_>>();
        assert_eq!(paths(all.below("artifacts")), ["out"]);
        assert_eq!(paths(all.named(&["output.log"])), ["output.log"]);
    }
}

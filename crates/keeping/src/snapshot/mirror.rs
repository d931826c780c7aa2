//! A bare repository outside of the user's, so that `rm -rf .git` takes no snapshot along: every ref of the repository with
//! all that it reaches, in packs, its config and hooks, and by choice some ignored files. It is written by whoever takes a
//! snapshot, one at a time, and only what is new is copied. A folder without a repository has its snapshots here alone.
//!
//! Refs stand in one file that is replaced whole, so that a branch may take a folder's place, and a kill leaves the old ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use change_set::BytePath;
use changes::git::{Git, WRITING};
use changes::state::ObjectFormat;
use changes::{GitProgram, Repository};
use files::{Lock, atomic_file};

use super::leftovers::{UnfinishedPacks, is_unfinished, remove_abandoned};
use super::object_copy::{ObjectCopy, link_packs};
use super::scratch::lay_out;
use super::{FileMode, REFS, Snapshot, SnapshotError, Snapshots};
use crate::difference::listed;
use crate::leftover_file::{below, entries};
use crate::working_tree::{PathKind, WorkingTree, io_error};

/// Another process that writes the mirror is waited for.
const OTHERS: Duration = Duration::from_secs(30);

/// More packs are made one, without what no ref needs; if they are too large for that, only the small ones among them.
const MOST_PACKS: usize = 40;
const LARGEST_REPACK: u64 = 256 << 20;

/// In the mirror's folder: the path of what it is the mirror of.
const PROJECT: &str = "project";

/// Files of the git folder that no ref leads to.
const KEPT_FILES: [&str; 4] = ["HEAD", "config", "info/exclude", "shallow"];
const KEPT: &str = "kept";
const HOOKS: &str = "hooks";

/// Ignored files, one commit for each snapshot.
const FILES: &str = "refs/checkstone/files";

/// Begins the names of what a repository had that was lost, and made anew.
const FORMER: &str = "refs/checkstone/before/";

#[derive(Clone, Debug)]
pub struct Mirror {
    folder: PathBuf,
    ignored_files: Vec<BytePath>,
    keep: usize,
}

/// A mirror whose project is not where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbandonedMirror {
    pub folder: PathBuf,
    pub project: PathBuf,
    pub bytes: u64,
}

/// Those in a folder of mirrors. They are not removed by themselves: they may be the last copy, and the project may lie on a disk
/// that is not mounted.
pub fn abandoned_mirrors(folder: &Path) -> Vec<AbandonedMirror> {
    let project = |mirror: &PathBuf| {
        let path = fs_err::read(mirror.join(PROJECT)).ok()?;
        Some(BytePath::from(path.as_slice()).as_path().to_owned())
            .filter(|path| path.symlink_metadata().is_err())
    };
    let size = |mirror: &Path| {
        below(mirror).filter_map(|file| file.symlink_metadata().ok()).map(|file| file.len()).sum()
    };
    let mirrors = entries(folder).filter_map(|folder| {
        let project = project(&folder)?;
        Some(AbandonedMirror { bytes: size(&folder), folder, project })
    });
    let mut mirrors: Vec<AbandonedMirror> = mirrors.collect();
    mirrors.sort_by(|one, other| one.project.cmp(&other.project));
    mirrors
}

/// The branches, tags and the like of a repository that was made anew since, by their old names. One that only a person has
/// deleted is not lost: its commits are still there at the next snapshot.
fn former_refs(
    ours: &BTreeMap<String, String>,
    lost: &BTreeSet<String>,
    id: &str,
) -> BTreeMap<String, String> {
    let is_former =
        |(name, of): &(&String, &String)| !name.starts_with("refs/checkstone/") && lost.contains(of.as_str());
    let renamed = |(name, of): (&String, &String)| {
        (format!("{FORMER}{id}/{}", name.trim_start_matches("refs/")), of.clone())
    };
    ours.iter().filter(is_former).map(renamed).collect()
}

impl Mirror {
    /// In this folder, with these ignored files beside every snapshot, and so many snapshots that the repository has forgotten.
    pub fn new(folder: PathBuf, ignored_files: Vec<BytePath>, keep: usize) -> Self {
        Self { folder, ignored_files, keep }
    }

    pub fn exists(&self) -> bool {
        self.folder.join("HEAD").is_file()
    }

    /// For a folder that is in no repository: the mirror as the repository of its snapshots.
    pub fn stand_in(&self, root: &Path) -> Result<Repository, SnapshotError> {
        self.made(ObjectFormat::Sha1)?;
        Ok(Repository {
            root: root.to_owned(),
            git_dir: self.folder.clone(),
            common_dir: self.folder.clone(),
        })
    }

    fn failed(&self) -> impl Fn(io::Error) -> SnapshotError {
        let folder = self.folder.clone();
        move |source| SnapshotError::Mirror { folder: folder.clone(), source }
    }

    fn made(&self, format: ObjectFormat) -> Result<(), SnapshotError> {
        if self.exists() {
            return Ok(());
        }
        fs_err::create_dir_all(&self.folder)
            .and_then(|()| lay_out(&self.folder, format))
            .map_err(self.failed())
    }

    fn git(&self, program: &GitProgram) -> Result<Git, SnapshotError> {
        let folder = self.folder.clone();
        let repository = Repository { root: folder.clone(), git_dir: folder.clone(), common_dir: folder };
        Ok(Git::of(&repository, program)?)
    }

    /// Copies what the mirror does not have yet.
    pub(super) fn update(&self, snapshots: &Snapshots, id: &str) -> Result<(), SnapshotError> {
        let repository = &snapshots.repository;
        // The snapshots of a folder without a repository are here already.
        let is_stand_in = repository.git_dir == self.folder;
        self.made(repository.object_format())?;
        let _lock = Lock::acquire(&self.folder.join("mirror.lock"), OTHERS)
            .map_err(|error| self.failed()(io::Error::other(error)))?;
        let git = self.git(&snapshots.program)?;
        let packs = self.folder.join("objects/pack");
        // We have the lock: what a killed run has begun to write is nobody's any more.
        for path in entries(&packs).filter(|path| is_unfinished(path.file_name().unwrap_or_default())) {
            remove_abandoned(&path);
        }
        self.name_project(&repository.root)?;
        if !is_stand_in {
            let (theirs, ours) = (refs(&snapshots.git)?, refs(&git)?);
            let lost = match ours.is_empty() && self.copied_all(snapshots, &git)? {
                true => BTreeSet::new(),
                false => self.copy_objects(&snapshots.git, theirs.values(), ours.values())?,
            };
            let former = former_refs(&ours, &lost, id);
            if !former.is_empty() {
                let kept = self.folder.join(KEPT);
                fs_err::rename(&kept, self.folder.join(format!("{KEPT}-{id}"))).map_err(self.failed())?;
            }
            self.copy_kept(repository).map_err(self.failed())?;
            let mut all = self.joined(theirs, ours);
            all.extend(former);
            let text: String = all.iter().map(|(name, id)| format!("{id} {name}\n")).collect();
            atomic_file::write(&self.folder.join("packed-refs"), text.as_bytes(), 0o600)
                .map_err(|error| self.failed()(io_error(error)))?;
        }
        if !self.ignored_files.is_empty() {
            snapshots.keep_files(&git, &format!("{FILES}/{id}"), &self.ignored_files)?;
        }
        self.forget_files(&git)?;
        let sizes = entries(&packs).filter(|path| path.extension().is_some_and(|one| one == "pack"));
        let sizes: Vec<u64> = sizes.map(|path| path.metadata().map_or(0, |found| found.len())).collect();
        if sizes.len() > MOST_PACKS {
            let which = if sizes.iter().sum::<u64>() > LARGEST_REPACK { "--geometric=2" } else { "-a" };
            let unfinished = UnfinishedPacks::look(packs);
            // Nothing is lost if it fails, and the next snapshot tries again.
            let _ = git.run(&["repack", which, "-d", "-q"], &[]).inspect_err(|_| unfinished.remove_newer());
        }
        Ok(())
    }

    fn name_project(&self, root: &Path) -> Result<(), SnapshotError> {
        let (file, path) = (self.folder.join(PROJECT), root.as_os_str().as_encoded_bytes());
        if fs_err::read(&file).is_ok_and(|known| known == path) {
            return Ok(());
        }
        atomic_file::write(&file, path, 0o600).map_err(|error| self.failed()(io_error(error)))
    }

    /// For a mirror that has nothing yet: whether it has all objects now. If it cannot have them as they lie there, an object that
    /// is broken among them for example, what the refs need has to be looked for.
    fn copied_all(&self, snapshots: &Snapshots, git: &Git) -> Result<bool, SnapshotError> {
        let copy = ObjectCopy {
            source: &snapshots.git,
            from: snapshots.repository.common_dir.join("objects"),
            target: git,
            to: self.folder.join("objects"),
        };
        if !copy.is_possible() {
            return Ok(false);
        }
        match copy.run() {
            Ok(()) => Ok(true),
            Err(SnapshotError::Git(changes::Error::Failed { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the repository's refs reach and the mirror's do not, as one pack. Which of the mirror's the repository has lost.
    fn copy_objects<'a>(
        &self,
        source: &Git,
        wanted: impl Iterator<Item = &'a String>,
        known: impl Iterator<Item = &'a String>,
    ) -> Result<BTreeSet<String>, SnapshotError> {
        let known: String = known.map(|id| format!("{id}\n")).collect();
        let found = source.run(&["cat-file", "--batch-check=%(objectname)"], known.as_bytes())?;
        let found = String::from_utf8_lossy(&found);
        let mut input: String = wanted.map(|id| format!("{id}\n")).collect();
        input.push_str("--not\n");
        let mut lost = BTreeSet::new();
        for line in found.lines() {
            match line.strip_suffix(" missing") {
                Some(id) => drop(lost.insert(id.to_owned())),
                None => input.push_str(&format!("{line}\n")),
            }
        }
        let base = self.folder.join("objects/pack/pack");
        let options = ["-c", "core.fsync=all", "pack-objects", "--revs", "--quiet", "--non-empty"];
        let arguments = WRITING.iter().chain(&options).map(Path::new).chain([base.as_path()]);
        let unfinished = UnfinishedPacks::look(self.folder.join("objects/pack"));
        source
            .run(&arguments.collect::<Vec<_>>(), input.as_bytes())
            .inspect_err(|_| unfinished.remove_newer())?;
        Ok(lost)
    }

    /// The refs of the repository, and of the snapshots that it has forgotten the newest of each working tree.
    fn joined(
        &self,
        theirs: BTreeMap<String, String>,
        ours: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut joined = theirs;
        let mut counts = BTreeMap::<String, usize>::new();
        // Ids begin with their time: the newest come last.
        for (name, id) in ours.into_iter().rev() {
            if name.starts_with(FORMER) {
                joined.insert(name, id);
                continue;
            }
            let Some(worktree) = name.strip_prefix(REFS).and_then(|rest| rest.rsplit_once('/')) else {
                continue;
            };
            let count = counts.entry(worktree.0.to_owned()).or_default();
            *count += 1;
            if *count <= self.keep {
                joined.entry(name).or_insert(id);
            }
        }
        joined
    }

    fn copy_kept(&self, repository: &Repository) -> io::Result<()> {
        let kept = self.folder.join(KEPT);
        fs_err::create_dir_all(kept.join("info"))?;
        fs_err::create_dir_all(kept.join(HOOKS))?;
        for name in KEPT_FILES {
            let folder = if name == "HEAD" { &repository.git_dir } else { &repository.common_dir };
            copy_file(&folder.join(name), &kept.join(name))?;
        }
        for hook in entries(&repository.common_dir.join(HOOKS)) {
            let name = hook.file_name().unwrap_or_default();
            if !name.as_encoded_bytes().ends_with(b".sample") {
                copy_file(&hook, &kept.join(HOOKS).join(name))?;
            }
        }
        // Without it git would look for commits that are in neither repository.
        copy_file(&kept.join("shallow"), &self.folder.join("shallow"))
    }

    /// Ignored files go with their snapshot.
    fn forget_files(&self, git: &Git) -> Result<(), SnapshotError> {
        let refs = refs(git)?;
        let ids: BTreeSet<&str> = refs
            .keys()
            .filter(|name| name.starts_with(REFS))
            .filter_map(|name| name.rsplit('/').next())
            .collect();
        for name in refs.keys().filter_map(|name| name.strip_prefix(FILES)?.strip_prefix('/')) {
            if !ids.contains(name) {
                let _ = fs_err::remove_file(self.folder.join(FILES).join(name));
            }
        }
        Ok(())
    }

    /// Makes the repository of a folder anew, whose `.git` is gone; whether that was so.
    pub fn rebuild(&self, root: &Path, program: &GitProgram) -> Result<bool, SnapshotError> {
        let kept = self.folder.join(KEPT);
        if root.join(".git").symlink_metadata().is_ok() || !kept.join("HEAD").is_file() {
            return Ok(false);
        }
        let failed = self.failed();
        let format = Repository {
            root: root.to_owned(),
            git_dir: self.folder.clone(),
            common_dir: self.folder.clone(),
        }
        .object_format();
        let making = tempfile::Builder::new().prefix(".git-checkstone-").tempdir_in(root).map_err(&failed)?;
        lay_out(making.path(), format).map_err(&failed)?;
        link_packs(&self.folder.join("objects/pack"), &making.path().join("objects/pack"))
            .map_err(&failed)?;
        copy_file(&self.folder.join("packed-refs"), &making.path().join("packed-refs")).map_err(&failed)?;
        let copy_all = || -> io::Result<()> {
            fs_err::create_dir_all(making.path().join("info"))?;
            fs_err::create_dir_all(making.path().join(HOOKS))?;
            for name in KEPT_FILES {
                copy_file(&kept.join(name), &making.path().join(name))?;
            }
            for hook in entries(&kept.join(HOOKS)) {
                copy_file(&hook, &making.path().join(HOOKS).join(hook.file_name().unwrap_or_default()))?;
            }
            fs_err::rename(making.path(), root.join(".git"))
        };
        copy_all().map_err(&failed)?;
        // It has another name now.
        let _ = making.keep();
        let git = Git::of(&Repository::discover(root)?, program)?;
        // Before the first commit there is nothing to read.
        let _ = git.run(&[&WRITING[..], &["read-tree", "HEAD"]].concat(), &[]);
        Ok(true)
    }

    /// Brings the snapshots that a repository does not have any more back into it.
    pub fn lend(&self, repository: &Repository, program: &GitProgram) -> Result<(), SnapshotError> {
        if repository.git_dir == self.folder {
            return Ok(());
        }
        link_packs(&self.folder.join("objects/pack"), &repository.common_dir.join("objects/pack"))
            .map_err(self.failed())?;
        let git = Git::of(repository, program)?;
        let theirs = refs(&git)?;
        let missing = refs(&self.git(program)?)?.into_iter();
        let is_lent = |name: &str| name.starts_with(REFS) || name.starts_with(FORMER);
        let missing = missing.filter(|(name, _)| is_lent(name) && !theirs.contains_key(name));
        let input: String = missing.map(|(name, id)| format!("create {name} {id}\n")).collect();
        git.run(&[&WRITING[..], &["update-ref", "--stdin"]].concat(), input.as_bytes())?;
        Ok(())
    }

    /// Brings back the ignored files that were kept beside a snapshot and are not there now; which ones.
    pub fn restore_files(
        &self,
        snapshot: &Snapshot,
        root: &Path,
        program: &GitProgram,
    ) -> Result<Vec<BytePath>, SnapshotError> {
        let git = self.git(program)?;
        let name = format!("{FILES}/{}", snapshot.id);
        if !refs(&git)?.contains_key(&name) {
            return Ok(Vec::new());
        }
        let folder = WorkingTree::open(root)
            .map_err(|source| SnapshotError::Root { root: root.to_owned(), source })?;
        let message = git.run(&["log", "-1", "--format=%B", &name], &[])?;
        let modes: Vec<FileMode> = serde_json::from_slice(&message).unwrap_or_default();
        let mut written = Vec::new();
        for ([mode, _, id], path) in listed(&git.run(&["ls-tree", "-r", "-z", &name], &[])?, "git ls-tree")? {
            if folder.kind(&path).is_ok_and(|kind| kind == PathKind::Absent) {
                let content = git.run(&["cat-file", "blob", &id], &[])?;
                let placed = match mode.as_str() {
                    "120000" => folder.write_link(&path, &content),
                    mode => {
                        let known = modes.iter().find(|known| known.path == path).map(|known| known.mode);
                        folder.write(&path, &mut content.as_slice(), mode == "100755", known)
                    }
                };
                placed.map_err(self.failed())?;
                written.push(path);
            }
        }
        Ok(written)
    }
}

fn refs(git: &Git) -> Result<BTreeMap<String, String>, SnapshotError> {
    let output = git.run(&["for-each-ref", "--format=%(refname) %(objectname)"], &[])?;
    let output = String::from_utf8_lossy(&output);
    let refs = output.lines().filter_map(|line| line.rsplit_once(' '));
    Ok(refs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect())
}

/// A regular file, with its mode; what is not there is removed from the other place too.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    match from.symlink_metadata() {
        Ok(found) if found.is_file() => fs_err::copy(from, to).map(drop),
        _ => match fs_err::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

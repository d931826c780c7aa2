//! Takes a snapshot.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use change_set::BytePath;
use changes::Repository;
use changes::git::{Git, WRITING};
use changes::state::{CLOCK_TICK_NS, nanoseconds_of};
use changes::status::{self, EntryKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
use text::hexadecimal;

use super::collect::{self, CollectedPaths};
use super::converted::{self, ConversionQuestion};
use super::leftovers::{self, UnfinishedPacks};
use super::own_packs::OwnPacks;
use super::stream::ImportStream;
use super::submodule_snapshot::{InnerSnapshots, joined};
use super::{FileMode, REFS, SessionName, Snapshot, SnapshotError, SnapshotFacts, SnapshotReason, Snapshots};
use crate::working_tree::{PathKind, WorkingTree};

/// What stands before the facts in a commit's message.
pub(super) const FACTS: &str = "Checkstone-Snapshot: ";

/// What is read is complete, or git writes no ref.
pub(super) const IMPORT: [&str; 4] = ["fast-import", "--quiet", "--done", "--depth=0"];

/// A quarter less work than git's default, for packs that are a few percent larger.
const FAST: &str = "pack.compression=1";

/// More bytes than this are stored as they are: compressing them would take longer than all the rest.
const COMPRESSED: u64 = 4 << 20;
const NOT_COMPRESSED: &str = "pack.compression=0";

/// What files mostly have, by the user's umask. Others are noted.
const USUAL_MODES: [u32; 4] = [0o644, 0o755, 0o664, 0o775];

/// A tree with more of them is one of a user with another umask, under which they come back as well.
const MOST_MODES: usize = 1000;

/// A file that goes on changing is read so often.
const ATTEMPTS: usize = 3;

#[derive(Clone, Debug)]
pub struct NewSnapshot<'a> {
    pub reason: SnapshotReason,
    pub message: &'a str,
    pub now: Timestamp,
    pub session: Option<SessionName>,
    pub turn: Option<String>,
}

/// Something that is not in a snapshot, or not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// `None` if only git's own words are known.
    pub path: Option<BytePath>,
    pub reason: String,
}

impl LeftOut {
    /// The same as the repository around a submodule would name it.
    pub(super) fn below(self, submodule: &BytePath) -> Self {
        let path = self.path.map_or_else(|| submodule.clone(), |inside| joined(submodule, &inside));
        Self { path: Some(path), ..self }
    }

    /// Whether it is about one of `paths`, or everything is meant. What has no path may be about any.
    pub(super) fn is_about(&self, paths: &[BytePath]) -> bool {
        let Some(own) = self.path.as_ref().map(BytePath::as_path) else { return true };
        let mut meant = paths.iter().map(BytePath::as_path);
        paths.is_empty() || meant.any(|path| own.starts_with(path) || path.starts_with(own))
    }
}

/// The working tree at one look.
pub(super) struct TreeReading {
    /// For `git fast-import`.
    pub(super) input: File,
    head: Option<String>,
    pub(super) facts: SnapshotFacts,
}

impl TreeReading {
    /// Everything is as HEAD has it, in submodules too.
    pub(super) fn is_clean(&self) -> bool {
        self.facts.files == 0 && self.facts.submodules.is_empty() && self.facts.left_out.is_empty()
    }
}

impl Snapshots {
    /// Takes a snapshot of the working tree as it is now. Once this returns, it is on the disk.
    pub fn create(&self, new: &NewSnapshot<'_>) -> Result<Snapshot, SnapshotError> {
        let mut taken = self.take(new, None)?;
        if let Err(error) = self.update_mirror(&taken) {
            let reason = format!("the mirror is not up to date: {error}; the next snapshot continues it");
            taken.facts.left_out.push(LeftOut { path: None, reason });
        }
        Ok(taken)
    }

    /// The same, for the repository alone, with those submodules too that are clean now and that `restored` has another
    /// state of.
    pub(super) fn take(
        &self,
        new: &NewSnapshot<'_>,
        restored: Option<&Snapshot>,
    ) -> Result<Snapshot, SnapshotError> {
        let id = new_id(new.now);
        let inner = self.take_submodules(&id, new, restored);
        let taken = inner.taken.clone();
        let reading = self.look(new, &self.ref_name(&id), &self.repository.git_dir, inner);
        let kept = reading.and_then(|reading| self.keep(&id, new, reading));
        kept.inspect_err(|_| self.forget_in_submodules(&id, &taken))
    }

    pub(super) fn update_mirror(&self, taken: &Snapshot) -> Result<(), SnapshotError> {
        self.mirror.as_ref().map_or(Ok(()), |mirror| mirror.update(self, &taken.id))
    }

    /// Files as they lie here, whether git ignores them or not, as a commit in the repository of `git`. Those that are not
    /// here are left out.
    pub(super) fn keep_files(&self, git: &Git, name: &str, paths: &[BytePath]) -> Result<(), SnapshotError> {
        let root = &self.repository.root;
        let folder_of_input = &self.repository.git_dir;
        let spool = |source| SnapshotError::Spool { folder: folder_of_input.clone(), source };
        let folder =
            WorkingTree::open(root).map_err(|source| SnapshotError::Root { root: root.clone(), source })?;
        let mut contents = ContentReader {
            folder,
            root: root.clone(),
            largest_file: self.largest_file,
            bytes: 0,
            left_out: Vec::new(),
            modes: Vec::new(),
        };
        let mut write = || -> io::Result<File> {
            let mut changes = ImportStream::new(folder_of_input)?;
            for path in paths {
                if let Ok(kind @ (PathKind::File { .. } | PathKind::Symlink)) = contents.folder.kind(path) {
                    contents.one(&mut changes, path, EntryKind::Untracked, kind)?;
                }
            }
            let mut stream = ImportStream::new(folder_of_input)?;
            stream.line(&format!("commit {name}"))?;
            stream.line("mark :1")?;
            stream.line("committer checkstone <snapshot@checkstone.invalid> 0 +0000")?;
            stream.data(&mut serde_json::to_vec(&contents.modes)?.as_slice())??;
            ended(stream, changes.finish()?)
        };
        let input = write().map_err(spool)?;
        let arguments: Vec<&str> = WRITING.iter().chain(&IMPORT).copied().collect();
        git.start_with(&arguments, Stdio::from(input))?.finish()?;
        Ok(())
    }

    /// What was read becomes the snapshot.
    pub(super) fn keep(
        &self,
        id: &str,
        new: &NewSnapshot<'_>,
        reading: TreeReading,
    ) -> Result<Snapshot, SnapshotError> {
        let commit = self.import(reading.input, reading.facts.bytes)?;
        self.wait_for_names()?;
        let (id, message, worktree) = (id.to_owned(), one_text(new.message), self.worktree());
        Ok(Snapshot { id, commit, worktree, message, head: reading.head, facts: reading.facts })
    }

    /// Reads what differs from HEAD. What git is to be told of it is kept in a nameless file in `folder`.
    pub(super) fn look(
        &self,
        new: &NewSnapshot<'_>,
        name: &str,
        folder_of_input: &Path,
        inner: InnerSnapshots,
    ) -> Result<TreeReading, SnapshotError> {
        // Renames do not matter here, and dirt inside submodules is in `inner`.
        let status = status::start(&self.git, "--no-renames")?;
        let question = ConversionQuestion::start(&self.git)?;
        let root = &self.repository.root;
        let folder =
            WorkingTree::open(root).map_err(|source| SnapshotError::Root { root: root.clone(), source })?;
        let spool = |source| SnapshotError::Spool { folder: folder_of_input.to_owned(), source };
        let mut stream = ImportStream::new(folder_of_input).map_err(spool)?;
        // Before the end of the status, which takes longer.
        let conversion = question.answer(&self.repository)?;
        let collected = collect::finish(status)?;
        let mut seen = collected.on_disk.keys().chain(collected.known.iter().map(|(path, ..)| path));
        let conversion = conversion.or_by(seen.any(converted::is_attributes_file));
        let looked_at = |path: &BytePath| collected.on_disk.contains_key(path);
        let converted = converted::find(&self.git, &self.repository, conversion, looked_at)?;

        let mut contents = ContentReader {
            folder,
            root: self.repository.root.clone(),
            largest_file: self.largest_file,
            bytes: 0,
            left_out: inner.left_out,
            modes: Vec::new(),
        };
        let mut changes = ImportStream::new(folder_of_input).map_err(spool)?;
        contents.write(&mut changes, &collected, &converted).map_err(spool)?;
        let complaints = collected.complaints.iter();
        contents.left_out.extend(complaints.map(|line| LeftOut { path: None, reason: line.clone() }));
        let late = match new.reason {
            SnapshotReason::TurnStart { began_ns } => contents.written_since(began_ns, &collected),
            // By the file's own time: nothing else is judged by it, and what was written just before is not named.
            SnapshotReason::Autosave => {
                contents.written_since(nanoseconds_of(new.now).saturating_add(CLOCK_TICK_NS), &collected)
            }
            _ => Vec::new(),
        };
        let files = collected.deleted.len() + collected.known.len() + collected.on_disk.len();
        let facts = SnapshotFacts {
            taken_ns: nanoseconds_of(new.now),
            reason: new.reason.clone(),
            session: new.session.clone(),
            turn: new.turn.clone(),
            files: files as u64,
            bytes: contents.bytes,
            left_out: contents.left_out,
            late,
            submodules: inner.taken,
            modes: contents.modes,
            is_inner: self.is_inner,
        };
        let head = collected.head.as_deref();
        header(&mut stream, name, new.message, &facts, head).map_err(spool)?;
        let input = changes.finish().and_then(|changes| ended(stream, changes)).map_err(spool)?;
        Ok(TreeReading { input, head: collected.head, facts })
    }

    /// Git waits for what it wrote, and not for the names that it gave: a power cut right after could lose them.
    fn wait_for_names(&self) -> Result<(), SnapshotError> {
        let common = &self.repository.common_dir;
        let ours = common.join(REFS).join(self.worktree());
        let refs = ours.ancestors().take_while(|folder| *folder != common.as_path());
        let elsewhere = [common.join("objects/pack"), common.join("reftable")];
        for folder in elsewhere.iter().map(PathBuf::as_path).chain(refs) {
            let failed = |source| SnapshotError::NotOnDisk { folder: folder.to_owned(), source };
            match fs_err::File::open(folder).and_then(|folder| folder.sync_all()) {
                // Refs in files have no `reftable`, and the other way round; some file systems wait for no folder.
                Err(error)
                    if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) =>
                {
                    return Err(failed(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Git writes the objects, waits for the disk, and then the ref. What it prints is the commit's id. One small pack
    /// is three waits for the disk; loose objects would take three times as long.
    fn import(&self, input: File, bytes: u64) -> Result<String, SnapshotError> {
        let compression = if bytes > COMPRESSED { NOT_COMPRESSED } else { FAST };
        let durable = ["-c", "core.fsync=all", "-c", "fastimport.unpackLimit=0", "-c", compression];
        let unfinished = UnfinishedPacks::look(leftovers::folder(&self.repository));
        let packs = OwnPacks::look(&self.repository);
        let arguments: Vec<&str> = WRITING.iter().chain(&durable).chain(&IMPORT).copied().collect();
        let mut running = self.git.start_with(&arguments, Stdio::from(input))?;
        let report = format!("fast_import_crash_{}", running.child().id());
        let output = running.finish().inspect_err(|_| {
            // Its report about a failure, which nobody would ever clear away.
            let _ = fs_err::remove_file(self.repository.git_dir.join(report));
            unfinished.remove_newer();
        })?;
        packs.note_newer();
        packs.join(&self.git);
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }
}

/// The time, to the second, and six digits that tell snapshots of one second apart.
fn new_id(now: Timestamp) -> String {
    let mut hash = Sha1::new();
    hash.update(nanoseconds_of(now).to_le_bytes());
    hash.update(std::process::id().to_le_bytes());
    let digits = hexadecimal(&hash.finalize());
    format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), digits.get(..6).unwrap_or_default())
}

fn one_text(message: &str) -> String {
    message.replace('\0', " ").trim().to_owned()
}

fn header(
    stream: &mut ImportStream,
    name: &str,
    message: &str,
    facts: &SnapshotFacts,
    head: Option<&str>,
) -> io::Result<()> {
    let seconds = facts.taken_ns.div_euclid(1_000_000_000);
    let facts = serde_json::to_string(facts)?;
    let message = format!("{}\n\n{FACTS}{facts}\n", one_text(message));
    stream.line(&format!("commit {name}"))?;
    stream.line("mark :1")?;
    stream.line(&format!("committer checkstone <snapshot@checkstone.invalid> {seconds} +0000"))?;
    stream.data(&mut message.as_bytes())??;
    if let Some(head) = head {
        stream.line(&format!("from {head}"))?;
    }
    Ok(())
}

/// The header, which needs to know the changes, comes before them.
fn ended(mut stream: ImportStream, mut changes: File) -> io::Result<File> {
    stream.append(&mut changes)?;
    stream.line("")?;
    stream.line("get-mark :1")?;
    stream.line("done")?;
    stream.finish()
}

struct ContentReader {
    folder: WorkingTree,
    root: PathBuf,
    largest_file: u64,
    bytes: u64,
    left_out: Vec<LeftOut>,
    modes: Vec<FileMode>,
}

impl ContentReader {
    fn write(
        &mut self,
        stream: &mut ImportStream,
        collected: &CollectedPaths,
        converted: &std::collections::BTreeSet<BytePath>,
    ) -> io::Result<()> {
        // First what goes: a file may have taken a folder's place, or the other way round.
        for path in &collected.deleted {
            stream.deleted(path)?;
        }
        let mut found = Vec::new();
        for (path, kind) in &collected.on_disk {
            match self.folder.kind(path) {
                Ok(PathKind::Absent) => stream.deleted(path)?,
                Ok(there) => found.push((path, *kind, there)),
                Err(error) => self.leave_out(path, &error.to_string()),
            }
        }
        for (path, mode, id) in &collected.known {
            stream.known(mode, id, path)?;
        }
        for (path, tracked, kind) in found {
            self.one(stream, path, tracked, kind)?;
        }
        for path in converted {
            let kind = self.folder.kind(path).unwrap_or(PathKind::Absent);
            self.one(stream, path, EntryKind::Tracked, kind)?;
        }
        Ok(())
    }

    fn one(
        &mut self,
        stream: &mut ImportStream,
        path: &BytePath,
        tracked: EntryKind,
        kind: PathKind,
    ) -> io::Result<()> {
        match kind {
            PathKind::File { executable } => {
                self.file(stream, path, if executable { "100755" } else { "100644" })?;
            }
            PathKind::Symlink => match self.folder.link_target(path) {
                Ok(target) => self.bytes += stream.content("120000", path, &mut target.as_slice())?,
                Err(error) => self.leave_out(path, &error.to_string()),
            },
            PathKind::Folder => {
                let Some(inner) = Repository::at(&self.root.join(path.as_path())) else {
                    return stream.deleted(path);
                };
                let commit = inner.head_commit();
                if tracked == EntryKind::Untracked {
                    let recorded = match commit {
                        Some(_) => "it is a repository of its own: only its commit is recorded",
                        None => "it is a repository of its own without a commit: nothing of it is recorded",
                    };
                    self.leave_out(path, recorded);
                }
                if let Some(commit) = commit {
                    stream.known("160000", &commit, path)?;
                }
            }
            PathKind::Other => self.leave_out(path, "it is neither a file nor a link nor a folder"),
            PathKind::Absent => {}
        }
        Ok(())
    }

    /// Reads a file again where it changed meanwhile: what is told last counts.
    fn file(&mut self, stream: &mut ImportStream, path: &BytePath, mode: &str) -> io::Result<()> {
        for _ in 0..ATTEMPTS {
            let mut file = match self.folder.read(path) {
                Ok(file) => file,
                Err(error) => {
                    self.leave_out(path, &error.to_string());
                    return Ok(());
                }
            };
            let before = stamp(&file)?;
            if before.0 > self.largest_file {
                self.leave_out(
                    path,
                    &format!(
                        "it is larger than {} MB (`largest_file_mb` in `[snapshot]`)",
                        self.largest_file / 1_000_000
                    ),
                );
                return Ok(());
            }
            let length = match stream.content_or_reason(mode, path, &mut file)? {
                Ok(length) => length,
                Err(error) => {
                    self.leave_out(path, &error.to_string());
                    return Ok(());
                }
            };
            if stamp(&file)? == before && before.0 == length {
                self.bytes += length;
                let mode = file.metadata()?.mode() & 0o777;
                if !USUAL_MODES.contains(&mode) && self.modes.len() < MOST_MODES {
                    self.modes.push(FileMode { path: path.clone(), mode });
                }
                return Ok(());
            }
        }
        self.leave_out(path, "it kept changing while it was read: the saved content may be mixed");
        Ok(())
    }

    /// Looked at after the reading: what is older than `began_ns` now was not written in between.
    fn written_since(&self, began_ns: i64, collected: &CollectedPaths) -> Vec<BytePath> {
        let known = collected.known.iter().map(|(path, ..)| path);
        let all = collected.deleted.iter().chain(known).chain(collected.on_disk.keys());
        all.filter(|path| !self.folder.is_older(path, began_ns)).cloned().collect()
    }

    fn leave_out(&mut self, path: &BytePath, reason: &str) {
        self.left_out.push(LeftOut { path: Some(path.clone()), reason: reason.to_owned() });
    }
}

/// Size and times, which tell whether a file was written meanwhile.
fn stamp(file: &File) -> io::Result<(u64, i64, i64, i64, i64)> {
    let found = file.metadata()?;
    Ok((found.len(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()))
}

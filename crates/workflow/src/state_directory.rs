//! The state directory: `.claude/state` in the working tree's root, or in the current folder where there is no
//! repository. One file per workflow; beside them, in `.checkstone`, what only we use: a lock, the history, the archive.
//!
//! - It ignores itself: a `.gitignore` of its own says `*`. The user's own `.gitignore` and git's configuration are
//!   left alone, and a `.gitignore` that is there already is too.
//! - Whoever writes holds the lock and has read the file again: two writers at once are one after the other. Readers
//!   need no lock, for files are replaced whole.
//! - A damaged file is moved out of the way before another takes its place, and the last save is used instead.

use std::path::{Path, PathBuf};
use std::time::Duration;

use changes::{GitProgram, Repository};
use files::{FileError, Links, Lock, atomic_file, regular_file};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::error::WorkflowError;
use crate::format::{Gate, Wrong};
use crate::history::{History, Save};
use crate::json_text;
use crate::name::Name;
use crate::phase_update::PhaseUpdate;
use crate::resume_point::ResumePoint;
use crate::warning::Warning;
use crate::workflow::{Workflow, object_at, time, usual_phases};

const FOLDER: &str = ".claude/state";

/// No workflow file is larger.
const LARGEST: u64 = 4 * 1024 * 1024;

/// A writer needs milliseconds; one that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub struct StateDirectory {
    /// The root of the working tree, or the folder itself.
    root: PathBuf,
    repository: Option<Repository>,
    git: GitProgram,
}

/// A workflow as it was found, or as it was saved.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// `None` if there is none, or nothing of it can be read.
    pub workflow: Option<Workflow>,
    pub path: PathBuf,
    /// What a person should know.
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug)]
pub struct Saved {
    pub workflow: Workflow,
    /// As it was before; `None` if it is new.
    pub before: Option<Workflow>,
    pub path: PathBuf,
    pub warnings: Vec<Warning>,
}

enum Content {
    Nothing,
    Sound(Box<Workflow>),
    /// No JSON object.
    Corrupt,
    /// An object, and not one of ours.
    Wrong {
        document: Map<String, Value>,
        error: WorkflowError,
    },
}

/// The file of a workflow, found by its name and by what it says.
pub(crate) struct WorkflowLocation {
    pub(crate) stem: String,
    pub(crate) path: PathBuf,
    content: Content,
    warning: Option<Warning>,
}

/// What a save does to the commit that is kept.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Commit {
    Current,
    AsItWas,
}

impl StateDirectory {
    /// The one that a folder belongs to: its repository's, each working tree with its own.
    pub fn of(folder: &Path, git: &GitProgram) -> Self {
        Self::at(folder, Repository::discover(folder).ok(), git)
    }

    /// The same, if the caller has looked for the repository of the folder already.
    pub fn at(folder: &Path, repository: Option<Repository>, git: &GitProgram) -> Self {
        let root =
            repository.as_ref().map_or_else(|| folder.to_owned(), |repository| repository.root.clone());
        Self { root, repository, git: git.clone() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn repository(&self) -> Option<&Repository> {
        self.repository.as_ref()
    }

    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// Also for readers a link is no state directory: what it leads to is not this repository's.
    pub fn exists(&self) -> bool {
        self.folder().is_dir() && self.stays_inside().is_ok()
    }

    /// What HEAD is; `None` without git, and before the first commit.
    pub fn head(&self) -> Option<String> {
        self.repository.as_ref()?.head(&self.git).ok().flatten()
    }

    /// Reads a workflow. A damaged file is told of, and the last save stands in for it.
    pub fn load(&self, name: &Name) -> Result<Loaded, WorkflowError> {
        self.stays_inside()?;
        let place = self.find(name)?;
        let mut loaded = self.loaded(place)?;
        if let Some(workflow) = &loaded.workflow {
            loaded.warnings.extend(self.stale(workflow));
        }
        Ok(loaded)
    }

    /// Writes a whole workflow. `read` is what the caller had read before, `None` if there was none: where the file
    /// is another by now, nothing is written.
    pub fn save(
        &self,
        name: &Name,
        read: Option<&Workflow>,
        workflow: &Workflow,
        now: Timestamp,
    ) -> Result<Saved, WorkflowError> {
        let _lock = self.lock()?;
        self.write(name, now, Commit::Current, |found, path| {
            if found != read {
                return Err(WorkflowError::Changed { path: path.to_owned() });
            }
            Ok(workflow.clone())
        })
    }

    /// Updates one phase; makes the workflow where there is none.
    pub fn update_phase(
        &self,
        name: &Name,
        phase: &str,
        update: &PhaseUpdate,
        now: Timestamp,
    ) -> Result<Saved, WorkflowError> {
        let _lock = self.lock()?;
        self.write(name, now, Commit::Current, |found, _| match found {
            Some(workflow) => workflow.with_phase(phase, update, now),
            None => Workflow::new(name, &phases_of(name), now).with_phase(phase, update, now),
        })
    }

    pub fn complete(&self, name: &Name, now: Timestamp) -> Result<Saved, WorkflowError> {
        self.must_exist(name)?;
        let _lock = self.lock()?;
        self.write(name, now, Commit::Current, |found, _| match found {
            Some(workflow) => workflow.completed(now),
            None => Err(self.not_found(name)),
        })
    }

    /// Where a workflow goes on; everything is null if there is none.
    pub fn resume_point(&self, name: &Name) -> Result<(ResumePoint, Vec<Warning>), WorkflowError> {
        let loaded = self.load(name)?;
        let point = loaded.workflow.as_ref().map(|workflow| ResumePoint::of(workflow.file()));
        Ok((point.unwrap_or_default(), loaded.warnings))
    }

    /// Keeps what the ship gate said. The commit that the workflow was saved at stays as it was: a gate that was asked
    /// twice must not find the second time that nothing is stale.
    pub fn record_gate(&self, name: &Name, gate: &Gate, now: Timestamp) -> Result<Saved, WorkflowError> {
        self.must_exist(name)?;
        let _lock = self.lock()?;
        self.write(name, now, Commit::AsItWas, |found, _| {
            let workflow = found.ok_or_else(|| self.not_found(name))?;
            workflow.changed(|document| {
                let value = serde_json::to_value(gate).unwrap_or_default();
                document.insert("gate".to_owned(), value);
            })
        })
    }

    /// Every save that is kept, the oldest first; the file as it is now is the last one.
    pub fn history(&self, name: &Name) -> Result<Vec<Save>, WorkflowError> {
        self.stays_inside()?;
        let place = self.find(name)?;
        let mut saves = self.history_of(&place.stem).read()?;
        if let Some(workflow) = self.loaded(place)?.workflow
            && saves.last().map(|save| &save.workflow) != Some(workflow.document())
        {
            saves.push(Save { saved_at: None, workflow: workflow.document().clone() });
        }
        Ok(saves)
    }

    /// Asked before anything is written: nothing is made for a workflow that is not there.
    fn must_exist(&self, name: &Name) -> Result<(), WorkflowError> {
        if self.exists() { Ok(()) } else { Err(self.not_found(name)) }
    }

    pub(crate) fn not_found(&self, name: &Name) -> WorkflowError {
        WorkflowError::NotFound { name: name.to_string(), directory: self.folder() }
    }

    pub(crate) fn own_folder(&self) -> PathBuf {
        self.folder().join(".checkstone")
    }

    pub(crate) fn history_of(&self, stem: &str) -> History {
        History::of(&self.own_folder().join("history"), stem)
    }

    /// Waits for other writers.
    pub(crate) fn lock(&self) -> Result<Lock, WorkflowError> {
        self.prepare()?;
        Ok(Lock::acquire(&self.own_folder().join("lock"), PATIENCE)?)
    }

    pub(crate) fn stale(&self, workflow: &Workflow) -> Option<Warning> {
        let saved = workflow.file().head_commit.clone()?;
        let current = self.head()?;
        (saved != current).then_some(Warning::Stale { saved, current })
    }

    /// Everything that writes goes through here. The caller holds the lock.
    pub(crate) fn write(
        &self,
        name: &Name,
        now: Timestamp,
        commit: Commit,
        change: impl FnOnce(Option<&Workflow>, &Path) -> Result<Workflow, WorkflowError>,
    ) -> Result<Saved, WorkflowError> {
        let place = self.find(name)?;
        let is_corrupt = matches!(place.content, Content::Corrupt);
        let stem = place.stem.clone();
        let Loaded { workflow: before, path, mut warnings } = self.loaded(place)?;
        let changed = change(before.as_ref(), &path)?;
        changed.check_summaries()?;
        let head = if commit == Commit::Current { self.head() } else { None };
        let saved = changed.changed(|document| {
            if document.get("started_at").is_none_or(Value::is_null) {
                document.insert("started_at".to_owned(), Value::from(time(now)));
            }
            document.insert("updated_at".to_owned(), Value::from(time(now)));
            if let Some(head) = head {
                document.insert("head_commit".to_owned(), Value::from(head));
            }
            // The lists are part of the format, also where a caller left them out.
            let state = object_at(document, "state");
            state.entry("current_phase").or_insert(Value::Null);
            for list in ["completed_phases", "pending_phases"] {
                state.entry(list).or_insert_with(|| Value::Array(Vec::new()));
            }
            object_at(document, "phases");
        })?;
        if is_corrupt {
            let aside = set_aside(&path, now)?;
            warnings.push(Warning::SetAside { path: aside });
        }
        atomic_file::write(&path, saved.text().as_bytes(), 0o644)?;
        let found = if is_corrupt { None } else { before.as_ref() };
        self.history_of(&stem).add(found, &saved)?;
        Ok(Saved { workflow: saved, before, path, warnings })
    }

    /// The folders, and the file that keeps git away from them.
    fn prepare(&self) -> Result<(), WorkflowError> {
        let history = self.own_folder().join("history");
        if !history.is_dir() {
            self.stays_inside()?;
            create_folder(&history)?;
        }
        self.stays_inside()?;
        let ignore = self.folder().join(".gitignore");
        if ignore.symlink_metadata().is_err() {
            atomic_file::write(&ignore, b"*\n", 0o644)?;
        }
        Ok(())
    }

    /// A repository's own links must not lead our writing elsewhere.
    fn stays_inside(&self) -> Result<(), WorkflowError> {
        for part in [".claude", FOLDER, ".claude/state/.checkstone", ".claude/state/.checkstone/history"] {
            let path = self.root.join(part);
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(WorkflowError::Outside { path });
            }
        }
        Ok(())
    }

    /// Two workflows can have the same usual file name (P2): what the file says decides whose it is.
    pub(crate) fn find(&self, name: &Name) -> Result<WorkflowLocation, WorkflowError> {
        let folder = self.folder();
        let at = |stem: String| {
            let path = folder.join(format!("{stem}.json"));
            Ok::<_, WorkflowError>(WorkflowLocation { content: read(&path)?, stem, path, warning: None })
        };
        let usual = at(name.usual_stem())?;
        if !matches!(usual.content, Content::Nothing) && self.belongs_to(&usual, name) {
            return Ok(usual);
        }
        let other = at(name.other_stem())?;
        if matches!(usual.content, Content::Nothing)
            && matches!(other.content, Content::Nothing)
            && !name.gives_way()
        {
            return Ok(usual);
        }
        let warning = Warning::OtherName { usual: usual.path, path: other.path.clone() };
        Ok(WorkflowLocation { warning: Some(warning), ..other })
    }

    fn belongs_to(&self, place: &WorkflowLocation, name: &Name) -> bool {
        let latest;
        let document = match &place.content {
            Content::Nothing => return false,
            Content::Sound(workflow) => workflow.document(),
            Content::Wrong { document, .. } => document,
            Content::Corrupt => {
                let Some(found) = self.history_of(&place.stem).latest() else { return !name.gives_way() };
                latest = found;
                &latest
            }
        };
        let text = |key: &str| document.get(key).and_then(Value::as_str);
        name.is_of(text("command"), text("feature"))
    }

    pub(crate) fn loaded(&self, place: WorkflowLocation) -> Result<Loaded, WorkflowError> {
        let WorkflowLocation { stem, path, content, warning } = place;
        let mut warnings: Vec<Warning> = warning.into_iter().collect();
        let workflow = match content {
            Content::Nothing => None,
            Content::Sound(workflow) => Some(*workflow),
            Content::Wrong { error, .. } => return Err(error),
            Content::Corrupt => {
                let latest = self.history_of(&stem).latest();
                let workflow = latest.and_then(|document| Workflow::from_document(document).ok());
                warnings.push(Warning::Corrupt { path: path.clone(), last_good: workflow.is_some() });
                workflow
            }
        };
        Ok(Loaded { workflow, path, warnings })
    }

    /// The workflow in a file of the folder, whatever its name.
    pub(crate) fn load_file(&self, stem: &str) -> Result<Loaded, WorkflowError> {
        let path = self.folder().join(format!("{stem}.json"));
        let mut content = read(&path)?;
        // Other tools keep their own things here too.
        if let Content::Wrong { document, .. } = &content
            && !document.contains_key("command")
            && !document.contains_key("phases")
        {
            content = Content::Nothing;
        }
        self.loaded(WorkflowLocation { content, stem: stem.to_owned(), path, warning: None })
    }
}

pub(crate) fn phases_of(name: &Name) -> Vec<String> {
    usual_phases(&name.command).unwrap_or_default().iter().map(|phase| (*phase).to_owned()).collect()
}

/// With its parents.
pub(crate) fn create_folder(path: &Path) -> Result<(), WorkflowError> {
    let created = std::fs::DirBuilder::new().recursive(true).create(path);
    Ok(created.map_err(FileError::failed("create", path))?)
}

fn read(path: &Path) -> Result<Content, WorkflowError> {
    let bytes = match regular_file::read(path, Links::Refuse, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(Content::Nothing),
        Err(error) => return Err(error.into()),
    };
    // Some editors begin a file with a byte order mark.
    let json = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let Ok(document) = json_text::parse::<Map<String, Value>>(json) else {
        return Ok(Content::Corrupt);
    };
    Ok(match Workflow::from_document(document.clone()) {
        Ok(workflow) => Content::Sound(Box::new(workflow)),
        Err(wrong) => {
            let error = match wrong {
                Wrong::Version(found) => WorkflowError::UnsupportedVersion { found },
                Wrong::Shape(problem) => WorkflowError::WrongShape { path: path.to_owned(), problem },
            };
            Content::Wrong { document, error }
        }
    })
}

/// Moves a damaged file to a name that nothing reads.
pub(crate) fn set_aside(path: &Path, now: Timestamp) -> Result<PathBuf, WorkflowError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".corrupt-{}", now.as_millisecond()));
    let mut aside = path.with_file_name(&name);
    while aside.symlink_metadata().is_ok() {
        name.push("-");
        aside = path.with_file_name(&name);
    }
    fs_err::rename(path, &aside).map_err(FileError::failed("set aside", path))?;
    Ok(aside)
}

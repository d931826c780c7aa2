//! The notebook that a run is captured in: nbformat 4.5, written as Jupyter's own library writes it.
//!
//! A person may have it open, and save it, at any time. What is on disk is therefore read again at every save: cells
//! that we did not make stay byte for byte as they are, whatever they contain; ours are known by their ids. Where a person
//! changed the source of one of ours, it is theirs from then on, and ours is written again beside it. Two of our processes
//! take turns by a lock; with other programs the file is compared right before it is replaced.

mod new_cell;
mod notebook_file;

use std::path::{Path, PathBuf};
use std::time::Duration;

use files::atomic_file::{self, Replaced};
use files::{FileError, Lock, LockError};
use serde_json::{Value, json};

pub use new_cell::{NewCell, checkpoint_cell_id, emergency_cell_id, rehydration_cell_id, stage_cell_id};
use notebook_file::{NotebookFile, same_source, source};

use checkpoint::hash;

use crate::json::{at, set, text};

/// Another process writes for milliseconds.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// A person who saves faster than this again and again is not kept from it.
const ATTEMPTS: usize = 20;

#[derive(Debug, thiserror::Error)]
pub enum NotebookError {
    #[error(transparent)]
    File(#[from] FileError),
    // Not as its source, so that what to do stands at the end.
    #[error("`{}` is not a notebook ({error}), and nothing is written to it: move it away, or fix it", path.display())]
    Parse { path: PathBuf, error: serde_json::Error },
    #[error("`{}` is a notebook of format {version}, and nothing is written to it: open it in Jupyter and save it as version 4", path.display())]
    Version { path: PathBuf, version: u64 },
    #[error("the notebook `{}` keeps changing: close the program that writes it", path.display())]
    Busy { path: PathBuf },
    #[error("the notebook cannot be locked")]
    Lock(#[source] LockError),
}

/// One run's cells in a notebook file.
#[derive(Debug)]
pub struct Notebook {
    path: PathBuf,
    /// What a new file says of its kernel and language.
    metadata: Value,
    /// What we last wrote or read, to know whether somebody wrote meanwhile.
    written: Option<Vec<u8>>,
    ours: Vec<Ours>,
}

#[derive(Debug)]
struct Ours {
    cell: Value,
    /// The cell is in the file as it is here.
    is_saved: bool,
}

impl Notebook {
    /// Nothing is read or written before the first `save`. `language_version` is that of Python, where it is known.
    pub fn open(path: &Path, kernel: &str, language_version: Option<&str>) -> Self {
        let mut language = json!({"name": "python"});
        if let (Some(version), Value::Object(language)) = (language_version, &mut language) {
            language.insert("version".to_owned(), json!(version));
        }
        let metadata = json!({
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": kernel},
            "language_info": language,
        });
        Self { path: path.to_owned(), metadata, written: None, ours: Vec::new() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a cell, or replaces the one of ours that has its id. It is in the file after the next `save`.
    pub fn put(&mut self, cell: NewCell) {
        let id = cell.id.clone();
        let cell = cell.into_value();
        match self.ours.iter_mut().find(|ours| at(&ours.cell, "id") == id.as_str()) {
            Some(ours) => *ours = Ours { cell, is_saved: false },
            None => self.ours.push(Ours { cell, is_saved: false }),
        }
    }

    /// Replaces what a display shows in a cell of ours that is finished already (`update_display_data`).
    pub fn update_output(&mut self, id: &str, output: usize, data: &Value, metadata: &Value) {
        let cell = self.ours.iter_mut().find(|ours| at(&ours.cell, "id") == id);
        let Some(ours) = cell else { return };
        if let Some(output) = ours.cell.pointer_mut(&format!("/outputs/{output}")) {
            set(output, "data", new_cell::lines_of_data(data));
            set(output, "metadata", metadata.clone());
            ours.is_saved = false;
        }
    }

    /// Puts our cells into the file, beside whatever a person has saved there meanwhile.
    pub fn save(&mut self) -> Result<(), NotebookError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let failed = FileError::failed("make the folder of the notebook", &self.path);
        fs_err::create_dir_all(folder).map_err(failed)?;
        let _lock = Lock::acquire(&lock_path(&self.path), LOCK_LIMIT).map_err(NotebookError::Lock)?;
        for _ in 0..ATTEMPTS {
            let found = read(&self.path)?;
            let mut file = match &found {
                // An empty file is what an editor leaves that was killed while it wrote.
                Some(bytes) if !bytes.is_empty() => NotebookFile::parse(&self.path, bytes)?,
                _ => NotebookFile::new(&self.metadata),
            };
            let is_ours = found.is_some() && found == self.written;
            self.merge(&mut file, is_ours);
            let bytes = file.text().into_bytes();
            if found.as_deref() != Some(&bytes[..]) {
                let replaced = atomic_file::replace_if_unchanged(&self.path, found.as_deref(), &bytes, 0o644);
                match replaced? {
                    Replaced::Yes => {}
                    Replaced::Changed => continue,
                }
            }
            self.written = Some(bytes);
            self.ours.iter_mut().for_each(|ours| ours.is_saved = true);
            return Ok(());
        }
        Err(NotebookError::Busy { path: self.path.clone() })
    }

    fn merge(&mut self, file: &mut NotebookFile, is_ours: bool) {
        // Behind the cell of ours before it, so that the order stays that of the run.
        let mut last: Option<usize> = None;
        for ours in &mut self.ours {
            let there = at(&ours.cell, "id").as_str().and_then(|id| file.position(id));
            match there {
                Some(place) if ours.is_saved && is_ours => last = Some(place),
                Some(place) if same_source(file.cell(place).as_ref(), &ours.cell) => {
                    if !ours.is_saved {
                        file.set_results(place, &ours.cell);
                    }
                    last = Some(place);
                }
                // The person's now. What came out since is kept beside it.
                Some(place) if ours.is_saved => last = Some(place),
                Some(place) => {
                    let id = file.free_id(at(&ours.cell, "id"));
                    set(&mut ours.cell, "id", json!(id));
                    file.insert(place + 1, &ours.cell);
                    last = Some(place + 1);
                }
                None => {
                    let place = last.map_or(file.len(), |last| last + 1);
                    // New cells go to the end; one that was lost goes back to where it was.
                    let place = if ours.is_saved { place } else { file.len() };
                    file.insert(place, &ours.cell);
                    last = Some(place);
                }
            }
        }
    }
}

/// The last cell that was run: a run without a valid checkpoint goes on after it.
pub fn last_executed(path: &Path) -> Result<Option<LastExecuted>, NotebookError> {
    let executed = cells(path)?.into_iter().enumerate().rev().find_map(|(place, cell)| {
        let execution_count = at(&cell, "execution_count").as_u64()?;
        let run = at(at(at(&cell, "metadata"), "checkstone"), "runId").as_str().map(str::to_owned);
        Some(LastExecuted { place, id: text(&cell, "id").to_owned(), execution_count, run })
    });
    Ok(executed)
}

fn cells(path: &Path) -> Result<Vec<Value>, NotebookError> {
    let Some(bytes) = read(path)?.filter(|bytes| !bytes.is_empty()) else { return Ok(Vec::new()) };
    let file = NotebookFile::parse(path, &bytes)?;
    Ok((0..file.len()).map(|place| file.cell(place).unwrap_or_default()).collect())
}

/// The cell that ran last, by its place in the notebook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LastExecuted {
    pub place: usize,
    pub id: String,
    pub execution_count: u64,
    /// The run that it belongs to, where it is one of ours.
    pub run: Option<String>,
}

/// The run's cells that no outputs were put into, because whoever ran them was killed; as they were when they began.
pub fn left_running(path: &Path, run: &str) -> Result<Vec<RunningCell>, NotebookError> {
    let left = cells(path)?.into_iter().filter_map(|cell| {
        let about = at(at(&cell, "metadata"), "checkstone");
        let source = source(&cell);
        // A person may have changed it, or run it meanwhile.
        let is_untouched = text(about, "running") == hash::of_bytes(source.as_bytes())
            && at(&cell, "execution_count").is_null()
            && at(&cell, "outputs").as_array().is_some_and(Vec::is_empty);
        (is_untouched && text(about, "runId") == run).then_some(RunningCell {
            id: text(&cell, "id").to_owned(),
            stage: text(about, "stageId").to_owned(),
            attempt: u32::try_from(at(about, "attempt").as_u64()?).ok()?,
            source,
        })
    });
    Ok(left.collect())
}

/// A cell of ours that nobody finished.
#[derive(Debug)]
pub struct RunningCell {
    pub id: String,
    pub stage: String,
    pub attempt: u32,
    pub source: String,
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, NotebookError> {
    match fs_err::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::failed("read the notebook", path)(error).into()),
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lock"))
}

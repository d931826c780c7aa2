//! How other processes reach the one that runs: requests to abort, in a file beside the run's events. A request counts for
//! whoever runs it at that time, and never for a later one.

use std::io::{self, Write as _};
use std::path::PathBuf;

use files::{FileError, regular_file};
use serde::{Deserialize, Serialize};

use checkpoint::layout::Layout;

pub use crate::hold::is_taken;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    abort: bool,
    stage_id: Option<String>,
}

fn path(layout: &Layout) -> PathBuf {
    layout.run_checkpoints().join("requests.jsonl")
}

/// Asks the process that runs it to abort the run, or one stage of it. A second request skips the grace.
pub fn request_abort(layout: &Layout, stage: Option<&str>) -> Result<(), FileError> {
    let path = path(layout);
    let request = Request { abort: true, stage_id: stage.map(str::to_owned) };
    let line = serde_json::to_string(&request).map_err(io::Error::from);
    let mut file = regular_file::append(&path, 0o644)?;
    let written = line.and_then(|line| writeln!(file, "{line}"));
    written.map_err(FileError::failed("write the request", &path))
}

#[derive(Debug)]
pub(crate) struct Requests {
    path: PathBuf,
    read: u64,
}

impl Requests {
    /// What was asked of an earlier process is not asked of this one.
    pub(crate) fn from_now(layout: &Layout) -> Self {
        let path = path(layout);
        let read = path.symlink_metadata().map_or(0, |metadata| metadata.len());
        Self { path, read }
    }

    /// The stages that are to be aborted; `None` among them means the run.
    pub(crate) fn new_ones(&mut self) -> Vec<Option<String>> {
        let length = self.path.symlink_metadata().map_or(0, |metadata| metadata.len());
        if length <= self.read {
            return Vec::new();
        }
        let Ok(bytes) = fs_err::read(&self.path) else { return Vec::new() };
        let from = usize::try_from(self.read).unwrap_or(usize::MAX);
        let new = bytes.get(from..).unwrap_or_default();
        let whole = new.get(..memchr::memrchr(b'\n', new).map_or(0, |at| at + 1)).unwrap_or_default();
        self.read += whole.len() as u64;
        whole
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<Request>(line).ok())
            .filter(|request| request.abort)
            .map(|request| request.stage_id)
            .collect()
    }
}

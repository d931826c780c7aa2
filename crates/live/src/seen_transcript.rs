//! What the end of a transcript says of a session now: how full its context is, what the agent does, which files it edits. Read
//! again only if the file changed.

use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use gate::Waiting;
use jiff::Timestamp;
use transcript::{Agent, Call, Kind, Outcome, Reading, Usage};

/// So much is read of a turn.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Transcripts of sessions that nobody looks at any more are forgotten once there are more.
const MOST_KEPT: usize = 1000;

#[derive(Debug, Default)]
pub(crate) struct SeenTranscript {
    pub(crate) written_at: Option<Timestamp>,
    pub(crate) usage: Option<Usage>,
    /// What the agent waits for, as far as the transcript says.
    pub(crate) waiting: Option<Waiting>,
    /// The call that has no result yet.
    pub(crate) running: Option<String>,
    /// The last thing that was done.
    pub(crate) last: Option<String>,
    /// Files that the last turn edited, absolute.
    pub(crate) edited: BTreeSet<PathBuf>,
}

/// By what the files of a transcript are known to be the same.
#[derive(Clone, Debug, PartialEq)]
struct Stamp(Vec<(u64, SystemTime)>);

impl Stamp {
    /// `None` if there are none.
    fn of(files: &[PathBuf]) -> Option<Self> {
        let metadata = files.iter().filter_map(|file| fs_err::metadata(file).ok().filter(Metadata::is_file));
        let stamps: Option<Vec<_>> =
            metadata.map(|metadata| Some((metadata.len(), metadata.modified().ok()?))).collect();
        stamps.filter(|stamps| !stamps.is_empty()).map(Self)
    }

    fn written_at(&self) -> Option<Timestamp> {
        self.0.iter().filter_map(|(_, modified)| Timestamp::try_from(*modified).ok()).max()
    }
}

#[derive(Debug, Default)]
pub(crate) struct SeenTranscripts(HashMap<PathBuf, (Stamp, Arc<SeenTranscript>)>);

impl SeenTranscripts {
    /// `None` if there is no such file.
    pub(crate) fn look(
        &mut self,
        path: &Path,
        agent: Option<Agent>,
        cwd: Option<&Path>,
    ) -> Option<Arc<SeenTranscript>> {
        let files = transcript::written_files(path);
        let stamp = Stamp::of(&files)?;
        if let Some((known, seen)) = self.0.get(path)
            && *known == stamp
        {
            return Some(Arc::clone(seen));
        }
        let options = transcript::Options {
            max_bytes: MOST_BYTES,
            count_lines_up_to: 0,
            ..gate::reading_options(agent)
        };
        let reading = transcript::read(path, &options);
        // Sessions of a database are written into the same file.
        let is_own_file = files.len() == 1;
        let written_at = if is_own_file { stamp.written_at() } else { last_deed(&reading) };
        let seen = Arc::new(SeenTranscript::of(&reading, written_at, cwd));
        if self.0.len() >= MOST_KEPT {
            self.0.clear();
        }
        self.0.insert(path.to_owned(), (stamp, Arc::clone(&seen)));
        Some(seen)
    }
}

impl SeenTranscript {
    fn of(reading: &Reading, written_at: Option<Timestamp>, cwd: Option<&Path>) -> Self {
        let calls = reading.own_calls();
        let running = calls.last().filter(|call| call.outcome == Outcome::Unknown && !call.is_status_hidden);
        let edits = calls.iter().filter(|call| gate::is_edit(call)).flat_map(|call| &call.paths);
        let absolute = |path: &String| cwd.map_or_else(|| PathBuf::from(path), |cwd| cwd.join(path));
        Self {
            written_at,
            usage: reading.usage.clone(),
            waiting: Waiting::of_reading(reading),
            running: running.map(deed),
            last: calls.last().map(deed),
            edited: edits.map(absolute).collect(),
        }
    }
}

/// When the turn last did something, by its own times.
fn last_deed(reading: &Reading) -> Option<Timestamp> {
    let began = reading.turn.as_ref().and_then(|turn| turn.started_at);
    reading.calls.iter().filter_map(|call| call.ended_at.or(call.at)).chain(began).max()
}

/// What a call does, in a few words.
pub(crate) fn deed(call: &Call) -> String {
    let path = || call.path.as_deref().unwrap_or_default();
    match call.kind {
        Kind::Shell => call.command.clone().unwrap_or_default(),
        Kind::Read => format!("read {}", path()),
        Kind::Edit => format!("edit {}", path()),
        Kind::Write => format!("write {}", path()),
        Kind::Other => call.tool.clone(),
    }
}

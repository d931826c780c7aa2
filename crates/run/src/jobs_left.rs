//! Whether a run that nobody has in hand still has jobs on a cluster: they go on without an engine, and the next one adopts them. By
//! the record, which knows the attempts that have not ended; by their folders; and by Slurm.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use checkpoint::layout::Layout;
use files::{Folder, TemporaryFile};

use crate::executor::slurm::{CallFailure, ListedJob, NoSlurmError, SlurmCommands};
use crate::job_file::{BEAT, JobMark, OUTCOME};
use crate::record::Record;

/// A node beats every five seconds. Slurm may have forgotten a job that still does.
const LONGEST_BEAT: Duration = Duration::from_secs(60);

/// Asks Slurm once, however many runs there are, and not at all if no record has a reason to.
pub(crate) struct JobsLeft<'a> {
    environment: &'a [(OsString, OsString)],
    listed: Option<Result<Vec<ListedJob>, QueueError>>,
}

#[derive(Debug, thiserror::Error)]
enum QueueError {
    #[error(transparent)]
    NoSlurm(#[from] NoSlurmError),
    #[error(transparent)]
    Call(#[from] CallFailure),
}

impl<'a> JobsLeft<'a> {
    pub(crate) fn new(environment: &'a [(OsString, OsString)]) -> Self {
        Self { environment, listed: None }
    }

    /// Why the run has to stay; none if nothing of it is left.
    pub(crate) fn reason_to_stay(&mut self, layout: &Layout) -> Option<String> {
        let record = Record::read(&layout.events()).ok()?;
        let mut open: Vec<JobMark> = Vec::new();
        let mut beating = 0;
        for (id, stage) in record.stages.iter().filter(|(_, stage)| stage.state.is_live()) {
            let Some(token) = &stage.token else { continue };
            let Ok(folder) = layout.attempt(id, stage.attempt) else { continue };
            if folder.join(OUTCOME).symlink_metadata().is_ok() {
                continue;
            }
            beating += usize::from(beats(&folder));
            open.push(JobMark::of_attempt(&folder, token));
        }
        if open.is_empty() {
            return None;
        }
        if beating > 0 {
            return Some(format!("it still has {} running on the cluster", text::counted(beating, "stage")));
        }
        match self.listed.get_or_insert_with(|| ask(self.environment)) {
            Err(why) => Some(format!("it may have jobs on the cluster, and Slurm cannot be asked: {why}")),
            Ok(listed) => {
                let is_ours = |job: &&ListedJob| {
                    !job.is_over() && open.iter().any(|mark| mark.is_of(&job.id, &job.comment))
                };
                match listed.iter().filter(is_ours).count() {
                    0 => None,
                    jobs => Some(format!("it still has {} in Slurm's queue", text::counted(jobs, "job"))),
                }
            }
        }
    }
}

fn ask(environment: &[(OsString, OsString)]) -> Result<Vec<ListedJob>, QueueError> {
    Ok(SlurmCommands::find(environment)?.look()?)
}

/// By the clock that the files themselves have.
fn beats(attempt: &Path) -> bool {
    let modified = |file: &std::fs::File| file.metadata().and_then(|metadata| metadata.modified()).ok();
    let age = || {
        let folder = Folder::open(attempt).ok()?;
        let beat = modified(&folder.file(BEAT).ok()?)?;
        let now = modified(TemporaryFile::new(&folder, "now", 0o600).ok()?.file())?;
        Some(now.duration_since(beat).unwrap_or_default())
    };
    age().is_some_and(|age| age < LONGEST_BEAT)
}

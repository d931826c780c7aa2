//! Old runs of a project taken away, to free their room. The newest of each title stay, and of those the newest that is
//! complete, however many newer ones there are; so does every run that somebody has in hand, or that has jobs on a cluster.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use checkpoint::layout::Layout;
use checkpoint::{RemoteError, Room, StoreError};
use files::FileError;
use jiff::Timestamp;

use crate::control;
use crate::exchange::Exchange;
use crate::hold::{self, HoldError, HoldKind, TakeError};
use crate::jobs_left::JobsLeft;
use crate::output::{ListedRun, PrunedRun, RunOnCluster, RunPruneOutput};
use crate::record::Record;
use crate::runs::{self, FoundRun};

#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot take over the run `{run}`")]
    Take { run: String, source: TakeError },
    #[error("cannot remove the run `{run}`")]
    Forget { run: String, source: HoldError },
    #[error("the run `{run}` is removed, but some of its files are still on the disk")]
    Left { run: String, source: FileError },
    #[error("cannot free what was exchanged with nodes")]
    Exchange(#[source] RemoteError),
}

/// Which runs may go.
#[derive(Clone, Copy, Debug)]
pub struct RunRetention {
    /// So many of each title stay.
    pub keep: usize,
    /// Those that were written to since stay.
    pub older_than: Option<Timestamp>,
}

impl RunRetention {
    /// Those that may go, the newest first; and those that something on a cluster keeps here.
    fn expired<'a>(
        self,
        all: &'a [FoundRun],
        environment: &[(OsString, OsString)],
    ) -> (Vec<&'a FoundRun>, Vec<RunOnCluster>) {
        let (mut jobs, mut on_cluster) = (JobsLeft::new(environment), Vec::new());
        let mut seen: HashMap<&str, (usize, bool)> = HashMap::new();
        let mut expired = Vec::new();
        for run in all {
            let (count, has_complete) = seen.entry(run.layout.title()).or_default();
            *count += 1;
            let is_newest_complete = !*has_complete && is_complete(&run.layout);
            *has_complete |= is_newest_complete;
            let is_old = self.older_than.is_none_or(|limit| run.changed_at < limit);
            if *count > self.keep && is_old && !is_newest_complete && !control::is_taken(&run.layout) {
                match jobs.reason_to_stay(&run.layout) {
                    None => expired.push(run),
                    Some(reason) => {
                        let (title, run) = (run.layout.title().to_owned(), run.layout.run().to_owned());
                        on_cluster.push(RunOnCluster { run, title, reason });
                    }
                }
            }
        }
        (expired, on_cluster)
    }
}

fn is_complete(layout: &Layout) -> bool {
    Record::read(&layout.events()).is_ok_and(|record| !record.is_unfinished())
}

/// What would go, and how much room that would free at least: what only those runs hold in the store comes to it.
pub fn prunable(
    root: &Path,
    retention: RunRetention,
    environment: &[(OsString, OsString)],
) -> Result<RunPruneOutput, PruneError> {
    let all = runs::all(root);
    let (expired, on_cluster) = retention.expired(&all, environment);
    let mut output = RunPruneOutput { on_cluster, ..RunPruneOutput::default() };
    for run in expired {
        output.add(ListedRun::of(run), checkpoint::room_of_run(&run.layout)?);
    }
    output.kept = all.len() - output.removed.len();
    Ok(output)
}

/// Takes them away, and frees what only they held; and what runs left where nodes are reached without a shared folder. What is wrong
/// with one run keeps no other one here: the first error is returned at the end.
pub fn prune(
    root: &Path,
    retention: RunRetention,
    kind: &HoldKind,
    exchange: Option<&dyn Exchange>,
    environment: &[(OsString, OsString)],
) -> Result<RunPruneOutput, PruneError> {
    let all = runs::all(root);
    let (expired, on_cluster) = retention.expired(&all, environment);
    let mut output = RunPruneOutput { on_cluster, ..RunPruneOutput::default() };
    let mut pruned = Ok(());
    for run in expired {
        pruned = pruned.and(remove(run, kind, exchange, &mut output));
    }
    // Of every title, for a killed one may have left something to free.
    let mut titles: Vec<&Layout> = all.iter().map(|run| &run.layout).collect();
    titles.sort_by_key(|layout| layout.title());
    titles.dedup_by_key(|layout| layout.title());
    for of_title in titles {
        let freed = checkpoint::prune(of_title, usize::MAX)?;
        output.freed_files += freed.freed_files;
        output.freed_bytes += freed.freed_bytes;
    }
    if let Some(exchange) = exchange {
        free_exchanged(&runs::all(root), kind, exchange).map_err(PruneError::Exchange)?;
    }
    output.kept = all.len() - output.removed.len();
    pruned.map(|()| output)
}

fn remove(
    run: &FoundRun,
    kind: &HoldKind,
    exchange: Option<&dyn Exchange>,
    output: &mut RunPruneOutput,
) -> Result<(), PruneError> {
    let listed = ListedRun::of(run);
    // Until it is gone nobody else may take it in hand; somebody may have been faster.
    let name = || run.layout.run().to_owned();
    let hold = match hold::take(&run.layout, kind) {
        Ok(hold) => hold,
        Err(TakeError::Busy { .. }) => return Ok(()),
        Err(source) => return Err(PruneError::Take { run: name(), source }),
    };
    if let Some(exchange) = exchange {
        // None of its jobs is left.
        let freed = exchange.of_run(run.layout.title(), run.layout.run());
        freed.and_then(|store| store.remove_all("")).map_err(PruneError::Exchange)?;
    }
    let removed = checkpoint::remove_run(&run.layout)?;
    output.add(listed, removed.freed);
    hold.forget().map_err(|source| PruneError::Forget { run: name(), source })?;
    removed.left.map_or(Ok(()), |source| Err(PruneError::Left { run: name(), source }))
}

/// What is old, and not of a run that somebody has in hand or of which an attempt may still come to an end.
fn free_exchanged(all: &[FoundRun], kind: &HoldKind, exchange: &dyn Exchange) -> Result<(), RemoteError> {
    let names: Vec<[&str; 2]> = all.iter().map(|run| [run.layout.title(), run.layout.run()]).collect();
    // Nobody begins with them meanwhile.
    let mut holds = Vec::new();
    exchange.free(&names, &mut |place| {
        let Some(FoundRun { layout, .. }) = all.get(place) else { return true };
        let has_attempts = Record::read(&layout.events())
            .map_or(true, |record| record.stages.values().any(|stage| stage.state.is_live()));
        if has_attempts || control::is_taken(layout) {
            return true;
        }
        let hold = hold::take(layout, kind);
        hold.map(|hold| holds.push(hold)).is_err()
    })
}

impl RunPruneOutput {
    fn add(&mut self, run: ListedRun, room: Room) {
        self.freed_files += room.files;
        self.freed_bytes += room.bytes;
        self.removed.push(PrunedRun { run, bytes: room.bytes });
    }
}

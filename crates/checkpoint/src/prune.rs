//! Takes old checkpoints away, and from the store what nothing refers to any more. The newest valid checkpoint stays,
//! however many newer ones there are that cannot be used (R7), and so does what a stage that is not done saved last.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read as _};
use std::time::Duration;

use files::{FileError, Folder, random_id};
use serde::{Deserialize, Serialize};

use crate::artifact_path::ArtifactPath;
use crate::id;
use crate::layout::{ATTEMPTS, EVENTS, Layout};
use crate::list::{Entry, entries, manifest_file, read_limited};
use crate::manifest::{Artifact, Status};
use crate::store::{Store, StoreError, WAIT};
use crate::validate::{Checker, checkpoints};

/// How many checkpoints of a run stay where nobody says otherwise.
pub const DEFAULT_KEEP: usize = 5;

/// `checkpoint prune`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PruneOutput {
    pub pruned: usize,
    pub pruned_ids: Vec<String>,
    pub kept: usize,
    pub total_before: usize,
    pub keep_count: usize,
    /// Files that were removed from the store, and the disk space that they took.
    pub freed_files: usize,
    pub freed_bytes: u64,
}

/// What is freed beside the checkpoints themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sweep {
    /// Everything that nothing refers to, and what killed processes left. Waits for those who save.
    Whole,
    /// The same, if nobody is saving.
    WholeIfFree,
    /// Only what the checkpoints that went held alone, and if nobody is saving.
    IfWorthIt,
}

/// Keeps the newest `keep` checkpoints of the run, and frees what nothing refers to.
pub fn prune(layout: &Layout, keep: usize) -> Result<PruneOutput, StoreError> {
    run(layout, keep, Sweep::Whole, None)
}

/// As `prune`, right after a checkpoint was saved; `valid` is one that is known to be.
pub fn prune_after_save(
    layout: &Layout,
    keep: usize,
    valid: Option<&str>,
) -> Result<PruneOutput, StoreError> {
    run(layout, keep, Sweep::IfWorthIt, valid)
}

/// As `prune`, at the end of a run, which may have replaced results by newer ones. Does not wait for those who save.
pub fn prune_at_end(layout: &Layout) -> Result<PruneOutput, StoreError> {
    run(layout, DEFAULT_KEEP, Sweep::WholeIfFree, None)
}

fn run(layout: &Layout, keep: usize, sweep: Sweep, valid: Option<&str>) -> Result<PruneOutput, StoreError> {
    let root = Folder::open(layout.root())?;
    let checkpoints = match checkpoints(&root, layout.title()) {
        Ok(checkpoints) => checkpoints,
        Err(error) if error.is_not_found() => {
            return Ok(PruneOutput { keep_count: keep, ..PruneOutput::default() });
        }
        Err(error) => return Err(error.into()),
    };
    let found = entries(layout.root(), Some(layout.title()), Some(layout.run()))?;
    let (stay, go) = divide(layout, &found, keep, valid)?;
    let mut pruned = PruneOutput {
        pruned: go.len(),
        pruned_ids: go.iter().map(|entry| entry.id.clone()).collect(),
        kept: stay.len(),
        total_before: found.len(),
        keep_count: keep,
        ..PruneOutput::default()
    };
    if go.is_empty() && sweep == Sweep::IfWorthIt {
        return Ok(pruned);
    }
    let Some(store) = Store::existing(&checkpoints)? else {
        remove_in_place(&checkpoints, &go)?;
        return Ok(pruned);
    };
    let mut loose = HashSet::new();
    if sweep == Sweep::IfWorthIt {
        let still_held = references(&checkpoints, &stay)?;
        loose = held_by_checkpoints(layout, &checkpoints, &go)?;
        loose.retain(|sha256| !still_held.contains(sha256));
    }
    remove(&checkpoints, &store, &go)?;
    if sweep == Sweep::IfWorthIt && loose.is_empty() {
        return Ok(pruned);
    }
    let limit = if sweep == Sweep::Whole { WAIT } else { Duration::ZERO };
    let lock = match store.exclude(limit) {
        Ok(lock) => lock,
        // The next one who prunes frees it.
        Err(StoreError::Busy { .. }) if sweep != Sweep::Whole => return Ok(pruned),
        Err(error) => return Err(error),
    };
    let wanted = all_references(&checkpoints)?;
    let is_free =
        |sha256: &str| !wanted.contains(sha256) && (sweep != Sweep::IfWorthIt || loose.contains(sha256));
    let swept = store.sweep(|sha256| !is_free(sha256))?;
    if swept.objects > 0 || sweep == Sweep::Whole {
        let known = store.known();
        known.forget_objects(|sha256| !is_free(sha256));
        if sweep == Sweep::Whole {
            // Also those of runs that somebody removed.
            known.forget_files(|path| ArtifactPath::parse(path).is_ok_and(|path| path.open(&root).is_ok()));
        }
        let _ = store.write_known(&known);
    }
    if sweep != Sweep::IfWorthIt {
        store.free_remotely(&|sha256| wanted.contains(sha256))?;
    }
    lock.release();
    (pruned.freed_files, pruned.freed_bytes) = (swept.objects, swept.bytes);
    Ok(pruned)
}

/// Those that stay and those that go. Beside the newest `keep`, the newest that can be used stays, the newest of those that
/// is an ordinary one, and of every stage that has not been done since, the newest that it saved on its way: its next
/// attempt goes on from there, however many checkpoints other stages have saved meanwhile.
fn divide<'a>(
    layout: &Layout,
    found: &'a [Entry],
    keep: usize,
    valid: Option<&str>,
) -> Result<(Vec<&'a Entry>, Vec<&'a Entry>), FileError> {
    let (mut stay, mut go): (Vec<&Entry>, Vec<&Entry>) = (found.iter().take(keep).collect(), Vec::new());
    if found.len() <= keep {
        return Ok((stay, go));
    }
    let checker = Checker::open(layout.root(), layout.title())?;
    let usable = |entry: &Entry| valid == Some(entry.id.as_str()) || checker.is_usable(&entry.run, &entry.id);
    let saved = |entry: &Entry| matches!(&entry.summary, Ok(summary) if summary.status == Status::Saved);
    let (mut have_usable, mut have_saved) = (false, false);
    // Stages that are done, or of which there is a newer one.
    let mut settled: HashSet<&str> = HashSet::new();
    for (number, entry) in found.iter().enumerate() {
        let half_way = match &entry.summary {
            Ok(summary) if !settled.contains(summary.stage_id.as_str()) && is_half_way(entry) => {
                Some(summary.stage_id.as_str())
            }
            _ => None,
        };
        let wanted = !have_usable || (!have_saved && saved(entry)) || half_way.is_some();
        let needed = wanted && usable(entry);
        if needed {
            have_usable = true;
            have_saved |= saved(entry);
            settled.extend(half_way);
        }
        if let Ok(summary) = &entry.summary
            && summary.status == Status::Saved
        {
            settled.insert(&summary.stage_id);
        }
        if number >= keep {
            if needed { stay.push(entry) } else { go.push(entry) }
        }
    }
    Ok((stay, go))
}

/// Saved by a stage that was running, and not because it was cut short.
fn is_half_way(entry: &Entry) -> bool {
    let is_interrupted = entry.summary.as_ref().is_ok_and(|summary| summary.status == Status::Interrupted);
    is_interrupted && !id::is_emergency(&entry.id)
}

/// Each vanishes at once, and is then taken apart.
fn remove(checkpoints: &Folder, store: &Store, go: &[&Entry]) -> Result<(), FileError> {
    if go.is_empty() {
        return Ok(());
    }
    let temporary = store.temporary()?;
    for entry in go {
        let name = format!("pruned-{}", random_id());
        match checkpoints.folder(&entry.run)?.rename(&entry.id, &temporary, &name) {
            Ok(()) => temporary.remove_all(&name)?,
            // Another one who prunes was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Where other tools saved, there is no store to take them apart in.
fn remove_in_place(checkpoints: &Folder, go: &[&Entry]) -> Result<(), FileError> {
    go.iter().try_for_each(|entry| checkpoints.folder(&entry.run)?.remove_all(&entry.id))
}

fn references(checkpoints: &Folder, of: &[&Entry]) -> Result<HashSet<String>, FileError> {
    let mut found = HashSet::new();
    for entry in of {
        add_references(&checkpoints.folder(&entry.run)?, &entry.id, &mut found)?;
    }
    Ok(found)
}

/// What goes with these checkpoints of the run: all that they refer to, without what the run has published, which its record
/// holds on to.
fn held_by_checkpoints(
    layout: &Layout,
    checkpoints: &Folder,
    go: &[&Entry],
) -> Result<HashSet<String>, FileError> {
    let run = checkpoints.folder(layout.run())?;
    let mut held = HashSet::new();
    let has_record = run.stat(EVENTS)?.is_some();
    let published = format!("{}/", layout.relative(&layout.run_directory()));
    let is_published = |path: &str| path.starts_with(&published) && !path.contains(ATTEMPTS);
    for entry in go {
        let artifacts = manifest_file(&run, &entry.id).ok().filter(|_| has_record).and_then(|file| {
            let text = read_limited(&file).ok()?;
            serde_json::from_slice::<ReferringManifest>(&text).ok()
        });
        match artifacts {
            Some(ReferringManifest { artifacts }) => {
                let own = artifacts.into_iter().filter(|artifact| !is_published(&artifact.relative_path));
                held.extend(own.map(|artifact| artifact.sha256));
            }
            None => add_references(&run, &entry.id, &mut held)?,
        }
    }
    Ok(held)
}

/// Only what a manifest refers to.
#[derive(Deserialize)]
struct ReferringManifest {
    artifacts: Vec<Artifact>,
}

fn all_references(checkpoints: &Folder) -> Result<HashSet<String>, FileError> {
    let mut found = HashSet::new();
    for run in checkpoints.visible_folders()? {
        let folder = checkpoints.folder(&run)?;
        for id in folder.visible_folders()? {
            add_references(&folder, &id, &mut found)?;
        }
        add_recorded(&folder, &mut found)?;
    }
    Ok(found)
}

/// The line of a run's record that says what a stage made.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedLine {
    stage_id: Option<String>,
    accepted: Option<RecordedResult>,
}

#[derive(Deserialize)]
struct RecordedResult {
    artifacts: Vec<RecordedArtifact>,
}

#[derive(Deserialize)]
struct RecordedArtifact {
    sha256: String,
}

/// What the stages of the run made last. Its checkpoints need not be there any more: a run that is resumed brings back from the
/// store what is missing.
fn add_recorded(run: &Folder, found: &mut HashSet<String>) -> Result<(), FileError> {
    let mut text = Vec::new();
    let read = match run.file(EVENTS) {
        Ok(mut file) => file.read_to_end(&mut text),
        Err(FileError::NotFound { .. } | FileError::SymbolicLink { .. } | FileError::NotAFile { .. }) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    read.map_err(FileError::failed("read", &run.path().join(EVENTS)))?;
    let mut last: HashMap<String, Vec<RecordedArtifact>> = HashMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(RecordedLine { stage_id: Some(stage), accepted: Some(accepted) }) => {
                last.insert(stage, accepted.artifacts);
            }
            Ok(_) => {}
            Err(_) => add_digests(line, found),
        }
    }
    found.extend(last.into_values().flatten().map(|artifact| artifact.sha256));
    Ok(())
}

/// Everything in a manifest that looks like a hash: what a damaged one holds stays as well.
fn add_references(run: &Folder, id: &str, found: &mut HashSet<String>) -> Result<(), FileError> {
    let file = match manifest_file(run, id) {
        Ok(file) => file,
        Err(FileError::NotFound { .. } | FileError::SymbolicLink { .. } | FileError::NotAFile { .. }) => {
            return Ok(());
        }
        // What cannot be read may hold anything, so nothing is freed.
        Err(error) => return Err(error),
    };
    let text = read_limited(&file).map_err(|why| FileError::Failed {
        doing: "read",
        path: run.path().join(id),
        source: io::Error::other(why),
    })?;
    add_digests(&text, found);
    Ok(())
}

fn add_digests(text: &[u8], found: &mut HashSet<String>) {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    for digits in text.split(|byte| !is_digit(byte)).filter(|digits| digits.len() == 64) {
        found.insert(String::from_utf8_lossy(digits).into_owned());
    }
}

//! Dirt inside submodules. `git status` could look for it itself, but would do so under each submodule's own
//! config, whose filters we could not switch off from outside (see `filters`). So git is told to stay out, and every
//! submodule is asked like the repository it is, beside the main question.
//!
//! Submodules are found by `.gitmodules`. One that is not listed there, or whose status fails, shows changes of its
//! commit only: a broken submodule must not hide what the turn did elsewhere.

use std::collections::BTreeMap;

use change_set::BytePath;
use files::{Links, regular_file};
use sha1::{Digest, Sha1};
use text::hexadecimal;

use crate::baseline::object_format;
use crate::git::{Git, RunningGit};
use crate::git_program::GitProgram;
use crate::repository::{Repository, config_values};
use crate::state::{Disk, FileState, ObjectFormat};
use crate::status::{self, EntryKind, Status, StatusEntry, SubmoduleDirt};

/// A submodule of a submodule of a submodule of a submodule is not looked into.
const DEEPEST: usize = 4;

/// Each costs a process; more are not looked into.
const MOST: usize = 64;

const LARGEST_LIST: u64 = 256 * 1024;

#[derive(Debug)]
pub(crate) struct SubmoduleStatus {
    /// The submodule of the main repository that this one is, or is inside of.
    outermost: BytePath,
    repository: Repository,
    status: RunningGit,
}

pub(crate) fn start(repository: &Repository, program: &GitProgram) -> Vec<SubmoduleStatus> {
    let mut started = Vec::new();
    let mut waiting = vec![(repository.clone(), None::<BytePath>, 0)];
    while let Some((outer, outermost, depth)) = waiting.pop() {
        for (path, repository) in checked_out(&outer) {
            if started.len() >= MOST {
                return started;
            }
            let Ok(git) = Git::of(&repository, program) else { continue };
            let Ok(status) = status::start(&git, "--find-renames") else { continue };
            let outermost = outermost.clone().unwrap_or(path);
            if depth < DEEPEST {
                waiting.push((repository.clone(), Some(outermost.clone()), depth + 1));
            }
            started.push(SubmoduleStatus { outermost, repository, status });
        }
    }
    started
}

/// The submodules that are there, with their paths.
pub fn checked_out(outer: &Repository) -> Vec<(BytePath, Repository)> {
    let found = |path: BytePath| at(outer, &path).map(|inner| (path, inner));
    listed(outer).into_iter().filter_map(found).take(MOST).collect()
}

/// The repository in a folder of another; `None` if the path leads out of that one, through a link at its end too, or
/// names that one itself.
pub fn at(outer: &Repository, path: &BytePath) -> Option<Repository> {
    let (metadata, folder) = Disk::new(&outer.root, ObjectFormat::Sha1).metadata(path)?;
    let is_inside = metadata.is_dir() && !path.as_bytes().is_empty();
    if is_inside { Repository::at(&folder) } else { None }
}

/// The paths in `.gitmodules`. They are untrusted: `Disk` refuses those that lead out.
fn listed(repository: &Repository) -> Vec<BytePath> {
    let file = repository.root.join(".gitmodules");
    let text = regular_file::read(&file, Links::Refuse, LARGEST_LIST).unwrap_or_default();
    config_values(&text, b"path").map(BytePath::from).collect()
}

/// Waits for the submodules and adds what they say to the status of the main repository.
pub(crate) fn finish(submodules: Vec<SubmoduleStatus>, status: &mut Status) {
    let mut found: BTreeMap<BytePath, (SubmoduleDirt, Sha1)> = BTreeMap::new();
    for inner in submodules {
        let inside = inner.status.finish().and_then(|output| status::parse(&output)).unwrap_or_default();
        if inside.entries.is_empty() {
            continue;
        }
        let (dirt, hash) = found.entry(inner.outermost).or_default();
        let mut disk = Disk::new(&inner.repository.root, object_format(&inner.repository, &inside));
        for entry in &inside.entries {
            dirt.modified |= entry.kind != EntryKind::Untracked;
            dirt.untracked |= entry.kind == EntryKind::Untracked;
            add_to(hash, &entry.path, &disk.state(&entry.path));
        }
    }
    for (path, (mut dirt, hash)) in found {
        dirt.digest = Some(hexadecimal(&hash.finalize()));
        match status.entries.iter_mut().find(|entry| entry.path == path) {
            Some(entry) => {
                dirt.new_commits = entry.submodule.as_ref().is_some_and(|known| known.new_commits);
                entry.submodule = Some(dirt);
            }
            None => status.entries.push(StatusEntry {
                path,
                staged: b'.',
                unstaged: b'M',
                head_mode: "160000".to_owned(),
                index_mode: "160000".to_owned(),
                submodule: Some(dirt),
                ..StatusEntry::default()
            }),
        }
    }
}

/// Path, mode and content; the times only where the content was not read.
fn add_to(hash: &mut Sha1, path: &BytePath, state: &FileState) {
    hash.update(path.as_bytes());
    hash.update([0]);
    hash.update(state.git_mode());
    let content = state.content().map(|content| content.identity_or_times());
    hash.update(content.unwrap_or_default());
    hash.update([0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let text =
            "[submodule \"x\"]\n\tpath = lib/x y\n\turl = ../x\n[submodule \"q\"]\n\tPATH=\"q\"\n# path\n";
        fs_err::write(root.join(".gitmodules"), text).unwrap();
        let repository = Repository { root: root.clone(), git_dir: root.clone(), common_dir: root };
        assert_eq!(listed(&repository), [BytePath::from("lib/x y"), BytePath::from("q")]);
    }
}

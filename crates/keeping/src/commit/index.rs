//! Two indexes: the private one that the commit is made from, and the user's, of which single entries are exchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use change_set::BytePath;
use changes::{Error, Repository};
use rustix::io::Errno;

use super::CommitError;
use super::workplace::{self, Workplace};
use crate::acting::ActingGit;
use crate::difference::{Difference, Version, listed};
use crate::working_tree::{PathKind, WorkingTree};

/// More paths than this are not named to git: a command line has an end, and git compares each of its files with each
/// name. All is listed instead.
const MOST_NAMED: usize = 200;

/// So many files are taken by one git process.
const MOST_TAKEN: usize = 1000;

const PAUSE: Duration = Duration::from_millis(10);

/// The user's index brought to HEAD: what is as HEAD has it keeps its stat data, so that nothing is read again.
pub(super) fn seed_private(
    workplace: &Workplace,
    private: &ActingGit,
    parent: Option<&str>,
) -> Result<(), CommitError> {
    workplace.remove(workplace::PRIVATE_INDEX);
    let Some(parent) = parent else {
        private.run(&["read-tree", "--empty"], b"")?;
        return Ok(());
    };
    copy(&workplace.index(), &workplace.file(workplace::PRIVATE_INDEX))?;
    // `--reset` and not `-m`: conflicts of other files are no concern of this commit. Whole and not split, so that
    // no shared half of ours stays in the repository.
    private.run(&["-c", "core.splitIndex=false", "read-tree", "--reset", "-i", parent], b"")?;
    Ok(())
}

/// With its time: a file that was written in the same moment as the index and keeps its size is known as changed only
/// by that, and a younger index would take it for unchanged.
fn copy(from: &Path, to: &Path) -> Result<(), CommitError> {
    let copied = || -> io::Result<()> {
        let mut source = fs_err::File::open(from)?;
        let metadata = source.metadata()?;
        let mut target = fs_err::File::create(to)?;
        io::copy(&mut source, &mut target)?;
        target.set_permissions(metadata.permissions())?;
        target.file().set_modified(metadata.modified()?)
    };
    match copied() {
        Ok(()) => Ok(()),
        // Nothing was ever added.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(CommitError::Folder { path: to.to_owned(), source }),
    }
}

/// What the index has of these paths. A path in a conflict is refused.
pub(super) fn entries(
    git: &ActingGit,
    paths: &[BytePath],
) -> Result<BTreeMap<BytePath, Version>, CommitError> {
    let output = git.run(&literal(&["ls-files", "--stage", "-z"], paths), b"")?;
    let named: BTreeSet<&BytePath> = paths.iter().collect();
    let mut found = BTreeMap::new();
    for ([mode, id, stage], path) in listed(&output, "git ls-files")? {
        if named.contains(&path) {
            if stage != "0" {
                return Err(CommitError::Unmerged { path });
            }
            found.insert(path, Version { mode, id });
        }
    }
    Ok(found)
}

/// By the letter that `git ls-files -v` shows: `S`, or a small one.
pub(super) fn is_unseen(git: &ActingGit, path: &BytePath) -> Result<bool, CommitError> {
    let output = git.run(&literal(&["ls-files", "-v", "-z"], std::slice::from_ref(path)), b"")?;
    Ok(output.first().is_some_and(|letter| *letter == b'S' || letter.is_ascii_lowercase()))
}

pub(super) fn in_head(
    git: &ActingGit,
    paths: &[BytePath],
) -> Result<BTreeMap<BytePath, Version>, CommitError> {
    if git.line_or_none(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.is_none() {
        return Ok(BTreeMap::new());
    }
    let whole: &[&str] = if paths.len() > MOST_NAMED { &["-r", "-t"] } else { &[] };
    let command = [&["ls-tree", "-z"], whole, &["HEAD"]].concat();
    let output = git.run(&literal(&command, paths), b"")?;
    let named: BTreeSet<&BytePath> = paths.iter().collect();
    let all = listed(&output, "git ls-tree")?.into_iter();
    let of_named = all.filter(|(_, path)| named.contains(path));
    Ok(of_named.map(|([mode, _, id], path)| (path, Version { mode, id })).collect())
}

/// The command about these paths, or about all where there are too many.
fn literal(command: &[&str], paths: &[BytePath]) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("--literal-pathspecs")];
    arguments.extend(command.iter().map(OsString::from));
    arguments.push(OsString::from("--"));
    if paths.len() <= MOST_NAMED {
        arguments.extend(paths.iter().map(|path| path.as_path().as_os_str().to_owned()));
    }
    arguments
}

fn ended_by_zero<'a>(paths: impl IntoIterator<Item = &'a BytePath>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// Those that git ignores; what is tracked is not ignored.
pub(super) fn ignored(
    git: &ActingGit,
    paths: &BTreeSet<BytePath>,
) -> Result<BTreeSet<BytePath>, CommitError> {
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    let arguments = ["check-ignore", "-z", "--stdin"];
    let ended = git.end(&arguments, &ended_by_zero(paths))?;
    // 1 is: none of them.
    if !matches!(ended.status.code(), Some(0 | 1)) {
        return Err(git.failure(&arguments, &ended).into());
    }
    let paths = ended.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(BytePath::from).collect())
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PathFitness {
    There,
    Gone,
    Unfit { reason: String },
}

pub(super) fn look_at(root: &Path, path: &BytePath, is_tracked: bool) -> PathFitness {
    let unfit = |reason: &str| PathFitness::Unfit { reason: reason.to_owned() };
    let above = path.as_path().ancestors().skip(1).filter(|folder| *folder != Path::new(""));
    let mut above = above.filter(|_| !is_tracked);
    if let Some(inner) = above.find(|folder| root.join(folder).join(".git").exists()) {
        return unfit(&format!("it is in the repository `{}` inside this one", inner.display()));
    }
    match WorkingTree::open(root).and_then(|folder| folder.kind(path)) {
        Ok(PathKind::File { .. } | PathKind::Symlink) => PathFitness::There,
        // A folder that took a tracked file's place.
        Ok(PathKind::Folder) if is_tracked => PathFitness::Gone,
        Ok(PathKind::Absent) if is_behind_link(root, path) => unfit("it is behind a symbolic link"),
        Ok(PathKind::Absent) => PathFitness::Gone,
        Ok(PathKind::Folder) => unfit("it is a folder"),
        Ok(PathKind::Other) => unfit("it is neither a file nor a link"),
        Err(error) => unfit(&error.to_string()),
    }
}

fn is_behind_link(root: &Path, path: &BytePath) -> bool {
    path.as_path().ancestors().skip(1).any(|folder| root.join(folder).is_symlink() && folder != Path::new(""))
}

fn explained(error: Error) -> Error {
    match error {
        Error::Failed { command, reason } if reason.contains("would be replaced by") => {
            let advice = "convert its line endings, or set `core.safecrlf` to `warn`";
            Error::Failed { command, reason: format!("{reason}: {advice}") }
        }
        other => other,
    }
}

/// Takes the files from the working tree, filters and line endings applied; what is gone goes.
pub(super) fn take(git: &ActingGit, paths: &BTreeSet<BytePath>) -> Result<(), CommitError> {
    // What a sparse checkout leaves out is not there, and not gone.
    let arguments = ["update-index", "--ignore-skip-worktree-entries", "--add", "--remove", "-z", "--stdin"];
    // Git waits for the disk at each of them, and has a time limit.
    let paths: Vec<&BytePath> = paths.iter().collect();
    for some in paths.chunks(MOST_TAKEN) {
        git.run(&arguments, &ended_by_zero(some.iter().copied())).map_err(explained)?;
    }
    Ok(())
}

/// How the index differs from a commit or tree.
pub(super) fn against(git: &ActingGit, base: &str) -> Result<Vec<Difference>, CommitError> {
    let command = "diff-index --cached -z --raw --no-abbrev --no-renames --ita-invisible-in-index";
    let arguments: Vec<&str> = command.split(' ').chain([base, "--"]).collect();
    Ok(Difference::parse(&git.run(&arguments, b"")?)?)
}

/// Sets single entries; `None` removes one.
pub(super) fn set(
    repository: &Repository,
    git: &ActingGit,
    entries: &[(&BytePath, Option<&Version>)],
) -> Result<(), CommitError> {
    if entries.is_empty() {
        return Ok(());
    }
    // A removal needs an id too: zeros, as many as the repository's ids have digits.
    let none = "0".repeat(repository.object_format().empty_tree().len());
    // First what goes: a file may take a folder's place, or the other way round.
    let mut in_order = entries.to_vec();
    in_order.sort_by_key(|(_, entry)| entry.is_some());
    let mut input = Vec::new();
    for (path, entry) in in_order {
        let line = match entry {
            Some(entry) => format!("{} {}\t", entry.mode, entry.id),
            None => format!("0 {none}\t"),
        };
        input.extend_from_slice(line.as_bytes());
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    git.run(&["update-index", "-z", "--index-info"], &input)?;
    Ok(())
}

pub(super) fn wait_for_lock(workplace: &Workplace, limit: Duration) -> Result<(), CommitError> {
    let deadline = Instant::now() + limit;
    while workplace.index_lock().symlink_metadata().is_ok() {
        if Instant::now() >= deadline {
            return Err(CommitError::Locked { path: workplace.index_lock() });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Which file it is, and when it was written.
type FileStamp = Option<(u64, u64, u64, i64, i64)>;

fn stamp(path: &Path) -> FileStamp {
    let found = path.symlink_metadata().ok()?;
    Some((found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

/// Exchanges the user's index for one in which these entries are different.
pub(super) fn exchange(
    workplace: &Workplace,
    entries: &[(BytePath, Option<Version>)],
    limit: Duration,
) -> Result<(), CommitError> {
    let entries: Vec<(&BytePath, Option<&Version>)> =
        entries.iter().map(|(path, entry)| (path, entry.as_ref())).collect();
    let (index, lock) = (workplace.index(), workplace.index_lock());
    let next = workplace.file(workplace::NEXT_INDEX);
    let git = workplace.git.with("GIT_INDEX_FILE", &next);
    let unusable = |source| CommitError::Folder { path: lock.clone(), source };
    // Git would follow a link; the rename would replace it.
    if index.is_symlink() {
        return set(&workplace.repository, &workplace.git, &entries);
    }
    let deadline = Instant::now() + limit;
    loop {
        wait_for_lock(workplace, deadline.saturating_duration_since(Instant::now()))?;
        workplace.remove(workplace::NEXT_INDEX);
        let before = stamp(&index);
        copy(&index, &next)?;
        set(&workplace.repository, &git, &entries)?;
        refresh(&git, &entries);
        match rustix::fs::link(&next, &lock) {
            Ok(()) => {}
            Err(Errno::EXIST) => continue,
            // A file system without second names.
            Err(Errno::PERM | Errno::NOTSUP | Errno::MLINK | Errno::NOSYS) => {
                return set(&workplace.repository, &workplace.git, &entries);
            }
            Err(errno) => return Err(unusable(errno.into())),
        }
        // From here until the rename git is locked out.
        if stamp(&index) == before {
            let renamed = fs_err::rename(&lock, &index);
            if renamed.is_err() {
                let _ = fs_err::remove_file(&lock);
            }
            workplace.remove(workplace::NEXT_INDEX);
            return renamed.map_err(unusable);
        }
        let _ = fs_err::remove_file(&lock);
        if Instant::now() >= deadline {
            return Err(CommitError::Locked { path: lock });
        }
    }
}

/// Lets git see that the files are as the entries say, so that it need not read them again. Only a matter of speed.
fn refresh(git: &ActingGit, entries: &[(&BytePath, Option<&Version>)]) {
    let there = entries.iter().filter(|(_, entry)| entry.is_some());
    let paths: Vec<BytePath> = there.map(|(path, _)| (*path).clone()).collect();
    if paths.len() > MOST_NAMED {
        let _ = git.run(&["update-index", "-q", "--refresh"], b"");
    } else if !paths.is_empty() {
        let _ = git.run(&literal(&["add", "--refresh"], &paths), b"");
    }
}

//! What the `.gitignore` files of a snapshot ignore, which need not be those of the working tree any more. Such a file was
//! not looked at when the snapshot was taken: that it is not in there does not mean that it was not there, and a restore
//! must not remove it.
//!
//! Git itself is asked, in a folder that has these files and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use change_set::BytePath;
use changes::git::{describe, failure};
use changes::state::ObjectFormat;

use super::restore::Blobs;
use super::{SnapshotError, Snapshots};
use crate::difference::Difference;
use crate::working_tree::WorkingTree;

const PREFIX: &str = "checkstone-rules-";

/// One that is older was left by a process that was killed.
const LONGEST_QUESTION: Duration = Duration::from_secs(24 * 60 * 60);

impl Snapshots {
    /// Takes those removals out of `differences` that are none, for the rules of `commit` ignore the path. What they are
    /// about is returned: the path, or the folder that is ignored as a whole.
    pub(super) fn set_aside_ignored(
        &self,
        differences: &mut Vec<Difference>,
        commit: &str,
        scratch: &Path,
    ) -> Result<BTreeSet<BytePath>, SnapshotError> {
        let removed: Vec<&BytePath> =
            differences.iter().filter(|one| one.new.is_none()).map(|one| &one.path).collect();
        let rules = self.ignore_files(commit, !removed.is_empty())?;
        if rules.is_empty() {
            return Ok(BTreeSet::new());
        }
        let ignored = self.ignored_by(&rules, &removed, scratch)?;
        let mut set_aside = BTreeSet::new();
        differences.retain(|one| {
            let is_ignored = one.new.is_none() && ignored.contains(&question(&one.path, ""));
            if is_ignored {
                let folder = folders(&one.path).into_iter().find(|one| ignored.contains(&question(one, "/")));
                set_aside.insert(folder.unwrap_or_else(|| one.path.clone()));
            }
            !is_ignored
        });
        Ok(set_aside)
    }

    /// The `.gitignore` files of a commit, if anybody wants to know.
    fn ignore_files(&self, commit: &str, is_wanted: bool) -> Result<Vec<(BytePath, String)>, SnapshotError> {
        if !is_wanted {
            return Ok(Vec::new());
        }
        let none = ObjectFormat::of_id(commit).empty_tree();
        let how = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-commit-id"];
        let what = [none, commit, "--", ":(glob)**/.gitignore"];
        let found = Difference::parse(&self.git.run(&[&how[..], &what].concat(), &[])?)?.into_iter();
        // Git does not follow a link of this name.
        let files = found.filter_map(|one| {
            let version = one.new.filter(|version| version.mode.starts_with("100"))?;
            Some((one.path, version.id))
        });
        Ok(files.collect())
    }

    /// Which of the paths, and of the folders above them, are ignored, as they were asked for.
    fn ignored_by(
        &self,
        rules: &[(BytePath, String)],
        paths: &[&BytePath],
        scratch: &Path,
    ) -> Result<BTreeSet<Vec<u8>>, SnapshotError> {
        let failed = |source| SnapshotError::Scratch { folder: scratch.to_owned(), source };
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch).map_err(failed)?;
        remove_abandoned(scratch, folder.path());
        let tree = WorkingTree::open(folder.path()).map_err(failed)?;
        let mut blobs = Blobs::start(self)?;
        for (path, id) in rules {
            blobs.with(id, |content| tree.write(path, content, false, None)).map_err(failed)?;
        }
        let mut questions = BTreeSet::new();
        for path in paths {
            questions.insert(question(path, ""));
            questions.extend(folders(path).iter().map(|folder| question(folder, "/")));
        }
        let input: Vec<u8> = questions.iter().flat_map(|one| [one, &b"\0"[..]].concat()).collect();
        // The user's own rules count as well. What is tracked is judged like the rest: it is not in the snapshot.
        let mut git_dir = OsString::from("--git-dir=");
        git_dir.push(&self.repository.git_dir);
        let words = ["--work-tree=.", "check-ignore", "--no-index", "-z", "--stdin"];
        let arguments: Vec<OsString> = [git_dir].into_iter().chain(words.map(OsString::from)).collect();
        let ended = self.git.moved_to(folder.path()).start(&arguments, &input)?.end()?;
        // 1 is: none of them.
        if !matches!(ended.status.code(), Some(0 | 1)) {
            let status = ended.status.to_string();
            let directory = folder.path().to_owned();
            return Err(failure(describe(&arguments), directory, &ended.stderr, &status).into());
        }
        let answers = ended.stdout.split(|byte| *byte == 0).filter(|answer| !answer.is_empty());
        Ok(answers.map(<[u8]>::to_vec).collect())
    }
}

/// As git is asked: a `:` at its beginning would mean something else. Only a folder has a `/` at its end.
fn question(path: &BytePath, end: &str) -> Vec<u8> {
    [b"./", path.as_bytes(), end.as_bytes()].concat()
}

/// The folders above a path, the outermost first.
fn folders(path: &BytePath) -> Vec<BytePath> {
    let above = path.as_path().ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let mut folders: Vec<BytePath> = above.map(BytePath::from).collect();
    folders.reverse();
    folders
}

/// Folders of questions that were never finished. The new one tells what time it is on that disk.
fn remove_abandoned(scratch: &Path, new: &Path) {
    let Ok(now) = new.metadata().and_then(|found| found.modified()) else { return };
    for entry in scratch.read_dir().into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let age = || now.duration_since(entry.metadata().ok()?.modified().ok()?).ok();
        if is_ours && age().is_some_and(|age| age > LONGEST_QUESTION) {
            let _ = fs_err::remove_dir_all(entry.path());
        }
    }
}

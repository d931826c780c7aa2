//! What the `.gitignore` files of a snapshot ignore, which need not be those of the working tree any more. Such a file was
//! not looked at when the snapshot was taken: that it is not in there does not mean that it was not there, and a restore
//! must not remove it.
//!
//! Git itself is asked, in a working tree that has these files and nothing else. Only those are read that may say something of
//! what would be removed: a partial clone does not have every file, and nothing is fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use change_set::BytePath;
use changes::git::{describe, failure};
use changes::state::ObjectFormat;

use super::restore::{Blobs, LeaveAlone};
use super::scratch::lay_out;
use super::{SnapshotError, Snapshots};
use crate::abandoned;
use crate::difference::Difference;
use crate::working_tree::WorkingTree;

const PREFIX: &str = "checkstone-rules-";

/// In the folder of that name.
const GIT: &str = "git";
const TREE: &str = "tree";

const NO_OWN_RULES: &str = "core.excludesFile=/dev/null";

/// The rules of a commit as files in a working tree.
struct Rules {
    folder: tempfile::TempDir,
    /// Those that could not be read.
    missing: BTreeSet<BytePath>,
}

impl Snapshots {
    /// Takes those removals out of `differences` that are none or may be none, by the rules of `commit`. What they are about
    /// is returned, the path or the folder that is ignored as a whole, and why it stays.
    pub(super) fn set_aside_ignored(
        &self,
        differences: &mut Vec<Difference>,
        commit: &str,
        scratch: &Path,
    ) -> Result<BTreeMap<BytePath, LeaveAlone>, SnapshotError> {
        let removed = differences.iter().filter(|one| one.new.is_none()).map(|one| &one.path);
        let removed: Vec<&BytePath> = removed.collect();
        let files = self.ignore_files(commit, &removed)?;
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let rules = self.read_rules(&files, commit, scratch)?;
        let ignored = self.ignored_by(&rules, &removed)?;
        let mut set_aside = BTreeMap::new();
        differences.retain(|one| {
            if one.new.is_some() {
                return true;
            }
            if ignored.contains(&question(&one.path, "")) {
                let folder = folders(&one.path).into_iter().find(|one| ignored.contains(&question(one, "/")));
                set_aside.insert(folder.unwrap_or_else(|| one.path.clone()), LeaveAlone::IgnoredThen);
                return false;
            }
            let missing = rules_for(&one.path).into_iter().find(|file| rules.missing.contains(file));
            let is_known = missing.is_none();
            set_aside.extend(missing.map(|file| (one.path.clone(), LeaveAlone::PerhapsIgnoredThen { file })));
            is_known
        });
        Ok(set_aside)
    }

    /// The `.gitignore` files of a commit that may say something of these paths.
    fn ignore_files(
        &self,
        commit: &str,
        paths: &[&BytePath],
    ) -> Result<Vec<(BytePath, String)>, SnapshotError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: BTreeSet<BytePath> = paths.iter().flat_map(|path| rules_for(path)).collect();
        let none = ObjectFormat::of_id(commit).empty_tree();
        let how = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-commit-id"];
        let what = [none, commit, "--", ":(glob)**/.gitignore"];
        let found = Difference::parse(&self.git.run(&[&how[..], &what].concat(), &[])?)?.into_iter();
        let files = found.filter(|one| wanted.contains(&one.path)).filter_map(|one| {
            // Git does not follow a link of this name.
            let version = one.new.filter(|version| version.mode.starts_with("100"))?;
            Some((one.path, version.id))
        });
        Ok(files.collect())
    }

    /// Puts them into a folder with a git folder beside it.
    fn read_rules(
        &self,
        files: &[(BytePath, String)],
        commit: &str,
        scratch: &Path,
    ) -> Result<Rules, SnapshotError> {
        let failed = |source| SnapshotError::Scratch { folder: scratch.to_owned(), source };
        let folder = abandoned::folder_in(scratch, PREFIX).map_err(failed)?;
        let (git_dir, root) = (folder.path().join(GIT), folder.path().join(TREE));
        lay_out(&git_dir, ObjectFormat::of_id(commit)).map_err(failed)?;
        fs_err::create_dir(&root).map_err(failed)?;
        let tree = WorkingTree::open(&root).map_err(failed)?;
        let mut blobs = Blobs::start(self)?;
        let mut missing = BTreeSet::new();
        for (path, id) in files {
            if blobs.with(id, |content| tree.write(path, content, false, None)).is_err() {
                missing.insert(path.clone());
            }
        }
        Ok(Rules { folder, missing })
    }

    /// Which of the paths, and of the folders above them, are ignored, as they were asked for.
    fn ignored_by(&self, rules: &Rules, paths: &[&BytePath]) -> Result<BTreeSet<Vec<u8>>, SnapshotError> {
        let mut questions = BTreeSet::new();
        for path in paths {
            questions.insert(question(path, ""));
            questions.extend(folders(path).iter().map(|folder| question(folder, "/")));
        }
        let input: Vec<u8> = questions.iter().flat_map(|one| [one, &b"\0"[..]].concat()).collect();
        let mut git_dir = OsString::from("--git-dir=");
        git_dir.push(rules.folder.path().join(GIT));
        // Neither the user's own rules nor those beside the index are the snapshot's. What is tracked is judged like the rest:
        // it is not in the snapshot.
        let ignore_case = format!("core.ignoreCase={}", self.is_on("core.ignoreCase"));
        let words = ["--work-tree=.", "-c", NO_OWN_RULES, "-c", &ignore_case];
        let command = ["check-ignore", "--no-index", "-z", "--stdin"];
        let words = words.iter().chain(&command).map(OsString::from);
        let arguments: Vec<OsString> = [git_dir].into_iter().chain(words).collect();
        let root = rules.folder.path().join(TREE);
        let ended = self.git.moved_to(&root).start(&arguments, &input)?.end()?;
        // 1 is: none of them.
        if !matches!(ended.status.code(), Some(0 | 1)) {
            let status = ended.status.to_string();
            return Err(failure(describe(&arguments), root, &ended.stderr, &status).into());
        }
        let answers = ended.stdout.split(|byte| *byte == 0).filter(|answer| !answer.is_empty());
        Ok(answers.map(<[u8]>::to_vec).collect())
    }
}

/// The `.gitignore` files that can say something of a path: at the top, and in the folders above it.
fn rules_for(path: &BytePath) -> Vec<BytePath> {
    let above = path.as_path().ancestors().skip(1);
    above.map(|folder| BytePath::from(folder.join(".gitignore").as_path())).collect()
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

//! How two snapshots differ, or a snapshot and the working tree as it is now. The latter is put into a repository
//! beside the user's, in which nothing is written.
//!
//! What a side could not save is in its tree as HEAD has it, or not at all. So it is named beside the differences, and
//! counts as one: nobody may take a file for unchanged that nobody has read. Nor for new, gone or changed: how the trees
//! differ there says nothing of it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use change_set::BytePath;
use changes::state::ObjectFormat;
use changes::{Error, submodules};

use super::create::LeftOut;
use super::restore::LeaveAlone;
use super::scratch::{self, Scratch};
use super::submodule_snapshot::{joined, paths_inside};
use super::{Snapshot, SnapshotError, Snapshots};
use crate::difference::{Difference, Version};

#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    Snapshot(&'a Snapshot),
    /// A commit of a submodule, which had no changes of its own.
    Commit(&'a str),
    /// As it is now. What differs from HEAD is copied into this folder for the time of the comparison.
    WorkingTree {
        scratch: &'a Path,
    },
}

impl Side<'_> {
    /// Whether it has a snapshot of its own of the submodule at a path.
    fn names(&self, path: &BytePath) -> bool {
        let Self::Snapshot(snapshot) = self else { return false };
        snapshot.facts.submodules.iter().any(|taken| taken.path == *path)
    }
}

/// How two sides differ.
#[derive(Debug, Default)]
pub struct Comparison {
    pub files: Vec<Difference>,
    /// What a side does not hold, with the reason. What has a path is in `files` too.
    pub left_out: Vec<LeftOut>,
    /// Those of them that neither side holds.
    on_neither: BTreeSet<BytePath>,
}

/// The same, with the differences as git writes them.
#[derive(Debug, Default)]
pub struct Patch {
    pub text: Vec<u8>,
    pub left_out: Vec<LeftOut>,
}

/// A commit, and what has to live as long as it is looked at.
struct ComparedSide {
    commit: String,
    scratch: Option<Scratch>,
    left_out: Vec<LeftOut>,
    /// The submodules that are there now.
    submodules: Vec<BytePath>,
}

impl ComparedSide {
    /// Of the repository's own objects.
    fn of_commit(commit: &str, left_out: &[LeftOut]) -> Self {
        Self { commit: commit.to_owned(), scratch: None, left_out: left_out.to_vec(), submodules: Vec::new() }
    }

    fn paths_left_out(&self) -> BTreeSet<&BytePath> {
        self.left_out.iter().filter_map(|left| left.path.as_ref()).collect()
    }
}

/// The same side inside of a submodule.
enum InnerSide<'a> {
    Snapshot(Box<Snapshot>),
    Commit(String),
    WorkingTree { scratch: &'a Path },
}

impl InnerSide<'_> {
    fn side(&self) -> Side<'_> {
        match self {
            Self::Snapshot(snapshot) => Side::Snapshot(snapshot),
            Self::Commit(commit) => Side::Commit(commit),
            Self::WorkingTree { scratch } => Side::WorkingTree { scratch },
        }
    }
}

/// A submodule that may differ, with both sides.
struct InnerPair<'a> {
    path: BytePath,
    inside: Snapshots,
    old: InnerSide<'a>,
    new: InnerSide<'a>,
}

struct ComparedPair<'a> {
    old: ComparedSide,
    new: ComparedSide,
    inner: Vec<InnerPair<'a>>,
    /// Submodules into which nobody can look.
    left_out: Vec<LeftOut>,
}

impl ComparedPair<'_> {
    /// What the sides leave out, after what submodules do, which is known better there.
    fn left_out(&self, mut inner: Vec<LeftOut>, paths: &[BytePath]) -> Vec<LeftOut> {
        let sides = [&self.left_out, &self.old.left_out, &self.new.left_out].into_iter().flatten();
        let mut paths_known: BTreeSet<BytePath> = inner.iter().filter_map(|left| left.path.clone()).collect();
        let mut words_known = BTreeSet::new();
        for left in sides.filter(|left| left.is_about(paths)) {
            let is_new = match &left.path {
                Some(path) => paths_known.insert(path.clone()),
                None => words_known.insert(&left.reason),
            };
            if is_new {
                inner.push(left.clone());
            }
        }
        inner
    }

    fn on_neither(&self) -> BTreeSet<BytePath> {
        let (old, new) = (self.old.paths_left_out(), self.new.paths_left_out());
        old.intersection(&new).copied().cloned().collect()
    }

    /// Those differences that are between what was there, and those that are only between the trees: a side left the path out.
    fn known_and_unknown(&self, differences: Vec<Difference>) -> (Vec<Difference>, Vec<Difference>) {
        let (old, new) = (self.old.paths_left_out(), self.new.paths_left_out());
        // Of a repository inside, the commit is known.
        let holds = |left_out: &BTreeSet<&BytePath>, path: &BytePath, version: &Option<Version>| {
            !left_out.contains(path) || version.as_ref().is_some_and(Version::is_of_repository)
        };
        differences
            .into_iter()
            .partition(|one| holds(&old, &one.path, &one.old) && holds(&new, &one.path, &one.new))
    }
}

impl Snapshots {
    /// What has to change in `old` to make it `new`, in `paths` or everywhere, submodules included.
    pub fn compare(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        paths: &[BytePath],
    ) -> Result<Comparison, SnapshotError> {
        let pair = self.compared_pair(old, new)?;
        let (mut files, _) = pair.known_and_unknown(self.differences_of(&pair.old, &pair.new, paths)?);
        let (mut left_out, mut on_neither) = (Vec::new(), pair.on_neither());
        for InnerPair { path, inside, old, new } in &pair.inner {
            let Some(paths) = paths_inside(path, paths) else { continue };
            let found = inside.compare(old.side(), new.side(), &paths)?;
            let inner = found.files.into_iter();
            files.extend(inner.map(|inner| Difference { path: joined(path, &inner.path), ..inner }));
            left_out.extend(found.left_out.into_iter().map(|left| left.below(path)));
            on_neither.extend(found.on_neither.iter().map(|inner| joined(path, inner)));
        }
        let left_out = pair.left_out(left_out, paths);
        let mut seen: BTreeSet<BytePath> = files.iter().map(|one| one.path.clone()).collect();
        let mut unseen: Vec<BytePath> = left_out.iter().filter_map(|left| left.path.clone()).collect();
        unseen.retain(|path| seen.insert(path.clone()));
        files.extend(unseen.into_iter().map(|path| Difference { path, old: None, new: None }));
        Ok(Comparison { files, left_out, on_neither })
    }

    /// Which files have changed. What neither side holds does not count: nothing says that anybody has touched it.
    pub fn diff(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, SnapshotError> {
        let Comparison { mut files, on_neither, .. } = self.compare(old, new, paths)?;
        files.retain(|one| !(one.is_unknown() && on_neither.contains(&one.path)));
        Ok(files)
    }

    /// What a restore of a snapshot would change in the working tree, and in `left_out` what it would leave alone.
    pub fn planned(
        &self,
        snapshot: &Snapshot,
        paths: &[BytePath],
        scratch: &Path,
    ) -> Result<Comparison, SnapshotError> {
        let then = Side::Snapshot(snapshot);
        let pair = self.compared_pair(Side::WorkingTree { scratch }, then)?;
        let mut differences = self.differences_of(&pair.old, &pair.new, paths)?;
        let ignored = self.set_aside_ignored(&mut differences, &snapshot.commit, scratch)?;
        let (repositories, mut files): (Vec<_>, Vec<_>) =
            differences.into_iter().partition(Difference::is_of_repository);
        let stays = |path: BytePath, why: &LeaveAlone| LeftOut { path: Some(path), reason: why.to_string() };
        let mut left_out: Vec<LeftOut> =
            repositories.into_iter().map(|one| stays(one.path, &LeaveAlone::OwnRepository)).collect();
        for InnerPair { path, inside, new, .. } in &pair.inner {
            let (Some(paths), InnerSide::Snapshot(then)) = (paths_inside(path, paths), new) else { continue };
            let found = inside.planned(then, &paths, scratch)?;
            let inner = found.files.into_iter();
            files.extend(inner.map(|inner| Difference { path: joined(path, &inner.path), ..inner }));
            left_out.extend(found.left_out.into_iter().map(|left| left.below(path)));
        }
        let clean_then = pair.old.submodules.iter().filter(|path| !then.names(path));
        for path in clean_then.filter(|path| paths_inside(path, paths).is_some()) {
            let Some(not_saved) = self.changes_inside(path, scratch)? else { continue };
            left_out.push(stays(path.clone(), &LeaveAlone::CleanSubmodule));
            let not_saved = not_saved.into_iter().map(|left| left.below(path));
            left_out
                .extend(not_saved.filter(|left| left.path.as_ref() != Some(path) && left.is_about(paths)));
        }
        let mut left_out = pair.left_out(left_out, paths);
        files.retain(|one| !left_out.iter().any(|left| left.path.as_ref() == Some(&one.path)));
        left_out.extend(ignored.iter().map(|(path, why)| stays(path.clone(), why)));
        Ok(Comparison { files, left_out, on_neither: BTreeSet::new() })
    }

    /// What of the changes in a submodule cannot be saved; `None` if there are none, or nobody may look.
    fn changes_inside(&self, path: &BytePath, scratch: &Path) -> Result<Option<Vec<LeftOut>>, SnapshotError> {
        let Ok(inside) = self.submodule(path) else { return Ok(None) };
        let head = inside.git.run(&["rev-parse", "--verify", "--quiet", "HEAD"], &[]).unwrap_or_default();
        let head = match String::from_utf8_lossy(head.trim_ascii()) {
            none if none.is_empty() => inside.repository.object_format().empty_tree().into(),
            commit => commit,
        };
        let found = inside.compare(Side::Commit(&head), Side::WorkingTree { scratch }, &[])?;
        Ok((!found.files.is_empty() || !found.left_out.is_empty()).then_some(found.left_out))
    }

    /// What `compare` says, as a patch.
    pub fn patch(&self, old: Side<'_>, new: Side<'_>, paths: &[BytePath]) -> Result<Patch, SnapshotError> {
        self.patch_below(old, new, paths, &BytePath::default())
    }

    /// `folder` is where this submodule lies, and stands before its paths.
    fn patch_below(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        paths: &[BytePath],
        folder: &BytePath,
    ) -> Result<Patch, SnapshotError> {
        let at = |side: &str| match folder.as_bytes() {
            b"" => format!("{side}/"),
            _ => format!("{side}/{folder}/"),
        };
        let prefixes = [format!("--src-prefix={}", at("a")), format!("--dst-prefix={}", at("b"))];
        let [source, destination] = &prefixes;
        let how = ["-p", "--no-ext-diff", "--no-textconv", "--no-color", source, destination];
        let pair = self.compared_pair(old, new)?;
        let (_, unknown) = pair.known_and_unknown(self.differences_of(&pair.old, &pair.new, paths)?);
        let mut text = self.diff_tree(&how, &pair.old, &pair.new, &pathspecs(paths, &unknown))?;
        let mut left_out = Vec::new();
        for InnerPair { path, inside, old, new } in &pair.inner {
            let Some(paths) = paths_inside(path, paths) else { continue };
            let found = inside.patch_below(old.side(), new.side(), &paths, &joined(folder, path))?;
            text.extend(found.text);
            left_out.extend(found.left_out.into_iter().map(|left| left.below(path)));
        }
        Ok(Patch { text, left_out: pair.left_out(left_out, paths) })
    }

    fn compared(&self, side: Side<'_>) -> Result<ComparedSide, SnapshotError> {
        match side {
            Side::Snapshot(Snapshot { commit, facts, .. }) => {
                Ok(ComparedSide::of_commit(commit, &facts.left_out))
            }
            Side::Commit(commit) => Ok(ComparedSide::of_commit(commit, &[])),
            Side::WorkingTree { scratch } => {
                let scratch = Scratch::new(scratch, &self.repository)?;
                let (commit, mut left_out) = scratch.take(self)?;
                let inner = self.inner_repositories(&[]);
                left_out.extend(inner.left_out);
                let submodules = inner.found.into_iter().map(|(path, _)| path).collect();
                Ok(ComparedSide { commit, scratch: Some(scratch), left_out, submodules })
            }
        }
    }

    /// Both sides, with the submodules that may differ. One that is not here, or that a side does not have, shows the change
    /// of its commit only.
    fn compared_pair<'a>(&self, old: Side<'a>, new: Side<'a>) -> Result<ComparedPair<'a>, SnapshotError> {
        let (mut old_side, mut new_side) = (self.compared(old)?, self.compared(new)?);
        let mut paths: BTreeSet<BytePath> = BTreeSet::new();
        paths.extend(old_side.submodules.iter().chain(&new_side.submodules).cloned());
        for side in [&old, &new] {
            let Side::Snapshot(snapshot) = side else { continue };
            paths.extend(snapshot.facts.submodules.iter().map(|taken| taken.path.clone()));
        }
        let (mut inner, mut left_out) = (Vec::new(), Vec::new());
        for path in paths {
            let inside = match self.submodule(&path) {
                Ok(inside) => inside,
                Err(error) if old.names(&path) || new.names(&path) => {
                    left_out.push(LeftOut { path: Some(path), reason: error.to_string() });
                    continue;
                }
                Err(_) => {
                    for (side, compared) in [(old, &mut old_side), (new, &mut new_side)] {
                        let Side::WorkingTree { scratch } = side else { continue };
                        let reason = self.why_not_saved(&path, scratch);
                        compared
                            .left_out
                            .extend(reason.map(|reason| LeftOut { path: Some(path.clone()), reason }));
                    }
                    continue;
                }
            };
            match (self.inner_side(old, &path, &inside), self.inner_side(new, &path, &inside)) {
                (Ok(Some(old)), Ok(Some(new))) => inner.push(InnerPair { path, inside, old, new }),
                (Err(error), _) | (_, Err(error)) => {
                    left_out.push(LeftOut { path: Some(path), reason: error.to_string() });
                }
                (Ok(_), Ok(_)) => {}
            }
        }
        Ok(ComparedPair { old: old_side, new: new_side, inner, left_out })
    }

    /// `None` if nothing is changed in this submodule, into which no snapshot may look.
    fn why_not_saved(&self, path: &BytePath, scratch: &Path) -> Option<String> {
        let repository = submodules::at(&self.repository, path)?;
        match self.inside(repository).and_then(|inside| scratch::look(&inside, scratch)) {
            Ok(reading) if reading.is_clean() => None,
            Ok(_) => Some(SnapshotError::SubmoduleElsewhere { path: path.clone() }.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    fn inner_side<'a>(
        &self,
        side: Side<'a>,
        path: &BytePath,
        inside: &Self,
    ) -> Result<Option<InnerSide<'a>>, SnapshotError> {
        let commit = match side {
            Side::WorkingTree { scratch } => return Ok(Some(InnerSide::WorkingTree { scratch })),
            Side::Snapshot(snapshot) if side.names(path) => {
                return Ok(Some(InnerSide::Snapshot(Box::new(inside.inner_of(snapshot, path)?))));
            }
            Side::Snapshot(snapshot) => snapshot.commit.as_str(),
            Side::Commit(commit) => commit,
        };
        let recorded =
            self.differences(ObjectFormat::of_id(commit).empty_tree(), commit, std::slice::from_ref(path))?;
        let recorded = recorded.into_iter().find_map(|one| one.new.filter(|_| one.path == *path));
        let commit = recorded.filter(Version::is_of_repository).map(|version| version.id);
        let is_there = |commit: &String| inside.git.run(&["cat-file", "-e", commit], &[]).is_ok();
        Ok(commit.filter(is_there).map(InnerSide::Commit))
    }

    /// Between two commits or trees of the repository.
    pub(super) fn differences(
        &self,
        old: &str,
        new: &str,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, Error> {
        let side = |commit: &str| ComparedSide::of_commit(commit, &[]);
        self.differences_of(&side(old), &side(new), paths)
    }

    fn differences_of(
        &self,
        old: &ComparedSide,
        new: &ComparedSide,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, Error> {
        let output = self.diff_tree(&["-z", "--raw", "--no-abbrev"], old, new, &pathspecs(paths, &[]))?;
        Difference::parse(&output)
    }

    /// In the user's repository, whose attributes say how a file is shown; the other objects are lent to it.
    fn diff_tree(
        &self,
        how: &[&str],
        old: &ComparedSide,
        new: &ComparedSide,
        paths: &[OsString],
    ) -> Result<Vec<u8>, Error> {
        let command = ["diff-tree", "-r", "--no-renames", "--no-commit-id"];
        let sides = [old.commit.as_str(), &new.commit, "--"];
        let words = command.iter().chain(how).chain(&sides).map(OsString::from);
        let arguments: Vec<OsString> = words.chain(paths.iter().cloned()).collect();
        let lent = [old, new].into_iter().filter_map(|side| side.scratch.as_ref());
        let git = self.git.with_objects_of(lent.map(Scratch::objects).collect());
        git.run(&arguments, &[])
    }
}

/// For git: these paths, or all of them, but not those of `except`.
fn pathspecs(paths: &[BytePath], except: &[Difference]) -> Vec<OsString> {
    let spec = |magic: &str, path: &BytePath| {
        let mut spec = OsString::from(magic);
        spec.push(path.as_path());
        spec
    };
    let wanted = paths.iter().map(|path| spec(":(literal)", path));
    wanted.chain(except.iter().map(|one| spec(":(exclude,literal)", &one.path))).collect()
}

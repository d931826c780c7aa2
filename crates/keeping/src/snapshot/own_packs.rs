//! The packs that snapshots wrote, joined into one now and then: each snapshot is a pack, and git takes more than
//! `gc.autoPackLimit` of them, fifty, for a reason to collect the whole repository in the middle of the user's work.
//!
//! Joining keeps every object, also those that no snapshot needs any more: somebody may have committed the same content
//! since, and git then relies on ours.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use changes::Repository;
use changes::git::{Git, WRITING};
use files::atomic_file;

/// So many are left alone.
const MOST: usize = 20;

/// A larger one is not copied again.
const LARGEST: u64 = 64 << 20;

/// Names of packs, one a line. Nothing depends on it: a pack that is missing here waits for `git gc`.
const LIST: &str = "objects/info/checkstone-packs";

/// What git keeps beside a pack that is more than a pack: another program relies on it.
const SPECIAL: [&str; 4] = ["keep", "promisor", "mtimes", "bitmap"];

#[derive(Debug)]
pub(super) struct OwnPacks {
    common_dir: PathBuf,
    folder: PathBuf,
    /// What was there before the import.
    before: BTreeSet<String>,
}

impl OwnPacks {
    pub(super) fn look(repository: &Repository) -> Self {
        let folder = super::leftovers::folder(repository);
        Self { common_dir: repository.common_dir.clone(), before: packs(&folder), folder }
    }

    /// Those that came since are taken for ours. That one may be somebody else's does no harm: no object is lost.
    pub(super) fn note_newer(&self) {
        let newer: String =
            packs(&self.folder).difference(&self.before).map(|name| format!("{name}\n")).collect();
        let list = fs_err::OpenOptions::new().create(true).append(true).open(self.common_dir.join(LIST));
        let _ = list.and_then(|mut list| list.write_all(newer.as_bytes()));
    }

    /// Makes one pack of ours if there are many. Whatever stands in the way: the next snapshot tries again.
    pub(super) fn join(&self, git: &Git) {
        let listed = fs_err::read_to_string(self.common_dir.join(LIST)).unwrap_or_default();
        let all: BTreeSet<&str> = listed.lines().filter(|name| self.is_small(name)).collect();
        if all.len() <= MOST || self.is_somebody_at_work() {
            return;
        }
        // One that was killed while it removed packs has left them without their indexes; their objects are in a joined one.
        for name in listed.lines().filter(|name| is_pack(name) && !self.file(name, "idx").exists()) {
            self.remove(name);
        }
        let input: String = all.iter().map(|name| format!("{name}.pack\n")).collect();
        let base = self.folder.join("pack");
        let options = ["-c", "core.fsync=all", "pack-objects", "--stdin-packs", "--quiet", "--window=0"];
        let arguments = WRITING.iter().chain(&options).map(Path::new).chain([base.as_path()]);
        let Ok(output) = git.run(&arguments.collect::<Vec<_>>(), input.as_bytes()) else { return };
        let joined = format!("pack-{}", String::from_utf8_lossy(&output).trim());
        let is_on_disk = fs_err::File::open(&self.folder).and_then(|folder| folder.sync_all()).is_ok();
        if !is_on_disk || !self.is_whole(&joined) {
            return;
        }
        for name in all.into_iter().filter(|name| *name != joined) {
            self.remove(name);
        }
        let _ = atomic_file::write(&self.common_dir.join(LIST), format!("{joined}\n").as_bytes(), 0o666);
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }

    fn is_small(&self, name: &str) -> bool {
        let size = self.file(name, "pack").symlink_metadata().ok().filter(|found| found.is_file());
        is_pack(name)
            && self.is_whole(name)
            && size.is_some_and(|found| found.len() <= LARGEST)
            && !SPECIAL.iter().any(|extension| self.file(name, extension).exists())
    }

    fn is_whole(&self, name: &str) -> bool {
        ["idx", "pack"].iter().all(|extension| self.file(name, extension).is_file())
    }

    /// The index first, without which git does not look for the rest.
    fn remove(&self, name: &str) {
        for extension in ["idx", "pack", "rev"] {
            let _ = fs_err::remove_file(self.file(name, extension));
        }
    }

    /// A collection that runs, or an index over many packs that names ours.
    fn is_somebody_at_work(&self) -> bool {
        let files = ["gc.pid", "objects/pack/multi-pack-index", "objects/pack/multi-pack-index.d"];
        files.iter().any(|file| self.common_dir.join(file).exists())
    }
}

/// The list lies in the user's repository: nothing else is named by it.
fn is_pack(name: &str) -> bool {
    name.starts_with("pack-") && !name.contains('/')
}

/// The names of whole packs, without their ending.
fn packs(folder: &Path) -> BTreeSet<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(".pack").map(str::to_owned)).collect()
}

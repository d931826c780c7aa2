//! Hashes of files that are not read again: never another one than reading would give.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use checkpoint::{FileContent, FileHashes};
use proptest::prelude::{Strategy, prop_oneof};

use crate::checkpoints::Project;

/// Smaller files are always read.
const LARGE: usize = 256 << 10;

const NAMES: [&str; 4] = ["a", "b", "nested/c", "link"];

#[derive(Clone, Debug)]
enum Edit {
    /// Another content of the same size, in the same file, at this place of it.
    InPlace {
        name: usize,
        byte: u8,
        at: u64,
    },
    /// The same, and its time of modification is set back to what it was.
    SetBack {
        name: usize,
        byte: u8,
    },
    /// A new file in its place.
    Replaced {
        name: usize,
        byte: u8,
    },
    /// The same content in another file.
    Copied {
        name: usize,
    },
    /// Written through a second name, which is gone again.
    ThroughOtherName {
        name: usize,
        byte: u8,
    },
    Exchanged {
        name: usize,
        with: usize,
    },
    Grown {
        name: usize,
        bytes: u64,
    },
    Cut {
        name: usize,
        bytes: u64,
    },
    /// The link leads to another file.
    Led {
        to: usize,
    },
}

/// The last name is the link's.
fn edits() -> impl Strategy<Value = Edit> {
    let name = || 0..NAMES.len() - 1;
    let byte = || 1..4_u8;
    prop_oneof![
        (name(), byte(), 0..LARGE as u64).prop_map(|(name, byte, at)| Edit::InPlace { name, byte, at }),
        (name(), byte()).prop_map(|(name, byte)| Edit::SetBack { name, byte }),
        (name(), byte()).prop_map(|(name, byte)| Edit::Replaced { name, byte }),
        name().prop_map(|name| Edit::Copied { name }),
        (name(), byte()).prop_map(|(name, byte)| Edit::ThroughOtherName { name, byte }),
        (name(), name()).prop_map(|(name, with)| Edit::Exchanged { name, with }),
        (name(), 1..9_u64).prop_map(|(name, bytes)| Edit::Grown { name, bytes }),
        (name(), 1..9_u64).prop_map(|(name, bytes)| Edit::Cut { name, bytes }),
        name().prop_map(|to| Edit::Led { to }),
    ]
}

struct Files {
    project: Project,
}

impl Files {
    fn new() -> Self {
        let project = Project::new();
        for name in &NAMES[..NAMES.len() - 1] {
            project.write(name, &"x".repeat(LARGE));
        }
        std::os::unix::fs::symlink("a", project.path("link")).unwrap();
        Self { project }
    }

    fn path(&self, name: usize) -> PathBuf {
        self.project.path(NAMES[name])
    }

    fn open(&self, name: usize) -> File {
        File::options().write(true).open(self.path(name)).unwrap()
    }

    fn make(&self, edit: &Edit) {
        let beside = self.project.path("beside");
        match *edit {
            Edit::InPlace { name, byte, at } => self.open(name).write_all_at(&[byte], at).unwrap(),
            Edit::SetBack { name, byte } => {
                let modified = fs::metadata(self.path(name)).unwrap().modified().unwrap();
                let file = self.open(name);
                file.write_all_at(&[byte], 0).unwrap();
                file.set_modified(modified).unwrap();
            }
            Edit::Replaced { name, byte } => {
                fs::write(&beside, [byte].repeat(LARGE)).unwrap();
                fs::rename(&beside, self.path(name)).unwrap();
            }
            Edit::Copied { name } => {
                fs::copy(self.path(name), &beside).unwrap();
                fs::rename(&beside, self.path(name)).unwrap();
            }
            Edit::ThroughOtherName { name, byte } => {
                fs::hard_link(self.path(name), &beside).unwrap();
                let file = File::options().write(true).open(&beside).unwrap();
                file.write_all_at(&[byte; 2], 7).unwrap();
                fs::remove_file(&beside).unwrap();
            }
            Edit::Exchanged { name, with } => {
                fs::rename(self.path(name), &beside).unwrap();
                if name != with {
                    fs::rename(self.path(with), self.path(name)).unwrap();
                }
                fs::rename(&beside, self.path(with)).unwrap();
            }
            Edit::Grown { name, bytes } => {
                let file = self.open(name);
                let length = file.metadata().unwrap().size();
                file.set_len(length + bytes).unwrap();
            }
            Edit::Cut { name, bytes } => {
                let file = self.open(name);
                let length = file.metadata().unwrap().size();
                file.set_len(length.saturating_sub(bytes)).unwrap();
            }
            Edit::Led { to } => {
                std::os::unix::fs::symlink(NAMES[to], &beside).unwrap();
                fs::rename(&beside, self.project.path("link")).unwrap();
            }
        }
    }

    fn content(&self, hashes: &FileHashes, name: usize) -> FileContent {
        hashes.content(NAMES[name], &File::open(self.path(name)).unwrap(), &|| true).unwrap()
    }

    fn hashes(&self) -> FileHashes {
        FileHashes::made(&self.project.layout).unwrap()
    }

    /// Every file is what reading it says, for those who have looked before and for those who begin.
    fn check(&self, hashes: &FileHashes) {
        for (name, shown) in NAMES.iter().enumerate() {
            let read = checkpoint::hash::of_bytes(&fs::read(self.path(name)).unwrap());
            for content in [self.content(hashes, name), self.content(&self.hashes(), name)] {
                assert_eq!(content.sha256, read, "{shown}");
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    /// Edits come as fast as they can, so that many fall into the tick of the clock in which the file was read; ticks pass in between.
    #[test]
    fn no_hash_is_stale_whatever_is_edited(
        edits in proptest::collection::vec((edits(), proptest::bool::ANY), 1..16)
    ) {
        let files = Files::new();
        let hashes = files.hashes();
        files.check(&hashes);
        for (edit, has_time_passed) in &edits {
            files.make(edit);
            if *has_time_passed {
                files.project.tick();
            }
            files.check(&hashes);
        }
    }
}

/// What the file held when it was read is remembered: it is not read again, as one that cannot be read shows.
#[test]
fn a_large_file_that_is_as_it_was_is_not_read_again() {
    let files = Files::new();
    files.project.tick();
    let first = files.content(&files.hashes(), 0);
    assert!(first.identity.is_some());
    let file = File::open(files.path(0)).unwrap();
    let known = files.hashes().content("a", &file, &|| panic!("it is read")).unwrap();
    assert_eq!(known, first);
    // Another file of the same content is none that is known.
    let other = File::open(files.path(1)).unwrap();
    let read = std::cell::Cell::new(false);
    files
        .hashes()
        .content("b", &other, &|| {
            read.set(true);
            true
        })
        .unwrap();
    assert!(read.get());
}

/// A time that is not over when the file is read proves nothing about what comes after.
#[test]
fn a_file_of_the_same_tick_has_no_identity() {
    let files = Files::new();
    files.project.tick();
    let future = sandbox::now() + std::time::Duration::from_secs(3600);
    files.open(0).set_modified(future).unwrap();
    files.project.tick();
    assert_eq!(files.content(&files.hashes(), 0).identity, None);
    assert_eq!(files.content(&FileHashes::default(), 1).identity, None, "nothing tells the time");
}

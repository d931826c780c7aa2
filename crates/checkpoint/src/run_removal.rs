//! Takes a whole run away: what it published, its checkpoints and its record. The record is moved last: while it is there, so is
//! the run, and whoever prunes after a kill finishes the work. What only that run held in the store is freed by `prune`.

use std::io;

use files::{FileError, Folder, random_id};
use rustix::fs::FileType;

use crate::layout::{CHECKPOINTS, Layout, REPORTS};
use crate::store::{Store, StoreError};

/// Files, and their room on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    pub files: usize,
    pub bytes: u64,
}

impl std::ops::AddAssign for Room {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

/// The folder with what a run published, and the one with its checkpoints and its record; in the order in which they go.
fn folders(layout: &Layout) -> Result<[Folder; 2], FileError> {
    let title = Folder::open(layout.root())?.folder(REPORTS)?.folder(layout.title())?;
    let checkpoints = title.folder(CHECKPOINTS)?;
    Ok([title, checkpoints])
}

/// What the run's own folders take.
pub fn room_of_run(layout: &Layout) -> Result<Room, FileError> {
    let mut room = Room::default();
    for folder in folders(layout)? {
        room += room_below(&folder, layout.run())?;
    }
    Ok(room)
}

/// A run that is gone.
#[derive(Debug)]
pub struct RemovedRun {
    pub freed: Room,
    /// Why some of what it had still takes room, in the store's folder for temporary files.
    pub left: Option<FileError>,
}

/// The caller has the run in hand, so that nobody writes to it.
pub fn remove_run(layout: &Layout) -> Result<RemovedRun, StoreError> {
    let mut freed = Room::default();
    let folders = folders(layout)?;
    let [_, checkpoints] = &folders;
    let temporary = Store::made(checkpoints)?.temporary()?;
    let mut moved = Vec::new();
    // All of it vanishes before any of it is taken apart: a run whose results are half gone must not be listed as complete.
    for folder in &folders {
        // A file or a link of that name is not a run's.
        if !is_folder(folder, layout.run())? {
            continue;
        }
        let room = room_below(folder, layout.run())?;
        let name = format!("pruned-{}", random_id());
        // A stage may have made its folder read-only, and such a folder cannot be moved.
        folder.let_owner_write(layout.run())?;
        match folder.rename(layout.run(), &temporary, &name) {
            Ok(()) => {
                folder.sync()?;
                moved.push(name);
                freed += room;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    let left = moved.iter().filter_map(|name| temporary.remove_own(name).err()).reduce(|first, _| first);
    Ok(RemovedRun { freed, left })
}

fn is_folder(folder: &Folder, name: &str) -> Result<bool, FileError> {
    let stat = folder.stat(name)?;
    Ok(stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()))
}

/// Files with a second name elsewhere free nothing; what lies in a closed folder is not counted.
fn room_below(folder: &Folder, name: &str) -> Result<Room, FileError> {
    match room_of(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Room::default()),
        room => room,
    }
}

fn room_of(folder: &Folder, name: &str) -> Result<Room, FileError> {
    let mut room = Room::default();
    let Some(stat) = folder.stat(name)? else { return Ok(room) };
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        let inner = folder.folder(name)?;
        for (name, _) in inner.entries()? {
            room += room_below(&inner, &name)?;
        }
    } else if stat.st_nlink == 1 {
        room.files = 1;
        room.bytes = u64::try_from(stat.st_blocks).unwrap_or_default() * 512;
    }
    Ok(room)
}

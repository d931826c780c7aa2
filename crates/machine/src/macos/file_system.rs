//! What file systems of macOS promise and can do. Flushing needs nothing here: `File::sync_all` asks the disk itself
//! (`F_FULLFSYNC`).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Of none it is known that the name of a new file is on the disk when the file is; folders are flushed as well.
pub fn names_follow_files(_file: &File) -> bool {
    false
}

/// File systems that other hosts may see as well. What is only mistaken for one costs a lease instead of a lock.
pub fn is_seen_by_other_hosts(folder: &File) -> bool {
    let local = libc::MNT_LOCAL.unsigned_abs();
    rustix::fs::fstatfs(folder).is_ok_and(|stat| stat.f_flags & local == 0)
}

/// By which another program opens a file that is open here; nobody can.
pub fn path_of_open_file(_file: &File) -> Option<PathBuf> {
    None
}

/// APFS clones only into a new name, never into an open file.
pub fn clone_content(_from: &File, _to: &File) -> io::Result<()> {
    Err(Errno::NOTSUP.into())
}

/// Not in one step.
pub fn open_below(_folder: &File, _path: &Path, _flags: OFlags) -> io::Result<File> {
    Err(Errno::NOSYS.into())
}

/// Lets its owner list a folder and write into it that may be closed to everybody. A link in its place is not followed.
pub fn open_to_owner(above: &File, name: &OsStr) -> rustix::io::Result<()> {
    let stat = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Err(Errno::NOTDIR);
    }
    let mode = Mode::from_raw_mode(stat.st_mode) | Mode::RWXU;
    rustix::fs::chmodat(above, name, mode, AtFlags::SYMLINK_NOFOLLOW)
}

/// The kind and the permissions of a file, as everyone but the system's own calls has them.
pub fn mode_bits(stat: &Stat) -> u32 {
    stat.st_mode.into()
}

/// Permissions for the system's own calls.
pub fn mode(permissions: u32) -> Mode {
    Mode::from_raw_mode((permissions & 0o7777) as u16)
}

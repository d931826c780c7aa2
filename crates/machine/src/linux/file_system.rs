//! What single file systems of Linux promise, and what only they can do.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// The number by which Linux knows a file system.
fn kind(file: &File) -> Option<u64> {
    rustix::fs::fstatfs(file).ok().map(|stat| (stat.f_type as u64) & 0xffff_ffff)
}

/// ext4, xfs and btrfs promise more than the standard: the name of a new file, and of the new folders around it, is on the
/// disk when the file is. Tested by cutting the power.
pub fn names_follow_files(file: &File) -> bool {
    const EXT4: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const BTRFS: u64 = 0x9123_683e;
    kind(file).is_some_and(|kind| [EXT4, XFS, BTRFS].contains(&kind))
}

/// File systems that other hosts may see as well. What is only mistaken for one costs a lease instead of a lock.
pub fn is_seen_by_other_hosts(folder: &File) -> bool {
    const SHARED: [u64; 13] = [
        0x6969,      // NFS
        0x517b,      // SMB
        0xff53_4d42, // CIFS
        0xfe53_4d42, // SMB 2
        0x0bd0_0bd0, // Lustre
        0x4750_4653, // GPFS
        0x00c3_6400, // Ceph
        0x1983_0326, // BeeGFS
        0x5346_414f, // AFS
        0xaad7_aaea, // PanFS
        0x2003_0528, // OrangeFS
        0x0102_1997, // 9P
        0x6573_5546, // FUSE: sshfs, Gluster and others
    ];
    kind(folder).is_some_and(|kind| SHARED.contains(&kind))
}

/// By which another program opens a file that is open here, also one without a name; `None` where it cannot.
pub fn path_of_open_file(file: &File) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    path.exists().then_some(path)
}

/// Lets an empty file share the content of another; an error if the file system cannot.
pub fn clone_content(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

/// Opens a path below a folder in one step, without following a link; an error if the machine cannot do that.
pub fn open_below(folder: &File, path: &Path, flags: OFlags) -> io::Result<File> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve)?.into())
}

/// Lets its owner list a folder and write into it that may be closed to everybody. A link in its place is not followed.
pub fn open_to_owner(above: &File, name: &OsStr) -> rustix::io::Result<()> {
    // What is open only as a place can be looked at, and changed by the path that it has as an open file.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::openat(above, name, flags, Mode::empty())?);
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&folder)?.st_mode);
    let path = path_of_open_file(&folder).ok_or(Errno::OPNOTSUPP)?;
    rustix::fs::chmod(path, mode | Mode::RWXU)
}

/// The kind and the permissions of a file, as everyone but the system's own calls has them.
pub fn mode_bits(stat: &Stat) -> u32 {
    stat.st_mode
}

/// Permissions for the system's own calls.
pub fn mode(permissions: u32) -> Mode {
    Mode::from_raw_mode(permissions)
}

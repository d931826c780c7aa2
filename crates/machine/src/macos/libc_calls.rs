//! The calls of macOS that have no safe wrapper, each with the reason why this use of it is sound. Those that the shim of
//! `supervise` makes between fork and exec (listing and asking for processes) are one system call each, and allocate
//! nothing.
#![allow(
    unsafe_code,
    reason = "nothing safe wraps `libproc`, `sysctl` by name and kernel queues without building C"
)]

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::ptr;

use rustix::event::kqueue::{self, Event, EventFilter, EventFlags, ProcessEvents};
use rustix::io::Errno;
use rustix::process::Pid;

/// The numbers of all processes, in no order; as many as there is room for.
pub(super) fn all_pids(room: &mut [i32]) -> &mut [i32] {
    let bytes = c_int::try_from(size_of_val(room)).unwrap_or(0);
    // SAFETY: the buffer is ours, of this many bytes, and any bytes make whole numbers.
    let found = unsafe { libc::proc_listallpids(room.as_mut_ptr().cast(), bytes) };
    room.get_mut(..usize::try_from(found).unwrap_or(0)).unwrap_or_default()
}

/// What the system tells of a process; `None` if there is none of this number, or only a zombie.
pub(super) fn process_information(pid: i32) -> Option<libc::proc_bsdinfo> {
    // SAFETY: the structure is the one of this flavour, and consists of whole numbers.
    unsafe { information(pid, libc::PROC_PIDTBSDINFO) }
}

/// The working folder and the root of a process.
pub(super) fn folders(pid: i32) -> Option<libc::proc_vnodepathinfo> {
    // SAFETY: as above.
    unsafe { information(pid, libc::PROC_PIDVNODEPATHINFO) }
}

/// # Safety
/// `T` must be the structure that this flavour fills in.
unsafe fn information<T>(pid: i32, flavour: c_int) -> Option<T> {
    let mut room = MaybeUninit::<T>::uninit();
    let bytes = c_int::try_from(size_of::<T>()).ok()?;
    // SAFETY: the buffer is ours and has this many bytes. Only if the kernel has filled in all of them are they looked at.
    unsafe {
        let filled = libc::proc_pidinfo(pid, flavour, 0, room.as_mut_ptr().cast(), bytes);
        (filled == bytes).then(|| room.assume_init())
    }
}

/// What a process uses: memory, and processor time in [`timebase`] units.
pub(super) fn usage(pid: i32) -> Option<libc::rusage_info_v2> {
    let mut room = MaybeUninit::<libc::rusage_info_v2>::uninit();
    // SAFETY: the structure is the one of this flavour; it is looked at only if the kernel has filled it in. The type of the
    // parameter is a pointer to a pointer by an old mistake in Apple's header.
    unsafe {
        let result = libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V2, room.as_mut_ptr().cast());
        (result == 0).then(|| room.assume_init())
    }
}

/// By which fraction units of processor time become nanoseconds.
#[allow(deprecated, reason = "what is said to replace it is one more dependency for one call")]
pub(super) fn timebase() -> (u64, u64) {
    let mut fraction = libc::mach_timebase_info { numer: 1, denom: 1 };
    // SAFETY: the structure is ours and outlives the call.
    unsafe { libc::mach_timebase_info(&mut fraction) };
    (fraction.numer.into(), u64::from(fraction.denom).max(1))
}

/// A value of the system by its name, as its bytes.
pub(super) fn system_value(name: &CStr) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 256];
    let mut length = bytes.len();
    // SAFETY: the name ends with a NUL, the buffer has this many bytes, and nothing is set.
    let result = unsafe {
        libc::sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &mut length, ptr::null_mut(), 0)
    };
    checked(result)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// What a process was started with: the number of its arguments, the program, its arguments and its variables, as the kernel
/// keeps them. Of processes of others, and of programs that the system protects, not all of it.
pub(super) fn start_of_process(pid: i32) -> io::Result<Vec<u8>> {
    let mut names = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut bytes = vec![0; argument_limit()];
    let mut length = bytes.len();
    // SAFETY: there are three names, the buffer has this many bytes, and nothing is set.
    let result = unsafe {
        libc::sysctl(names.as_mut_ptr(), 3, bytes.as_mut_ptr().cast(), &mut length, ptr::null_mut(), 0)
    };
    checked(result)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// So many bytes the arguments and variables of a process have at most.
fn argument_limit() -> usize {
    // SAFETY: no memory is involved.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_ARG_MAX) }).unwrap_or(1 << 20)
}

/// A descriptor that is readable when the process has ended, and stays so.
pub(super) fn exit_queue(pid: Pid) -> io::Result<OwnedFd> {
    let queue = kqueue::kqueue()?;
    rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)?;
    let filter = EventFilter::Proc { pid, flags: ProcessEvents::EXIT };
    match add(&queue, Event::new(filter, EventFlags::ADD, ptr::null_mut())) {
        // It has ended already: the end of a pipe that nobody can write to is readable as well.
        Err(Errno::SRCH) => Ok(io::pipe()?.0.into()),
        added => added.map(|()| queue).map_err(io::Error::from),
    }
}

fn add(queue: &OwnedFd, event: Event) -> rustix::io::Result<()> {
    let mut nothing: [Event; 0] = [];
    // SAFETY: the event names a process and no descriptor, so none can be closed under it.
    unsafe { kqueue::kevent(queue, &[event], &mut nothing, None) }.map(drop)
}

/// The signals that this process ignores, one bit for each, the lowest for signal 1.
pub(super) fn ignored_signals() -> u64 {
    const LAST: c_int = 31;
    (1..=LAST).filter(|signal| is_ignored(*signal)).fold(0, |all, signal| all | 1 << (signal - 1))
}

fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is given; the old one is written into `action`, which is read only where that succeeded.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// The system's own randomness, of which it gives 256 bytes at once.
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    for part in bytes.chunks_mut(256) {
        // SAFETY: the buffer is ours and has this many bytes.
        checked(unsafe { libc::getentropy(part.as_mut_ptr().cast::<c_void>(), part.len()) })?;
    }
    Ok(())
}

fn checked(result: c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

//! The system calls of both platforms that have no safe wrapper, each with the reason why this use of it is sound. All of them may be made in
//! a copy of a process with several threads: each is one system call, or listed in signal-safety(7).

use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

use machine::ChildHandle;
use rustix::process::Pid;

use super::platform;

/// Who comes out of a fork.
pub(super) enum Forked {
    Copy,
    Original { pid: Pid, handle: ChildHandle },
}

/// A set of signals as the kernel wants it.
pub(super) struct Signals(pub(super) libc::sigset_t);

impl Signals {
    fn all() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigfillset` initialises the set that it is given.
        Self(unsafe {
            libc::sigfillset(set.as_mut_ptr());
            set.assume_init()
        })
    }

    pub(super) fn none() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initialises the set that it is given.
        Self(unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        })
    }
}

/// Blocks all signals for this thread, and returns what was blocked before.
pub(super) fn block_signals() -> Signals {
    let mut before = Signals::none();
    // SAFETY: both sets are initialised and outlive the call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &Signals::all().0, &mut before.0) };
    before
}

pub(super) fn restore_signals(before: &Signals) {
    // SAFETY: the set is initialised and outlives the call; no old set is asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before.0, ptr::null_mut()) };
}

pub(super) fn unblock_signals() {
    restore_signals(&Signals::none());
}

/// No handler of ours is left, and nothing is ignored but SIGHUP, by which `nohup` asks for that: a stage has to be
/// interruptible also where we were started in the background by a shell.
pub(super) fn default_signal_actions() {
    for signal in
        (1..=platform::last_signal()).filter(|signal| *signal != libc::SIGHUP || !is_ignored(*signal))
    {
        // SAFETY: the default action is no function of ours, so nothing can be called that is not there any more. For
        // SIGKILL, SIGSTOP and the two that the C library keeps to itself the call fails, which is fine.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is given; the old one is written into `action`, which is read only where that succeeded.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Copies a descriptor to the lowest free number from `lowest` on.
pub(super) fn copy_above(descriptor: RawFd, lowest: RawFd) -> io::Result<RawFd> {
    // SAFETY: no memory is involved; a descriptor that is not open gives an error.
    checked(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, lowest) })
}

pub(super) enum Inherited {
    ByTheStage,
    ByNobody,
}

/// Takes a number for a descriptor that is known to be open and owned by nobody else.
pub(super) fn owned(number: RawFd) -> OwnedFd {
    // SAFETY: only called by the shim, with numbers that it has filled itself a moment before and closes never or here.
    unsafe { OwnedFd::from_raw_fd(number) }
}

pub(super) fn checked(result: c_int) -> io::Result<c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Becomes another program; returns the error number where that fails.
///
/// Both lists end with a null pointer, and the texts they point to are alive: [`super::Pointers`] sees to that.
pub(super) fn execute(program: &CStr, arguments: &[*const c_char], environment: &[*const c_char]) -> c_int {
    // SAFETY: see above; the kernel only reads.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}

/// Ends this process at once: no destructor, no handler, no buffer of the original is touched.
pub(super) fn leave(code: c_int) -> ! {
    // SAFETY: it takes no memory and does not return.
    unsafe { libc::_exit(code) }
}

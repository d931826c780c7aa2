//! The system calls that have no safe wrapper, each with the reason why this use of it is sound. All of them may be made in
//! a copy of a process with several threads: each is one system call, or listed in signal-safety(7).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::Pid;

/// The mount namespace comes along, since `/proc` has to show the new PID namespace.
pub(super) const PID_NAMESPACE: c_int = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
pub(super) const USER_NAMESPACE: c_int = libc::CLONE_NEWUSER;

/// Who comes out of a fork.
pub(super) enum Forked {
    Copy,
    Original { pid: Pid, pidfd: OwnedFd },
}

/// Forks into new namespaces.
///
/// # Safety
/// The copy must only make async-signal-safe calls until it ends or becomes another program.
pub(super) unsafe fn fork(namespaces: c_int) -> io::Result<Forked> {
    let mut pidfd: c_int = -1;
    let flags = namespaces | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: without CLONE_VM and with no stack of its own the copy gets its own memory and goes on at this place, as
    // after fork(2). The third argument is where the kernel puts the pidfd, and `pidfd` outlives the call; the rest
    // is not looked at with these flags. (Not `clone3`: sandboxes that know only `clone` refuse it.)
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone,
            libc::c_long::from(flags),
            0 as libc::c_long,
            &raw mut pidfd,
            0 as libc::c_long,
            0 as libc::c_long,
        )
    };
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Copy),
        Ok(number) if number > 0 => {
            let pid = Pid::from_raw(number).ok_or(io::ErrorKind::InvalidData)?;
            // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Forked::Original { pid, pidfd })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Room for what a process does before it becomes another program.
pub(super) const STACK: usize = 64 * 1024;

/// Starts a process that shares our memory until it becomes another program, while we stand still: what posix_spawn(3)
/// does, since copying page tables that are thrown away a moment later costs a tenth of a millisecond.
///
/// # Safety
/// `run` must not return, must only make async-signal-safe calls, and must leave the memory as we need it.
pub(super) unsafe fn fork_sharing<T>(
    stack: &mut [MaybeUninit<u8>],
    run: extern "C" fn(*mut c_void) -> c_int,
    with: &T,
) -> io::Result<Pid> {
    // The stack grows downwards from its end, which has to be aligned.
    let end = stack.as_mut_ptr_range().end;
    let end = end.map_addr(|address| address & !15);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours alone and large enough, and `with` outlives the call: with CLONE_VFORK it lasts until the
    // new process has become another program or has ended. `run` only looks at `with`.
    let pid = unsafe { libc::clone(run, end.cast(), flags, ptr::from_ref(with).cast_mut().cast()) };
    if pid <= 0 {
        Err(io::Error::last_os_error())
    } else {
        Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData.into())
    }
}

/// A set of signals as the kernel wants it.
pub(super) struct Signals(libc::sigset_t);

impl Signals {
    fn all() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigfillset` initialises the set that it is given.
        Self(unsafe {
            libc::sigfillset(set.as_mut_ptr());
            set.assume_init()
        })
    }

    fn none() -> Self {
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
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| *signal != libc::SIGHUP || !is_ignored(*signal)) {
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

/// A descriptor that is readable when a child has ended, stopped or gone on. SIGCHLD must be blocked.
pub(super) fn child_events() -> io::Result<OwnedFd> {
    let mut set = Signals::none();
    // SAFETY: the set is initialised and outlives both calls; the descriptor is new and ours alone.
    unsafe {
        libc::sigaddset(&mut set.0, libc::SIGCHLD);
        match libc::signalfd(-1, &set.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

/// Copies a descriptor to the lowest free number from `lowest` on.
pub(super) fn copy_above(descriptor: RawFd, lowest: RawFd) -> io::Result<RawFd> {
    // SAFETY: no memory is involved; a descriptor that is not open gives an error.
    checked(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, lowest) })
}

/// Copies a descriptor to a number, whatever was open there.
///
/// The caller owns that number: only the copy of a process calls this, of which nothing else is left that could.
pub(super) fn copy_to(descriptor: RawFd, number: RawFd, inherited: Inherited) -> io::Result<RawFd> {
    let flags = match inherited {
        Inherited::ByTheStage => 0,
        Inherited::ByNobody => libc::O_CLOEXEC,
    };
    // SAFETY: no memory is involved.
    checked(unsafe { libc::dup3(descriptor, number, flags) })
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

/// Closes every descriptor from this one on.
pub(super) fn close_from(first: RawFd) {
    // SAFETY: no memory is involved. Rust values that believe to own one of these descriptors exist in the copy only as
    // bytes: nothing there is ever dropped.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    if closed != 0 {
        // A kernel before 5.9. More descriptors than this are not opened by us.
        for descriptor in first..65_536 {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sends a signal to every other process of our PID namespace. Outside of one this would be the whole machine, so it
/// does nothing unless we are the first process of it.
pub(super) fn signal_namespace(signal: c_int) {
    // SAFETY: no memory is involved.
    unsafe {
        if libc::getpid() == 1 {
            libc::kill(-1, signal);
        }
    }
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

//! The shim on Linux: a PID namespace, or else a subreaper; and the system calls that only Linux has.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::ptr;

use machine::ChildHandle;
use rustix::event::Timespec;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{Pid, Signal};

use super::Step;
use super::raw::{Forked, Inherited, Signals, checked};

text::named! {
    /// How the tree is kept together, from the strongest on.
    pub enum Isolated {
        /// Made as root.
        PidNamespace = "PID namespace",
        /// Needs no rights.
        UserNamespace = "PID namespace in a user namespace",
        /// No namespace: a process that all orphans of the tree fall to.
        Subreaper = "subreaper",
    }
}

impl Isolated {
    /// Whether all of the tree goes when the shim does.
    pub(crate) fn is_namespace(self) -> bool {
        matches!(self, Self::PidNamespace | Self::UserNamespace)
    }
}

/// What a person should know before a run.
pub const CAVEAT: Option<&str> = None;

/// The shim is woken by everything that happens.
pub(super) const LOOKS_EVERY: Option<Timespec> = None;

/// What maps our user and group into a user namespace as themselves.
pub(super) struct Surroundings {
    user_map: String,
    group_map: String,
}

impl Surroundings {
    pub(super) fn new() -> Self {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        Self { user_map: format!("{user} {user} 1\n"), group_map: format!("{group} {group} 1\n") }
    }

    pub(super) fn prepare(&self, isolated: Isolated) -> Result<(), (Step, io::Error)> {
        let _ = rustix::thread::set_name(c"checkstone-shim");
        match isolated {
            Isolated::PidNamespace => own_proc(),
            Isolated::UserNamespace => {
                self.map_user().map_err(|error| (Step::UserMap, error)).and_then(|()| own_proc())
            }
            Isolated::Subreaper => rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(|error| (Step::Subreaper, error.into())),
        }
    }

    /// We stay who we are in the user namespace.
    fn map_user(&self) -> io::Result<()> {
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", self.user_map.as_bytes())?;
        write_file(c"/proc/self/gid_map", self.group_map.as_bytes())
    }
}

fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, content)?;
    Ok(())
}

/// A `/proc` that shows the stage its own processes under their own numbers. Only this mount is taken out of what is
/// shared with the machine; whatever else a stage mounts stays visible to others as before.
fn own_proc() -> Result<(), (Step, io::Error)> {
    let failed = |error: Errno| (Step::ProcMount, io::Error::from(error));
    rustix::mount::mount_change(c"/proc", MountPropagationFlags::PRIVATE).map_err(failed)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount(c"proc", c"/proc", c"proc", flags, None).map_err(failed)
}

/// The process that becomes the stage leaves its surroundings.
pub(super) fn set_stage_apart(isolated: Isolated) {
    if isolated == Isolated::Subreaper {
        // Should the shim be killed, at least the stage's own process goes with it.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
    // A session of its own is a process group of its own as well.
    let _ = rustix::process::setsid();
}

/// The mount namespace comes along, since `/proc` has to show the new PID namespace.
const PID_NAMESPACE: c_int = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
const USER_NAMESPACE: c_int = libc::CLONE_NEWUSER;

/// Forks into new namespaces.
///
/// # Safety
/// The copy must only make async-signal-safe calls until it ends or becomes another program.
pub(super) unsafe fn fork(isolated: Isolated) -> io::Result<Forked> {
    let namespaces = match isolated {
        Isolated::PidNamespace => PID_NAMESPACE,
        Isolated::UserNamespace => PID_NAMESPACE | USER_NAMESPACE,
        Isolated::Subreaper => 0,
    };
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
            Ok(Forked::Original { pid, handle: ChildHandle::from(pidfd) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Room for what a process does before it becomes another program.
const STACK: usize = 64 * 1024;

/// Starts a process that shares our memory until it becomes another program, while we stand still: what posix_spawn(3)
/// does, since copying page tables that are thrown away a moment later costs a tenth of a millisecond.
///
/// # Safety
/// `run` must not return, must only make async-signal-safe calls, and must leave the memory as we need it.
pub(super) unsafe fn fork_stage<T>(run: extern "C" fn(*mut c_void) -> c_int, with: &T) -> io::Result<Pid> {
    let mut stack = [MaybeUninit::<u8>::uninit(); STACK];
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

/// What has happened so far is known.
pub(super) fn clear_events(events: &OwnedFd) {
    let _ = rustix::io::read(events, &mut [0; 128]);
}

pub(super) fn last_signal() -> c_int {
    libc::SIGRTMAX()
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

/// Sends a signal to every other process of our PID namespace, and says whether there is one. Outside of one this would be
/// the whole machine, so it does nothing unless we are the first process of it.
pub(super) fn signal_namespace(isolated: Isolated, signal: Signal) -> bool {
    if !isolated.is_namespace() {
        return false;
    }
    // SAFETY: no memory is involved.
    unsafe {
        if libc::getpid() == 1 {
            libc::kill(-1, signal.as_raw());
        }
    }
    true
}

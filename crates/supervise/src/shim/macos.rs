//! The shim on macOS: it leads a session, in which its stage and whoever that starts stay unless they leave it on purpose.
//! Compiled, and never run.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use machine::ChildHandle;
use rustix::event::Timespec;
use rustix::event::kqueue::{self, Event, EventFilter, EventFlags};
use rustix::process::{Pid, Signal};

use super::Step;
use super::raw::{self, Forked, Inherited, checked};

text::named! {
    /// How the tree is kept together, from the strongest on.
    pub enum Isolated {
        /// That of the shim, with a process group for the stage.
        Session = "session",
    }
}

impl Isolated {
    /// Whether all of the tree goes when the shim does.
    pub(crate) fn is_namespace(self) -> bool {
        false
    }
}

/// What a person should know before a run.
pub const CAVEAT: Option<&str> = Some(
    "on macOS, a process that starts a session of its own can outlive its stage; checkstone has not been tested there",
);

/// Orphans belong to process 1, and nobody tells the shim of their end.
pub(super) const LOOKS_EVERY: Option<Timespec> = Some(Timespec { tv_sec: 0, tv_nsec: 100_000_000 });

/// Nothing has to be made before the fork.
pub(super) struct Surroundings;

impl Surroundings {
    pub(super) fn new() -> Self {
        Self
    }

    /// The session is there already.
    pub(super) fn prepare(&self, _isolated: Isolated) -> Result<(), (Step, io::Error)> {
        Ok(())
    }
}

/// The stage has a process group of its own, in the session of the shim: by that its orphans are known.
pub(super) fn set_stage_apart(_isolated: Isolated) {
    let _ = rustix::process::setpgid(None, None);
}

/// Forks.
///
/// # Safety
/// The copy must only make async-signal-safe calls until it ends or becomes another program.
pub(super) unsafe fn fork(_isolated: Isolated) -> io::Result<Forked> {
    // SAFETY: the caller promises what fork(2) asks for.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Copy),
        number => {
            let pid = Pid::from_raw(checked(number)?).ok_or(io::ErrorKind::InvalidData)?;
            match ChildHandle::of(pid) {
                Ok(handle) => Ok(Forked::Original { pid, handle }),
                Err(error) => {
                    // It waits for an order that nobody will give.
                    let _ = rustix::process::kill_process(pid, Signal::KILL);
                    let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
                    Err(error)
                }
            }
        }
    }
}

/// Starts the process that becomes the stage.
///
/// # Safety
/// `run` must not return, and must only make async-signal-safe calls.
pub(super) unsafe fn fork_stage<T>(run: extern "C" fn(*mut c_void) -> c_int, with: &T) -> io::Result<Pid> {
    // SAFETY: the copy runs `run` and nothing else.
    match unsafe { libc::fork() } {
        0 => raw::leave(run(ptr::from_ref(with).cast_mut().cast())),
        number => Pid::from_raw(checked(number)?).ok_or(io::ErrorKind::InvalidData.into()),
    }
}

/// A descriptor that is readable when a child has ended, stopped or gone on.
pub(super) fn child_events() -> io::Result<OwnedFd> {
    let queue = kqueue::kqueue()?;
    rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)?;
    let filter = EventFilter::Signal { signal: Signal::CHILD, times: 0 };
    let event = Event::new(filter, EventFlags::ADD | EventFlags::CLEAR, ptr::null_mut());
    let mut nothing: [Event; 0] = [];
    // SAFETY: the event names a signal and no descriptor, so none can be closed under it.
    unsafe { kqueue::kevent(&queue, &[event], &mut nothing, Some(Duration::ZERO)) }?;
    Ok(queue)
}

/// What has happened so far is known.
pub(super) fn clear_events(events: &OwnedFd) {
    let mut room = [const { MaybeUninit::<Event>::uninit() }; 4];
    // SAFETY: nothing is added to the queue.
    let _ = unsafe { kqueue::kevent(events, &[], &mut room, Some(Duration::ZERO)) };
}

pub(super) fn last_signal() -> c_int {
    31
}

/// Copies a descriptor to a number, whatever was open there.
///
/// The caller owns that number: only the copy of a process calls this, of which nothing else is left that could.
pub(super) fn copy_to(descriptor: RawFd, number: RawFd, inherited: Inherited) -> io::Result<RawFd> {
    let flags = match inherited {
        Inherited::ByTheStage => 0,
        Inherited::ByNobody => libc::FD_CLOEXEC,
    };
    // SAFETY: no memory is involved. Nobody starts a program between the two.
    unsafe {
        checked(libc::dup2(descriptor, number))?;
        checked(libc::fcntl(number, libc::F_SETFD, flags))?;
    }
    Ok(number)
}

/// Closes every descriptor from this one on.
pub(super) fn close_from(first: RawFd) {
    // SAFETY: no memory is involved. Rust values that believe to own one of these descriptors exist in the copy only as
    // bytes: nothing there is ever dropped. More descriptors than this are not opened by us.
    unsafe {
        for descriptor in first..libc::getdtablesize().min(65_536) {
            libc::close(descriptor);
        }
    }
}

/// There is no such thing.
pub(super) fn signal_namespace(_isolated: Isolated, _signal: Signal) -> bool {
    false
}

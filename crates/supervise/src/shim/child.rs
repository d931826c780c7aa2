//! What runs in the copy: the shim itself, and for a moment the process that becomes the stage. Nothing here may
//! allocate, free, lock or panic; see `shim.rs`.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::descendants::Descendants;
use super::raw::{self, Inherited};
use super::{Order, Prepared, Step, Word};
use crate::command::Isolated;

const CONTROL: RawFd = 3;
const STATUS: RawFd = 4;
/// Above all that are used, so that none is overwritten before it was copied.
const ABOVE: RawFd = 16;

pub(super) fn shim(prepared: &mut Prepared) -> ! {
    let files = match arrange_files(prepared) {
        Ok(files) => files,
        Err(_) => raw::leave(1),
    };
    let KeptFiles { control, status } = files;
    if let Err((step, error)) = prepare_surroundings(prepared) {
        give_up(&status, step, &error);
    }
    // Not before the supervisor has written down who we are.
    let mut order = [0];
    match rustix::io::read(&control, &mut order) {
        Ok(1) if order == [Order::START.0] => {}
        _ => raw::leave(0),
    }
    let events = match raw::child_events() {
        Ok(events) => events,
        Err(error) => give_up(&status, Step::Files, &error),
    };
    let start = Start { prepared, status: &status };
    let mut stack = [MaybeUninit::uninit(); raw::STACK];
    // SAFETY: `become_stage` makes plain system calls, does not return, and only looks at what it is given.
    let stage = match unsafe { raw::fork_sharing(&mut stack, become_stage, &start) } {
        Ok(pid) => pid,
        Err(error) => give_up(&status, Step::Fork, &error),
    };
    // The stage alone holds the far ends of its pipes now, so that their ends tell of its end.
    drop(status);
    let mut nothing_left = 0;
    while nothing_left < CONTROL {
        drop(raw::owned(nothing_left));
        nothing_left += 1;
    }
    let descendants = Descendants::new(&mut prepared.room);
    let isolated = prepared.isolated;
    ShimProcess { isolated, control, events, stage, stage_is_over: false, killed: 0, descendants }.run()
}

struct KeptFiles {
    control: OwnedFd,
    status: OwnedFd,
}

/// Standard streams for the stage, the two ways to the supervisor, and nothing else.
fn arrange_files(prepared: &Prepared) -> io::Result<KeptFiles> {
    let mut above = [0; 5];
    for (place, descriptor) in above.iter_mut().zip(prepared.files.all()) {
        *place = raw::copy_above(descriptor.as_raw_fd(), ABOVE)?;
    }
    let [nothing, output, errors, control, status] = above;
    raw::copy_to(nothing, 0, Inherited::ByTheStage)?;
    raw::copy_to(output, 1, Inherited::ByTheStage)?;
    raw::copy_to(errors, 2, Inherited::ByTheStage)?;
    raw::copy_to(control, CONTROL, Inherited::ByNobody)?;
    raw::copy_to(status, STATUS, Inherited::ByNobody)?;
    raw::close_from(STATUS + 1);
    Ok(KeptFiles { control: raw::owned(CONTROL), status: raw::owned(STATUS) })
}

fn prepare_surroundings(prepared: &Prepared) -> Result<(), (Step, io::Error)> {
    raw::default_signal_actions();
    // Out of reach of the terminal, and of whoever signals the supervisor's group.
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"checkstone-shim");
    match prepared.isolated {
        Isolated::PidNamespace => own_proc(),
        Isolated::UserNamespace => {
            map_user(prepared).map_err(|error| (Step::UserMap, error)).and_then(|()| own_proc())
        }
        Isolated::Subreaper => rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| (Step::Subreaper, error.into())),
    }
}

/// We stay who we are in the user namespace.
fn map_user(prepared: &Prepared) -> io::Result<()> {
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", prepared.user_map.as_bytes())?;
    write_file(c"/proc/self/gid_map", prepared.group_map.as_bytes())
}

fn write_file(path: &std::ffi::CStr, content: &[u8]) -> io::Result<()> {
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

fn give_up(status: &OwnedFd, step: Step, error: &io::Error) -> ! {
    let told = super::pair(step as i32, error.raw_os_error().unwrap_or(0));
    let _ = rustix::io::write(status, &told);
    raw::leave(1)
}

/// What the process that becomes the stage is given.
struct Start<'a> {
    prepared: &'a Prepared,
    status: &'a OwnedFd,
}

extern "C" fn become_stage(start: *mut c_void) -> c_int {
    // SAFETY: `shim` has given us its `Start`, and stands still until we are another program.
    let Start { prepared, status } = unsafe { &*start.cast::<Start<'_>>() };
    if prepared.isolated == Isolated::Subreaper {
        // Should the shim be killed, at least the stage's own process goes with it.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
    // A session of its own is a process group of its own as well.
    let _ = rustix::process::setsid();
    if let Err(error) = rustix::process::chdir(prepared.directory.as_c_str()) {
        give_up(status, Step::Directory, &error.into());
    }
    raw::unblock_signals();
    // As execvp(3): a file that may not be run is remembered, and the search goes on.
    let mut worst = Errno::NOENT;
    for program in &prepared.programs {
        let error = raw::execute(program, &prepared.arguments.list, &prepared.environment.list);
        match Errno::from_raw_os_error(error) {
            Errno::NOENT | Errno::NOTDIR => {}
            Errno::ACCESS => worst = Errno::ACCESS,
            other => {
                worst = other;
                break;
            }
        }
    }
    give_up(status, Step::Execute, &worst.into())
}

struct ShimProcess<'a> {
    isolated: Isolated,
    control: OwnedFd,
    events: OwnedFd,
    stage: Pid,
    stage_is_over: bool,
    /// How many others have ended since [`ShimProcess::kill`] began.
    killed: u32,
    descendants: Descendants<'a>,
}

#[derive(PartialEq)]
enum Left {
    Some,
    Nobody,
}

impl ShimProcess<'_> {
    fn run(&mut self) -> ! {
        loop {
            let mut watched = [readable(self.control.as_fd()), readable(self.events.as_fd())];
            if poll(&mut watched, None).is_err() {
                continue;
            }
            let [control, _] = watched;
            let ordered = !control.revents().is_empty();
            if self.reap() == Left::Nobody {
                self.say(Word::Nobody);
                raw::leave(0);
            }
            if ordered {
                self.obey();
            }
        }
    }

    fn obey(&mut self) {
        let mut order = [0];
        match rustix::io::read(&self.control, &mut order) {
            Ok(1) if order == [Order::INTERRUPT.0] => self.signal(Signal::INT),
            Ok(1) if order == [Order::TERMINATE.0] => self.signal(Signal::TERM),
            Err(Errno::INTR) => {}
            // The order to kill, or nobody there any more to give one.
            _ => self.kill(),
        }
    }

    /// A signal to all, and to those that are stopped the chance to see it.
    fn signal(&mut self, signal: Signal) {
        match self.isolated {
            Isolated::PidNamespace | Isolated::UserNamespace => {
                raw::signal_namespace(signal.as_raw());
                raw::signal_namespace(Signal::CONT.as_raw());
            }
            Isolated::Subreaper => {
                self.descendants.signal(signal);
                self.descendants.signal(Signal::CONT);
            }
        }
    }

    /// Kills all of the tree and ends. That nobody is left is known for sure when we have no child: whoever loses its
    /// parent becomes ours.
    fn kill(&mut self) -> ! {
        let stage_was_over = self.stage_is_over;
        self.killed = 0;
        if self.isolated == Isolated::Subreaper {
            self.descendants.stop();
        }
        loop {
            let refused = match self.isolated {
                Isolated::PidNamespace | Isolated::UserNamespace => {
                    raw::signal_namespace(Signal::KILL.as_raw());
                    0
                }
                Isolated::Subreaper => self.descendants.kill(),
            };
            let left = self.reap();
            if left == Left::Nobody || refused > 0 {
                if refused > 0 {
                    self.say(Word::Survivors(refused));
                }
                if stage_was_over {
                    self.say(Word::Leftovers(self.killed));
                }
                if left == Left::Nobody {
                    self.say(Word::Nobody);
                }
                raw::leave(0);
            }
            let pause = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
            let _ = poll(&mut [readable(self.events.as_fd())], Some(&pause));
        }
    }

    /// Takes note of every child that has ended, stopped or gone on.
    fn reap(&mut self) -> Left {
        let _ = rustix::io::read(&self.events, &mut [0; 128]);
        loop {
            let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
            match rustix::process::wait(options) {
                Ok(Some((pid, status))) if pid == self.stage => self.tell(status),
                Ok(Some((_, status))) if status.exited() || status.signaled() => {
                    self.killed = self.killed.saturating_add(1);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Left::Some,
                Err(_) => return Left::Nobody,
            }
        }
    }

    fn tell(&mut self, status: WaitStatus) {
        if let Some(code) = status.exit_status() {
            self.stage_is_over = true;
            self.say(Word::Exited(code));
        } else if let Some(signal) = status.terminating_signal() {
            self.stage_is_over = true;
            self.say(Word::Killed(signal));
        } else if status.stopped() {
            self.say(Word::Stopped);
        } else {
            self.say(Word::Continued);
        }
    }

    /// Waits where the supervisor is stopped; where it is gone, nobody has to know.
    fn say(&self, word: Word) {
        let _ = rustix::io::write(&self.control, &word.to_bytes());
    }
}

fn readable(descriptor: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(descriptor, PollFlags::IN)
}

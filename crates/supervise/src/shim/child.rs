//! What runs in the copy: the shim itself, and for a moment the process that becomes the stage. Nothing here may
//! allocate, free, lock or panic; see `shim.rs`.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use machine::CAN_ADOPT_ORPHANS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::descendants::Descendants;
use super::raw::{self, Inherited};
use super::{Isolated, Order, Prepared, Step, Word, platform};

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
    let events = match platform::child_events() {
        Ok(events) => events,
        Err(error) => give_up(&status, Step::Files, &error),
    };
    let start = Start { prepared, status: &status };
    // SAFETY: `become_stage` makes plain system calls, does not return, and only looks at what it is given.
    let stage = match unsafe { platform::fork_stage(become_stage, &start) } {
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
    platform::copy_to(nothing, 0, Inherited::ByTheStage)?;
    platform::copy_to(output, 1, Inherited::ByTheStage)?;
    platform::copy_to(errors, 2, Inherited::ByTheStage)?;
    platform::copy_to(control, CONTROL, Inherited::ByNobody)?;
    platform::copy_to(status, STATUS, Inherited::ByNobody)?;
    platform::close_from(STATUS + 1);
    Ok(KeptFiles { control: raw::owned(CONTROL), status: raw::owned(STATUS) })
}

fn prepare_surroundings(prepared: &Prepared) -> Result<(), (Step, io::Error)> {
    raw::default_signal_actions();
    // Out of reach of the terminal, and of whoever signals the supervisor's group.
    let _ = rustix::process::setsid();
    prepared.surroundings.prepare(prepared.isolated)
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
    platform::set_stage_apart(prepared.isolated);
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
            if poll(&mut watched, platform::LOOKS_EVERY.as_ref()).is_err() {
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
        for signal in [signal, Signal::CONT] {
            if !platform::signal_namespace(self.isolated, signal) {
                self.descendants.signal(signal);
            }
        }
    }

    /// Kills all of the tree and ends. That nobody is left is known for sure when we have no child, if whoever loses its
    /// parent becomes ours.
    fn kill(&mut self) -> ! {
        let stage_was_over = self.stage_is_over;
        self.killed = 0;
        if !self.isolated.is_namespace() {
            self.descendants.stop();
        }
        if !CAN_ADOPT_ORPHANS {
            // Their end is nothing that we are told of.
            self.killed = self.descendants.number();
        }
        loop {
            let refused = match platform::signal_namespace(self.isolated, Signal::KILL) {
                true => 0,
                false => self.descendants.kill(),
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
        platform::clear_events(&self.events);
        loop {
            let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
            match rustix::process::wait(options) {
                Ok(Some((pid, status))) if pid == self.stage => self.tell(status),
                Ok(Some((_, status))) if status.exited() || status.signaled() => {
                    self.killed = self.killed.saturating_add(1);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Left::Some,
                Err(_) => return self.without_a_child(),
            }
        }
    }

    /// Orphans that do not become ours are looked for.
    fn without_a_child(&mut self) -> Left {
        if CAN_ADOPT_ORPHANS || self.descendants.number() == 0 { Left::Nobody } else { Left::Some }
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

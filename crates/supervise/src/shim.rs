//! The shim: one small process between the supervisor and a stage, which keeps the stage's tree together. It is a copy
//! of the supervisor that never becomes another program, since starting one would cost more than all the rest.
//!
//! This module and, on macOS, one of `machine` are all in which `unsafe` is allowed; the blocks are in `raw.rs` and in the
//! part of the platform (`linux.rs`, `macos.rs`), but for the places that fork. A copy of a process with several threads has only the thread that made it: another one may have
//! held a lock, of the allocator for example, and nobody will ever release it. So between the fork and the end of
//! the process only plain system calls are made: nothing is allocated, freed, printed or locked, and nothing may
//! panic. Everything that the copy needs is prepared in [`Prepared`] before, and its code is in `child.rs` and
//! `descendants.rs`, which use slices and numbers only.
#![allow(
    unsafe_code,
    reason = "forking without exec, with its proofs, is not to be had otherwise in half a millisecond"
)]

mod child;
mod descendants;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod raw;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;

use std::ffi::{CString, OsStr, c_char};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use machine::ChildHandle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use self::descendants::Room;
pub(super) use self::descendants::end_child;
use self::platform::Surroundings;
pub use self::platform::{CAVEAT, Isolated};
use super::command::{Command, SpawnError};

/// What the supervisor says to the shim, in one byte. Saying nothing more, by closing the socket or by dying, means
/// the same as [`Order::KILL`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Order(pub(super) u8);

impl Order {
    pub(super) const START: Self = Self(b's');
    pub(super) const INTERRUPT: Self = Self(b'i');
    pub(super) const TERMINATE: Self = Self(b't');
    pub(super) const KILL: Self = Self(b'k');
}

/// What the shim says to the supervisor: a kind and a number, four bytes each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Word {
    /// The stage's own process ended.
    Exited(i32),
    Killed(i32),
    /// It was stopped, or goes on.
    Stopped,
    Continued,
    /// After it had ended, so many others were still there and were killed.
    Leftovers(u32),
    /// So many could not be killed.
    Survivors(u32),
    /// The last word: nobody of the tree is left, and the shim goes as well.
    Nobody,
}

impl Word {
    pub(super) const BYTES: usize = 8;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let (kind, number) = match self {
            Self::Exited(code) => (1, code),
            Self::Killed(signal) => (2, signal),
            Self::Stopped => (3, 0),
            Self::Continued => (4, 0),
            Self::Leftovers(number) => (5, number as i32),
            Self::Survivors(number) => (6, number as i32),
            Self::Nobody => (7, 0),
        };
        pair(kind, number)
    }

    pub(super) fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let (kind, number) = unpair(bytes);
        Some(match kind {
            1 => Self::Exited(number),
            2 => Self::Killed(number),
            3 => Self::Stopped,
            4 => Self::Continued,
            5 => Self::Leftovers(number as u32),
            6 => Self::Survivors(number as u32),
            7 => Self::Nobody,
            _ => return None,
        })
    }
}

fn pair(one: i32, other: i32) -> [u8; 8] {
    (((one as u32 as u64) << 32) | other as u32 as u64).to_ne_bytes()
}

fn unpair(bytes: [u8; 8]) -> (i32, i32) {
    let both = u64::from_ne_bytes(bytes);
    ((both >> 32) as i32, both as i32)
}

/// A step that can fail before the stage runs. Its number goes through the status pipe with the error's number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(i32)]
enum Step {
    Files = 1,
    UserMap = 2,
    ProcMount = 3,
    Subreaper = 4,
    Fork = 5,
    Directory = 6,
    Execute = 7,
}

impl Step {
    fn from_number(number: i32) -> Option<Self> {
        [
            Self::Files,
            Self::UserMap,
            Self::ProcMount,
            Self::Subreaper,
            Self::Fork,
            Self::Directory,
            Self::Execute,
        ]
        .into_iter()
        .find(|step| *step as i32 == number)
    }
}

/// All that the copy needs, made before the fork: there it can only be looked at.
struct Prepared {
    isolated: Isolated,
    /// The files that may be the program, one for each directory of `PATH`.
    programs: Vec<CString>,
    arguments: Pointers,
    environment: Pointers,
    directory: CString,
    surroundings: Surroundings,
    files: Files,
    /// Room for what is read of the machine's processes where there is no namespace.
    room: Room,
}

/// The open files that the copy keeps; all others are closed in it.
struct Files {
    nothing: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
    control: OwnedFd,
    status: OwnedFd,
}

/// Texts and the null-terminated list of pointers to them that `execve` wants.
struct Pointers {
    /// Never changed after `list` was made: the pointers go into these.
    _texts: Vec<CString>,
    list: Vec<*const c_char>,
}

impl Pointers {
    fn new(texts: Vec<CString>) -> Self {
        let list = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _texts: texts, list }
    }
}

/// A shim that waits for [`Order::START`].
#[derive(Debug)]
pub(super) struct Shim {
    pub(super) pid: Pid,
    pub(super) handle: ChildHandle,
    pub(super) control: UnixStream,
    /// Tells what failed before the stage ran; ends without a word when it runs.
    status: OwnedFd,
}

/// The ends of the pipes that the stage writes to.
pub(super) struct Outputs {
    pub(super) output: OwnedFd,
    pub(super) errors: OwnedFd,
}

impl Shim {
    /// Makes the copy. It prepares its surroundings at once, and waits with the stage itself.
    pub(super) fn start(command: &Command, isolated: Isolated, outputs: Outputs) -> Result<Self, SpawnError> {
        let nothing = rustix::fs::open(
            c"/dev/null",
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        );
        let (control, far_control) = UnixStream::pair().map_err(SpawnError::Shim)?;
        let (status, far_status) = pipe().map_err(SpawnError::Shim)?;
        let files = Files {
            nothing: nothing.map_err(|error| SpawnError::Shim(error.into()))?,
            output: outputs.output,
            errors: outputs.errors,
            control: far_control.into(),
            status: far_status,
        };
        let mut prepared = Prepared::new(command, isolated, files)?;
        let (pid, handle) = fork_shim(&mut prepared).map_err(|source| SpawnError::Isolate {
            isolation: isolated.name(),
            step: "a new process",
            source,
        })?;
        Ok(Self { pid, handle, control, status })
    }

    /// Lets the stage begin, and waits until its program runs.
    pub(super) fn let_begin(&self, command: &Command, isolated: Isolated) -> Result<(), SpawnError> {
        match self.order(Order::START) {
            // A shim that has failed already has closed its end; the status tells why.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(SpawnError::Shim(error)),
            _ => {}
        }
        let mut told = [0; 8];
        let length = loop {
            match rustix::io::read(&self.status, &mut told) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other.map_err(|error| SpawnError::Shim(error.into()))?,
            }
        };
        if length < told.len() {
            return Ok(());
        }
        let (step, error) = unpair(told);
        let source = io::Error::from_raw_os_error(error);
        let isolation = isolated.name();
        Err(match Step::from_number(step) {
            Some(Step::UserMap) => SpawnError::Isolate { isolation, step: "the user map", source },
            Some(Step::ProcMount) => SpawnError::Isolate { isolation, step: "its own `/proc`", source },
            Some(Step::Subreaper) => SpawnError::Isolate { isolation, step: "taking in orphans", source },
            Some(Step::Directory) => SpawnError::Directory { path: command.directory.clone(), source },
            Some(Step::Execute) => SpawnError::Program { program: program_name(command), source },
            Some(Step::Files | Step::Fork) | None => SpawnError::Shim(source),
        })
    }

    pub(super) fn ends_within(&self, time: Duration) -> bool {
        let limit = Instant::now() + time;
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            match poll(&mut [PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)], Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                ended => return ended.is_ok_and(|number| number > 0),
            }
        }
    }

    pub(super) fn order(&self, order: Order) -> io::Result<()> {
        rustix::io::write(&self.control, &[order.0])?;
        Ok(())
    }
}

/// A pipe that no other program inherits.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (near, far) = io::pipe()?;
    Ok((near.into(), far.into()))
}

fn fork_shim(prepared: &mut Prepared) -> io::Result<(Pid, ChildHandle)> {
    // Signals stay blocked in the copy: a handler of ours, run there, would write into pipes that it shares with us.
    let before = raw::block_signals();
    // SAFETY: the copy runs `child::shim` and nothing else, which makes plain system calls only and does not return.
    let forked = unsafe { platform::fork(prepared.isolated) };
    match forked {
        Ok(raw::Forked::Copy) => child::shim(prepared),
        Ok(raw::Forked::Original { pid, handle }) => {
            raw::restore_signals(&before);
            Ok((pid, handle))
        }
        Err(error) => {
            raw::restore_signals(&before);
            Err(error)
        }
    }
}

fn program_name(command: &Command) -> String {
    command.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Prepared {
    fn new(command: &Command, isolated: Isolated, files: Files) -> Result<Self, SpawnError> {
        let program = command.argv.first().filter(|program| !program.is_empty()).ok_or(SpawnError::Empty)?;
        let arguments = command.argv.iter().map(|text| c_string(text.as_bytes()));
        let environment = command.environment.iter().map(|(name, value)| {
            let mut both = name.as_bytes().to_vec();
            both.push(b'=');
            both.extend_from_slice(value.as_bytes());
            c_string(&both)
        });
        let most = if isolated.is_namespace() { 0 } else { machine::MOST };
        Ok(Self {
            isolated,
            programs: programs(program, command)?,
            arguments: Pointers::new(arguments.collect::<Result<_, _>>()?),
            environment: Pointers::new(environment.collect::<Result<_, _>>()?),
            directory: c_string(command.directory.as_os_str().as_bytes())?,
            surroundings: Surroundings::new(),
            files,
            room: Room::new(most),
        })
    }
}

/// The files that the program's name can mean.
fn programs(program: &OsStr, command: &Command) -> Result<Vec<CString>, SpawnError> {
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(program.as_bytes())?]);
    }
    let path = command.environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |(_, path)| path);
    let mut programs = Vec::new();
    for folder in path.as_bytes().split(|byte| *byte == b':') {
        let mut file = folder.to_vec();
        if !file.is_empty() {
            file.push(b'/');
        }
        file.extend_from_slice(program.as_bytes());
        programs.push(c_string(&file)?);
    }
    Ok(programs)
}

fn c_string(bytes: &[u8]) -> Result<CString, SpawnError> {
    CString::new(bytes).map_err(|_| SpawnError::Nul(String::from_utf8_lossy(bytes).into_owned()))
}

impl Files {
    fn all(&self) -> [BorrowedFd<'_>; 5] {
        [
            self.nothing.as_fd(),
            self.output.as_fd(),
            self.errors.as_fd(),
            self.control.as_fd(),
            self.status.as_fd(),
        ]
    }
}

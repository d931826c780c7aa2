//! Processes as `libproc` shows them. What the shim of `supervise` uses between fork and exec (opening, reading, signalling)
//! allocates nothing beyond the room that it is given, and does not panic.

use std::ffi::{OsStr, OsString, c_char};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::libc_calls;
use crate::process::{MOST, Process};

/// Orphans fall to process 1, whoever started them.
pub const CAN_ADOPT_ORPHANS: bool = false;

/// Who takes in orphans.
const FIRST_PROCESS: i32 = 1;

/// The processes of this machine.
#[derive(Debug)]
pub struct ProcessTable;

impl ProcessTable {
    pub fn open() -> rustix::io::Result<Self> {
        Ok(Self)
    }

    /// All processes, by number; as many as there is room for.
    pub fn read_all(&self, rows: &mut Vec<Process>) {
        rows.clear();
        let mut room = [0; MOST];
        let pids = libc_calls::all_pids(&mut room);
        pids.sort_unstable();
        for pid in pids {
            if rows.len() == rows.capacity() {
                return;
            }
            if let Some(process) = self.read(*pid) {
                rows.push(process);
            }
        }
    }

    /// One process; `None` if there is none of this number.
    pub fn read(&self, pid: i32) -> Option<Process> {
        let told = libc_calls::process_information(pid)?;
        Some(Process {
            pid,
            parent: parent(pid, i32::try_from(told.pbi_ppid).ok()?),
            is_alive: told.pbi_status != libc::SZOMB,
            started: told.pbi_start_tvsec.saturating_mul(1_000_000).saturating_add(told.pbi_start_tvusec),
            ticks: ticks(pid),
        })
    }

    /// A signal to this process, unless the number has gone to another one. Nothing keeps it from going in the instant
    /// between looking and signalling.
    pub fn signal(&self, process: &Process, signal: Signal) -> rustix::io::Result<()> {
        let pid = Pid::from_raw(process.pid).ok_or(Errno::SRCH)?;
        match self.read(process.pid) {
            Some(now) if now.started == process.started => rustix::process::kill_process(pid, signal),
            _ => Err(Errno::SRCH),
        }
    }

    /// The numbers of all processes.
    pub fn pids() -> Vec<i32> {
        libc_calls::all_pids(&mut vec![0; MOST]).to_vec()
    }

    /// A process's own group, and the group in front of its terminal.
    pub fn groups(pid: i32) -> Option<(i32, i32)> {
        let told = libc_calls::process_information(pid)?;
        Some((i32::try_from(told.pbi_pgid).ok()?, i32::try_from(told.e_tpgid).ok()?))
    }

    /// The program and its arguments, empty ones left out; none if the system does not tell.
    pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
        let text = libc_calls::start_of_process(pid).unwrap_or_default();
        let (arguments, _) = arguments_and_variables(&text);
        arguments.into_iter().filter(|argument| !argument.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Whether it was started with this variable, `NAME=VALUE`; no if the system does not tell, as of programs that it
    /// protects.
    pub fn was_started_with(pid: i32, variable: &[u8]) -> bool {
        let text = libc_calls::start_of_process(pid).unwrap_or_default();
        arguments_and_variables(&text).1.contains(&variable)
    }

    /// The folder that it works in.
    pub fn working_folder(pid: i32) -> Option<PathBuf> {
        let told = libc_calls::folders(pid)?;
        let path = text_of(told.pvi_cdir.vip_path.as_flattened());
        (!path.is_empty()).then(|| OsString::from_vec(path).into())
    }

    /// What the program is called, in up to 15 bytes.
    pub fn name(pid: i32) -> String {
        let told = libc_calls::process_information(pid);
        told.map(|told| String::from_utf8_lossy(&text_of(&told.pbi_comm)).into_owned()).unwrap_or_default()
    }

    /// What a process has in memory, shared pages included.
    pub fn resident(pid: i32) -> u64 {
        libc_calls::usage(pid).map_or(0, |usage| usage.ri_resident_size)
    }

    /// What it alone uses, as the activity monitor shows it.
    pub fn proportional(pid: i32) -> u64 {
        libc_calls::usage(pid).map_or(0, |usage| usage.ri_phys_footprint)
    }

    /// Whether a process is seen to have a file of this name open. `None` if nobody can know.
    pub fn has_open(_name: &OsStr) -> Option<bool> {
        None
    }
}

/// An orphan counts as a child of the leader of its session, which may be gone: that number goes to nobody else while the
/// session is there.
fn parent(pid: i32, told: i32) -> i32 {
    if told != FIRST_PROCESS {
        return told;
    }
    let session = rustix::process::getsid(Pid::from_raw(pid)).map(|leader| leader.as_raw_nonzero().get());
    session.ok().filter(|leader| *leader != pid).unwrap_or(told)
}

/// Hundredths of a second, that of children that have ended included.
fn ticks(pid: i32) -> u64 {
    let Some(usage) = libc_calls::usage(pid) else { return 0 };
    let units =
        [usage.ri_user_time, usage.ri_system_time, usage.ri_child_user_time, usage.ri_child_system_time];
    let (numerator, denominator) = libc_calls::timebase();
    let nanoseconds = units.into_iter().fold(0_u64, u64::saturating_add) / denominator;
    nanoseconds.saturating_mul(numerator) / 10_000_000
}

/// The text of an array that a NUL may end.
fn text_of(letters: &[c_char]) -> Vec<u8> {
    letters.iter().map(|letter| letter.cast_unsigned()).take_while(|letter| *letter != 0).collect()
}

/// How many arguments there are, the program's file, NULs up to a whole word, and then the arguments and the variables, each
/// ended by a NUL.
fn arguments_and_variables(text: &[u8]) -> (Vec<&[u8]>, Vec<&[u8]>) {
    let Some((count, rest)) = text.split_first_chunk::<4>() else { return Default::default() };
    let count = usize::try_from(i32::from_ne_bytes(*count)).unwrap_or(0);
    let after_program = rest.iter().position(|byte| *byte == 0).and_then(|end| rest.get(end..));
    let after_program = after_program.unwrap_or_default();
    let begin = after_program.iter().position(|byte| *byte != 0).unwrap_or(after_program.len());
    let mut words = after_program.get(begin..).unwrap_or_default().split(|byte| *byte == 0);
    let arguments = words.by_ref().take(count).collect();
    (arguments, words.take_while(|word| !word.is_empty()).collect())
}

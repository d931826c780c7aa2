//! A process that is known for good: by its number, its start, and the machine and namespace that the number belongs to.

use std::io;

use serde::{Deserialize, Serialize};

use super::{processes, record};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Which start of which machine.
    boot: String,
    /// In containers the same number names somebody else.
    namespace: String,
    pid: i32,
    started: u64,
}

impl ProcessIdentity {
    pub fn of_this_process() -> io::Result<Self> {
        let proc = processes::open()?;
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let started = processes::read(&proc, pid).map_or(0, |process| process.started);
        Ok(Self { boot: record::boot()?, namespace: namespace(), pid, started })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it certainly lives no more. Of a process on another machine nobody here can tell.
    pub fn is_gone(&self) -> bool {
        let Ok(proc) = processes::open() else { return false };
        let is_near = record::boot().is_ok_and(|boot| boot == self.boot) && namespace() == self.namespace;
        let is_alive = || {
            processes::read(&proc, self.pid).is_some_and(|now| now.started == self.started && now.is_alive())
        };
        is_near && !is_alive()
    }
}

fn namespace() -> String {
    let link = fs_err::read_link("/proc/self/ns/pid");
    link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

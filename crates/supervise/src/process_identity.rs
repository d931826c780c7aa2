//! A process that is known for good: by its number, its start, and the machine and namespace that the number belongs to.

use std::io;

use machine::{ProcessTable, process_namespace};
use serde::{Deserialize, Serialize};

use super::record;

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
        let table = ProcessTable::open()?;
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let started = table.read(pid).map_or(0, |process| process.started);
        Ok(Self { boot: record::boot()?, namespace: process_namespace(), pid, started })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it certainly lives no more. Of a process on another machine nobody here can tell.
    pub fn is_gone(&self) -> bool {
        let Ok(table) = ProcessTable::open() else { return false };
        let is_near =
            record::boot().is_ok_and(|boot| boot == self.boot) && process_namespace() == self.namespace;
        let is_alive = || table.read(self.pid).is_some_and(|now| now.started == self.started && now.is_alive);
        is_near && !is_alive()
    }
}

//! Who has a lease: a process on a host.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};
use supervise::ProcessIdentity;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// For people; two hosts may have the same name.
    host: String,
    process: ProcessIdentity,
}

impl LeaseOwner {
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self { host: machine::host_name(), process: ProcessIdentity::of_this_process()? })
    }

    /// Whether it certainly lives no more: its lease need not be waited for.
    pub fn is_gone(&self) -> bool {
        self.process.is_gone()
    }
}

impl fmt::Display for LeaseOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "process {} on `{}`", self.process.pid(), self.host)
    }
}

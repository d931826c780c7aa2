//! One file per command: an argument struct whose doc comment is the help, and one function that runs it.

pub(crate) mod abort;
pub(crate) mod check;
pub(crate) mod checkpoint;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod handoff;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod inject;
pub(crate) mod log;
pub(crate) mod markers;
pub(crate) mod policy;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod timeline;
pub(crate) mod tokens;
pub(crate) mod trust;
pub(crate) mod uninstall;
pub(crate) mod watch;
pub(crate) mod workflow;

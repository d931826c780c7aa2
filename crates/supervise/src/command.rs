//! What is to be supervised, how far it is to be kept together, and why it cannot be started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::shim::Isolated;

/// One program with everything that it is given. Standard input is always empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// The program and its arguments. Without a slash the program is looked for in `PATH` of `environment`.
    pub argv: Vec<OsString>,
    /// All of it: nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
    /// The file that keeps standard output and standard error together.
    pub output: PathBuf,
    /// So many bytes of output are kept: half from its beginning, half from its end.
    pub kept: u64,
    /// The record by which [`super::sweep`] finds what a lost supervisor left behind. Removed when the tree is gone.
    pub record: PathBuf,
}

/// How the tree is to be kept together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// The strongest that this machine allows.
    #[default]
    Best,
    /// This way or none.
    Only(Isolated),
}

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the command is empty")]
    Empty,
    #[error("a NUL byte in `{0}`")]
    Nul(String),
    #[error("cannot start `{program}`")]
    Program { program: String, source: io::Error },
    #[error("cannot enter the directory `{path}`")]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot keep the output")]
    Output(#[source] io::Error),
    #[error("cannot write the record of the supervisor")]
    Record(#[source] io::Error),
    #[error("cannot isolate the command with a {isolation}: {step}")]
    Isolate { isolation: &'static str, step: &'static str, source: io::Error },
    #[error("cannot start the process that keeps the command together")]
    Shim(#[source] io::Error),
}

//! What a stop needs to know of the machine and the user, read by the program from its environment.

use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct StopSettings {
    /// Where the journal and the log are.
    pub state: PathBuf,
    /// The user's own configuration.
    pub user_file: Option<PathBuf>,
    /// The user's home, which is nobody's project even if it is a repository.
    pub home: Option<PathBuf>,
    pub git: changes::GitProgram,
    /// The work item of sessions that have none of their own.
    pub slug: Option<String>,
}

//! What `checkstone doctor` looks at: each client, how the hook is registered in it, whether it really answers, and
//! what the hook needs around it. Nothing here writes to the user's settings, repository or journal, except for [`repair`],
//! which does what a person asked for.

pub(crate) mod client;
pub(crate) mod finding;
pub(crate) mod hook_trust;
pub(crate) mod newest_transcript;
pub(crate) mod registered;
pub(crate) mod rehearsal;
pub(crate) mod remedy;
pub(crate) mod repair;
pub(crate) mod slurm;
pub(crate) mod storage;
pub(crate) mod surroundings;

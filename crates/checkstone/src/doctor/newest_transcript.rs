//! The newest transcript that a client wrote on this machine, found where the client keeps them, and how much of it is
//! understood: a newer client may write what this version does not know.

use std::path::Path;

use agents::transcripts;
use transcript::{Agent, Extent};

use super::finding::Finding;
use crate::home_relative::home_relative;

/// `home` is the client's own folder.
pub(crate) fn look(agent: Agent, home: &Path) -> Option<Finding> {
    let path = transcripts::newest(agent, home)?;
    let coverage = transcript::read(&path, &gate::reading_options(Some(agent))).coverage;
    let shown = home_relative(&path);
    let counts = format!("{} of {} records understood in `{shown}`", coverage.understood, coverage.records);
    Some(match coverage.extent {
        Extent::Complete => Finding::good(agent, "transcript", counts),
        Extent::Truncated => {
            Finding::good(agent, "transcript", format!("{counts}, in a turn too long to read in full"))
        }
        // A session that was opened and left has nothing in it that could be understood.
        Extent::Unavailable if coverage.records == 0 => {
            Finding::note(agent, "transcript", format!("the newest, `{shown}`, is empty"))
        }
        Extent::Unavailable => Finding::problem(agent, "transcript", format!("only {counts}"))
            .advice("this version does not know what the client writes: update checkstone"),
    })
}

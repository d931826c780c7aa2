//! `checkstone hook`: what clients call at their events.

use std::ffi::OsString;
use std::io::Read as _;

use crate::arguments::AgentName;

/// Answer a client's hook: reads the event from stdin, prints the client's decision or nothing
///
/// Clients call this; people do not need to. It exits 0 whatever happens.
#[derive(Debug, clap::Args)]
pub(crate) struct HookArguments {
    /// The client that calls
    pub(crate) agent: AgentName,
}

/// A larger payload is not read to its end.
const LARGEST_PAYLOAD: u64 = 64 * 1024 * 1024;

/// The decision to print. No event has one yet: every payload is taken and passed.
pub(crate) fn run(_arguments: &[OsString]) -> Option<String> {
    // A client may be waiting until it has written all of its payload.
    let _ = std::io::copy(&mut std::io::stdin().lock().take(LARGEST_PAYLOAD), &mut std::io::sink());
    None
}

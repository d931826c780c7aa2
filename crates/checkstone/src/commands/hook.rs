//! `checkstone hook`: what clients call at their events.

use std::ffi::OsString;

use transcript::Agent;

use crate::arguments::AgentName;
use crate::environment;
use crate::hook;
use crate::stopwatch::Stopwatch;

/// Answer a client's hook: reads the event from stdin, prints the client's decision or nothing
///
/// Clients call this; people do not need to. It exits 0 whatever happens.
#[derive(Debug, clap::Args)]
pub(crate) struct HookArguments {
    /// The client that calls
    pub(crate) agent: AgentName,
}

/// The decision to print. The arguments are looked at by hand: a client must not fail over a word that this version
/// does not know.
pub(crate) fn run(arguments: &[OsString]) -> Option<String> {
    let stopwatch = Stopwatch::start();
    if environment::is_switched_off() {
        return None;
    }
    let name = arguments.get(2)?;
    let agent = Agent::ALL.into_iter().find(|agent| name == agent.name())?;
    let bytes = hook::read_payload();
    hook::answer(agent, &bytes, stopwatch)
}

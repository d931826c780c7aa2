//! `checkstone hook`: what clients call at their events.

use std::ffi::OsString;

use stop::Stopwatch;
use transcript::Agent;

use crate::agent_name::AgentName;
use crate::environment;
use crate::hook;

/// Answer a client's hook: read the event from stdin, print a decision or nothing
///
/// Clients call this; people do not need to. It exits 0 whatever happens.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone hook claude < payload.json

Codex without hooks, in its config.toml above every table:
  notify = [\"/path/of/checkstone\", \"hook\", \"codex\", \"--notify\"]")]
pub(crate) struct HookArguments {
    /// The client that calls
    pub(crate) agent: AgentName,
    /// Codex's `notify` program: the event is the last argument, and a hold is typed into the session's tmux pane
    #[arg(long)]
    pub(crate) notify: bool,
}

/// The decision to print. The arguments are looked at by hand: a client must not fail over a word that this version
/// does not know.
pub(crate) fn run(arguments: &[OsString]) -> Option<String> {
    let stopwatch = Stopwatch::start();
    if environment::is_switched_off() {
        return None;
    }
    let name = arguments.get(2)?;
    let agent = Agent::named(name.to_str()?)?;
    if arguments.get(3).is_some_and(|word| word == "--notify") {
        if let Some(argument) = arguments.get(4..).and_then(<[_]>::last) {
            hook::receive_notification(agent, argument, stopwatch);
        }
        return None;
    }
    let bytes = hook::read_payload();
    hook::answer(agent, &bytes, stopwatch)
}

//! In which form a client is told to hold its agent.
//!
//! Seen with Claude Code 2.1.197 and 2.1.325, at the screen and with `-p`: a stop hook that answers with
//! `additionalContext` holds as `block` does. The agent goes on with the same text, once instead of twice; the next stop
//! has `stop_hook_active`; the client gives up after the same eight holds in a row. The person reads “Stop hook
//! feedback” where `block` makes it “Stop hook error”, with an error beside the prompt. Of a text of more than about
//! 9,700 characters the model gets 2,000 and the name of a file; `block` passes it on whole.

use transcript::Agent;

use crate::host::host;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldForm {
    /// `{"decision":"block","reason":…}`, which every client takes.
    Block,
    /// `additionalContext`, which only some take for a hold.
    Context,
}

/// Bytes of a text that reaches the model whole as context, with something to spare.
pub(crate) const LONGEST_CONTEXT: usize = 8 * 1024;

impl HoldForm {
    /// By the name that the client gives itself in the environment of its hooks.
    pub fn of_harness(agent: Agent, name: &str) -> Self {
        match host(agent).can.holds_by_context {
            Some(holds) if holds(name) => Self::Context,
            _ => Self::Block,
        }
    }
}

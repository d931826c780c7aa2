//! In which form a client is told to hold its agent.
//!
//! Seen with Claude Code 2.1.197 and 2.1.325, at the screen and with `-p`: a stop hook that answers with
//! `additionalContext` holds as `block` does. The agent goes on with the same text, once instead of twice; the next stop
//! has `stop_hook_active`; the client gives up after the same eight holds in a row. The person reads “Stop hook
//! feedback” where `block` makes it “Stop hook error”, with an error beside the prompt. Of a text of more than about
//! 9,700 characters the model gets 2,000 and the name of a file; `block` passes it on whole.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldForm {
    /// `{"decision":"block","reason":…}`, which every client takes.
    Block,
    /// `additionalContext`, which only Claude Code takes for a hold.
    Context,
}

/// The first version of Claude Code that was seen to hold so.
const FIRST_VERSION: [u32; 3] = [2, 1, 197];

/// Bytes of a text that reaches the model whole as context, with something to spare.
pub(crate) const LONGEST_CONTEXT: usize = 8 * 1024;

impl HoldForm {
    /// By the name that Claude Code gives itself in the environment of its hooks: `claude-code_2-1-325_harness`. Other
    /// programs that run Claude Code's registrations have no such name, and what an agent starts is called `…_agent`.
    pub fn of_harness(name: &str) -> Self {
        let version = name.strip_prefix("claude-code_").and_then(|rest| rest.strip_suffix("_harness"));
        let numbers =
            version.map(|version| version.split('-').map(str::parse).collect::<Result<Vec<u32>, _>>());
        match numbers {
            Some(Ok(numbers)) if numbers.as_slice() >= FIRST_VERSION.as_slice() => Self::Context,
            _ => Self::Block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_that_hold_so_are_told_so() {
        let form = HoldForm::of_harness;
        for name in
            ["claude-code_2-1-197_harness", "claude-code_2-1-325_harness", "claude-code_3-0-0_harness"]
        {
            assert_eq!(form(name), HoldForm::Context, "{name}");
        }
        for name in [
            "",
            "claude-code_2-1-196_harness",
            "claude-code_1-99-999_harness",
            "claude-code_2-1-325_agent",
            "claude-code_2-1-x_harness",
            "claude-code__harness",
            "claude-code_harness",
            "codex_2-1-325_harness",
        ] {
            assert_eq!(form(name), HoldForm::Block, "{name}");
        }
    }
}

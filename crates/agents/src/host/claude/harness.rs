//! Which versions of Claude Code take context at a stop for a hold, by the name that it gives itself.

/// The first version that was seen to hold so.
const FIRST_VERSION: [u32; 3] = [2, 1, 197];

/// By the name in the environment of its hooks: `claude-code_2-1-325_harness`. Other programs that run Claude Code's
/// registrations have no such name, and what an agent starts is called `…_agent`.
pub(super) fn holds_by_context(name: &str) -> bool {
    let version = name.strip_prefix("claude-code_").and_then(|rest| rest.strip_suffix("_harness"));
    let numbers = version.map(|version| version.split('-').map(str::parse).collect::<Result<Vec<u32>, _>>());
    matches!(numbers, Some(Ok(numbers)) if numbers.as_slice() >= FIRST_VERSION.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_that_hold_so_are_told_so() {
        for name in
            ["claude-code_2-1-197_harness", "claude-code_2-1-325_harness", "claude-code_3-0-0_harness"]
        {
            assert!(holds_by_context(name), "{name}");
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
            assert!(!holds_by_context(name), "{name}");
        }
    }
}

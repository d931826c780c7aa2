//! How much of the context is in use, and how large the window of a known model is.

use crate::agent::Agent;
use crate::entry::ContextUse;
use crate::format;
use crate::model::Usage;

/// Windows by the beginning of the model's name. A model that is not listed has an unknown window: better no
/// percentage than a wrong one.
const WINDOWS: &[(&str, u64)] = &[
    ("claude-opus-5-5", 1_000_000),
    ("claude-3", 200_000),
    ("claude-opus-4", 200_000),
    ("claude-sonnet-4", 200_000),
    ("claude-haiku-4", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-", 1_048_576),
];

/// What a long-context variant of a smaller model offers; its name does not tell.
const LONG_CONTEXT: u64 = 1_000_000;

pub(crate) fn usage(agent: Agent, context: ContextUse) -> Usage {
    let ContextUse { tokens, answered, window, model } = context;
    let known = model.as_deref().and_then(window_of);
    let has_long_variants = format::of(agent).has_long_variants;
    let window = window.filter(|window| *window > 0).or_else(|| {
        // More in use than fits: it must be the long-context variant.
        known.map(|window| if has_long_variants && tokens > window { LONG_CONTEXT } else { window })
    });
    let percent = window.map(|window| tokens.saturating_mul(100) / window);
    Usage { tokens, answered, window, percent, model }
}

fn window_of(model: &str) -> Option<u64> {
    WINDOWS.iter().find(|(prefix, _)| model.starts_with(prefix)).map(|(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(agent: Agent, tokens: u64, window: Option<u64>, model: &str) -> (Option<u64>, Option<u64>) {
        let usage = usage(agent, ContextUse { tokens, answered: 0, window, model: Some(model.to_owned()) });
        (usage.window, usage.percent)
    }

    #[test]
    fn the_window_comes_from_the_file_or_from_a_known_model() {
        assert_eq!(of(Agent::Codex, 81_234, Some(258_400), "gpt-5.5"), (Some(258_400), Some(31)));
        assert_eq!(of(Agent::Claude, 79_999, None, "claude-opus-4-1"), (Some(200_000), Some(39)));
        assert_eq!(of(Agent::Claude, 80_000, None, "claude-opus-4-1"), (Some(200_000), Some(40)));
        assert_eq!(of(Agent::Gemini, 524_288, None, "gemini-3.8-flash"), (Some(1_048_576), Some(50)));
    }

    #[test]
    fn an_unknown_window_gives_no_percentage() {
        assert_eq!(of(Agent::Claude, 1000, None, "some-new-model"), (None, None));
        assert_eq!(of(Agent::Codex, 1000, Some(0), "gpt"), (None, None));
    }

    #[test]
    fn more_than_fits_means_the_long_context_variant() {
        assert_eq!(of(Agent::Claude, 300_000, None, "claude-sonnet-4-5"), (Some(1_000_000), Some(30)));
    }
}

//! Whose words a prompt is. Clients put more through their "prompt submitted" event than what a person typed:
//! our own hold coming back, the context that a hook gave, the end of a background task.

use text::OWN_PREFIX;
use transcript::Agent;

use crate::host::host;

/// A prompt is kept up to this many bytes: it says what was asked, and a pasted log is not part of that.
pub(crate) const LONGEST_PROMPT: usize = 16 * 1024;

const CONTEXT_OPENS: &str = "<hook_context>";
const CONTEXT_ENDS: &str = "</hook_context>";

/// What a person typed, without the context that hooks gave, which a client may put before the prompt (at the start
/// of a session) or behind it. A text that is nothing but context stays.
pub(crate) fn typed(agent: Agent, text: &str) -> &str {
    let text = text.trim();
    if !host(agent).payload.wraps_context {
        return text;
    }
    let mut typed = text;
    while let Some((_, after)) =
        typed.strip_prefix(CONTEXT_OPENS).and_then(|rest| rest.split_once(CONTEXT_ENDS))
    {
        typed = after.trim_start();
    }
    while let Some((before, _)) =
        typed.strip_suffix(CONTEXT_ENDS).and_then(|rest| rest.rsplit_once(CONTEXT_OPENS))
    {
        typed = before.trim_end();
    }
    if typed.is_empty() { text } else { typed }
}

/// The text is ours, in whatever the client wraps it when it hands it to the model.
pub(crate) fn is_own(text: &str) -> bool {
    let mut text = text.trim_start();
    // A wrapper may be inside another, but nobody wraps text that is ours more often than this.
    for _ in 0..4 {
        if text.starts_with(OWN_PREFIX) {
            return true;
        }
        let unwrapped = text
            .strip_prefix("Stop hook feedback:")
            .or_else(|| text.strip_prefix(CONTEXT_OPENS))
            .or_else(|| text.strip_prefix("<hook_prompt")?.split_once('>').map(|(_, inside)| inside));
        match unwrapped {
            Some(inside) => text = inside.trim_start(),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T4: our own hold comes back in the wrapping of each client.
    #[test]
    fn t4_own_text_is_known_in_every_wrapping() {
        for text in [
            "[checkstone] Context-aware checkpoint\n\n1. Run the tests",
            "\n [checkstone] Context-aware checkpoint",
            "Stop hook feedback:\n[checkstone] Context-aware checkpoint",
            "<hook_prompt hook_run_id=\"stop:12:/home/dev/.codex/hooks.json\">[checkstone] Hold</hook_prompt>",
            "<hook_prompt>[checkstone] Hold</hook_prompt>",
            "<hook_context>[checkstone] Resume at step 3</hook_context>",
        ] {
            assert!(is_own(text), "{text}");
        }
    }

    #[test]
    fn what_a_person_types_is_not_ours() {
        for text in [
            "",
            "Fix the bug",
            "What does [checkstone] mean?",
            "> [checkstone] Context-aware checkpoint\n\nwhy this?",
            "Stop hook feedback: what is that?",
            "<hook_prompt",
            "<hook_prompt and no end of it",
            "Stop hook feedback:<hook_context><hook_context><hook_context><hook_context>",
        ] {
            assert!(!is_own(text), "{text}");
        }
    }

    /// Gemini CLI puts our session-start context before the first real prompt, which is a prompt all the same.
    #[test]
    fn context_before_a_prompt_is_not_the_prompt() {
        let first = "<hook_context>[checkstone] Resume at step 3</hook_context>\n\nSay hi";
        assert_eq!(typed(Agent::Gemini, first), "Say hi");
        assert!(!is_own(typed(Agent::Gemini, first)));
        let around = "<hook_context>a</hook_context>\n<hook_context>b</hook_context>\n\nSay hi\n<hook_context>c</hook_context>";
        assert_eq!(typed(Agent::Gemini, around), "Say hi");
        assert_eq!(typed(Agent::Claude, around), around);
        let alone = "<hook_context>[checkstone] Resume at step 3</hook_context>\n";
        assert!(is_own(typed(Agent::Gemini, alone)));
        let unclosed = "<hook_context> is what?";
        assert_eq!(typed(Agent::Gemini, unclosed), unclosed);
    }
}

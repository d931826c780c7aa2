//! Which prompts want the agent to stop.

use autosave::wants_to_stop;

/// A3.
#[test]
fn a3_a_stop_word_counts_as_the_intent_of_the_prompt() {
    for prompt in [
        "stop",
        "Stop!",
        "please stop now",
        "hold on",
        "wait",
        "Wait a moment.",
        "ok, pause here",
        "PAUSE",
        "quit",
        "Please wait for me",
        "let's stop here",
        "Fix the typo and then stop",
        "Finish the parser, then stop.",
        "Commit that. Then stop.",
        "stop, I need to think",
        "I want you to stop",
    ] {
        assert!(wants_to_stop(prompt), "{prompt}");
    }
}

/// A3: neither a negation nor a subject of the work is one.
#[test]
fn a3_a_stop_word_in_the_work_is_none() {
    for prompt in [
        "",
        "Fix the bug",
        "do not wait for me",
        "Don't stop until it works",
        "don’t stop",
        "stop the server and restart it",
        "write a stop word list",
        "Add play, pause, stop buttons",
        "implement pause and stop",
        "Wait until the tests pass, then commit",
        "hold the lock while you write",
        "never quit early",
        "Support these words:\n- stop\n- pause\n> wait",
        "Why does this hang?\n```\nstop\n```",
        "The button says \"stop\"",
        "Make it unstoppable",
    ] {
        assert!(!wants_to_stop(prompt), "{prompt}");
    }
}

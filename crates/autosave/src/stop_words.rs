//! Whether a prompt wants the agent to stop: then nobody is sent on working, however full the context is.
//!
//! A word counts as the intent of a prompt, never as a word in it (A3): a sentence, or its first part, that says nothing
//! but `stop`; or a last part that says `then stop`. Where that is in doubt it counts, since an agent that goes on against
//! somebody's will is worse than one save less.

const STOP_WORDS: &[&str] = &["stop", "pause", "hold", "wait", "quit"];

/// Words beside which a stop word still says nothing else.
const FILLERS: &str = "a agent all and at bit can claude codex could everything for gemini here hey i immediately it \
    just lets me minute moment need now ok okay on once please right sec second should that then \
    there this to us want we work working would you";

/// What makes a stop at the end of a sentence the person's wish, and not the end of a list.
const URGENT: &[&str] = &["then", "please", "now", "immediately"];

/// Whether the prompt's intent is that the agent stops.
pub fn wants_to_stop(prompt: &str) -> bool {
    let mut in_code = false;
    prompt.lines().any(|line| {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
        }
        // An item of a list, a quotation or code is about something; nobody is told anything in it.
        let is_plain = !in_code && !line.starts_with(['-', '*', '+', '>', '`', '|', '#', '"', '\'']);
        is_plain && line.split(['.', '!', '?', ';', ':']).any(is_stop_sentence)
    })
}

fn is_stop_sentence(sentence: &str) -> bool {
    let sentence = sentence.to_lowercase().replace(['\u{2019}', '\''], "");
    let parts: Vec<Vec<&str>> = sentence.split([',', '\u{2014}', '\u{2013}']).map(words).collect();
    if says_only_stop(&parts.concat()) || parts.first().is_some_and(|first| says_only_stop(first)) {
        return true;
    }
    let Some(last) = parts.last() else { return false };
    // `fix it and then stop`: what follows the last conjunction stands for itself.
    let begins = last.iter().rposition(|word| *word == "and").map_or(0, |place| place + 1);
    let begins = last.iter().position(|word| *word == "then").unwrap_or(begins);
    let tail = last.get(begins..).unwrap_or_default();
    says_only_stop(tail) && tail.iter().any(|word| URGENT.contains(word))
}

fn words(text: &str) -> Vec<&str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

fn says_only_stop(words: &[&str]) -> bool {
    let is_stop = |word: &&str| STOP_WORDS.contains(word);
    words.iter().any(is_stop)
        && words.iter().all(|word| is_stop(word) || FILLERS.split(' ').any(|filler| filler == *word))
}

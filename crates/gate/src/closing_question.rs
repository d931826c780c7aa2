//! Whether the agent's last words ask something whose answer decides what is still to be built (L15), or ask for something
//! that only the person has (W26). An offer after the work is done (“Shall I commit?”) is neither.

/// Words with which a question leaves a choice to the person.
const CHOICES: &[&str] = &[
    "which of",
    "which one",
    "what should",
    "what would you",
    "what do you want",
    "what do you prefer",
    "how should",
    "how would you",
    "how do you want",
    "where should",
    "do you prefer",
    "would you prefer",
    "would you rather",
    "do you want option",
    "should it ",
    "should this ",
    "should they ",
    "does that match",
    "does this match",
    "is that what you",
    "is this what you",
];

/// Words of an offer: the work is done, and there could be more.
const OFFERS: &[&str] = &[
    "shall i",
    "want me to",
    "like me to",
    "should i also",
    "should i commit",
    "should i push",
    "should i open",
    "should i create",
    "should i continue",
    "should i proceed",
    "anything",
    "any questions",
    "any concerns",
    "next?",
    "let me know",
    "would you like to commit",
    "ready to commit",
];

/// What only the person has.
const OWNED: &[&str] =
    &["api key", "token", "password", "credential", "secret", "log in", "sign in", "login"];
const REQUESTS: &[&str] = &[
    "please provide",
    "please set",
    "please add",
    "can you provide",
    "could you provide",
    "i need",
    "need you to",
];

/// Whether the words wait for an answer.
pub(crate) fn waits(said: &str) -> bool {
    let text = said.trim_end().to_lowercase();
    let last = last_paragraph(&text);
    let asks_for_what_is_owned = || {
        REQUESTS.iter().any(|request| has_words(last, request))
            && OWNED.iter().any(|owned| has_words(last, owned))
    };
    // One sentence may follow: “I have written neither yet.”
    let closing: Vec<&str> = sentences(last).collect();
    let mut closing = closing.iter().rev().take(2);
    let Some(question) = closing.find(|sentence| sentence.ends_with('?')) else {
        return asks_for_what_is_owned();
    };
    let is_offer = OFFERS.iter().any(|offer| question.contains(offer));
    let names_two = question.contains(" or ") && !question.contains("or not");
    let leaves_a_choice = question.trim_start_matches(['*', '_', '#', '-', ' ']).starts_with("which ")
        || CHOICES.iter().any(|choice| question.contains(choice))
        || (names_two
            && ["should ", "do you want", "would you"].iter().any(|asked| question.contains(asked)));
    (leaves_a_choice && !is_offer) || asks_for_what_is_owned()
}

/// Whether the words stand there as words: "i need" is not in "the api needs".
fn has_words(text: &str, words: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    text.match_indices(words).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().chars().next_back();
        let after = text.get(at + words.len()..).unwrap_or_default().chars().next();
        !is_part(before) && !is_part(after)
    })
}

/// The last paragraph, with the list before it that a question may refer to left out.
fn last_paragraph(text: &str) -> &str {
    let plain = text.trim_end_matches(['*', '_', '`', ' ', '\n']);
    plain.rsplit_once("\n\n").map_or(plain, |(_, last)| last)
}

fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    paragraph
        .split_inclusive(['.', '?', '!', '\n'])
        .map(|sentence| sentence.trim().trim_end_matches(['*', '_', '`', ')']))
        .filter(|sentence| !sentence.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L15
    #[test]
    fn l15_a_question_that_decides_what_is_built_waits() {
        for said in [
            "Which of the two formats do you want? I have written neither yet.",
            "I see two ways.\n\n1. A table\n2. A list\n\nWhich one do you prefer?",
            "The cache can live in memory or on disk.\n\nShould it survive a restart, or is memory enough?",
            "How should the limit be set: per user or per team?",
            "**Does this match what you had in mind?**",
            "I cannot reach the registry. Please provide an API key with write access.",
        ] {
            assert!(waits(said), "{said}");
        }
        for said in [
            "Done. Should I also add a test?",
            "All changes are in place. Shall I commit?",
            "Would you like me to open a pull request or leave it here?",
            "I fixed it. What is next?",
            "Which module was wrong? The parser. It is fixed now.",
            "The API needs a token in its header now.",
            "The tokenizer is faster; I need no cache for it.",
            "All done. Any questions or concerns?",
            "Is there anything you would like to change or add?",
            "Done.",
            "",
        ] {
            assert!(!waits(said), "{said}");
        }
    }
}

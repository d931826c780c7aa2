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

/// Words that ask for more work beside what is done.
const MORE: &[&str] = &["also", "anything", "any questions", "any concerns", "next"];

/// What is done with work that is finished, whatever was chosen on the way.
const ENDS: &[&str] = &["commit", "push", "pull request", "pr", "merge", "deploy", "release"];

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

/// Words with which a decision is left to the person, question or not.
const DEFERS: &[&str] = &[
    "check with you",
    "your call",
    "up to you",
    "need your decision",
    "need your input",
    "waiting for your",
    "let me know which",
];

/// Whether the words wait for an answer.
pub(crate) fn waits(said: &str) -> bool {
    let paragraphs = closing_paragraphs(said);
    let Some(last) = paragraphs.last() else { return false };
    let asks_for_what_is_owned = || {
        REQUESTS.iter().any(|request| has_words(last, request))
            && OWNED.iter().any(|owned| has_words(last, owned))
    };
    let is_left =
        || DEFERS.iter().any(|words| paragraphs.iter().any(|paragraph| has_words(paragraph, words)));
    let ends_the_work = |question: &str| ENDS.iter().any(|end| has_words(question, end));
    let is_question = |sentence: &&str| sentence.ends_with('?');
    let decides = || {
        let mut questions = paragraphs.iter().flat_map(|paragraph| sentences(paragraph)).filter(is_question);
        questions.next_back().is_some_and(|question| !ends_the_work(question))
            && lists_options(&said.to_lowercase())
    };
    // One sentence may follow: “I have written neither yet.”
    let last: Vec<&str> = sentences(last).collect();
    let question = last.iter().rev().take(2).copied().find(is_question);
    let is_choice = |question: &str| {
        !OFFERS.iter().any(|offer| question.contains(offer))
            && last.iter().copied().filter(is_question).any(leaves_a_choice)
    };
    question.is_some_and(is_choice) || decides() || is_left() || asks_for_what_is_owned()
}

/// Whether the words ask the person anything but whether there is more to do.
pub(crate) fn asks(said: &str) -> bool {
    let paragraphs = closing_paragraphs(said);
    let mut questions = paragraphs
        .iter()
        .flat_map(|paragraph| sentences(paragraph))
        .filter(|sentence| sentence.ends_with('?'));
    let is_more = |question: &str| MORE.iter().chain(ENDS).any(|words| has_words(question, words));
    questions.next_back().is_some_and(|question| !is_more(question))
}

fn leaves_a_choice(question: &str) -> bool {
    let question = question.trim_start_matches(['*', '_', '#', '-', ' ']);
    let names_two =
        (question.contains(" or ") || question.starts_with("or ")) && !question.contains("or not");
    question.starts_with("which ")
        || CHOICES.iter().any(|choice| question.contains(choice))
        || (names_two && ["should ", "do you want", "would you"].iter().any(|asked| question.contains(asked)))
}

/// Whether the words lay out several ways to go on: “Option 1 … Option 2”, or a numbered list of which one is recommended.
fn lists_options(text: &str) -> bool {
    let after = text.match_indices("option ").filter_map(|(at, word)| text.get(at + word.len()..));
    let mut named: Vec<char> = after.filter_map(|rest| rest.chars().next()).collect();
    named.retain(|name| matches!(name, '1'..='9' | 'a'..='e'));
    named.sort_unstable();
    named.dedup();
    let is_numbered =
        |number: &str| text.lines().any(|line| line.trim_start_matches(['*', '#', ' ']).starts_with(number));
    let recommends = ["i'd recommend", "i recommend", "i'd lean", "i lean", "i'd go with", "i would go with"];
    named.len() > 1
        || (is_numbered("1.") && is_numbered("2.") && recommends.iter().any(|words| text.contains(words)))
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

/// The last three paragraphs, without the list of sources behind them, in small letters.
fn closing_paragraphs(said: &str) -> Vec<String> {
    let is_source = |line: &str| line.starts_with("sources") || line.contains("](http");
    let says_nothing =
        |paragraph: &String| paragraph.lines().all(|line| line.trim().is_empty() || is_source(line));
    let text = said.trim_end().trim_end_matches(['*', '_', '`', ' ', '\n']);
    let paragraphs = text.rsplit("\n\n").map(str::to_lowercase);
    let mut last: Vec<String> = paragraphs.skip_while(says_nothing).take(3).collect();
    last.reverse();
    last
}

fn sentences(paragraph: &str) -> impl DoubleEndedIterator<Item = &str> {
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
            "**Option 1:** the branch\n**Option 2:** the commit\n\nWhich would you prefer? Or should we keep the first?",
            "Option A drops old turns. Option B merges them.\n\nI lean to option B. Want me to implement that?",
            "Should it hold:\n1. only what changed\n2. everything\n\nThe second seems right. I wanted to check with you first.",
            "1. **Default** to the small one\n2. **Add a flag**\n\nI'd recommend the first. What do you think?\n\nSources:\n- [a](https://a.example)",
            "I cannot reach the registry. Please provide an API key with write access.",
            "Which one do you prefer?\n\nSources:\n\n- [a](https://a.example)\n- [b](https://b.example)",
            "- Should the limit be set by the user or by the team?",
            "Would you go by the user or by the team?",
            "Or should it be the team?",
            "Both would work. It is your call.\n\nThe second is simpler.\n\nThe first is faster.",
            "1. Small\n2. Large\n\nI'd go with the first. Is that fine?\n\nNothing is written yet.\n\nIt waits.",
            "## 1. Small\n## 2. Large\n\nI recommend the first. Fine?",
            "Which format? Which ending? Nothing is written yet.",
            "I need your password for it.",
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
            "Of option 1 and option 2 I built the second. Should I commit it?",
            "It is your call.\n\nOne.\n\nTwo.\n\nThree.",
            "Should I keep it or not?",
            "Which one is wrong? The parser. It is fixed now.",
            "One or two were wrong. Is it the parser?",
            "1. Small\n\nI recommend it. Fine?",
            "1. Small\n2. Large\n\nBoth are done. Fine?",
            "1. Small\n2. Large\n\nI recommend the first. Shall I merge it?",
            "Option 1 is done. Is option 1 fine?",
            "Option x and option y are done. Fine?",
            "I need no tokens.",
            "Please provide feedback.\n\nThe token is in its header now.",
            "Done.",
            "",
        ] {
            assert!(!waits(said), "{said}");
        }
    }

    /// L1
    #[test]
    fn l1_any_question_about_the_work_is_talk() {
        for said in [
            "That makes a cycle.\n\nWant me to move the check instead?",
            "Do we need two names at all?\n\nMaybe it is simpler:\n1. keep one\n2. drop the other",
            "Do you want me to:\n1. go on looking\n2. try a simpler way\n3. something else?",
            "Does this fit? If so, I should:\n1. change the reader\n2. leave the writer alone",
        ] {
            assert!(asks(said), "{said}");
        }
        for said in [
            "Done.",
            "It is all in place. Should I also write a test?",
            "Done. Shall I commit?",
            "What do you want to do next?",
            "",
        ] {
            assert!(!asks(said), "{said}");
        }
    }
}

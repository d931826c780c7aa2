//! What a command printed, kept as the transcript has it until somebody asks what it shows: most commands only look at
//! files, and nobody asks for the tests in their outputs.

use std::sync::OnceLock;

use outputs::{Scan, Shown};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json_text;
use crate::kept_texts::KeptText;

/// A longer output is looked through at once, and not copied.
const LONGEST_KEPT: usize = 64 * 1024;

/// What a command printed, or only what that shows.
#[derive(Clone, Debug, Default)]
pub struct CommandOutput {
    unread: Option<UnreadTexts>,
    /// Worked out when it is first asked for, if there are texts.
    shown: OnceLock<Option<Box<Shown>>>,
}

#[derive(Clone, Debug)]
enum UnreadTexts {
    /// JSON literals, or parts of them, as they are written.
    Literals(Vec<Box<str>>),
    /// Lines of their own.
    Plain(Vec<String>),
}

impl CommandOutput {
    /// The literals that the output consists of.
    pub(crate) fn of_literals<'a>(literals: impl IntoIterator<Item = &'a str, IntoIter: Clone>) -> Self {
        let literals = literals.into_iter();
        if literals.clone().map(str::len).sum::<usize>() > LONGEST_KEPT {
            return Self::of_shown(shown_by_literals(literals));
        }
        let is_empty = |literal: &&str| matches!(*literal, "" | r#""""#);
        let literals: Vec<Box<str>> = literals.filter(|literal| !is_empty(literal)).map(Box::from).collect();
        let unread = (!literals.is_empty()).then_some(UnreadTexts::Literals(literals));
        Self { unread, shown: OnceLock::new() }
    }

    /// Several outputs, each of lines of its own.
    pub(crate) fn of_texts(texts: Vec<String>) -> Self {
        let unread = (!texts.is_empty()).then_some(UnreadTexts::Plain(texts));
        let mut output = Self { unread, shown: OnceLock::new() };
        if output.kept_bytes() > LONGEST_KEPT {
            output.look_now();
        }
        output
    }

    /// An output of which only this is known; `None` if it says nothing about how the command went.
    pub fn of_shown(shown: Option<Shown>) -> Self {
        Self { unread: None, shown: OnceLock::from(shown.map(Box::new)) }
    }

    /// What it shows; `None` if that is nothing that says how the command went.
    pub fn shown(&self) -> Option<&Shown> {
        let read = || self.unread.as_ref().and_then(UnreadTexts::shown).map(Box::new);
        self.shown.get_or_init(read).as_deref()
    }

    pub fn shows_nothing(&self) -> bool {
        self.shown().is_none()
    }

    /// What was printed later.
    pub(crate) fn append(&mut self, later: Self) {
        match (self.shown(), later.shown()) {
            (_, None) => {}
            (None, Some(_)) => *self = later,
            (Some(before), Some(later)) => {
                let mut all = before.clone();
                all.append(later.clone());
                *self = Self::of_shown(Some(all));
            }
        }
    }
}

impl KeptText for CommandOutput {
    fn kept_bytes(&self) -> usize {
        match &self.unread {
            Some(UnreadTexts::Literals(literals)) => literals.iter().map(|literal| literal.len()).sum(),
            Some(UnreadTexts::Plain(texts)) => texts.iter().map(String::len).sum(),
            None => 0,
        }
    }

    fn look_now(&mut self) {
        self.shown();
        self.unread = None;
    }
}

impl UnreadTexts {
    fn shown(&self) -> Option<Shown> {
        match self {
            Self::Literals(literals) => shown_by_literals(literals.iter().map(AsRef::as_ref)),
            Self::Plain(texts) => {
                let mut scan = Scan::new();
                for text in texts {
                    scan.feed(text);
                    scan.feed("\n");
                }
                what_says_something(scan)
            }
        }
    }
}

fn shown_by_literals<'a>(literals: impl Iterator<Item = &'a str>) -> Option<Shown> {
    let mut scan = Scan::new();
    for literal in literals {
        json_text::decode_in_pieces(literal, |piece| scan.feed(piece));
    }
    what_says_something(scan)
}

fn what_says_something(scan: Scan) -> Option<Shown> {
    Some(scan.finish()).filter(|shown| !shown.is_empty())
}

/// By what they show, whatever is kept of the texts.
impl PartialEq for CommandOutput {
    fn eq(&self, other: &Self) -> bool {
        self.shown() == other.shown()
    }
}

impl Serialize for CommandOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CommandOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::of_shown)
    }
}

#[cfg(test)]
mod tests {
    use outputs::Summary;

    use super::*;

    fn literal(text: &str) -> String {
        serde_json::to_string(text).unwrap()
    }

    fn summary(output: &CommandOutput) -> Option<Summary> {
        output.shown().and_then(Shown::summary)
    }

    /// Whether an output is kept or looked through at once says nothing about what it shows.
    #[test]
    fn short_and_long_outputs_show_the_same() {
        let passed = Some(Summary::Passed { tests: Some(5) });
        for filler in [0, LONGEST_KEPT] {
            let parts =
                [literal(&"x\n".repeat(filler)), literal("==== 5 pas"), literal("sed in 0.03s ====\n")];
            let mut output = CommandOutput::of_literals(parts.iter().map(String::as_str));
            assert_eq!((output.kept_bytes() > 0, summary(&output)), (filler == 0, passed));
            output.look_now();
            assert_eq!((output.kept_bytes(), summary(&output)), (0, passed));
            let json = serde_json::to_string(&output).unwrap();
            assert_eq!(serde_json::from_str::<CommandOutput>(&json).unwrap(), output);
        }
        let nothing = CommandOutput::of_literals([r#""""#]);
        assert_eq!((nothing.kept_bytes(), nothing.shown()), (0, None));
    }

    #[test]
    fn what_is_printed_later_counts_too() {
        let [red, green, silent] = ["1 failed in 0.1s\n", "1 passed in 0.1s\n", "hello\n"]
            .map(|text| CommandOutput::of_texts(vec![text.to_owned()]));
        let mut all = silent.clone();
        for (later, expected) in [
            (&silent, None),
            (&green, Some(Summary::Passed { tests: Some(1) })),
            (&silent, Some(Summary::Passed { tests: Some(1) })),
            (&red, Some(Summary::Failed { tests: Some(1) })),
        ] {
            all.append(later.clone());
            assert_eq!(summary(&all), expected);
        }
    }
}

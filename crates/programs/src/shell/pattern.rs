//! Evidence patterns: a program and words that must occur as whole arguments, in order. `make restart`
//! matches `make -j4 restart`, not `make restart-db`. A `*` in a word stands for any text within the argument.

use serde::{Deserialize, Serialize};

use super::word::Word;
use super::wrapper::{self, Peeled};
use super::{Intents, SimpleCommand, dry_run, subcommand};

/// A pattern, as written and as compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    written: String,
    program: String,
    words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern is empty")]
    Empty,
    #[error("`{0}` is not one simple command")]
    NotSimple(String),
}

impl Pattern {
    /// A pattern is written as the command is: `make restart`, `python -m pytest`. Wrappers are looked
    /// through here as they are in commands, so that both spellings are one.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let words: Vec<Word> = text.split_whitespace().map(Word::from).collect();
        if words.is_empty() {
            return Err(PatternError::Empty);
        }
        let not_simple = || PatternError::NotSimple(text.to_owned());
        let operators = ["&&", "||", "|", ";", "&", ">", ">>", "<"];
        if words.iter().any(|word| operators.contains(&word.text()) || word.text().contains(['\'', '"', '`']))
        {
            return Err(not_simple());
        }
        let Peeled::Command { words, .. } = wrapper::peel(words) else { return Err(not_simple()) };
        let mut words = words.iter().map(Word::text);
        let program = wrapper::base_name(words.next().ok_or_else(not_simple)?);
        let words = subcommand::scripts_by_name(&program, words.collect());
        let words = words.into_iter().map(str::to_owned).collect();
        Ok(Self { written: text.to_owned(), program, words })
    }

    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether the command does what the pattern names. A dry run does not, unless the pattern asks for it.
    pub fn matches(&self, command: &SimpleCommand) -> bool {
        if self.program != command.program {
            return false;
        }
        let with_rest = self.words.iter().any(|word| word == "--");
        let arguments = subcommand::significant(command, with_rest);
        let mut rest = arguments.iter();
        for (index, word) in self.words.iter().enumerate() {
            let place = if index == 0 && subcommand::has_subcommands(&self.program) && !word.starts_with('-')
            {
                rest.next().filter(|argument| word_matches(word, argument))
            } else {
                rest.find(|argument| word_matches(word, argument))
            };
            if place.is_none() {
                return false;
            }
        }
        dry_run::flag(command).is_none_or(|flag| self.words.iter().any(|word| word == flag))
    }

    /// The first command that matches.
    pub fn find<'a>(&self, intents: &'a Intents) -> Option<&'a SimpleCommand> {
        intents.commands().iter().find(|command| self.matches(command))
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.written
    }
}

/// `*` stands for any text.
fn word_matches(word: &str, argument: &str) -> bool {
    let mut pieces = word.split('*');
    let Some(mut rest) = argument.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    true
}

//! Evidence patterns: a program and words that must occur as whole arguments, in order. `make restart`
//! matches `make -j4 restart`, not `make restart-db`. A `*` in a word stands for any text within the argument.

use serde::{Deserialize, Serialize};

use super::word::Word;
use super::wrapper::{self, Peeled};
use super::{Intents, SimpleCommand, subcommand};
use crate::table::{self, Program, base_name, matches_glob};

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
        let (Peeled::Command { words, .. }, _) = wrapper::peel(words) else { return Err(not_simple()) };
        let mut words = words.iter().map(Word::text);
        let program = base_name(words.next().ok_or_else(not_simple)?).to_owned();
        let words = subcommand::scripts_by_name(table::find(&program), words.collect());
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
        let row = command.row();
        let arguments = subcommand::significant(command, row, &self.words);
        let mut rest = arguments.iter();
        for (index, word) in self.words.iter().enumerate() {
            let place = if index == 0 && row.is_some_and(Program::has_subcommands) && !word.starts_with('-') {
                rest.next().filter(|argument| same_word(word, argument))
            } else {
                rest.find(|argument| same_word(word, argument))
            };
            if place.is_none() {
                return false;
            }
        }
        command.idle_argument().is_none_or(|idle| self.words.iter().any(|word| word == idle))
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

/// `./tools/check.py` and `tools/check.py` are one file.
fn same_word(word: &str, argument: &str) -> bool {
    fn plain(word: &str) -> &str {
        word.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(word)
    }
    matches_glob(plain(word), plain(argument))
}

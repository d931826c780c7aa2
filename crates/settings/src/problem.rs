//! What is wrong with a file: where, what was found, what is expected, and which name was probably meant.

use std::fmt;
use std::sync::Arc;

/// One mistake, or something that is allowed and should be looked at all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// From 1; 0 if the file is wrong as a whole.
    pub line: usize,
    /// From 1, in characters; 0 if the file is wrong as a whole.
    pub column: usize,
    /// What was found, and what is expected.
    pub message: String,
    /// The valid name that was probably meant.
    pub nearest: Option<String>,
    /// The key that no table of this kind has.
    pub unknown: Option<String>,
}

impl Problem {
    /// Something that is wrong with the file as a whole.
    pub fn of_file(file: &str, message: impl Into<String>) -> Self {
        Place { file: file.into(), line: 0, column: 0 }.problem(message)
    }

    /// All but the place.
    pub fn sentence(&self) -> String {
        match &self.nearest {
            Some(name) => format!("{}; did you mean `{name}`?", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.file, self.sentence()),
            line => write!(formatter, "{}:{line}:{}: {}", self.file, self.column, self.sentence()),
        }
    }
}

/// All problems of some files, one to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// In the order of their places.
    pub fn sorted(mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|one, other| {
            (&one.file, one.line, one.column).cmp(&(&other.file, other.line, other.column))
        });
        Self(problems)
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: Arc<str>,
    pub line: usize,
    pub column: usize,
}

impl Place {
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem {
            file: self.file.to_string(),
            line: self.line,
            column: self.column,
            message: message.into(),
            nearest: None,
            unknown: None,
        }
    }
}

/// A value and where it is written, for what only shows when everything is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct At<T> {
    pub value: T,
    pub place: Place,
}

impl<T> At<T> {
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> At<U> {
        At { value: change(self.value), place: self.place }
    }
}

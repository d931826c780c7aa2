//! What is wrong with a policy: where it stands, what was written, what was probably meant.

use std::fmt;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {}", explain(kind, found))]
pub struct Problem {
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The text at that place.
    pub found: String,
    pub kind: ProblemKind,
}

impl Problem {
    pub(crate) fn place(&self) -> (String, usize, usize) {
        (self.file.clone(), self.line, self.column)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Nothing of the text is quoted: the user's own configuration holds tokens too.
    Syntax {
        message: String,
    },
    UnknownKey {
        nearest: Option<String>,
    },
    WrongType {
        expected: &'static str,
    },
    UnknownValue {
        allowed: Vec<&'static str>,
        nearest: Option<String>,
    },
    BadGlob {
        message: String,
    },
    BadDuration,
    BadPattern {
        message: String,
    },
    BadPath {
        message: &'static str,
    },
    UnknownPreset {
        nearest: Option<String>,
    },
    PresetCycle {
        cycle: Vec<String>,
    },
    UnknownAction {
        nearest: Option<String>,
    },
    Missing {
        key: &'static str,
    },
    Twice {
        first_line: usize,
    },
}

fn explain(kind: &ProblemKind, found: &str) -> String {
    let meant = |nearest: &Option<String>| match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    };
    match kind {
        ProblemKind::Syntax { message } => message.clone(),
        ProblemKind::UnknownKey { nearest } => format!("unknown key `{found}`{}", meant(nearest)),
        ProblemKind::WrongType { expected } => format!("`{found}` is not {expected}"),
        ProblemKind::UnknownValue { allowed, nearest } => {
            format!("`{found}` is none of {}{}", allowed.join(", "), meant(nearest))
        }
        ProblemKind::BadGlob { message } => format!("bad glob `{found}`: {message}"),
        ProblemKind::BadDuration => format!("`{found}` is no duration; write it like `30s`, `2m`, `1m30s`"),
        ProblemKind::BadPattern { message } => format!("bad evidence pattern: {message}"),
        ProblemKind::BadPath { message } => format!("bad path `{found}`: {message}"),
        ProblemKind::UnknownPreset { nearest } => format!("unknown preset `{found}`{}", meant(nearest)),
        ProblemKind::PresetCycle { cycle } => format!("the presets go in a circle: {}", cycle.join(" → ")),
        ProblemKind::UnknownAction { nearest } => format!("unknown action `{found}`{}", meant(nearest)),
        ProblemKind::Missing { key } => format!("`{found}` has no `{key}`"),
        ProblemKind::Twice { first_line } => {
            format!("`{found}` stands here again; it is already on line {first_line}")
        }
    }
}

/// All mistakes, one to a line, in the order of their places; those of other files than policies too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems<P = Problem>(pub Vec<P>);

impl<P> Problems<P> {
    pub fn sorted<Place: Ord>(mut problems: Vec<P>, place: impl FnMut(&P) -> Place) -> Self {
        problems.sort_by_cached_key(place);
        Self(problems)
    }
}

impl<P: fmt::Debug + fmt::Display> std::error::Error for Problems<P> {}

impl<P: fmt::Display> fmt::Display for Problems<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(formatter)?;
            }
            write!(formatter, "{problem}")?;
        }
        Ok(())
    }
}

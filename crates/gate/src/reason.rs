//! Why a verdict is what it is, in a few words. Those that others act on are kinds of their own.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::waiting::Waiting;

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reason {
    /// The turn did all that is required.
    AllClear,
    /// The transcript is of no format that is known.
    NotUnderstood,
    /// The agent does not stop, but waits.
    Waiting(Waiting),
    Other(String),
}

impl Reason {
    pub fn as_str(&self) -> &str {
        match self {
            Self::AllClear => "all clear",
            Self::NotUnderstood => "the transcript's format is unknown",
            Self::Waiting(waiting) => waiting.in_words(),
            Self::Other(words) => words,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl<T: Into<String>> From<T> for Reason {
    fn from(words: T) -> Self {
        let words = words.into();
        let waiting = Waiting::ALL.into_iter().map(Self::Waiting);
        let mut known = [Self::AllClear, Self::NotUnderstood].into_iter().chain(waiting);
        known.find(|kind| kind.as_str() == words).unwrap_or(Self::Other(words))
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_reason_is_read_as_it_was() {
        let waiting = Reason::Waiting(Waiting::PlanMode);
        for reason in [Reason::AllClear, Reason::NotUnderstood, waiting, Reason::Other("held".to_owned())] {
            let written = serde_json::to_string(&reason).unwrap();
            assert_eq!(serde_json::from_str::<Reason>(&written).unwrap(), reason);
        }
    }
}

//! What can be looked at, by its address.

use std::path::PathBuf;

use journal::{NotedRunId, SessionId, TurnId};

use crate::history_filter::HistoryFilter;

/// A longer text is not what a person looks for.
const LONGEST_WORDS: usize = 200;

/// One view, as its address says.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum View {
    Overview,
    /// The turns of a session before one of them, or the last ones.
    Session(SessionId, Option<TurnId>),
    /// What a turn changed.
    Changes(TurnId),
    Runs,
    Run(NotedRunId),
    /// The question before a run is aborted.
    AbortQuestion(NotedRunId),
    Workflows,
    History(HistoryFilter),
    Team,
}

impl View {
    /// `None` if no view has this address.
    pub(crate) fn of(path: &str, query: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        Some(match parts.as_slice() {
            [""] => Self::Overview,
            ["session", id] => {
                let before = match value(query, "before") {
                    Some(before) => Some(TurnId(number(&before)?)),
                    None => None,
                };
                Self::Session(SessionId(number(id)?), before)
            }
            ["changes", id] => Self::Changes(TurnId(number(id)?)),
            ["runs"] => Self::Runs,
            ["run", id] => Self::Run(NotedRunId(number(id)?)),
            ["run", id, "abort"] => Self::AbortQuestion(NotedRunId(number(id)?)),
            ["workflows"] => Self::Workflows,
            ["team"] => Self::Team,
            ["history"] => Self::History(HistoryFilter {
                agent: value(query, "agent"),
                repository: value(query, "repository").map(PathBuf::from),
                words: value(query, "words")
                    .map(|words| text::first_characters(&words, LONGEST_WORDS).to_owned()),
            }),
            _ => return None,
        })
    }

    /// The place of the navigation that it belongs to.
    pub(crate) fn place(&self) -> &'static str {
        match self {
            Self::Overview | Self::Session(..) | Self::Changes(_) => "/",
            Self::Runs | Self::Run(_) | Self::AbortQuestion(_) => "/runs",
            Self::Workflows => "/workflows",
            Self::History(_) => "/history",
            Self::Team => "/team",
        }
    }
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number| *number > 0)
}

/// A value of a query; an empty one is none.
fn value(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.into_iter().find(|(key, _)| *key == name)?.1;
    Some(decoded(value)).filter(|value| !value.trim().is_empty())
}

/// As browsers write the fields of a form.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(text::from_hexadecimal) {
            Some(escaped) => {
                bytes.extend(escaped);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_view_or_none() {
        let history = |words: &str| {
            View::History(HistoryFilter { words: Some(words.to_owned()), ..HistoryFilter::default() })
        };
        for (path, query, expected) in [
            ("/", "", Some(View::Overview)),
            ("/session/12", "", Some(View::Session(SessionId(12), None))),
            ("/session/12", "before=40", Some(View::Session(SessionId(12), Some(TurnId(40))))),
            ("/session/12", "before=x", None),
            ("/session/-1", "", None),
            ("/session/1/2", "", None),
            ("/changes/3", "", Some(View::Changes(TurnId(3)))),
            ("/run/3/abort", "", Some(View::AbortQuestion(NotedRunId(3)))),
            ("/history", "words=a+b%20%C3%BC%zz%&agent=", Some(history("a b ü%zz%"))),
            ("/history", "words=%C3%BCü&agent=+", Some(history("üü"))),
            ("/../etc/passwd", "", None),
            ("/style", "", None),
        ] {
            assert_eq!(View::of(path, query), expected, "{path}?{query}");
        }
    }
}

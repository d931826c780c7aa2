//! Which branches a save pushes: one word for all of them, or a table of branch patterns.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Serialize, Serializer};
use settings::{Choice, Choices as _, Entry, Kind, Reader, Shape, choices};

choices! {
    /// When a branch is pushed.
    pub enum PushWhen {
        /// Once the remote is known to have it.
        Tracked = "tracked",
        /// Even if that publishes it.
        Always = "always",
        Never = "never",
    }
}

/// The pattern of a word that stands alone.
const EVERY: &str = "*";

/// The setting `push`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushRules(Vec<(String, PushWhen)>);

impl PushRules {
    /// The same for every branch.
    pub fn all(when: PushWhen) -> Self {
        Self(vec![(EVERY.to_owned(), when)])
    }

    /// Whether there may be a branch that is pushed.
    pub fn may_push(&self) -> bool {
        let is_never = |(pattern, when): &(String, PushWhen)| pattern == EVERY && *when == PushWhen::Never;
        !(self.0.iter().any(is_never) && self.0.iter().all(|(_, when)| *when == PushWhen::Never))
    }

    /// Whether there may be a branch that is pushed although the remote does not have it.
    pub fn may_publish(&self) -> bool {
        self.0.iter().any(|(_, when)| *when == PushWhen::Always)
    }

    /// The longest pattern that matches decides. A branch that none matches is pushed if it is tracked.
    pub fn of_branch(&self, branch: &str) -> PushWhen {
        let is_match = |pattern: &str| matcher(pattern).is_ok_and(|matcher| matcher.is_match(branch));
        let matching = self.0.iter().filter(|(pattern, _)| is_match(pattern));
        matching.max_by_key(|(pattern, _)| pattern.len()).map_or(PushWhen::Tracked, |(_, when)| *when)
    }
}

/// As in git's own patterns, `*` matches slashes too.
fn matcher(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(false).build()?.compile_matcher())
}

/// As it is written in a file.
impl Serialize for PushRules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [(pattern, when)] if pattern == EVERY => when.serialize(serializer),
            rules => serializer.collect_map(rules.iter().map(|(pattern, when)| (pattern, when))),
        }
    }
}

impl Kind for PushRules {
    settings::used_as_written!(Self);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self> {
        // What earlier versions had.
        if let Some(is_on) = entry.value.get_ref().as_bool() {
            return Some(Self::all(if is_on { PushWhen::Always } else { PushWhen::Never }));
        }
        let Some(table) = entry.value.get_ref().as_table() else {
            return Choice::<PushWhen>::read(entry, reader).map(Self::all);
        };
        let mut rules = Vec::new();
        for (key, value) in table {
            let pattern = key.get_ref().to_string();
            if let Err(error) = matcher(&pattern) {
                reader.problem(key.span(), format!("bad branch pattern `{pattern}`: {}", error.kind()));
                continue;
            }
            rules.push((pattern, Choice::<PushWhen>::read(Entry { key, value }, reader)?));
        }
        Some(Self(rules))
    }

    fn written(value: &Self) -> String {
        let word = |when: &PushWhen| format!("\"{}\"", PushWhen::word(*when));
        match value.0.as_slice() {
            [(pattern, when)] if pattern == EVERY => word(when),
            rules => {
                let rules = rules.iter().map(|(pattern, when)| format!("{pattern:?} = {}", word(when)));
                format!("{{ {} }}", rules.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn shape() -> Shape {
        Shape::WordByPattern(PushWhen::WORDS.iter().map(|(word, _)| *word).collect())
    }
}

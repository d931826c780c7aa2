//! What an edit did to a text, worked out when somebody asks: of the edits of one file mostly the last one says enough, and
//! what a call told of an edit is told again by its result.

use std::sync::OnceLock;

use contents::Nature;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json_text::decode;
use crate::kept_texts::KeptText;

/// What an edit did to a text, or the texts that tell.
#[derive(Clone, Debug)]
pub struct EditNature {
    texts: Option<Box<EditTexts>>,
    found: OnceLock<Nature>,
}

/// The part that was replaced, and what it was replaced by, as JSON literals or the insides of some.
#[derive(Clone, Debug)]
struct EditTexts {
    path: Box<str>,
    old: Box<str>,
    new: Box<str>,
    file: Option<EditedFile>,
}

/// The inside of the literal of the whole file after the edit.
#[derive(Clone, Debug)]
pub(crate) struct EditedFile {
    pub(crate) after: String,
    /// Where the new part begins in it.
    pub(crate) at: usize,
}

impl EditNature {
    pub fn get(&self) -> Nature {
        *self.found.get_or_init(|| self.texts.as_ref().map_or(Nature::Code, |texts| texts.nature()))
    }

    /// The same, by the whole texts if the part alone does not decide.
    pub(crate) fn unless_decided(self, by_whole: impl FnOnce() -> Nature) -> Self {
        let decided = self.texts.as_ref().and_then(|texts| texts.decided_by_part().ok());
        Self::from(decided.unwrap_or_else(by_whole))
    }

    /// A part of a file was replaced; without the file nothing is known of the rest.
    pub(crate) fn of_part(path: &str, old: &str, new: &str, file: Option<EditedFile>) -> Self {
        let texts = EditTexts { path: path.into(), old: old.into(), new: new.into(), file };
        Self { texts: Some(Box::new(texts)), found: OnceLock::new() }
    }
}

impl EditTexts {
    /// What the part alone tells, if that is enough.
    fn decided_by_part(&self) -> Result<Nature, Nature> {
        let nature = contents::nature_of_part(&self.path, &decode(&self.old), &decode(&self.new));
        // Whether it stands inside of a string or a comment is seen in the whole text only.
        match nature {
            Nature::Nothing => Ok(nature),
            Nature::Code if !self.reads_as_prose() => Ok(nature),
            _ => Err(nature),
        }
    }

    fn nature(&self) -> Nature {
        self.decided_by_part().unwrap_or_else(|by_part| match &self.file {
            Some(file) => {
                let before = decode(&file.before(&self.old, &self.new));
                contents::nature(&self.path, Some(&before), Some(&decode(&file.after)))
            }
            None => by_part,
        })
    }

    /// Without the signs that almost any code has: it may stand inside of a docstring or a comment.
    fn reads_as_prose(&self) -> bool {
        !self.old.contains(['=', ';', '{', '}']) && !self.new.contains(['=', ';', '{', '}'])
    }
}

impl EditedFile {
    fn before(&self, old: &str, new: &str) -> String {
        let (above, rest) = self.after.split_at_checked(self.at).unwrap_or_default();
        [above, old, rest.get(new.len()..).unwrap_or_default()].concat()
    }
}

impl KeptText for EditNature {
    fn kept_bytes(&self) -> usize {
        let of_file = |file: &EditedFile| file.after.len();
        let bytes =
            |texts: &EditTexts| texts.old.len() + texts.new.len() + texts.file.as_ref().map_or(0, of_file);
        self.texts.as_deref().map_or(0, bytes)
    }

    fn look_now(&mut self) {
        self.get();
        self.texts = None;
    }
}

impl From<Nature> for EditNature {
    fn from(nature: Nature) -> Self {
        Self { texts: None, found: OnceLock::from(nature) }
    }
}

/// By what was done, whatever is kept of the texts.
impl PartialEq for EditNature {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Serialize for EditNature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EditNature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Nature::deserialize(deserializer).map(Self::from)
    }
}

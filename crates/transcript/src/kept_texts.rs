//! How much text the records of a turn keep until somebody asks what it says, so that a long turn fills no memory.

use crate::entry::{Entry, Record};

/// So much is kept of one turn.
const MOST_KEPT: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct KeptTexts {
    bytes: usize,
}

/// A text, or what it says.
pub(crate) trait KeptText {
    /// How much is kept to be looked at later.
    fn kept_bytes(&self) -> usize;

    /// Looks at it now, and keeps no text.
    fn look_now(&mut self);
}

impl KeptTexts {
    /// One more record, whose texts are looked at now if too many are kept already.
    pub(crate) fn add(&mut self, record: &mut Record) {
        for entry in &mut record.entries {
            match entry {
                Entry::Call(made) => {
                    made.call.edits.iter_mut().for_each(|edit| self.add_text(&mut edit.nature));
                }
                Entry::Result(result) => {
                    result.edits.iter_mut().for_each(|edit| self.add_text(&mut edit.nature));
                    result.task.iter_mut().for_each(|task| self.add_text(&mut task.output));
                    self.add_text(&mut result.output);
                }
                _ => {}
            }
        }
    }

    fn add_text(&mut self, text: &mut impl KeptText) {
        let bytes = text.kept_bytes();
        if self.bytes + bytes > MOST_KEPT {
            text.look_now();
        } else {
            self.bytes += bytes;
        }
    }
}

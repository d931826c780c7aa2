//! How much text the records of a turn keep until somebody asks what it says, so that a long turn fills no memory.

use crate::entry::{Entry, Record};

/// So much is kept of one turn.
const MOST_KEPT: usize = 512 * 1024;

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

#[cfg(test)]
mod tests {
    use outputs::Summary;

    use super::*;
    use crate::command_output::CommandOutput;
    use crate::entry::CallResult;

    #[test]
    fn a_turn_that_prints_without_end_fills_no_memory() {
        let text = format!("{}\n==== 5 passed in 0.03s ====\n", "x".repeat(60_000));
        let mut texts = KeptTexts::default();
        let mut kept = 0;
        for _ in 0..100 {
            let output = CommandOutput::of_texts(vec![text.clone()]);
            let mut record = Record::of(CallResult { output, ..CallResult::default() }.into());
            texts.add(&mut record);
            let [Entry::Result(result)] = record.entries.as_slice() else { panic!("one result") };
            kept += result.output.kept_bytes();
            let summary = result.output.shown().and_then(outputs::Shown::summary);
            assert_eq!(summary, Some(Summary::Passed { tests: Some(5) }));
        }
        assert_eq!(kept, MOST_KEPT / text.len() * text.len());
    }
}

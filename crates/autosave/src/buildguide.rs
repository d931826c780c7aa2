//! `buildguide.md`: a list of things to do, of which the first unchecked one is what comes next.

use pulldown_cmark::{Event, Options, Parser};

use crate::notes::same_length_text;

/// One unchecked item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Counted from one.
    pub line: usize,
    /// Its first line, without the box.
    pub text: String,
}

/// The first `- [ ]` that is an item of a list, and not an example in a code block.
pub fn first_unchecked(file: &[u8]) -> Option<Item> {
    let text = same_length_text(file);
    let events = Parser::new_ext(&text, Options::ENABLE_TASKLISTS).into_offset_iter();
    let boxes = events.filter(|(event, _)| matches!(event, Event::TaskListMarker(false)));
    boxes.map(|(_, range)| range).find_map(|at| {
        let line = text.get(..at.start)?.matches('\n').count() + 1;
        let words = text.get(at.end..)?.lines().next().unwrap_or_default().trim();
        // An empty box says nothing about what comes next.
        (!words.is_empty()).then(|| Item { line, text: words.to_owned() })
    })
}

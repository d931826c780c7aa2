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

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<(usize, String)> {
        first_unchecked(text.as_bytes()).map(|item| (item.line, item.text))
    }

    #[test]
    fn the_first_open_item_is_found() {
        let found = first("# Guide\n\n- [x] one\n  - [ ] inner **bold**\n- [ ] two\n");
        assert_eq!(found, Some((4, "inner **bold**".to_owned())));
        assert_eq!(first("1. [x] a\r\n2. [ ] b\r\n"), Some((2, "b".to_owned())));
        assert_eq!(first("* [X] a\n* [ ] b"), Some((2, "b".to_owned())));
    }

    #[test]
    fn examples_in_code_and_finished_lists_are_none() {
        assert_eq!(first("```\n- [ ] no\n```\n\n    - [ ] no\n\n`- [ ] no`\n"), None);
        assert_eq!(first("- [x] done\n"), None);
        assert_eq!(first("text [ ] no\n- [] no\n- [ ]\n"), None);
        assert_eq!(first(""), None);
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let found = first_unchecked(b"\xff\xfe\n- [ ] a\xff\n").unwrap();
        assert_eq!((found.line, found.text.as_str()), (2, "a?"));
    }
}

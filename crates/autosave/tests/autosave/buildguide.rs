//! What comes next by `buildguide.md`.

use autosave::buildguide::first_unchecked;

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

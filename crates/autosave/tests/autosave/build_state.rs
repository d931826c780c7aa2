//! The state of a build, as other tools write it.

use autosave::build_state::BuildState;

#[test]
fn a_build_is_told_in_a_few_words() {
    let text = "---\nfeature: \"login page\"\nphase: tests\niteration: 3\n---\n\nphase: of the moon\n";
    let state = BuildState::read(text).unwrap();
    assert_eq!(state.sentence(), "feature login page, phase tests, iteration 3");
    let state = BuildState::read("- **Feature:** search\n").unwrap();
    assert_eq!(state.sentence(), "feature search");
}

#[test]
fn what_says_nothing_is_nothing() {
    for text in ["", "# Build\n\nAll is well.\n", "feature:\nphase:  \n", "features: many\n"] {
        assert_eq!(BuildState::read(text), None, "{text}");
    }
}

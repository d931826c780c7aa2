//! What a session that begins is told.

use sandbox::redacted;
use workflow::{PhaseUpdate, Status};

use crate::repository::{Folder, minute, name, status, summed_up};

#[test]
fn nothing_to_resume_is_nothing_to_say() {
    let folder = Folder::with_git();
    assert_eq!(folder.state().session_start(), None);
    folder.write("unrelated.json", "{}");
    folder.write("some-thing.json", "{broken");
    assert_eq!(folder.state().session_start(), None);
    folder.write("other-tool.json", "{\"version\": 3, \"theme\": \"dark\"}");
    let (listed, unreadable) = folder.state().list().unwrap();
    assert_eq!(listed, []);
    assert_eq!(unreadable.iter().map(|one| one.file.as_str()).collect::<Vec<_>>(), ["some-thing.json"]);
    let (state, name) = (folder.state(), name("review", None));
    state.update_phase(&name, "analysis", &status(Status::InProgress), minute(0)).unwrap();
    state.complete(&name, minute(0)).unwrap();
    assert_eq!(state.session_start(), None);
}

#[test]
fn the_phase_its_error_and_the_last_summary_are_told() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("implement", Some("parser")));
    state
        .update_phase(&name, "implementation", &summed_up(Status::Complete, "Parses\n dates."), minute(0))
        .unwrap();
    let next = state.session_start().unwrap();
    insta::assert_snapshot!(redacted(&next), @"
    Unfinished work in this repository, as an earlier session left it (a record, not an instruction).
    Workflow `implement` for the feature `parser`: phase `validation` comes next.
    Summary of `implementation`: Parses dates.
    If the user's request is about this: `checkstone workflow resume-point implement --feature parser` shows more, and `checkstone workflow phase implement 'validation' --feature parser --status complete --summary '…'` records progress.
    ");
    let failed = PhaseUpdate { error: Some("2 tests fail".to_owned()), ..status(Status::Failed) };
    state.update_phase(&name, "validation", &failed, minute(1)).unwrap();
    insta::assert_snapshot!(redacted(state.session_start().unwrap()), @"
    Unfinished work in this repository, as an earlier session left it (a record, not an instruction).
    Workflow `implement` for the feature `parser`: phase `validation` failed: 2 tests fail.
    Summary of `implementation`: Parses dates.
    If the user's request is about this: `checkstone workflow resume-point implement --feature parser` shows more, and `checkstone workflow phase implement 'validation' --feature parser --status complete --summary '…'` records progress.
    ");
    folder.commit();
    insta::assert_snapshot!(redacted(state.session_start().unwrap()), @"
    Unfinished work in this repository, as an earlier session left it (a record, not an instruction).
    Workflow `implement` for the feature `parser`: phase `validation` failed: 2 tests fail.
    Checkpoint is stale (saved at [hash], current HEAD is [hash]): look at the commits since.
    Summary of `implementation`: Parses dates.
    If the user's request is about this: `checkstone workflow resume-point implement --feature parser` shows more, and `checkstone workflow phase implement 'validation' --feature parser --status complete --summary '…'` records progress.
    ");
}

/// Whatever is in the files, and however many there are.
#[test]
fn it_stays_short_and_harmless() {
    let folder = Folder::with_git();
    let state = folder.state();
    for number in 0..9 {
        let name = name("implement", Some(&format!("{number}-{}", "f".repeat(160))));
        let update = PhaseUpdate {
            context_summary: Some("w\u{1b}[2Jide ".repeat(400)),
            current_task: Some("t".repeat(5000)),
            ..status(Status::InProgress)
        };
        state.update_phase(&name, &"p".repeat(90), &update, minute(number)).unwrap();
    }
    let text = state.session_start().unwrap();
    assert!(text.len() < 4000, "{}", text.len());
    insta::assert_snapshot!(redacted(&text), @"
    Unfinished work in this repository, as an earlier session left it (a record, not an instruction).
    Workflow `implement` for the feature `8-ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff`: phase `pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp` is in progress, at task `ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt…`.
    Summary of `pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp`: w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Jide w [2Ji…
    Workflow `implement` for the feature `7-ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff`: phase `pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp` is in progress, at task `ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt…`.
    Workflow `implement` for the feature `6-ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff`: phase `pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp` is in progress, at task `ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt…`.
    And 6 more: `checkstone workflow list`.
    If the user's request is about this: `checkstone workflow resume-point implement --feature 8-ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff` shows more, and `checkstone workflow phase implement 'pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp' --feature 8-ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff --status complete --summary '…'` records progress.
    ");
}

/// The command that it names can be typed as it stands.
#[test]
fn a_feature_with_a_quote_in_it_is_one_word_of_the_command() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("implement", Some("it's new")));
    state.update_phase(&name, "analysis", &status(Status::InProgress), minute(0)).unwrap();
    let text = state.session_start().unwrap();
    let begin = text.find("checkstone workflow resume-point").unwrap();
    let command = text[begin..].split('`').next().unwrap();
    assert_eq!(command, r"checkstone workflow resume-point implement --feature 'it'\''s new'");
}

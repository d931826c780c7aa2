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
    let listed = folder.state().list().unwrap();
    assert_eq!(listed.iter().map(|one| one.stem.as_str()).collect::<Vec<_>>(), ["some-thing"]);
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
    insta::assert_snapshot!(redacted(&next), @"");
    let failed = PhaseUpdate { error: Some("2 tests fail".to_owned()), ..status(Status::Failed) };
    state.update_phase(&name, "validation", &failed, minute(1)).unwrap();
    insta::assert_snapshot!(redacted(state.session_start().unwrap()), @"");
    folder.commit();
    insta::assert_snapshot!(redacted(state.session_start().unwrap()), @"");
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
    insta::assert_snapshot!(redacted(&text), @"");
}

//! A run counts for the content that it saw, whoever wrote that again since and when.

use change_set::{Change, ChangedFile, How};
use contents::Nature;
use gate::judge;
use transcript::{Call, FileEdit, Kind};

use crate::turns::*;

const PYTHON: &str = r#"presets = ["python"]"#;

/// An edit of `a.py` from one whole text to another.
fn edited(nature: Nature, before: &str, after: &str) -> Call {
    let text_edit = FileEdit {
        path: "/repo/a.py".to_owned(),
        nature: nature.into(),
        before: FileEdit::hash_of_whole(before),
        after: FileEdit::hash_of_whole(after),
        whole: true,
        ending: None,
    };
    Call { edits: vec![text_edit], ..edit("/repo/a.py") }
}

fn code(before: &str, after: &str) -> Call {
    edited(Nature::Code, before, after)
}

fn tested() -> Call {
    printed("pytest", PYTEST_PASSED)
}

/// What is said if `a.py`, written during the last call, holds `now` at the stop.
fn judged(calls: Vec<Call>, now: &str) -> &'static str {
    let calls = [vec![read("a.py")], calls].concat();
    let last = calls.len() - 1;
    let mut turn = with_files(calls, vec![written("a.py", last, 2)]);
    turn.present.extend(FileEdit::hash_of_whole(now).map(|hash| ("a.py".to_owned(), hash)));
    judge(&policy(PYTHON), &turn).decision.name()
}

#[test]
fn content_that_the_run_saw_is_proven_however_it_came_back() {
    for later in [
        vec![ran("git stash -q; git stash pop -q")],
        vec![ran("git stash"), printed("pytest", PYTEST_PASSED), ran("git stash pop")],
        vec![ran("git commit -qam x; git checkout -q HEAD~1; git checkout -q main")],
        vec![ran("touch a.py; python fix.py")],
        vec![ran("sed -i s/x/y/ a.py"), ran("sed -i s/y/x/ a.py")],
        vec![code("two", "three"), ran("cp ../kept/a.py a.py")],
    ] {
        let calls = [vec![code("one", "two"), tested()], later].concat();
        assert_eq!(judged(calls.clone(), "two"), "notify", "{calls:?}");
        assert_eq!(judged(calls.clone(), "another"), "hold", "{calls:?}");
    }
    // A red run is of this content as well.
    let red = vec![code("one", "two"), failed("pytest", 1, PYTEST_FAILED), ran("git stash; git stash pop")];
    assert_eq!(judged(red, "two"), "hold");
}

#[test]
fn content_that_the_run_may_not_have_seen_is_judged_by_order_and_times() {
    for between in [
        ran("git stash"),
        ran("git checkout main"),
        ran("sed -i s/x/y/ a.py"),
        ran("if ((; then git stash; fi"),
        code("two", "three"),
    ] {
        let calls = vec![code("one", "two"), between, tested(), ran("git checkout -q -")];
        assert_eq!(judged(calls.clone(), "two"), "hold", "{calls:?}");
    }
    // What a program does that nobody knows is not known either.
    let calls = vec![code("one", "two"), ran("./swap.sh"), tested(), ran("./swap.sh back")];
    assert_eq!(judged(calls, "two"), "hold");
    // The texts are not known: a file that was written by a command.
    let calls = vec![ran("echo x >> a.py"), tested(), ran("git stash -q; git stash pop -q")];
    assert_eq!(judged(calls, "two"), "hold");
}

/// W5: a comment leaves the tests before it fresh, although the file is younger than they are.
#[test]
fn w5_a_comment_after_the_tests_is_told_from_code_by_the_texts() {
    let comment = || edited(Nature::Comments, "two", "two, with a comment");
    let calls = vec![code("one", "two"), tested(), comment()];
    assert_eq!(judged(calls, "two, with a comment"), "notify");
    // Something else wrote the file before the comment, or after it.
    let other = edited(Nature::Comments, "other", "other, with a comment");
    assert_eq!(judged(vec![code("one", "two"), tested(), other], "other, with a comment"), "hold");
    assert_eq!(judged(vec![code("one", "two"), tested(), comment()], "another"), "hold");
}

/// What sets up an environment or a service rewrites no code.
#[test]
fn a_program_that_nobody_knows_is_no_reason_to_doubt_what_the_run_saw() {
    let comment = || edited(Nature::Comments, "two", "two, with a comment");
    let swapped = || ran("git stash -q; git stash pop -q");
    for before in [
        "source .venv/bin/activate",
        ". .venv/bin/activate",
        "conda activate shop",
        "nvm use",
        "docker compose up -d",
        "/usr/bin/docker compose up -d",
        "gh pr view",
        ".venv/bin/start-services",
    ] {
        for after in [comment(), swapped()] {
            let now = if after.kind == Kind::Shell { "two" } else { "two, with a comment" };
            let run = printed(&format!("{before} && pytest"), PYTEST_PASSED);
            let calls = vec![code("one", "two"), run, after.clone()];
            assert_eq!(judged(calls, now), "notify", "{before}");
            let calls = vec![code("one", "two"), ran(before), tested(), after];
            assert_eq!(judged(calls, now), "notify", "{before}");
        }
    }
    // A script of the repository and its tasks may.
    for before in ["./swap.sh", "bash swap.sh", "just swap", "npm run swap"] {
        let calls = vec![code("one", "two"), ran(before), tested(), swapped()];
        assert_eq!(judged(calls, "two"), "hold", "{before}");
    }
}

/// A new time is no new content, also where no text is known.
#[test]
fn touch_changes_nothing() {
    let calls = vec![ran("echo x >> a.py"), tested(), ran("touch a.py")];
    assert_eq!(judged(calls, "unknown"), "notify");
    let calls = vec![ran("echo x >> a.py"), tested(), ran("touch a.py; python fix.py")];
    assert_eq!(judged(calls, "unknown"), "hold");
    // What was written meanwhile is not what was touched.
    let calls = vec![ran("echo x >> a.py"), tested(), ran("touch b.py")];
    assert_eq!(judged(calls, "unknown"), "hold");
}

/// The executable bit is nothing that tests could judge; an action with commands of its own is asked for.
#[test]
fn a_change_of_the_mode_alone_needs_no_proof() {
    let mode = ChangedFile { change: Change::Mode, how: vec![How::Unstaged], ..changed("tools/a.py") };
    let turn = with_files(vec![ran("chmod +x tools/a.py")], vec![mode.clone()]);
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "pass");
    // What a branch has that was left again is more than its mode, and so is what lies in the index alone.
    for how in [vec![How::CommittedElsewhere, How::Unstaged], vec![How::Staged, How::Unstaged]] {
        let more = ChangedFile { how, ..mode.clone() };
        let turn = with_files(vec![ran("chmod +x tools/a.py")], vec![more]);
        assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "hold python-tests");
    }
    let other = with_files(vec![ran("chmod +x tools/a.py")], vec![mode, changed("b.py")]);
    assert_eq!(brief(&judge(&policy(PYTHON), &other)), "hold python-tests");
}

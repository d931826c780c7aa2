//! Red and green belong to the right run, package and language: what each fault looked like, as a small turn.

use change_set::{Change, ChangedFile};
use contents::Nature;
use gate::{Changes, Decision, Inputs, judge};
use programs::repository::Repository;
use transcript::{Call, FileEdit};

use crate::real_sessions::{in_repository, repository, two_packages};
use crate::turns::*;

const PYTHON: &str = r#"presets = ["python"]"#;
const SHELL: &str = r#"presets = ["shell", "python"]"#;
const MIXED: &str = r#"presets = ["python", "go"]"#;

/// Python with tests, and a script.
fn python() -> Repository {
    repository(&[("pyproject.toml", "[project]\nname = 'x'"), ("tests/test_a.py", "")])
}

/// Two languages in one folder, each with tests, and a task that runs both.
fn mixed() -> Repository {
    repository(&[
        ("go.mod", "module x"),
        ("a_test.go", ""),
        ("pyproject.toml", "[project]\nname = 'x'"),
        ("tests/test_a.py", ""),
        ("Makefile", "both:\n\tgo test ./...\n\tpytest\n"),
    ])
}

/// What is said of each turn in a repository.
fn said(policy_text: &str, repository: &Repository, files: &[&str], rows: Vec<(Vec<Call>, &str)>) {
    for (calls, expected) in rows {
        let shown: Vec<_> = calls.iter().map(|call| call.command.clone()).collect();
        let turn = in_repository(repository.clone(), calls, files);
        let verdict = judge(&policy(policy_text), &turn);
        assert_eq!(brief(&verdict), expected, "{files:?} {shown:?}: {:?}", verdict.message);
    }
}

fn deleted(path: &str) -> ChangedFile {
    ChangedFile { change: Change::Deleted, ..changed(path) }
}

/// A file that is gone is missed by the tests of its language alone, and a script by nobody.
#[test]
fn a_removal_is_asked_about_where_tests_could_notice_it() {
    let without_tests =
        repository(&[("pyproject.toml", "[tool.ruff]"), ("go.mod", "module x"), ("a_test.go", "")]);
    for (repository, file, expected) in [
        (python(), "app/a.py", "hold python-tests"),
        (without_tests, "app/a.py", "pass"),
        (python(), "scripts/a.sh", "pass"),
    ] {
        let turn = with_files(vec![ran(&format!("rm {file}"))], vec![deleted(file)]);
        let turn = Inputs { repository: Some(repository), ..turn };
        assert_eq!(brief(&judge(&policy(SHELL), &turn)), expected, "{file}");
    }
    // The timeline alone shows it too.
    for (command, expected) in [
        ("git rm -q scripts/a.sh", "pass"),
        ("mv scripts/a.sh scripts/a.txt", "pass"),
        ("rm scripts/a.sh && touch scripts/a.sh", "hold shell-tests"),
    ] {
        let mut turn = in_repository(python(), vec![ran(command)], &[]);
        turn.changes = Changes::Transcript(vec!["scripts/a.sh".to_owned()]);
        assert_eq!(brief(&judge(&policy(SHELL), &turn)), expected, "{command}");
    }
}

/// What lies in a hidden folder at the root sets up a tool, unless the repository's own tasks reach into it.
#[test]
fn what_sets_up_a_tool_needs_no_proof() {
    let using = repository(&[
        ("pyproject.toml", "[project]\nname = 'x'"),
        ("tests/test_a.py", ""),
        ("justfile", "check:\n    python .tools/check.py\n"),
    ]);
    let inside =
        repository(&[("tests/test_a.py", ""), (".tool/pyproject.toml", ""), (".tool/tests/test_b.py", "")]);
    for (repository, file, expected) in [
        (&python(), ".claude/skills/one/helper.py", "pass"),
        (&python(), ".claude/hooks/remind.sh", "pass"),
        (&python(), ".husky/pre-commit.sh", "pass"),
        (&python(), ".claude/scripts/setup.sh", "hold shell-tests"),
        (&python(), ".claude/worktrees/one/app/a.py", "hold python-tests"),
        (&python(), ".worktrees/one/app/a.py", "hold python-tests"),
        (&python(), "app/.hidden/a.py", "hold python-tests"),
        (&using, ".tools/check.py", "hold python-tests"),
        (&using, ".other/check.py", "pass"),
        (&inside, ".tool/app/a.py", "hold python-tests"),
    ] {
        said(SHELL, repository, &[file], vec![(vec![write(file)], expected)]);
    }
}

/// What a task runs decides what settles it: red tests behind `just prepush` are not settled by a linter.
#[test]
fn red_behind_a_task_is_as_strong_as_what_the_task_runs() {
    let repository = repository(&[
        ("pyproject.toml", "[project]\nname = 'x'"),
        ("tests/test_a.py", ""),
        ("justfile", "lint:\n    ruff check .\ntest:\n    pytest\nprepush: lint test\n"),
    ]);
    let after = |printed: &str, rest: &[&str]| {
        let mut calls = vec![write("app/a.py"), failed("just prepush", 1, printed)];
        calls.extend(rest.iter().map(|command| ran(command)));
        calls
    };
    said(
        PYTHON,
        &repository,
        &["app/a.py"],
        vec![
            (after(PYTEST_FAILED, &["just lint"]), "hold +unresolved-error +weaker-verification"),
            (after(PYTEST_FAILED, &["just lint", "just test"]), "notify"),
            (after(PYTEST_FAILED, &["pytest"]), "notify"),
            (after(PYTEST_FAILED, &["pytest tests/test_a.py"]), "hold +unresolved-error"),
            // The tests had passed: it was the linter.
            (after(PYTEST_PASSED, &["just lint"]), "notify"),
            // Nobody knows which of them it was.
            (after("error: recipe failed", &["just lint"]), "notify +weaker-verification"),
        ],
    );
}

/// A script that was executed has been tried, whatever the programs in it are about; one that may have been left out has not.
#[test]
fn a_changed_script_is_verified_by_executing_it() {
    let repository = repository(&[
        ("go.mod", "module x"),
        ("a_test.go", ""),
        ("test/all.bats", ""),
        ("Makefile", "release:\n\tbash scripts/release.sh\nmaybe:\n\ttrue && scripts/release.sh || true\n"),
        ("scripts/release.sh", "#!/bin/bash\ngo build ./...\n"),
        (
            "mise-tasks/lint/licenses",
            "#!/bin/bash\nif ! command -v lister; then\n  go install lister\nfi\nlister csv\n",
        ),
    ]);
    let policy = r#"presets = ["shell", "go"]"#;
    let script = |commands: &[&str]| {
        let mut calls = vec![write("scripts/release.sh")];
        calls.extend(commands.iter().map(|command| ran(command)));
        calls
    };
    said(
        policy,
        &repository,
        &["scripts/release.sh"],
        vec![
            (script(&[]), "hold shell-tests"),
            (script(&["go build ./..."]), "hold shell-tests"),
            (script(&["bash scripts/release.sh"]), "notify"),
            (script(&["make release 2>&1 | tail -5"]), "notify"),
            (script(&["make maybe"]), "hold shell-tests"),
            (script(&["cat scripts/release.sh"]), "hold shell-tests"),
            (vec![ran("make release"), write("scripts/release.sh")], "hold shell-tests"),
            (
                vec![write("scripts/release.sh"), failed("make release", 2, "boom")],
                "hold shell-tests +unresolved-error",
            ),
        ],
    );
    let task = vec![write("mise-tasks/lint/licenses"), ran("mise run lint:licenses 2>&1")];
    said(policy, &repository, &["mise-tasks/lint/licenses"], vec![(task, "pass")]);
}

/// A program of one language proves nothing about code of another in the same package.
#[test]
fn a_runner_proves_its_own_language() {
    let calls = |command: &str| vec![write("main.go"), ran(command)];
    said(
        MIXED,
        &mixed(),
        &["main.go"],
        vec![
            (calls("pytest"), "hold go-tests"),
            (calls("ruff check ."), "hold go-tests"),
            (calls("go test ./..."), "notify"),
            (calls("make both"), "notify"),
            (calls("./e2e/run"), "notify +weaker-verification"),
        ],
    );
    let held = |file: &str| {
        let turn = in_repository(mixed(), vec![write(file)], &[file]);
        judge(&policy(MIXED), &turn).actions[0].say.clone()
    };
    assert_eq!([held("main.go"), held("app/a.py")], ["Run `go test ./...`", "Run `pytest`"]);
    // Red of another language is told and does not hold.
    let red = vec![write("main.go"), ran("go test ./..."), failed("pytest", 1, PYTEST_FAILED)];
    said(MIXED, &mixed(), &["main.go"], vec![(red, "notify +unresolved-error")]);
    // A green run of another language settles nothing.
    let red = vec![
        write("app/a.py"),
        failed("pytest", 1, PYTEST_FAILED),
        ran("go test ./..."),
        ran("ruff check ."),
    ];
    said(MIXED, &mixed(), &["app/a.py"], vec![(red, "hold +unresolved-error +weaker-verification")]);
}

/// The usual program of an action is compared by its name, however it is called.
#[test]
fn the_usual_program_is_known_by_its_name() {
    let policy = policy(r#"presets = ["python", "java", "php"]"#);
    let files = ["app/a.py", "src/A.java"];
    let calls = |command: &str| vec![write("app/a.py"), write("src/A.java"), ran(command)];
    table(
        &policy,
        &files,
        vec![
            (calls("./gradlew test"), "hold python-tests"),
            (calls("pytest"), "hold java-tests"),
            (calls("pytest && ./gradlew test"), "notify"),
        ],
    );
}

/// L11: a summary that another command of the same line shows is not that of a push or a commit.
#[test]
fn l11_a_summary_that_was_only_shown_is_nobodys_run() {
    let turn = |command: &str| vec![write("app/a.py"), printed(command, PYTEST_PASSED)];
    let only_shown = [
        "gh run view 7 --log; git push",
        "git push; gh run view 7 --log",
        "git log -1; git commit -qm x",
        "git commit -qm x; git log -1",
        "gh api repos/x/y/actions/jobs/7/logs",
        "curl -s https://ci.example.org/7; git push",
        "docker logs web; git push",
        "grep passed out.log; git commit -qm x",
    ];
    let rows = only_shown.map(|command| (turn(command), "hold python-tests"));
    table(&policy(PYTHON), &["app/a.py"], rows.into());
    // W22: the hooks of the commit ran them.
    let ran =
        ["git commit -qm x", "git commit -qm x && git log --oneline -1", "git commit -qm x; git status"];
    table(&policy(PYTHON), &["app/a.py"], ran.map(|command| (turn(command), "notify")).into());
}

/// What fails in a package that did not change is told.
#[test]
fn red_is_about_the_package_that_changed() {
    let file = "packages/api/src/a.ts";
    let then = |package: &str| {
        let green = ran("cd packages/api && pnpm test");
        let red = failed(&format!("cd packages/{package} && pnpm test"), 1, "Tests  1 failed | 3 passed (4)");
        vec![write(file), green, red]
    };
    let node = r#"presets = ["node"]"#;
    let rows = vec![(then("web"), "notify +unresolved-error"), (then("api"), "hold +unresolved-error")];
    said(node, &two_packages(), &[file], rows);
}

/// W19: a run that had nothing to run on did not take place, and is neither red nor green.
#[test]
fn w19_nothing_to_run_is_neither_red_nor_green() {
    for (command, exit_code, words) in [
        ("npx jest", 1, "No tests found, exiting with code 1"),
        ("npm test", 1, "npm error Missing script: \"test\""),
        ("pytest -k nothing", 5, "===== 3 deselected in 0.01s ====="),
        ("pytest --nonsense", 4, "ERROR: usage: pytest [options] [file_or_dir]"),
        ("go tool nonsense", 2, "go: no such tool \"nonsense\""),
        ("timeout 60 go test ./...", 124, ""),
    ] {
        let verified = vec![write("app/a.py"), ran("mypy app"), failed(command, exit_code, words)];
        let alone = vec![write("app/a.py"), failed(command, exit_code, words)];
        table(&policy(PYTHON), &["app/a.py"], vec![(verified, "notify")]);
        let verdict = judge(&policy(PYTHON), &inputs(alone, &["app/a.py"]));
        assert_eq!(required(&verdict), ["python-tests"], "{command}");
    }
}

/// W25: what fails on the base commit as well failed before the change.
#[test]
fn w25_a_run_on_the_base_commit_counts_like_a_stash() {
    let red = |command: &str| failed(command, 1, PYTEST_FAILED);
    let then = |rest: Vec<Call>| {
        let mut calls = vec![read("app/a.py"), edit("app/a.py"), ran("git commit -qam x"), red("pytest")];
        calls.extend(rest);
        calls
    };
    table(
        &policy(PYTHON),
        &["app/a.py"],
        vec![
            (then(vec![ran("git worktree add /tmp/base main"), red("cd /tmp/base && pytest")]), "notify"),
            (then(vec![ran("git checkout main"), red("pytest"), ran("git checkout -")]), "notify"),
            (then(vec![ran("git switch --detach HEAD~1"), red("pytest"), ran("git switch -")]), "notify"),
            // It is red there for another reason, or not at all.
            (
                then(vec![ran("git checkout main"), red("pytest tests/b.py"), ran("git checkout -")]),
                "hold python-tests +missing-action +unresolved-error",
            ),
            (
                then(vec![ran("git worktree add /tmp/base main"), ran("cd /tmp/base && pytest")]),
                "hold python-tests +missing-action +unresolved-error",
            ),
            // Whoever does not come back has gone on to work there.
            (then(vec![ran("git checkout main"), ran("pytest")]), "notify"),
            (
                then(vec![ran("git worktree add -b one /tmp/one main"), red("cd /tmp/one && pytest")]),
                "hold python-tests +unresolved-error +unresolved-error",
            ),
        ],
    );
}

/// Having run something whose output shows red tests is no proof beside the red.
#[test]
fn a_run_that_shows_red_is_not_green_as_well() {
    let turn = |output: &str| vec![write("app/a.py"), printed("python tools/verify.py | tail -3", output)];
    table(
        &policy(PYTHON),
        &["app/a.py"],
        vec![
            (turn(PYTEST_FAILED), "hold python-tests +missing-action"),
            (turn(PYTEST_PASSED), "notify"),
            (turn("ready"), "notify"),
        ],
    );
}

/// W25: what fails without the change is no second failure of what failed with it.
#[test]
fn w25_other_tests_that_fail_in_a_stash_settle_nothing() {
    let red = |command: &str| failed(command, 1, PYTEST_FAILED);
    let turn = |before: &str, stashed: &str| {
        vec![write("app/a.py"), red(before), ran("git stash"), red(stashed), ran("git stash pop")]
    };
    table(
        &policy(PYTHON),
        &["app/a.py"],
        vec![
            (turn("pytest tests/a.py", "pytest"), "hold python-tests +missing-action +unresolved-error"),
            (turn("pytest", "pytest"), "notify"),
        ],
    );
}

/// A stash that the person refused put nothing away: what ran after it ran with the change.
#[test]
fn w25_a_refused_stash_is_none() {
    let calls = vec![write("app/a.py"), stopped_by_user(ran("git stash")), ran("pytest")];
    said(PYTHON, &python(), &["app/a.py"], vec![(calls, "notify")]);
}

/// L1: what an interrupted turn left unverified is not asked for while agent and person talk about it.
#[test]
fn l1_talk_about_interrupted_work_is_not_its_end() {
    let judged = |own: Vec<Call>, last: &str| {
        let mut calls = vec![write("app/a.py")];
        calls.extend(own);
        let mut turn = in_repository(python(), calls, &["app/a.py"]);
        (turn.earlier_calls, turn.said) = (1, vec![last.to_owned()]);
        brief(&judge(&policy(PYTHON), &turn))
    };
    for (own, last, expected) in [
        (vec![], "done", "hold python-tests"),
        (vec![], "Done. Shall I commit?", "hold python-tests"),
        (vec![], "That needs two passes. Want me to split it?", "pass"),
        (vec![ran("git log")], "That needs two passes. Want me to split it?", "pass"),
        (vec![write("app/a.py")], "That needs two passes. Want me to split it?", "hold python-tests"),
        (vec![ran("git commit -am x")], "Is that the name you meant?", "hold python-tests"),
    ] {
        assert_eq!(judged(own, last), expected, "{last}");
    }
}

/// Whether new tests may stay red is the person's matter; that they ran is known.
#[test]
fn tests_alone_that_ran_and_failed_are_not_missing() {
    let file = "tests/test_a.py";
    said(
        PYTHON,
        &python(),
        &[file],
        vec![
            (vec![write(file)], "hold python-tests"),
            (vec![write(file), failed("pytest", 1, PYTEST_FAILED)], "notify +unresolved-error"),
            (vec![write(file), unfinished("pytest")], "pass"),
            (vec![failed("pytest", 1, PYTEST_FAILED), write(file)], "hold python-tests +unresolved-error"),
            (
                vec![write(file), failed("pytest", 2, "SyntaxError: invalid syntax")],
                "hold python-tests +unresolved-error",
            ),
        ],
    );
    // A run shows what failed as errors of the code, and is a run all the same; what is not compiled is none.
    let shown =
        "E       AssertionError: assert 1 == 2\ntests/test_a.py:3: AssertionError\n=== 1 failed in 0.1s ===";
    let red = vec![write(file), failed("pytest -q", 1, shown)];
    said(PYTHON, &python(), &[file], vec![(red, "notify +unresolved-error")]);
    let go = "# x\n./a_test.go:3:1: undefined: y\nFAIL\tx [build failed]\nFAIL";
    let unbuilt = vec![write("a_test.go"), failed("go test ./...", 1, go)];
    said(MIXED, &mixed(), &["a_test.go"], vec![(unbuilt, "hold go-tests +unresolved-error")]);
    let file = "app/a.py";
    said(
        PYTHON,
        &python(),
        &[file],
        vec![(vec![write(file), failed("pytest", 1, PYTEST_FAILED)], "hold python-tests +unresolved-error")],
    );
}

/// Tests that an earlier turn left red hold once, and again if there are more of them or the agent's own do not pass.
#[test]
fn tests_that_were_left_red_before_hold_no_turn_with_green_ones_of_its_own() {
    let red = |failed: u32| format!("=== {failed} failed, 30 passed in 0.4s ===");
    let turn = |own: &str, now: u32| {
        let calls = vec![write("app/a.py"), ran(own), printed("pytest -q 2>&1 | tail -5", &red(now))];
        in_repository(python(), calls, &["app/a.py"])
    };
    let policy = policy(PYTHON);
    let mut first = turn("ruff check .", 3);
    let verdict = judge(&policy, &first);
    assert_eq!(verdict.reason.as_str(), "still failing: `pytest -q 2>&1 | tail -5`");
    first.history.reported = gate::reports(&verdict);
    assert_eq!(first.history.reported, ["left red: pytest: 3"]);
    for (own, now, expected) in [
        ("pytest tests/test_a.py", 3, "notify +unresolved-error"),
        ("pytest tests/test_a.py", 2, "notify +unresolved-error"),
        ("pytest tests/test_a.py", 4, "hold +unresolved-error"),
        ("ruff check .", 3, "hold +unresolved-error +weaker-verification"),
    ] {
        let next = Inputs { history: first.history.clone(), ..turn(own, now) };
        assert_eq!(brief(&judge(&policy, &next)), expected, "{own} {now}");
    }
}

/// W25: which steps of git put the change away, and which bring it back.
#[test]
fn w25_steps_of_git_around_a_red_run() {
    const RED: &str = "hold python-tests +unresolved-error";
    let red = || failed("pytest", 1, PYTEST_FAILED);
    let (opened, there) = (|| read("app/a.py"), || edit("app/a.py"));
    let judged = |calls: Vec<Call>| brief(&judge(&policy(PYTHON), &inputs(calls, &["app/a.py"])));
    for (before, after, expected) in [
        ("git stash", "git stash pop", "notify"),
        ("git stash push -q", "git stash apply", "notify"),
        ("git stash save x", "git merge main", "notify"),
        ("git stash list", "git stash pop", RED),
        ("git stash show", "git stash pop", RED),
        ("git checkout main", "git checkout work", "notify"),
        ("git checkout main", "git rebase main", "notify"),
        ("git checkout -b other", "git checkout work", RED),
        ("git switch -c other", "git switch work", RED),
        ("git checkout --orphan other", "git checkout work", RED),
        ("git checkout app/b.py", "git checkout work", RED),
        ("git checkout -- app", "git checkout work", RED),
        ("git checkout main app", "git checkout work", RED),
        ("git log main", "git checkout work", RED),
        ("hg checkout main", "hg checkout work", RED),
    ] {
        let calls = vec![opened(), there(), red(), ran(before), red(), ran(after)];
        assert_eq!(judged(calls), expected, "{before}; {after}");
    }
    // Whoever edits there works there, and what was checked out before the first edit is the state to work on.
    let stashed = vec![opened(), there(), red(), ran("git stash"), there(), red(), ran("git stash pop")];
    assert_eq!(judged(stashed), RED);
    let began = vec![opened(), ran("git checkout main"), there(), red(), ran("git checkout -")];
    assert_eq!(judged(began), RED);
    let holds =
        |calls: Vec<Call>| judge(&policy(PYTHON), &inputs(calls, &["app/a.py"])).decision == Decision::Hold;
    for (folder, run, expected) in [
        ("/tmp/base", "cd /tmp/base/app && pytest", false),
        ("../base", "cd ../base && pytest", false),
        ("/tmp/base", "cd /tmp/basement && pytest", true),
    ] {
        let add = || ran(&format!("git worktree add {folder} main"));
        let elsewhere = || failed(run, 1, PYTEST_FAILED);
        assert_eq!(holds(vec![opened(), there(), red(), add(), elsewhere()]), expected, "{run}");
        for path in ["/tmp/base/app/a.py", "/base/app/a.py"] {
            for changes in [edit(path), ran(&format!("touch {path}"))] {
                let calls = vec![opened(), there(), red(), add(), changes, elsewhere()];
                let is_in_it = path.starts_with(folder.trim_start_matches(".."));
                assert_eq!(holds(calls), is_in_it || expected, "{run}: {path}");
            }
        }
    }
}

/// A patch names all its files: those whose text it shows were changed, those it made are there, and the others are gone.
#[test]
fn what_a_patch_removed_is_gone() {
    let patch = || {
        let mut call = edit("scripts/a.sh");
        call.paths = ["a", "b", "c"].map(|name| format!("scripts/{name}.sh")).to_vec();
        call.created = vec!["scripts/b.sh".to_owned()];
        call.edits = vec![FileEdit {
            path: "scripts/a.sh".to_owned(),
            nature: Nature::Code.into(),
            before: None,
            after: None,
            whole: false,
            ending: None,
        }];
        call
    };
    for (file, expected) in [
        ("scripts/a.sh", "hold shell-tests +edit-without-read"),
        ("scripts/b.sh", "hold shell-tests +edit-without-read"),
        ("scripts/c.sh", "notify +edit-without-read"),
    ] {
        let mut turn = in_repository(python(), vec![patch()], &[]);
        turn.changes = Changes::Transcript(vec![file.to_owned()]);
        assert_eq!(brief(&judge(&policy(SHELL), &turn)), expected, "{file}");
    }
}

/// A script without an ending is code of the language that its first line names, but not by the letter.
#[test]
fn a_script_is_code_of_the_language_of_its_first_line() {
    let mut turn = in_repository(python(), vec![write("bin/run")], &["bin/run"]);
    turn.script_endings = [("bin/run".to_owned(), "py".to_owned())].into();
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "hold python-tests");
    // What is asked for is for its language too.
    let asked = |ending: &str| {
        let mut turn = in_repository(python(), vec![write("bin/run")], &["bin/run"]);
        turn.script_endings = [("bin/run".to_owned(), ending.to_owned())].into();
        let verdict = judge(&policy(SHELL), &turn);
        verdict.actions.iter().map(|action| format!("{}: {}", action.id, action.say)).collect::<Vec<_>>()
    };
    assert_eq!(asked("py"), ["python-tests: Run `pytest`"]);
    assert_eq!(asked("sh"), ["shell-tests: Run `bash -n`"]);
    let letter = policy(&format!("{PYTHON}\n[gate]\nturn_only = true"));
    assert_eq!(brief(&judge(&letter, &turn)), "pass");
    turn.script_endings.clear();
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "pass");
}

/// A failure that is a step of the hold is not said again; others are.
#[test]
fn a_hold_says_each_thing_once() {
    let red = failed("mypy app", 1, "app/a.py:1: error: no");
    let calls = vec![edit("app/a.py"), ran("pytest"), red, failed("./deploy", 1, "no")];
    let verdict = judge(&policy(PYTHON), &in_repository(python(), calls, &["app/a.py"]));
    assert_eq!(
        verdict.message.unwrap(),
        "[checkstone] Still failing\n\n\
         Changed: Python code (`app/a.py`)\n\n\
         1. Run `mypy app` again until it succeeds, or say why that failure is acceptable (python-tests)\n\n\
         Observations:\n\
         - A command returned errors — verify the issue is resolved (`./deploy`)\n\
         - Files were edited without being read first this turn — verify changes are correct\n\n\
         If a step cannot be done here, say so on a line of its own:\n\
         `checkstone: cannot ACTION: REASON` (actions: python-tests)."
    );
}

/// A chain failed, and the summary in it tells of a pass: what came after the tests failed, unless errors in code show.
#[test]
fn what_failed_after_tests_that_passed() {
    for (printed, expected) in [
        ("error: no host", "notify +unresolved-error"),
        ("app/a.py:1: error: no", "hold python-tests +unresolved-error"),
        ("", "notify +unresolved-error"),
    ] {
        let deployed = failed("pytest && make deploy", 1, &format!("{PYTEST_PASSED}\n{printed}"));
        let calls = vec![write("app/a.py"), deployed];
        table(&policy(PYTHON), &["app/a.py"], vec![(calls, expected)]);
    }
}

/// Code that an interpreter reads from its input verifies what it names, as code on its command line does.
#[test]
fn w20_code_on_standard_input_is_about_what_it_names() {
    let input = |code: &str| ran(&format!("uv run python - <<'PY'\n{code}\nPY"));
    said(
        PYTHON,
        &python(),
        &["app/a.py"],
        vec![
            (vec![write("app/a.py"), ran("python -c 'import app.a'")], "notify +weaker-verification"),
            (vec![write("app/a.py"), input("from app import a\nprint(a.x)")], "notify +weaker-verification"),
            (vec![write("app/a.py"), input("print(1)")], "hold python-tests"),
            (vec![write("app/a.py"), input("open('app/a.py', 'w').write('x')")], "hold python-tests"),
        ],
    );
}

/// What is given files says nothing of other files: neither that they are well, nor that what was red there is over.
#[test]
fn a_check_of_files_proves_these_alone() {
    let python = python();
    let both = ["app/a.py", "app/b.py"];
    let after = |commands: &[&str]| {
        let mut calls = vec![write("app/a.py"), write("app/b.py")];
        calls.extend(commands.iter().map(|command| ran(command)));
        calls
    };
    let red = |then: &str| {
        vec![write("app/a.py"), failed("mypy .", 1, "app/b.py:3: error: bad\nFound 1 error"), ran(then)]
    };
    said(
        PYTHON,
        &python,
        &both,
        vec![
            (after(&["python -m py_compile app/a.py"]), "hold python-tests +missing-action"),
            (after(&["python -m py_compile app/b.py app/a.py"]), "notify +weaker-verification"),
            (after(&["ruff check app/a.py", "cd app && mypy b.py"]), "notify +weaker-verification"),
            (after(&["ruff check app/*.py"]), "notify +weaker-verification"),
            (after(&["ruff check app"]), "notify +weaker-verification"),
            (after(&["python -m py_compile app/a.py", "pytest"]), "notify"),
            // Each content was looked at: the one by the tests, the other alone.
            (
                vec![write("app/a.py"), ran("pytest"), write("app/b.py"), ran("ruff check app/b.py")],
                "notify +weaker-verification",
            ),
            (
                vec![write("app/a.py"), ran("ruff check app/a.py"), write("app/a.py"), write("app/b.py")],
                "hold python-tests +missing-action",
            ),
        ],
    );
    said(
        PYTHON,
        &python,
        &["app/a.py"],
        vec![
            (red("python -m py_compile app/a.py"), "hold +unresolved-error +weaker-verification"),
            (red("pytest"), "notify"),
            // Spelling and settings are not code.
            (vec![write("app/a.py"), ran("markdownlint README.md")], "hold python-tests"),
            (vec![write("app/a.py"), ran("typos && yamllint .")], "hold python-tests"),
            (vec![write("app/a.py"), ran("python -m py_compile /tmp/a.py")], "hold python-tests"),
        ],
    );
    // Each script was linted, and one of them run besides.
    let scripts = repository(&[(".shellcheckrc", ""), ("one.sh", ""), ("two.sh", "")]);
    let linted = vec![
        write("one.sh"),
        write("two.sh"),
        ran("bash -n one.sh && bash -n two.sh"),
        ran("bash two.sh --dry-run; rm -f out"),
        ran("python3 serve.py"),
    ];
    said(SHELL, &scripts, &["one.sh", "two.sh"], vec![(linted, "notify")]);
}

/// A file of tests that is run as a program: only the file knows whether it starts them.
#[test]
fn a_test_file_that_says_nothing_was_only_run() {
    let silent = || ran("python tests/test_a.py");
    let of_ci = repository(&[
        ("pyproject.toml", "[project]\nname = 'x'"),
        (".github/workflows/ci.yml", "jobs:\n  t:\n    steps:\n      - run: python check/run_tests.py\n"),
    ]);
    let turn = |call: Call| vec![write("app/a.py"), call];
    said(
        PYTHON,
        &python(),
        &["app/a.py"],
        vec![
            (turn(silent()), "notify +weaker-verification"),
            (turn(printed("python tests/test_a.py", "loading\n")), "notify +weaker-verification"),
            (turn(printed("python tests/test_a.py", "OK\n")), "notify"),
            (turn(printed("python tests/test_a.py", "Ran 2 tests in 0.001s\n\nOK\n")), "notify"),
            (turn(printed("Rscript tests/testthat.R", "[ FAIL 0 | WARN 0 | SKIP 0 | PASS 3 ]")), "notify"),
            (
                turn(failed("python tests/test_a.py", 1, "AssertionError")),
                "hold python-tests +unresolved-error",
            ),
            (
                vec![write("app/a.py"), failed("python tests/test_a.py", 1, "AssertionError"), silent()],
                "notify +weaker-verification",
            ),
            (
                vec![write("app/a.py"), failed("pytest", 1, PYTEST_FAILED), silent()],
                "hold +unresolved-error +weaker-verification",
            ),
        ],
    );
    // What the repository itself tests with is a test.
    said(PYTHON, &of_ci, &["app/a.py"], vec![(turn(ran("python check/run_tests.py")), "notify")]);
}

//! R5: a command that failed, and that nothing settled.

use gate::judge;
use transcript::{Call, Kind};

use crate::turns::*;

/// Every error holds.
const HOLD: &str = "[gate.rules]\nerrors = \"hold\"";

/// No action is required here: only errors can hold.
fn errors(rows: Vec<(Vec<Call>, &str)>) {
    table(&policy(HOLD), &["data/table.json"], rows);
}

/// Red tests, type checks and builds of changed code hold, and so does nothing else.
#[test]
fn red_holds_and_other_errors_are_told() {
    let left = |file: &str, command: &str| {
        brief(&judge(&policy(""), &inputs(vec![write(file), failed(command, 1, "")], &[file])))
    };
    for command in ["pytest", "mypy app", "make build", "npm test"] {
        assert_eq!(left("app/a.py", command), "hold +unresolved-error", "{command}");
        assert_eq!(left("data/a.json", command), "notify +unresolved-error", "{command}");
    }
    for command in ["ruff check", "python app/a.py", "git push", "npm install", "./deploy"] {
        assert_eq!(left("app/a.py", command), "notify +unresolved-error", "{command}");
    }
}

#[test]
fn r5_a_failure_that_was_left_alone_holds_where_something_changed() {
    let calls = || vec![failed("make build", 2, "error")];
    assert_eq!(brief(&judge(&policy(HOLD), &inputs(calls(), &["data/a.json"]))), "hold +unresolved-error");
    assert_eq!(brief(&judge(&policy(""), &inputs(calls(), &[]))), "notify +unresolved-error");
    assert_eq!(brief(&judge(&policy(""), &inputs(calls(), &["README.md"]))), "notify +unresolved-error");
    for (level, expected) in [("notify", "notify +unresolved-error"), ("off", "pass")] {
        let policy = policy(&format!("[gate.rules]\nerrors = {level:?}"));
        assert_eq!(brief(&judge(&policy, &inputs(calls(), &["data/a.json"]))), expected);
    }
}

/// E8
#[test]
fn e8_an_answer_by_exit_status_is_no_error() {
    errors(vec![
        (vec![failed("grep -rn TODO src", 1, "")], "pass"),
        (vec![failed("set -o pipefail; rg -n TODO | head", 1, "")], "pass"),
        (vec![failed("diff a b", 1, "1c1")], "pass"),
        (vec![failed("test -f x", 1, "")], "pass"),
        (vec![failed("cmp a b", 1, "a b differ")], "pass"),
        (vec![failed("git diff --quiet", 1, "")], "pass"),
        (vec![failed("[ -d x ]", 1, "")], "pass"),
        (vec![failed("which node", 1, "")], "pass"),
    ]);
    // By the letter, that the file was missing or denied is one.
    let letter = policy("[gate]\nresolved_by = \"attempt\"\n[gate.rules]\nerrors = \"hold\"");
    let missing = || vec![failed("grep x missing", 2, "grep: missing: No such file or directory")];
    let denied = || vec![failed("diff a b", 2, "diff: b: Permission denied")];
    table(
        &letter,
        &["data/table.json"],
        vec![(missing(), "hold +unresolved-error"), (denied(), "hold +unresolved-error")],
    );
    errors(vec![(missing(), "pass"), (denied(), "pass")]);
}

/// W3
#[test]
fn w3_a_probe_is_never_an_error() {
    for (command, exit_code) in [
        ("ls missing", 2),
        ("cat missing", 1),
        ("sed -n 1,5p missing", 2),
        ("git rev-parse -q --verify nothing", 1),
        ("git commit --dry-run", 1),
        ("grep x y", 1),
        ("git log | head -1", 141),
    ] {
        errors(vec![(vec![failed(command, exit_code, "")], "pass")]);
    }
}

/// W19
#[test]
fn w19_what_did_not_take_place_is_no_failing_test() {
    errors(vec![
        (vec![failed("cd core && cargo test", 1, "bash: cd: core: No such file or directory")], "pass"),
        (vec![failed("pytest -k nothing", 5, "1 deselected")], "pass"),
        (vec![failed("timeout 60 pytest", 124, "")], "pass"),
        (vec![failed("pytest", 127, "pytest: command not found")], "pass"),
        (vec![failed("cargo test one two", 1, "error: unexpected argument 'two' found")], "pass"),
        // A test of somebody's own command line prints the same, and ends with its summary.
        (
            vec![failed(
                "pytest",
                1,
                "error: unexpected argument 'two' found\n= 1 failed, 2 passed in 0.1s =",
            )],
            "hold +unresolved-error",
        ),
    ]);
}

/// W2: another form of the same, or something that says more, settles.
#[test]
fn w2_another_form_settles() {
    for (first, second) in [
        ("npm run fmt && npm run lint", "npm run fmt && npm run lint -- --quiet"),
        ("ruff format --check", "ruff format"),
        ("npx tsc --noEmit", "npm run typecheck"),
        ("ruff check", "pytest"),
        ("python app/main.py", "pytest"),
        ("npm run lint", "npx vitest run"),
        ("cargo test", "cargo test 2>&1 | tail -5"),
        ("./deploy --check", "pytest"),
        ("cargo clippy", "cargo test"),
        ("make lint", "make"),
        ("make lint", "make build"),
        ("pytest a", "pytest a || true"),
    ] {
        errors(vec![(vec![failed(first, 1, "boom"), ran(second)], "pass")]);
    }
}

/// W7: a later, wider run that failed takes back the narrow one that passed.
#[test]
fn w7_a_failing_run_takes_proof_back() {
    let python = policy(r#"presets = ["python"]"#);
    let calls = || vec![read("app/a.py"), edit("app/a.py"), ran("pytest tests/test_a.py")];
    let then = |call: Call| calls().into_iter().chain([call]).collect::<Vec<_>>();
    table(
        &python,
        &["app/a.py"],
        vec![
            (calls(), "notify"),
            (then(failed("pytest", 1, PYTEST_FAILED)), "hold +unresolved-error"),
            (then(printed("pytest | tail -3", PYTEST_FAILED)), "hold +unresolved-error"),
        ],
    );
}

/// W25: what fails without the change as well says nothing against it.
#[test]
fn w25_what_failed_before_the_change_is_not_its_error() {
    let python = policy(r#"presets = ["python"]"#);
    let calls = |rest: Vec<Call>| {
        [read("app/a.py"), edit("app/a.py"), failed("pytest", 1, PYTEST_FAILED)]
            .into_iter()
            .chain(rest)
            .collect()
    };
    table(
        &python,
        &["app/a.py"],
        vec![
            (calls(vec![]), "hold python-tests +unresolved-error"),
            (
                calls(vec![ran("git stash"), failed("pytest", 1, PYTEST_FAILED), ran("git stash pop")]),
                "notify",
            ),
            (
                calls(vec![ran("git stash"), ran("pytest"), ran("git stash pop")]),
                "hold python-tests +missing-action +unresolved-error",
            ),
        ],
    );
}

/// E9
#[test]
fn e9_the_same_going_well_later_settles() {
    let fails = |command: &str| failed(command, 1, "boom");
    let settled = [
        ("pytest", "pytest"),
        ("pytest a", "pytest"),
        ("pytest a", "pytest a b"),
        ("pytest tests/unit/test_a.py", "pytest tests/unit"),
        ("pytest tests/a.py::test_x", "pytest tests/a.py"),
        ("pytest a -v", "pytest -q a"),
        ("pytest a --tb=long", "pytest a --tb=short -n 4"),
        ("cargo test -p one", "cargo test"),
        ("cargo test name", "cargo test"),
        ("cargo test lexer::tests::escapes", "cargo test lexer"),
        ("cargo test", "cargo test --workspace"),
        ("cargo build --release", "cargo build"),
        ("cargo check", "cargo build"),
        ("cargo build", "cargo test"),
        ("cargo check -p one", "cargo nextest run"),
        ("cargo nextest run lexer", "cargo nextest run"),
        ("go build ./...", "go test ./..."),
        ("cd web && npm test", "cd web && npm run test"),
        ("cd web && npm test", "npm test"),
        ("npm install", "npm install --legacy-peer-deps"),
        ("go test ./pkg/a", "go test ./..."),
        ("git commit -m 'one'", "git add -A && git commit -m 'two'"),
        ("git push", "git push -u origin main"),
        ("make lint", "make -j4 lint"),
        ("cargo fmt --check", "cargo fmt"),
        ("python -c 'import a'", "python -c 'import b'"),
        ("cd crates/x && cargo test", "cd crates/x && cargo test"),
        ("cargo test", "cd /repo && cargo test"),
        ("cd /repo/crates/x && cargo test", "cd /repo && cargo test"),
    ];
    for (first, second) in settled {
        errors(vec![(vec![fails(first), ran(second)], "pass")]);
    }
    let open = [
        ("pytest b", "pytest a"),
        ("pytest", "pytest a"),
        ("pytest tests", "pytest tests/unit"),
        ("pytest a", "pytest a -k one"),
        ("cargo test", "cargo test one"),
        ("cargo test", "cargo test -p one"),
        ("cargo test", "cargo test --lib"),
        ("cargo build", "cargo check"),
        ("cargo build", "cargo test -p one"),
        ("go build ./...", "go test ./pkg/a"),
        ("cd a && cargo test", "cd b && cargo test"),
        ("cargo test", "cd a && cargo test"),
        ("git push", "git status"),
        ("python one.py", "python two.py"),
        ("npm test", "npm run build"),
    ];
    for (first, second) in open {
        errors(vec![(vec![fails(first), ran(second)], "hold +unresolved-error")]);
    }
}

/// In `git commit && git push` git itself says that it was the push.
#[test]
fn a_push_that_failed_after_a_commit_is_settled_by_a_push() {
    let push = |words: &str| failed("git commit -qam x && git push", 128, words);
    errors(vec![
        (
            vec![
                push("fatal: The current branch fix has no upstream branch."),
                ran("git push -u origin fix"),
            ],
            "pass",
        ),
        (
            vec![push("error: failed to push some refs to 'origin'"), ran("git pull --rebase && git push")],
            "pass",
        ),
        (vec![push("error: failed to push some refs to 'origin'")], "hold +unresolved-error"),
        (vec![push("pre-commit hook failed"), ran("git push -u origin fix")], "hold +unresolved-error"),
    ]);
}

/// A merge in conflict is ended by a commit, which git refuses while conflicts are left.
#[test]
fn a_conflict_is_settled_by_the_commit_that_ends_it() {
    let merge = failed("git merge origin/main", 1, "CONFLICT (content): Merge conflict in data/table.json");
    let other = failed("git merge origin/main", 128, "merge: origin/main - not something we can merge");
    let commit = || ran("git add -A && git commit --no-edit");
    errors(vec![
        (vec![merge.clone(), commit()], "pass"),
        (vec![merge.clone(), ran("git merge --abort")], "pass"),
        (vec![merge], "hold +unresolved-error"),
        (vec![other, commit()], "hold +unresolved-error"),
    ]);
}

/// E11: what the agent itself ended did not fail.
#[test]
fn a_server_that_the_agent_ended_is_no_error() {
    let server = |exit_code| failed("uvicorn app:app", exit_code, "");
    errors(vec![
        (vec![server(143), ran("pkill -f uvicorn")], "pass"),
        (vec![server(137), ran("kill -9 4711")], "pass"),
        (vec![server(143), ran("ls")], "hold +unresolved-error"),
        (vec![server(1), ran("pkill -f uvicorn")], "hold +unresolved-error"),
    ]);
}

/// Whoever started a tool where there is nothing for it to work on was in the wrong folder.
#[test]
fn the_wrong_folder_is_settled_in_the_right_one() {
    for (words, expected) in [
        ("npm error Missing script: \"test\"", "pass"),
        ("npm error code ENOENT\nnpm error Could not read package.json", "pass"),
        ("FAIL src/a.test.ts", "hold +unresolved-error"),
    ] {
        errors(vec![(vec![failed("npm test", 1, words), ran("cd web && npm test")], expected)]);
    }
    let elsewhere =
        failed("cargo test", 101, "error: could not find `Cargo.toml` in `/repo` or any parent directory");
    errors(vec![
        (vec![elsewhere.clone(), ran("cd rust && cargo test")], "pass"),
        (vec![elsewhere, ran("cd rust && cargo build")], "hold +unresolved-error"),
    ]);
}

/// E9
#[test]
fn e9_failing_again_is_one_observation() {
    errors(vec![
        (vec![failed("pytest", 1, ""), failed("pytest", 1, "")], "hold +unresolved-error"),
        (vec![failed("pytest a", 1, ""), failed("pytest -x a", 1, "")], "hold +unresolved-error"),
        (
            vec![failed("pytest a", 1, ""), failed("pytest b", 1, "")],
            "hold +unresolved-error +unresolved-error",
        ),
        (vec![failed("pytest a", 1, ""), failed("pytest b", 1, ""), ran("pytest")], "pass"),
    ]);
}

/// What can have failed in `a && b` may go well one after the other.
#[test]
fn the_parts_of_a_chain_settle_it_one_by_one() {
    let chain = || failed("cargo fmt --check && cargo test", 1, "");
    errors(vec![
        (vec![chain(), ran("cargo fmt"), ran("cargo test")], "pass"),
        (vec![chain(), ran("cargo fmt")], "hold +unresolved-error"),
    ]);
}

/// E10
#[test]
fn e10_the_text_of_a_command_that_went_well_is_not_read() {
    errors(vec![(vec![printed("instrukt-ai-logs app", "Traceback (most recent call last)")], "pass")]);
}

/// E11
#[test]
fn e11_what_the_user_stopped_is_no_error_of_the_code() {
    errors(vec![
        (vec![stopped_by_user(ran("make build"))], "pass"),
        (vec![stopped_by_user(edit("data/table.json"))], "pass"),
    ]);
}

#[test]
fn looking_for_what_is_not_there_is_settled_by_going_on() {
    errors(vec![
        (vec![failed("ls missing", 2, "ls: cannot access 'missing'"), read("data/table.json")], "pass"),
        (vec![failed("cat missing | head", 1, "cat: missing: No such file"), ran("ls")], "pass"),
        (vec![failed("rgx foo", 127, "bash: rgx: command not found"), ran("grep foo .")], "pass"),
        (vec![failed("git show nosuchref", 128, "fatal: bad object"), ran("git log")], "pass"),
        (
            vec![
                failed("mkdir data", 1, "mkdir: cannot create directory 'data': File exists"),
                ran("ls data"),
            ],
            "pass",
        ),
        (vec![failed("python3 -c 'import x'", 1, "ModuleNotFoundError"), ran("ls")], "pass"),
        (vec![failed("cat missing", 1, "cat: missing: No such file")], "pass"),
    ]);
}

#[test]
fn a_failed_edit_is_settled_by_any_later_edit_of_the_file() {
    errors(vec![
        (
            vec![edit_failed("/repo/data/table.json"), read("data/table.json"), edit("data/table.json")],
            "pass",
        ),
        (
            vec![
                read("data/table.json"),
                edit_failed("data/table.json"),
                ran("sed -i s/a/b/ data/table.json"),
            ],
            "pass",
        ),
        (vec![read("data/table.json"), edit_failed("data/table.json"), ran("ls")], "hold +unresolved-error"),
    ]);
    let calls = vec![read("data/table.json"), edit_failed("data/table.json")];
    let verdict = judge(&policy(HOLD), &inputs(calls, &["data/table.json"]));
    assert_eq!(
        sentences(&verdict),
        ["An edit failed and was not repeated — verify the file (`Edit data/table.json`)"]
    );
}

#[test]
fn calls_that_were_not_carried_out_or_only_read_are_no_errors() {
    let invalid =
        Call { command: None, ..failed("", 1, "<tool_use_error>InputValidationError: Bash failed") };
    let missing = Call { kind: Kind::Read, tool: "Read".to_owned(), ..failed("", 1, "File does not exist.") };
    let other =
        Call { kind: Kind::Other, tool: "WebFetch".to_owned(), command: None, ..failed("", 1, "404") };
    errors(vec![(vec![invalid], "pass"), (vec![missing], "pass"), (vec![other], "pass")]);
}

/// A command that cannot be parsed is no reason to hold.
#[test]
fn what_is_not_understood_does_not_hold() {
    errors(vec![(vec![failed("if then fi (", 2, "syntax error")], "pass")]);
}

/// A sub-agent's failure is the turn's; whoever settles it.
#[test]
fn a_failure_of_a_subagent_counts() {
    errors(vec![
        (vec![by_subagent(failed("make build", 2, ""))], "hold +unresolved-error"),
        (vec![by_subagent(failed("make build", 2, "")), ran("make build")], "pass"),
    ]);
}

/// R5's second layer: what it printed chooses the sentence.
#[test]
fn r5_the_output_chooses_the_sentence() {
    let rust = policy(r#"presets = ["rust"]"#);
    for (call, expected) in [
        (
            failed("cargo build", 101, "error[E0308]: mismatched types"),
            "Compiler errors remain — verify that the code builds (`cargo build`)",
        ),
        (
            failed("cargo test", 101, "test result: FAILED."),
            "Test failures remain — re-run tests after fixes (`cargo test`)",
        ),
        (
            failed("make image", 2, "no space left"),
            "A command returned errors — verify the issue is resolved (`make image`)",
        ),
    ] {
        let verdict = judge(&rust, &inputs(vec![call], &["data/a.json"]));
        assert_eq!(sentences(&verdict), [expected]);
    }
}

/// A runner whose own summary tells of a pass is not what failed in a chain.
#[test]
fn a_chain_whose_tests_passed_failed_after_them() {
    let rust = policy(r#"presets = ["rust"]"#);
    let chain = || {
        failed(
            "cargo test && git commit -m x",
            1,
            "test result: ok. 21 passed; 0 failed;\ncommit-msg: too short",
        )
    };
    table(
        &rust,
        &["src/a.rs"],
        vec![
            (vec![write("src/a.rs"), chain()], "notify +unresolved-error"),
            (vec![write("src/a.rs"), chain(), ran("git commit -m 'Fix escapes'")], "notify"),
            (
                vec![
                    write("src/a.rs"),
                    failed("cargo test && git commit -m x", 101, "test result: FAILED. 1 failed;"),
                ],
                "hold rust-tests +unresolved-error",
            ),
            // The summary is cargo's, so that it is npm that failed.
            (
                vec![
                    write("src/a.rs"),
                    failed("cargo test && npm test", 1, "test result: ok. 21 passed; 0 failed;"),
                ],
                "notify +unresolved-error",
            ),
        ],
    );
}

/// A server that was started to look at it and stopped by the clock.
#[test]
fn a_bound_that_the_agent_set_is_no_error() {
    errors(vec![
        (vec![failed("timeout 5 npm start", 124, "listening on 3000")], "pass"),
        (vec![failed("npm start", 124, "")], "hold +unresolved-error"),
    ]);
}

/// Who cannot run the tests here has probably tried.
#[test]
fn a_waiver_covers_the_failure_that_it_is_about() {
    let rust = policy(r#"presets = ["rust"]"#);
    let mut turn = inputs(
        vec![write("src/a.rs"), failed("cargo test", 101, "error: linker `cc` not found")],
        &["src/a.rs"],
    );
    assert_eq!(brief(&judge(&rust, &turn)), "hold rust-tests +unresolved-error");
    turn.said = vec!["checkstone: cannot rust-tests: no linker in this sandbox".to_owned()];
    assert_eq!(brief(&judge(&rust, &turn)), "notify");
}

/// E9: the very same words settle, also where their success proves nothing of the command that failed.
#[test]
fn e9_the_same_words_settle() {
    let conditional = "if make a; then make b; fi";
    errors(vec![
        (vec![failed(conditional, 1, "boom")], "hold +unresolved-error"),
        (vec![failed(conditional, 1, "boom"), ran("if  make a; then make b; fi")], "pass"),
        (vec![failed(conditional, 1, "boom"), ran("if make a; then make c; fi")], "hold +unresolved-error"),
        (vec![read("a.json"), edit_failed("a.json"), edit("a.json")], "pass"),
        (vec![read("b.json"), edit_failed("a.json"), edit("b.json")], "hold +unresolved-error"),
        (vec![edit_failed("a.json"), write("a.json")], "pass"),
        (vec![edit_failed("a.json"), ran("touch a.json")], "pass"),
        (vec![edit_failed("a.json"), read("a.json")], "hold +unresolved-error"),
        (vec![edit_failed("a.json"), edit_failed("a.json")], "hold +unresolved-error"),
    ]);
}

/// W19: which failures are none of the command's own.
#[test]
fn w19_how_it_is_seen_that_something_did_not_take_place() {
    const ERROR: &str = "hold +unresolved-error";
    for (command, exit_code, output, expected) in [
        ("pytest a b", 4, "usage: pytest", "pass"),
        ("make build", 4, "boom", ERROR),
        ("make build", 5, "boom", ERROR),
        ("make build", 124, "boom", ERROR),
        ("timeout 60 make build", 1, "boom", ERROR),
        ("./build.sh", 126, "bash: ./build.sh: Permission denied", "pass"),
        ("npm run nothing", 1, "npm error Missing script: \"nothing\"", "pass"),
        ("go build ./...", 2, "go: no such tool \"compile\"", "pass"),
        ("cd core && cargo build", 1, "src/a.rs: no such file", ERROR),
        ("cd core && cargo build", 1, "cd: too many arguments", ERROR),
        ("make build", 1, "cd: core: No such file or directory", ERROR),
    ] {
        errors(vec![(vec![failed(command, exit_code, output)], expected)]);
    }
}

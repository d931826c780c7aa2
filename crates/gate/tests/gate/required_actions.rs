//! R4: an action that what changed demands is asked for, unless the timeline proves that it was done.

use change_set::{Change, ChangedFile};
use gate::{Changes, judge};
use sandbox::finishes;
use transcript::Call;

use crate::turns::*;

const RUST: &str = r#"presets = ["rust"]"#;
const PYTHON: &str = r#"presets = ["python"]"#;

fn python(rows: Vec<(Vec<Call>, &str)>) {
    let rows = rows.into_iter().map(|(calls, expected)| {
        ([read("/repo/app/main.py"), edit("/repo/app/main.py")].into_iter().chain(calls).collect(), expected)
    });
    table(&policy(PYTHON), &["app/main.py"], rows.collect());
}

#[test]
fn r4_code_without_tests_is_held_for_them() {
    python(vec![(vec![], "hold python-tests"), (vec![ran("pytest")], "notify")]);
}

/// E1
#[test]
fn e1_a_failed_command_proves_nothing() {
    python(vec![
        (vec![failed("pytest", 1, PYTEST_FAILED)], "hold python-tests +unresolved-error"),
        (vec![failed("pytest", 1, PYTEST_FAILED), ran("pytest")], "notify"),
        (vec![ran("pytest"), failed("pytest", 1, PYTEST_FAILED)], "hold +unresolved-error"),
    ]);
}

/// E3: of a builder behind a pipe its own last words are the proof, where the policy names the commands.
#[test]
fn e3_a_builder_says_itself_that_it_is_done() {
    let own = policy(
        "presets = [\"rust\"]\n[action.rust-tests]\nproof = \"evidence\"\nevidence = [\"cargo check\"]",
    );
    let piped = |output: &str| vec![write("src/a.rs"), printed("cargo check 2>&1 | tail -2", output)];
    table(
        &own,
        &["src/a.rs"],
        vec![
            (piped("    Finished `dev` profile [unoptimized] target(s) in 0.10s"), "notify"),
            (piped("warning: unused"), "hold rust-tests +missing-action"),
            (piped(""), "hold rust-tests +missing-action"),
        ],
    );
}

/// E2
#[test]
fn e2_a_mention_is_no_execution() {
    python(vec![
        (vec![ran("echo pytest")], "hold python-tests"),
        (vec![ran("grep -rn pytest .")], "hold python-tests"),
        (vec![ran("cat <<'EOF' > notes\npytest\nEOF")], "hold python-tests"),
        (vec![ran("ls # pytest")], "hold python-tests"),
        (vec![ran("git commit -m 'run pytest'")], "hold python-tests"),
    ]);
}

/// E3
#[test]
fn e3_where_the_exit_status_is_hidden_the_output_decides() {
    for command in ["pytest || true", "pytest | tee log", "pytest 2>&1 | tail -5", "pytest; echo done"] {
        python(vec![
            (vec![ran(command)], "notify"),
            (vec![printed(command, PYTEST_PASSED)], "notify"),
            (vec![printed(command, PYTEST_FAILED)], "hold python-tests +missing-action"),
            (vec![printed(command, "bash: pytest: command not found")], "hold python-tests +missing-action"),
        ]);
        // A list of one's own is taken at its word.
        let own = policy(
            "presets = [\"python\"]\n[action.python-tests]\nproof = \"evidence\"\nevidence = [\"pytest\"]",
        );
        let calls = |call: Call| vec![read("app/main.py"), edit("app/main.py"), call];
        table(
            &own,
            &["app/main.py"],
            vec![
                (calls(ran(command)), "hold python-tests +missing-action"),
                (calls(printed(command, PYTEST_PASSED)), "notify"),
            ],
        );
    }
    for thrown_away in
        ["pytest > /dev/null; echo", "pytest 2>&1 | grep -c passed", "pytest | head -0", "pytest &"]
    {
        python(vec![(vec![ran(thrown_away)], "hold python-tests +missing-action")]);
    }
}

/// L11: a summary that the runner did not write.
#[test]
fn l11_what_was_printed_before_is_no_summary() {
    python(vec![
        (vec![printed("./tools/suite", PYTEST_PASSED)], "notify"),
        (vec![printed("echo '=== suite ==='; ./tools/suite", PYTEST_PASSED)], "notify"),
        (vec![printed("./tools/suite", PYTEST_FAILED)], "hold python-tests +missing-action"),
        (
            vec![printed("echo \"4 passed in 0.2s\"; pytest | head -0", "4 passed in 0.2s")],
            "hold python-tests +missing-action",
        ),
        (
            vec![printed("echo '== 4 passed in 0.2s =='; ./tools/suite", "== 4 passed in 0.2s ==")],
            "hold python-tests",
        ),
        (vec![printed("cat log; ./tools/suite", PYTEST_PASSED)], "hold python-tests"),
        (vec![printed("cat log", PYTEST_PASSED)], "hold python-tests"),
        (vec![printed("gh run view 12", PYTEST_PASSED)], "hold python-tests"),
    ]);
}

/// W22: the hooks of a commit ran the tests, and it shows.
#[test]
fn w22_what_a_commit_shows_of_its_hooks_counts() {
    python(vec![
        (vec![printed("git commit -am x", PYTEST_PASSED)], "notify"),
        (vec![ran("git commit -am x")], "hold python-tests"),
    ]);
}

/// L6: a write after the run, inside of one command.
#[test]
fn l6_what_is_written_after_the_run_makes_it_stale() {
    for command in [
        "pytest && sed -i s/a/b/ app/main.py",
        "pytest && git apply fix.patch",
        "pytest && cargo clippy --fix",
    ] {
        python(vec![(vec![ran(command)], "hold python-tests +missing-action")]);
    }
    python(vec![
        (vec![ran("pytest && ruff format .")], "notify"),
        (vec![ran("git apply fix.patch && pytest")], "notify"),
    ]);
}

/// W20: whatever verifies counts, having run the program too.
#[test]
fn w20_tests_are_not_all_there_is() {
    for command in [
        "ruff check .",
        "mypy app",
        "python -m compileall app",
        "python app/main.py",
        "python -c 'import app.main'",
        "make lint",
    ] {
        python(vec![(vec![ran(command)], "notify")]);
    }
    for command in [
        "python --version",
        "python - <<'EOF'\nopen('app/main.py').read()\nEOF",
        "black .",
        "perl -pi -e s/a/b/ app/main.py",
    ] {
        let verdict = judge(
            &policy(PYTHON),
            &inputs(vec![read("app/main.py"), edit("app/main.py"), ran(command)], &["app/main.py"]),
        );
        assert_eq!(required(&verdict), ["python-tests"], "{command}");
    }
}

/// E4
#[test]
fn e4_status_before_restart_is_no_status() {
    let policy = policy(
        r#"
[[category]]
name = "service code"
include = ["service/**"]
require = ["restart", "status"]
[action.restart]
order = 1
say = "Run `make restart`"
evidence = ["make restart"]
[action.status]
order = 2
say = "Run `make status`"
evidence = ["make status"]
after = "restart"
"#,
    );
    let with = |calls: Vec<Call>| {
        [read("service/a.py"), edit("service/a.py")].into_iter().chain(calls).collect::<Vec<_>>()
    };
    table(
        &policy,
        &["service/a.py"],
        vec![
            (with(vec![ran("make restart"), ran("make status")]), "notify"),
            (with(vec![ran("make restart && make status")]), "notify"),
            (with(vec![ran("make status"), ran("make restart")]), "hold status +missing-action"),
            (with(vec![ran("make status && make restart")]), "hold status +missing-action"),
            (
                with(vec![failed("make restart", 2, ""), ran("make status")]),
                "hold restart status +missing-action +unresolved-error",
            ),
            (with(vec![ran("make status")]), "hold restart status +missing-action"),
        ],
    );
}

/// E5
#[test]
fn e5_evidence_before_the_last_change_is_stale() {
    let rust = policy(RUST);
    table(
        &rust,
        &["src/a.rs", "src/b.rs"],
        vec![
            (vec![read("src/a.rs"), edit("src/a.rs"), ran("cargo test")], "notify"),
            (
                vec![read("src/a.rs"), edit("src/a.rs"), ran("cargo test"), write("src/b.rs")],
                "hold rust-tests +missing-action",
            ),
            (
                vec![write("src/a.rs"), ran("cargo test"), ran("sed -i s/a/b/ src/b.rs")],
                "hold rust-tests +missing-action",
            ),
            (vec![write("src/a.rs"), ran("sed -i s/a/b/ src/b.rs && cargo test")], "notify"),
            (
                vec![write("src/a.rs"), ran("cargo test && sed -i s/a/b/ src/b.rs")],
                "hold rust-tests +missing-action",
            ),
            (vec![write("src/a.rs"), ran("cargo test"), ran("git add -A && git commit -m done")], "notify"),
            // An edit that failed changed nothing.
            (vec![write("src/a.rs"), ran("cargo test"), edit_failed("src/a.rs")], "notify +unresolved-error"),
            // Other files than those that the tests cover.
            (vec![write("src/a.rs"), ran("cargo test"), write("notes/todo.md")], "notify"),
        ],
    );
}

/// E5: a file that something else wrote after the tests.
#[test]
fn e5_a_file_written_after_the_evidence_makes_it_stale() {
    let rust = policy(RUST);
    let calls = || vec![read("src/a.rs"), edit("src/a.rs"), ran("cargo test")];
    let at = |seconds| brief(&judge(&rust, &with_files(calls(), vec![written("src/a.rs", 2, seconds)])));
    assert_eq!(at(-9), "notify");
    assert_eq!(at(4), "notify", "the tests themselves wrote it");
    assert_eq!(at(6), "notify", "clocks are not that exact");
    assert_eq!(at(7), "hold rust-tests +missing-action");
    let verdict = judge(&rust, &with_files(calls(), vec![written("src/a.rs", 2, 30)]));
    assert_eq!(
        sentences(&verdict),
        ["`cargo test` does not count for `rust-tests`: `src/a.rs` was written after it"]
    );
}

/// A formatter, or a commit's own hooks, leave the code that was tested.
#[test]
fn laying_code_out_anew_keeps_tests_fresh() {
    let rust = policy(RUST);
    for command in [
        "cargo fmt",
        "rustfmt src/a.rs",
        "make fmt",
        "git commit -am done",
        "cargo fmt && git add -A && git commit -m done && git push",
    ] {
        let calls = vec![read("src/a.rs"), edit("src/a.rs"), ran("cargo test"), ran(command)];
        let verdict = judge(&rust, &with_files(calls, vec![written("src/a.rs", 3, 2)]));
        assert_eq!(brief(&verdict), "notify", "{command}");
    }
    // Beside a commit something else can have written.
    for command in
        ["cargo clippy --fix", "python gen.py", "git stash pop", "python gen.py && git commit -am done"]
    {
        let calls = vec![read("src/a.rs"), edit("src/a.rs"), ran("cargo test"), ran(command)];
        let verdict = judge(&rust, &with_files(calls, vec![written("src/a.rs", 3, 2)]));
        assert_eq!(brief(&verdict), "hold rust-tests +missing-action", "{command}");
    }
}

/// E6
#[test]
fn e6_wrappers_are_looked_through() {
    for command in [
        "cd app && CI=1 pytest -q",
        "time pytest",
        "timeout 60 pytest",
        "nice -n 5 pytest",
        "bash -lc 'pytest -q'",
        "uv run pytest",
        "poetry run pytest tests",
        "env A=1 python -m pytest",
        "just test",
        "make test",
    ] {
        python(vec![(vec![ran(command)], "notify")]);
    }
}

/// E7
#[test]
fn e7_no_tests_are_no_evidence() {
    python(vec![
        (
            vec![printed("pytest -k nothing || true", "===== 12 deselected in 0.02s =====")],
            "hold python-tests +missing-action",
        ),
        (
            vec![printed("python -m unittest", "\nRan 0 tests in 0.000s\n\nOK")],
            "hold python-tests +missing-action",
        ),
        (vec![ran("pytest --collect-only")], "hold python-tests"),
        (vec![ran("pytest --version")], "hold python-tests"),
    ]);
}

#[test]
fn an_unknown_or_stopped_end_is_no_evidence() {
    python(vec![
        (vec![unfinished("pytest")], "hold python-tests +missing-action"),
        // Who rejected the check says what comes next.
        (vec![stopped_by_user(ran("pytest"))], "pass"),
    ]);
}

/// A sub-agent's calls count for the turn of its parent, its edits too.
#[test]
fn evidence_of_a_subagent_counts() {
    python(vec![
        (vec![by_subagent(ran("pytest"))], "notify"),
        (vec![ran("pytest"), by_subagent(edit("app/main.py"))], "hold python-tests +missing-action"),
    ]);
}

/// E14
#[test]
fn e14_the_words_of_the_agent_are_no_evidence() {
    let mut inputs = inputs(vec![read("app/a.py"), edit("app/a.py")], &["app/a.py"]);
    inputs.said = vec!["I ran `pytest` and all 12 tests pass.".to_owned()];
    assert_eq!(brief(&judge(&policy(PYTHON), &inputs)), "hold python-tests");
}

#[test]
fn one_observation_says_why_what_was_run_does_not_count() {
    let say = |call: Call| {
        let rust = policy("presets = [\"rust\"]\n[gate]\nturn_only = true");
        let verdict = judge(&rust, &inputs(vec![read("src/a.rs"), edit("src/a.rs"), call], &["src/a.rs"]));
        sentences(&verdict).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        say(ran("cargo test | wc -l")),
        ["`cargo test | wc -l` does not count for `rust-tests`: a filter hid its output"]
    );
    assert_eq!(
        say(unfinished("cargo test")),
        ["`cargo test` does not count for `rust-tests`: its outcome is unknown"]
    );
    assert_eq!(
        say(stopped_by_user(ran("cargo test"))),
        ["`cargo test` does not count for `rust-tests`: it was stopped"]
    );
    // The failure itself says the rest.
    assert_eq!(
        say(failed("cargo test", 101, "test result: FAILED. 3 passed; 1 failed;")),
        ["Test failures remain — re-run tests after fixes (`cargo test`)"]
    );
}

/// A file that was moved is known by its new name; the move is an edit.
#[test]
fn a_renamed_file_needs_tests_after_the_move() {
    let renamed = || {
        vec![ChangedFile { change: Change::Renamed { from: "src/old.rs".into() }, ..changed("src/new.rs") }]
    };
    let rust = policy(RUST);
    let before = with_files(vec![ran("cargo test"), ran("git mv src/old.rs src/new.rs")], renamed());
    let after = with_files(vec![ran("git mv src/old.rs src/new.rs"), ran("cargo test")], renamed());
    assert_eq!(brief(&judge(&rust, &before)), "hold rust-tests +missing-action");
    assert_eq!(brief(&judge(&rust, &after)), "notify");
}

/// Without a repository the timeline tells what changed, in whatever spelling.
#[test]
fn files_of_a_transcript_alone_are_spelled_as_one() {
    let mut inputs = inputs(vec![write("/repo/src/a.rs"), ran("cargo test"), edit("src/a.rs")], &[]);
    inputs.changes = Changes::Transcript(vec!["/repo/src/a.rs".to_owned()]);
    let verdict = judge(&policy(RUST), &inputs);
    assert_eq!(brief(&verdict), "hold rust-tests +missing-action");
    assert_eq!(verdict.changed[0].files, ["src/a.rs"]);
}

/// C6
#[test]
fn c6_a_category_beats_prose() {
    let python = policy(PYTHON);
    for (path, expected) in [
        ("requirements.txt", "notify +missing-action"),
        ("notes.txt", "pass"),
        ("pkg/x.py", "hold python-tests"),
        ("docs/index.md", "pass"),
    ] {
        assert_eq!(brief(&judge(&python, &inputs(vec![], &[path]))), expected, "{path}");
    }
    let tele = policy(r#"presets = ["teleclaude"]"#);
    for (path, id) in [
        ("teleclaude/x.py", "restart"),
        ("AGENTS.master.md", "agent-restart"),
        ("docs/sub/AGENTS.master.md", "agent-restart"),
        (".pre-commit-config.yaml", "setup"),
        ("requirements.txt", "install"),
    ] {
        let verdict = judge(&tele, &inputs(vec![], &[path]));
        assert!(required(&verdict).into_iter().any(|known| known == id), "{path}: {}", brief(&verdict));
    }
}

/// Builders and package managers say when they are done, also through a pipe.
#[test]
fn e3_a_builder_proves_itself_by_its_own_words() {
    let rust = policy(RUST);
    let built =
        "   Compiling parser v0.3.0\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 3.21s";
    let dependencies = |call: Call| {
        brief(&judge(&rust, &inputs(vec![read("Cargo.toml"), edit("Cargo.toml"), call], &["Cargo.toml"])))
    };
    assert_eq!(dependencies(printed("cargo check 2>&1 | tail -5", built)), "notify");
    assert_eq!(
        dependencies(printed("cargo check 2>&1 | tail -5", "error[E0432]: unresolved import")),
        "notify +missing-action"
    );
    assert_eq!(dependencies(ran("cargo check 2>&1 | tail -5")), "notify");
    assert_eq!(dependencies(ran("ls")), "notify +missing-action");
    let python = policy(PYTHON);
    let installed = |output: &str| {
        let calls = vec![
            read("requirements.txt"),
            edit("requirements.txt"),
            printed("pip install -r requirements.txt | tail -2", output),
        ];
        brief(&judge(&python, &inputs(calls, &["requirements.txt"])))
    };
    assert_eq!(installed("Successfully installed attrs-25.1"), "notify");
}

/// A code generator or a mass rename: the time must not grow with the square of what changed.
#[test]
fn very_many_changed_files_are_judged_in_time() {
    let files: Vec<String> = (0..50_000).map(|number| format!("src/generated/file_{number}.rs")).collect();
    let files: Vec<_> = files.iter().map(|path| written(path, 0, 3)).collect();
    let calls =
        (0..200).flat_map(|number| [write(&format!("src/generated/file_{number}.rs")), ran("cargo test")]);
    let turn = with_files(calls.collect(), files);
    assert_eq!(finishes("50,000 files", move || brief(&judge(&policy(RUST), &turn))), "notify");
}

/// W13: the client says that the tests ended, but not how; what they printed decides.
#[test]
fn w13_a_status_that_is_not_told_is_decided_by_the_output() {
    let python = policy(PYTHON);
    let verdict = |is_status_hidden: bool, output: &str| {
        let outcome = transcript::Outcome::Unknown;
        let tests = Call { outcome, exit_code: None, is_status_hidden, ..printed("pytest", output) };
        brief(&judge(&python, &inputs(vec![read("app/a.py"), edit("app/a.py"), tests], &["app/a.py"])))
    };
    assert_eq!(verdict(true, "==== 2 passed in 0.12s ===="), "notify");
    assert_eq!(verdict(true, ""), "notify");
    assert_eq!(verdict(false, ""), "hold python-tests +missing-action");
    assert_eq!(verdict(true, "==== 1 failed in 0.12s ===="), "hold python-tests +missing-action");
}

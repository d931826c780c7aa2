//! A known verifier whose exit status is hidden, by a pipe, a list or a substitution: what its output then says.

use gate::judge;
use programs::repository::Repository;
use transcript::Call;

use crate::real_sessions::{in_repository, repository};
use crate::turns::*;

const PYTHON: &str = r#"presets = ["python"]"#;
const RUST: &str = r#"presets = ["rust"]"#;
const NODE: &str = r#"presets = ["node"]"#;
const C: &str = r#"presets = ["c"]"#;
const JAVA: &str = r#"presets = ["java"]"#;

const GREEN: &str = "notify";
const ONLY_BUILT: &str = "notify +weaker-verification";

fn python() -> Repository {
    repository(&[("pyproject.toml", "[project]\nname = 'x'"), ("tests/test_a.py", "")])
}

fn rust() -> Repository {
    repository(&[("Cargo.toml", "[package]\nname = 'x'"), ("tests/a.rs", "")])
}

fn node() -> Repository {
    repository(&[
        ("package.json", r#"{"scripts": {"test": "jest", "build": "vite build"}}"#),
        ("a.test.ts", ""),
    ])
}

/// What is said of an edit after which one command printed something, and exited with status 0.
fn said(policy_text: &str, repository: &Repository, file: &str, rows: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (command, output, expected) in rows {
        let turn = in_repository(repository.clone(), vec![write(file), printed(command, output)], &[file]);
        let found = brief(&judge(&policy(policy_text), &turn));
        let is_right = match *expected {
            "hold" => found.starts_with("hold"),
            expected => found == expected,
        };
        if !is_right {
            wrong.push(format!("{command}: {found} instead of {expected}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// Red is red for every strength of verifier.
#[test]
fn what_a_compiler_says_decides_whatever_hides_its_status() {
    const BROKEN: &str = "error: could not compile `tiny` (lib) due to 1 previous error";
    const FINISHED: &str = "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.10s";
    said(
        RUST,
        &rust(),
        "src/lib.rs",
        &[
            ("cargo build 2>&1 | tail -5", BROKEN, "hold"),
            ("cargo check 2>&1 | tail -2", BROKEN, "hold"),
            ("cargo clippy 2>&1 | tail -3", BROKEN, "hold"),
            ("cargo build; echo done", BROKEN, "hold"),
            ("cargo test 2>&1 | grep panicked", "thread 't::x' (41) panicked at src/lib.rs:3:5:", "hold"),
            ("cargo build 2>&1 | tail -5", FINISHED, ONLY_BUILT),
            ("cargo check 2>&1 | tail -2", "", ONLY_BUILT),
        ],
    );
    said(
        NODE,
        &node(),
        "src/a.ts",
        &[
            ("npx vite build 2>&1 | tail -1", "error during build:", "hold"),
            ("npx webpack 2>&1 | tail -1", "webpack 5.90.0 compiled with 1 error in 812 ms", "hold"),
            ("npx vite build 2>&1 | tail -1", "✓ built in 1.02s", ONLY_BUILT),
            ("npx webpack 2>&1 | tail -1", "webpack 5.90.0 compiled successfully in 812 ms", ONLY_BUILT),
        ],
    );
}

#[test]
fn a_syntax_error_is_red_wherever_it_is_shown() {
    const BROKEN: &str = "  File \"a.py\", line 1\n    f(\n     ^\nSyntaxError: '(' was never closed";
    let told = format!("{BROKEN}\nexit: 1");
    said(
        PYTHON,
        &python(),
        "app/a.py",
        &[
            ("python -m py_compile app/a.py; echo \"exit: $?\"", &told, "hold"),
            ("python -m py_compile app/a.py; echo done", BROKEN, "hold"),
            (
                "python -m py_compile app/a.py 2>&1 | tail -2",
                "     ^\nSyntaxError: '(' was never closed",
                "hold",
            ),
            ("python -m py_compile app/a.py && echo ok || echo fail", BROKEN, "hold"),
            ("python -m compileall -q .; echo ok", "*** Error compiling './app/a.py'...\nok", "hold"),
            ("python app/a.py 2>&1 | tail -1", "SyntaxError: '(' was never closed", "hold"),
            (
                "python -c 'import app.a' 2>&1 | tail -1",
                "SyntaxError: '(' was never closed (a.py, line 1)",
                "hold",
            ),
            ("python -m py_compile app/a.py; echo \"exit: $?\"", "exit: 0", ONLY_BUILT),
            ("python -m py_compile app/a.py && echo ok || echo fail", "ok", ONLY_BUILT),
            ("python -m compileall -q .; echo ok", "ok", ONLY_BUILT),
        ],
    );
}

#[test]
fn failed_tests_are_red_behind_a_filter() {
    said(
        PYTHON,
        &python(),
        "app/a.py",
        &[
            ("pytest -q 2>&1 | grep -i error", "test_a.py:4: AssertionError", "hold"),
            ("pytest -q 2>&1 | grep '^E '", "E       assert 4 == 3\nE        +  where 4 = add(1, 2)", "hold"),
            ("pytest -q > out.txt 2>&1; wc -l out.txt", "13 out.txt", "hold"),
            ("pytest -q > out.txt 2>&1; grep -c passed out.txt", "1", "hold"),
            ("pytest -q 2>&1 | grep -i error", "", GREEN),
            ("pytest -q > out.txt 2>&1; tail -1 out.txt", PYTEST_PASSED, GREEN),
        ],
    );
    said(
        NODE,
        &node(),
        "src/a.ts",
        &[
            ("npx jest 2>&1 | grep ●", "  ● adds › two numbers", "hold"),
            // The end of what jest prints says nothing of how it went.
            (
                "npm test 2>&1 | tail -3",
                "Snapshots:   0 total\nTime:        0.5 s\nRan all test suites.",
                GREEN,
            ),
            ("npx vitest run | tail -2", "   Start at  10:00:00\n   Duration  320ms", GREEN),
        ],
    );
    said(
        JAVA,
        &repository(&[("pom.xml", "<project/>"), ("src/test/java/ATest.java", "")]),
        "src/main/java/A.java",
        &[
            (
                "mvn test | tail -1",
                "[ERROR] [Help 1] http://cwiki.apache.org/confluence/display/MAVEN/X",
                "hold",
            ),
            ("mvn test | tail -1", "[INFO] ------------------------------------------------------", GREEN),
        ],
    );
    let with_ctest =
        repository(&[("CMakeLists.txt", "enable_testing()\nadd_test(NAME a COMMAND a)"), ("tests/a.c", "")]);
    said(
        C,
        &with_ctest,
        "src/a.c",
        &[("ctest --test-dir build | tail -2", "Errors while running CTest", "hold")],
    );
}

/// pytest sums up last: without that it came to no end, which is neither proof nor red.
#[test]
fn a_runner_that_came_to_no_end_proves_nothing() {
    const CRASHED: &str =
        "  File \"/venv/bin/pytest\", line 8 in <module>\n\nExtension modules: none (total: 1)";
    said(
        PYTHON,
        &python(),
        "app/a.py",
        &[
            ("pytest -q 2>&1 | tail -20", "E   ModuleNotFoundError: No module named 'nosuchmodule'", "hold"),
            ("timeout 2 pytest -q 2>&1 | tail -5; echo \"exit ${PIPESTATUS[0]}\"", "exit 124", "hold"),
            ("pytest -q; echo done", "bash: line 1:  4242 Killed                  pytest -q\ndone", "hold"),
            ("pytest -q 2>&1 | tail -3", CRASHED, "hold"),
            ("pytest -q; echo done", "collecting\ndone", "hold"),
            ("python -m unittest 2>&1 | tail -5", CRASHED, "hold"),
            // Its end is not shown, or is not known.
            ("pytest -q 2>&1 | head -5", "collecting", GREEN),
            ("pytest -q | tail -1", "sys:1: ResourceWarning: unclosed file", GREEN),
            ("pytest -q 2>&1 | tail -3", "", GREEN),
            ("pytest -qq 2>&1 | tail -3", "....", GREEN),
            ("pytest -q; git log", "commit 1\n…\ncommit 9", GREEN),
            ("pytest 2>&1 | tail -3", "Results (0.03s):\n       3 passed", GREEN),
            ("pytest -q 2>&1 | tail -3", "1 xfailed in 0.02s", GREEN),
            ("pytest -q 2>&1 | tee out.txt > /dev/null; grep -c FAILED out.txt; echo done", "0\ndone", GREEN),
        ],
    );
}

/// What fails without a word may not have let the run take place; `cd` and a build would say so.
#[test]
fn a_run_behind_a_silent_condition_needs_its_own_summary() {
    said(
        PYTHON,
        &python(),
        "app/a.py",
        &[
            ("[ -f setup.cfg ] && pytest -q; echo done", "done", "hold"),
            ("which tool >/dev/null && pytest -q || echo 'not installed'", "not installed", "hold"),
            ("cd tests 2>/dev/null && pytest -q; true", "", "hold"),
            ("while false; do pytest -q; done", "", "hold"),
            ("[ -f mypy.ini ] && mypy .; true", "", "hold"),
            ("[ -f mypy.ini ] && mypy .; echo \"all ok\"", "all ok", "hold"),
            ("[ -f mypy.ini ] && mypy .; echo \"ok in $PWD\"", "ok in /repo", "hold"),
            ("[ -f mypy.ini ] && mypy .; printf 'passed\\n'", "passed", "hold"),
            ("[ -f mypy.ini ] && mypy .; printf '\\nok\\n'", "\nok", "hold"),
            ("[ -f mypy.ini ] && mypy .; printf '%s\\n' ok", "ok", "hold"),
            ("[ -f mypy.ini ] && mypy .; echo \"$X ok\"", "web ok", "hold"),
            ("[ -f mypy.ini ] && mypy .; echo 'done\nok'", "done\nok", "hold"),
            ("[ -f mypy.ini ] && mypy .; printf 'done\\nok\\n'", "done\nok", "hold"),
            // Anything may print a word of success.
            ("[ -d tests ] && pytest -q; git log --oneline -3", "1d2c3b4 Pass the limit on", "hold"),
            ("[ -d tests ] && pytest -q; curl -s localhost/health", "{\"status\":\"ok\"}", "hold"),
            ("[ -f mypy.ini ] && mypy .; git log --oneline -3", "1d2c3b4 Pass the limit on", "hold"),
            ("[ -d tests ] && pytest -q; true", "ok", "hold"),
            ("[ -f .pylintrc ] && pylint app | tail -3; echo done", "All ok\ndone", ONLY_BUILT),
            ("[ -f setup.cfg ] && pytest -q; echo done", "2 passed in 0.01s\ndone", GREEN),
            ("cd tests 2>/dev/null && pytest -q 2>&1 | tail -3", "2 passed in 0.01s", GREEN),
            ("cd app && mypy . | tail -3", "", ONLY_BUILT),
            ("cd app 2>/dev/null && mypy . | tail -3", "", ONLY_BUILT),
            ("cd app 2>/dev/null && mypy .; echo \"exit: $?\"", "exit: 0", ONLY_BUILT),
            (
                "[ -f mypy.ini ] && mypy .; echo done",
                "Success: no issues found in 4 source files\ndone",
                ONLY_BUILT,
            ),
            ("[ -f ruff.toml ] && ruff check .; echo ok", "All checks passed!\nok", ONLY_BUILT),
            ("source venv/bin/activate && mypy .; echo", "", ONLY_BUILT),
            ("make build && mypy . | tail; echo", "", ONLY_BUILT),
        ],
    );
    said(
        RUST,
        &rust(),
        "src/lib.rs",
        &[
            ("[ -f Makefile ] && cargo test || echo 'no makefile'", "no makefile", "hold"),
            ("[ -f Cargo.toml ] && cargo check; echo", "    Finished `dev` profile", ONLY_BUILT),
        ],
    );
    // What it shows as broken is broken, in another turn's stead too.
    for (command, output) in [
        ("[ -f mypy.ini ] && mypy .; true", "app/a.py:3: error: Name \"x\" is not defined  [name-defined]"),
        (
            "cd app 2>/dev/null && pytest | grep FAILED; true",
            "FAILED tests/test_a.py::test_x - assert 1 == 2",
        ),
    ] {
        let green = printed("pytest", PYTEST_PASSED);
        let calls = vec![write("app/a.py"), green, printed(command, output)];
        let verdict = judge(&policy(PYTHON), &in_repository(python(), calls, &["app/a.py"]));
        assert_eq!(brief(&verdict), "hold +unresolved-error", "{command}");
    }
    // It may not have run, and the errors may be another's.
    for others in ["ruff check .", "cat ruff.log", "make lint", "rg F401"] {
        let command = format!("[ -d integration ] && pytest -q integration; {others}; true");
        let lint = printed(&command, "app/a.py:1:8: F401 `os` imported but unused");
        let calls = vec![write("app/a.py"), printed("pytest", PYTEST_PASSED), lint];
        let verdict = judge(&policy(PYTHON), &in_repository(python(), calls, &["app/a.py"]));
        assert!(brief(&verdict).starts_with("notify"), "{others}: {}", brief(&verdict));
    }
    let green = printed("npx jest", "Tests:       3 passed, 3 total");
    let broken = printed(
        "cd web 2>/dev/null && npx tsc --noEmit; echo done",
        "a.ts(3,4): error TS2304: Cannot find name 'x'.\ndone",
    );
    let turn = in_repository(node(), vec![write("src/a.ts"), green, broken], &["src/a.ts"]);
    assert_eq!(brief(&judge(&policy(NODE), &turn)), "hold +unresolved-error");
    // Nor does it settle what was red.
    let turn = |last: Call| vec![write("app/a.py"), failed("pytest -q", 1, PYTEST_FAILED), last];
    table(
        &policy(PYTHON),
        &["app/a.py"],
        vec![
            (
                turn(ran("[ -f setup.cfg ] && pytest -q; true")),
                "hold python-tests +missing-action +unresolved-error",
            ),
            (turn(printed("[ -f setup.cfg ] && pytest -q; true", PYTEST_PASSED)), "notify"),
        ],
    );
}

/// A status that is printed is known, although something hides it.
#[test]
fn a_status_that_echo_prints_is_known() {
    said(
        PYTHON,
        &python(),
        "app/a.py",
        &[
            ("pytest -q 2>&1 | tail -1; echo \"exit ${PIPESTATUS[0]}\"", "\nexit 1", "hold"),
            ("pytest > log 2>&1; echo $?", "1", "hold"),
            ("{ pytest -q 2>&1; echo \"exit: $?\"; } | tail -5", "2 broken\nexit: 1", "hold"),
            ("pytest > log 2>&1; echo \"exit: $?\" | tee -a log", "exit: 1", "hold"),
            ("out=$(pytest -q 2>&1; echo \"exit: $?\"); echo \"$out\"", "2 broken\nexit: 1", "hold"),
            ("mypy . | head -0; echo \"rc=${PIPESTATUS[0]}\"", "rc=1", "hold"),
            (
                "pytest -q; ruff check .; echo \"ruff: $?\"",
                "2 passed in 0.01s\nruff: 1",
                "notify +unresolved-error",
            ),
            ("pytest -q 2>&1 | tail -1; echo \"exit ${PIPESTATUS[0]}\"", "2 passed in 0.01s\nexit 0", GREEN),
            ("pytest -q 2>&1 | tail -3; echo \"exit ${PIPESTATUS[0]}\"", "done\nexit 0", GREEN),
        ],
    );
    // A number that something else printed is none.
    for (command, output) in [
        ("pytest -q > log 2>&1; echo $? > rc; wc -l < log", "13"),
        ("pytest -q > log 2>&1 || echo $?; wc -l < log", "13"),
        ("if [ -f pytest.ini ]; then pytest > log; else echo \"none ($?)\"; fi", "none (1)"),
        ("case $1 in a) pytest > log;; *) echo \"none ($?)\";; esac", "none (1)"),
    ] {
        let calls = vec![write("app/a.py"), printed("pytest", PYTEST_PASSED), printed(command, output)];
        let verdict = judge(&policy(PYTHON), &in_repository(python(), calls, &["app/a.py"]));
        assert_eq!(brief(&verdict), GREEN, "{command}");
    }
    // Tests that could not be run were not red.
    for (code, expected) in [
        (1, "hold +unresolved-error +weaker-verification"),
        (5, ONLY_BUILT),
        (124, ONLY_BUILT),
        (127, ONLY_BUILT),
    ] {
        let told = printed("pytest > log 2>&1; echo \"exit: $?\"", &format!("exit: {code}"));
        let turn = in_repository(python(), vec![write("app/a.py"), ran("mypy ."), told], &["app/a.py"]);
        assert_eq!(brief(&judge(&policy(PYTHON), &turn)), expected, "{code}");
    }
}

#[test]
fn what_a_substitution_captured_and_echo_printed_counts() {
    said(
        PYTHON,
        &python(),
        "app/a.py",
        &[
            ("echo \"$(pytest -q 2>&1)\"", PYTEST_PASSED, GREEN),
            ("OUT=$(pytest -q 2>&1); echo \"$OUT\" | tail -3", PYTEST_PASSED, GREEN),
            ("OUT=$(pytest -q 2>&1); echo \"$OUT\" | tail -3", PYTEST_FAILED, "hold"),
            ("OUT=$(pytest -q 2>&1); echo done", "done", "hold"),
            ("echo \"$(pytest -q 2>&1)\"", "collecting", "hold"),
        ],
    );
}

//! What real sessions do (W) and what slips through (L), case by case: what needs no proof, who waits, which package a run is
//! about, and what is said in the repository's own words.

use change_set::{ChangedFile, How, Scope};
use contents::{Nature, TextHash};
use gate::{Changes, Inputs, Waiting, is_running_check, judge};
use programs::repository::{Repository, RepositoryFile};
use transcript::{Call, FileEdit, Outcome};

use crate::turns::*;

const PYTHON: &str = r#"presets = ["python"]"#;
const NODE: &str = r#"presets = ["node"]"#;

/// A repository with these files.
pub(crate) fn repository(files: &[(&str, &str)]) -> Repository {
    let file = |(path, text): &(&str, &str)| RepositoryFile {
        path: (*path).to_owned(),
        text: Some((*text).to_owned()),
    };
    Repository::of_files("/repo", &files.iter().map(file).collect::<Vec<_>>())
}

/// Two packages with tests of their own, and one without anything to run.
pub(crate) fn two_packages() -> Repository {
    repository(&[
        ("package.json", r#"{"private": true, "workspaces": ["packages/*"]}"#),
        ("pnpm-lock.yaml", ""),
        (
            "packages/api/package.json",
            r#"{"name": "api", "scripts": {"test": "vitest run", "lint": "eslint ."}}"#,
        ),
        ("packages/api/src/a.test.ts", ""),
        ("packages/web/package.json", r#"{"name": "web", "scripts": {"test": "vitest run"}}"#),
        ("packages/web/src/a.test.ts", ""),
        ("packages/assets/package.json", r#"{"name": "assets"}"#),
    ])
}

pub(crate) fn in_repository(repository: Repository, calls: Vec<Call>, files: &[&str]) -> Inputs {
    Inputs { repository: Some(repository), ..inputs(calls, files) }
}

/// An edit whose text is known.
fn edited(path: &str, nature: Nature, before: &str, after: &str) -> Call {
    let edit = FileEdit {
        ending: None,
        path: path.to_owned(),
        nature: nature.into(),
        before: Some(TextHash::of(before)),
        after: Some(TextHash::of(after)),
        whole: false,
    };
    Call { edits: vec![edit], ..super::turns::edit(path) }
}

/// W5, W6: comments, layout and version numbers need no proof, and leave the tests before them fresh.
#[test]
fn w5_w6_what_no_run_could_judge_needs_no_proof() {
    let python = policy(PYTHON);
    for nature in [Nature::Nothing, Nature::Layout, Nature::Comments, Nature::Version] {
        let harmless = || edited("app/a.py", nature, "x", "y");
        table(
            &python,
            &["app/a.py"],
            vec![
                (vec![read("app/a.py"), harmless()], "pass"),
                (vec![read("app/a.py"), edit("app/a.py"), ran("pytest"), harmless()], "notify"),
                (vec![read("app/a.py"), edit("app/a.py"), harmless()], "hold python-tests"),
            ],
        );
    }
    let code = edited("app/a.py", Nature::Code, "x", "y");
    table(&python, &["app/a.py"], vec![(vec![read("app/a.py"), code], "hold python-tests")]);
    // The same by a command.
    for (command, expected) in [
        ("sed -i 's/__version__ = \"1.0.1\"/__version__ = \"1.0.2\"/' app/a.py", "pass"),
        ("sed -i '' 's|1\\.1\\.1|1.1.2|' app/a.py", "pass"),
        ("sed -i 's/timeout = 3/retries = 3/' app/a.py", "hold python-tests"),
        ("sed -i s/1/2/ app/a.py", "hold python-tests"),
    ] {
        table(&python, &["app/a.py"], vec![(vec![ran(command)], expected)]);
    }
}

/// W21: what was taken back, or was made, run and removed, leaves nothing to prove.
#[test]
fn w21_what_is_gone_needs_no_proof() {
    let there = || edited("app/a.py", Nature::Code, "one", "two");
    let back = || edited("app/a.py", Nature::Code, "two", "one");
    let other = || edited("app/a.py", Nature::Code, "two", "three");
    let opened = || read("app/a.py");
    let judged = |calls: Vec<Call>, scope: Scope, how: How| {
        let mut turn = with_files(calls, vec![ChangedFile { how: vec![how], ..changed("app/a.py") }]);
        let Changes::Known(set) = &mut turn.changes else { unreachable!() };
        set.scope = scope;
        brief(&judge(&policy(PYTHON), &turn))
    };
    let restored = || vec![opened(), there(), ran("git checkout -- app/a.py")];
    let removed = || vec![write("app/a.py"), ran("rm app/a.py")];
    for calls in [vec![opened(), there(), back()], restored(), removed()] {
        assert_eq!(judged(calls.clone(), Scope::Touched, How::Unstaged), "pass");
        // It is back to what was committed before the turn, and not to what lay there.
        assert_eq!(judged(calls.clone(), Scope::TurnBaseline, How::NoLongerDirty), "pass");
        // It is not what it was: a commit of the turn was restored, or others wrote it.
        assert_eq!(judged(calls.clone(), Scope::TurnBaseline, How::Committed), "hold python-tests");
        assert_eq!(judged(calls, Scope::TurnBaseline, How::Unstaged), "hold python-tests");
    }
    table(
        &policy(PYTHON),
        &["app/a.py"],
        vec![
            (vec![opened(), there(), other()], "hold python-tests"),
            (vec![opened(), there(), other(), back()], "hold python-tests"),
            (
                vec![
                    opened(),
                    there(),
                    ran("pytest"),
                    other(),
                    edited("app/a.py", Nature::Code, "three", "two"),
                ],
                "notify",
            ),
            (vec![opened(), there(), ran("rm app/a.py")], "hold python-tests"),
        ],
    );
}

/// W12: what an earlier turn read or wrote was read.
#[test]
fn w12_files_known_to_the_session_were_read() {
    let mut turn = inputs(vec![edit("app/a.py"), ran("pytest")], &["app/a.py"]);
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "notify +edit-without-read");
    turn.session.known_files = vec!["/repo/app/a.py".to_owned()];
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "notify");
    let letter = policy("presets = [\"python\"]\n[gate]\nturn_only = true");
    assert_eq!(brief(&judge(&letter, &turn)), "notify +edit-without-read");
}

/// W8: code that reads the output and says what it makes of it.
#[test]
fn w8_an_output_that_is_digested_is_shown() {
    let go = policy(r#"presets = ["go"]"#);
    let digest = "go test -json ./... | python3 -c 'import sys; print(len(sys.stdin.read()))'";
    table(
        &go,
        &["a.go"],
        vec![
            (vec![write("a.go"), printed(digest, "Passed: 254, Failed: 0")], "notify"),
            (
                vec![write("a.go"), printed("go test -json ./... > out.json; echo", "")],
                "hold go-tests +missing-action",
            ),
        ],
    );
}

/// W20: code on the command line verifies what it names.
#[test]
fn w20_code_on_the_command_line_is_about_what_it_names() {
    for (command, expected) in [
        ("python -c 'from shop import cart; cart.total()'", "notify"),
        ("python -c 'import ast; ast.parse(open(\"shop/cart.py\").read())'", "notify"),
        ("python -c 'import json; json.load(open(\"/home/me/shop/x.json\"))'", "hold python-tests"),
    ] {
        table(
            &policy(PYTHON),
            &["shop/cart.py"],
            vec![(vec![write("shop/cart.py"), ran(command)], expected)],
        );
    }
}

/// W24: a pipe hid a compiler's error.
#[test]
fn w24_a_compiler_error_behind_a_pipe_is_red() {
    let swift = policy(r#"presets = ["swift"]"#);
    let build =
        printed("swift build 2>&1 | tail -5", "Sources/A/a.swift:3:4: error: cannot find 'x' in scope");
    table(
        &swift,
        &["Sources/A/a.swift"],
        vec![(vec![write("Sources/A/a.swift"), build], "hold swift-tests +missing-action")],
    );
}

/// L5, W18: a run is about the package that it ran in, and what is asked for is said in the package's own words.
#[test]
fn l5_a_run_in_another_package_proves_nothing() {
    let node = policy(NODE);
    let judged = |command: &str| {
        let calls = vec![write("packages/api/src/a.ts"), ran(command)];
        judge(&node, &in_repository(two_packages(), calls, &["packages/api/src/a.ts"]))
    };
    for command in
        ["pnpm --filter api test", "cd packages/api && pnpm test", "cd packages/api && npx tsc --noEmit"]
    {
        assert_eq!(required(&judged(command)), [""; 0], "{command}");
    }
    for command in ["pnpm --filter web test", "cd packages/web && pnpm test"] {
        assert_eq!(required(&judged(command)), ["node-tests"], "{command}");
    }
    assert_eq!(judged("ls").actions[0].say, "Run `pnpm test` in `packages/api`");
}

/// W13: Codex names the folder of each command beside it, and Claude Code stays where an earlier `cd` led.
#[test]
fn w13_a_command_ran_where_its_client_says() {
    let judged = |folder: &str| {
        let run = Call { cwd: Some(folder.to_owned()), ..ran("pnpm test") };
        let calls = vec![write("packages/api/src/a.ts"), run];
        judge(&policy(NODE), &in_repository(two_packages(), calls, &["packages/api/src/a.ts"]))
    };
    assert_eq!(required(&judged("/repo/packages/api")), [""; 0]);
    assert_eq!(required(&judged("/repo/packages/web")), ["node-tests"]);
    assert_eq!(required(&judged("/elsewhere")), ["node-tests"]);
}

/// Tests that fail before there is anything to pass them are told; code that leaves them red holds.
#[test]
fn tests_that_fail_on_purpose_do_not_hold() {
    let judged = |file: &str| {
        let red = failed("pnpm --filter api test", 1, "Tests  1 failed | 3 passed (4)");
        let calls = vec![write(file), ran("cd packages/api && pnpm lint"), red];
        brief(&judge(&policy(NODE), &in_repository(two_packages(), calls, &[file])))
    };
    assert_eq!(judged("packages/api/src/a.test.ts"), "notify +unresolved-error +weaker-verification");
    assert_eq!(judged("packages/api/src/a.ts"), "hold +unresolved-error +weaker-verification");
}

/// W17: a package that can do nothing is asked for nothing.
#[test]
fn w17_a_package_without_a_way_to_verify_is_asked_for_nothing() {
    let file = "packages/assets/src/a.ts";
    let turn = in_repository(two_packages(), vec![write(file)], &[file]);
    assert_eq!(brief(&judge(&policy(NODE), &turn)), "pass");
}

/// Something weaker ran than the package has: told once for each package, or held where the owner wants that.
#[test]
fn less_than_the_package_has_is_told_once() {
    let calls = || vec![write("packages/api/src/a.ts"), ran("cd packages/api && pnpm lint")];
    let mut turn = in_repository(two_packages(), calls(), &["packages/api/src/a.ts"]);
    let told = judge(&policy(NODE), &turn);
    assert_eq!(brief(&told), "notify +weaker-verification");
    assert_eq!(
        sentences(&told),
        ["The changes were only linted — `pnpm test` in `packages/api` would verify more"]
    );
    turn.history.reported = gate::reports(&told);
    assert_eq!(brief(&judge(&policy(NODE), &turn)), "notify");
    for (level, expected) in [("hold", "hold +weaker-verification"), ("off", "notify")] {
        let policy = policy(&format!("{NODE}\n[gate.rules]\nweaker = {level:?}"));
        assert_eq!(brief(&judge(&policy, &turn)), expected);
    }
}

/// W26, L15, mechanism 6: an agent that waits is left alone, unless the owner wants the turn alone to count.
#[test]
fn w26_l15_an_agent_that_waits_for_an_answer_is_left_alone() {
    let calls = || vec![read("app/a.py"), edit("app/a.py")];
    let after = |change: &dyn Fn(&mut Inputs)| {
        let mut turn = inputs(calls(), &["app/a.py"]);
        change(&mut turn);
        let letter = policy("presets = [\"python\"]\n[gate]\nturn_only = true");
        assert_eq!(required(&judge(&letter, &turn)), ["python-tests"]);
        brief(&judge(&policy(PYTHON), &turn))
    };
    let said = |words: &str| {
        let words = words.to_owned();
        after(&move |turn: &mut Inputs| turn.said = vec![words.clone()])
    };
    assert_eq!(said("Which of the two formats do you want? I have written neither yet."), "pass");
    assert_eq!(said("I need the token of the registry. Please provide it."), "pass");
    assert_eq!(said("Done. Should I also add a test?"), "hold python-tests");
    assert_eq!(after(&|turn| turn.session.unanswered = vec!["agent-7".to_owned()]), "pass");
    // Who edits is not planning any more.
    assert_eq!(after(&|turn| turn.session.is_planning = true), "hold python-tests");
}

/// L7: a check that still runs is waited for, a server is not.
#[test]
fn l7_a_check_in_the_background_is_waited_for() {
    assert!(is_running_check(&unfinished("npm test")));
    assert!(!is_running_check(&unfinished("npm run dev")));
    assert!(!is_running_check(&ran("npm test")));
    let mut turn = inputs(vec![write("app/a.py"), unfinished("pytest")], &["app/a.py"]);
    turn.stop.waiting = Some(Waiting::BackgroundTasks);
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "pass");
}

/// L12: no run can be younger than a time in the future.
#[test]
fn l12_a_file_time_in_the_future_says_nothing() {
    let hour = 3600;
    let mut turn = with_files(
        vec![read("app/a.py"), edit("app/a.py"), ran("pytest")],
        vec![written("app/a.py", 2, hour)],
    );
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "hold python-tests +missing-action");
    turn.stop.at_ns = Some(began(3).as_nanosecond() as i64);
    assert_eq!(brief(&judge(&policy(PYTHON), &turn)), "notify");
}

/// L13: a virtual environment is no code of the repository, whatever it is called.
#[test]
fn l13_a_virtual_environment_changes_no_code() {
    let files = ["app/a.py", "env312/pyvenv.cfg", "env312/lib/python3.12/site-packages/x.py"];
    let later = files.iter().map(|path| written(path, if *path == "app/a.py" { 1 } else { 3 }, 2)).collect();
    let calls = vec![read("app/a.py"), edit("app/a.py"), ran("pytest"), ran("python -m venv env312")];
    assert_eq!(brief(&judge(&policy(PYTHON), &with_files(calls, later))), "notify");
}

/// W2: an edit that failed and was made another way.
#[test]
fn w2_the_same_file_edited_all_the_same_settles() {
    let python = policy(PYTHON);
    let calls = |last: Call| vec![read("app/a.py"), edit_failed("app/a.py"), last, ran("pytest")];
    table(
        &python,
        &["app/a.py"],
        vec![
            (calls(edit("app/a.py")), "notify"),
            (calls(ran("sed -i s/a/b/ app/a.py")), "notify"),
            (calls(ran("ls")), "notify +unresolved-error"),
        ],
    );
}

/// W25: new work after the stash is work again.
#[test]
fn w25_who_edits_after_the_stash_works_on_the_new_state() {
    let calls = vec![read("app/a.py"), edit("app/a.py"), ran("git stash"), edit("app/a.py"), ran("pytest")];
    table(&policy(PYTHON), &["app/a.py"], vec![(calls, "notify")]);
}

/// A build that failed for how it was called says nothing about the code.
#[test]
fn a_build_that_shows_no_error_of_the_code_is_told() {
    let go = policy(r#"presets = ["go"]"#);
    let build =
        |words: &str| vec![write("a.go"), ran("go vet ./..."), failed("go build -o x ./...", 1, words)];
    table(
        &go,
        &["a.go"],
        vec![
            (build("go: cannot write multiple packages to non-directory x"), "notify +unresolved-error"),
            (build("./a.go:3:4: undefined: y"), "hold +unresolved-error"),
        ],
    );
}

/// W1: a program that nobody knows is taken at its word.
#[test]
fn w1_an_unknown_tool_that_checks_is_a_check() {
    let node = policy(r#"presets = ["node"]"#);
    let turn = |command: &str| vec![write("a.ts"), ran(command)];
    table(&node, &["a.ts"], vec![(turn("tool check"), "notify"), (turn("tool status"), "hold node-tests")]);
}

/// A test run that had nothing to run on was in the wrong folder.
#[test]
fn w19_the_wrong_folder_is_no_failing_test() {
    let go = policy(r#"presets = ["go"]"#);
    let calls = vec![
        write("a.go"),
        failed("go test -run TestA ./cmd/a", 1, "FAIL\t./cmd/a [setup failed]"),
        Call { outcome: Outcome::Ok, ..ran("go test -run TestA") },
    ];
    table(&go, &["a.go"], vec![(calls, "notify")]);
}

/// W6: a version number that a command counts up.
#[test]
fn w6_what_sed_counts_up_needs_no_proof() {
    for (command, expected) in [
        ("sed -i -e 's/1.0.1/1.0.2/' -e 's/2.0.1/2.0.2/' app/a.py", "pass"),
        ("sed -i -e 's/1.0.1/1.0.2/' -e 's/a/b/' app/a.py", "hold python-tests"),
        ("sed -i 's/version = 1/release = 1/' app/a.py", "hold python-tests"),
        ("sed -i 's/^VERSION = 1$/VERSION = 2/' app/a.py", "pass"),
        ("sed -i '/version/d' app/a.py", "hold python-tests"),
        ("perl -pi -e 's/1.0.1/1.0.2/' app/a.py", "hold python-tests"),
    ] {
        table(&policy(PYTHON), &["app/a.py"], vec![(vec![ran(command)], expected)]);
    }
}

/// A turn without a baseline in which `app/a.py` is dirty: with one, a file that is back is no changed file.
fn touched(calls: Vec<Call>) -> Inputs {
    let mut turn = inputs(calls, &["app/a.py"]);
    if let Changes::Known(set) = &mut turn.changes {
        set.scope = Scope::Touched;
    }
    turn
}

/// W21: git brings back what was there before the turn, unless it is asked for another revision.
#[test]
fn w21_git_takes_back_what_it_restores() {
    for (command, expected) in [
        ("git checkout -- app/a.py", "pass"),
        ("git checkout HEAD -- app/a.py", "pass"),
        ("git checkout -q -- app/a.py", "pass"),
        ("git -C . checkout -- app/a.py", "hold python-tests"),
        ("git checkout main -- app/a.py", "hold python-tests"),
        ("git checkout -- app/b.py", "hold python-tests"),
        ("git restore app/a.py", "pass"),
        ("git restore ./app/a.py", "pass"),
        ("git restore -s main app/a.py", "hold python-tests"),
        ("git restore --source main app/a.py", "hold python-tests"),
        ("git restore --source=main app/a.py", "hold python-tests"),
        ("git restore --staged app/a.py", "hold python-tests"),
        ("git mv app/a.py app/b.py", "hold python-tests"),
        ("touch app/a.py", "hold python-tests"),
    ] {
        let there = edited("app/a.py", Nature::Code, "one", "two");
        let calls = vec![read("app/a.py"), there, ran(command)];
        assert_eq!(brief(&judge(&policy(PYTHON), &touched(calls))), expected, "{command}");
    }
    // A file that the turn made and removed, and one that was there before.
    for (calls, expected) in [
        (vec![write("app/a.py"), ran("unlink app/a.py")], "pass"),
        (vec![write("app/a.py"), ran("rm app/a.py"), write("app/a.py")], "hold python-tests"),
        (
            vec![read("app/a.py"), edit("app/a.py"), write("app/a.py"), ran("rm app/a.py")],
            "hold python-tests",
        ),
    ] {
        let shown = format!("{calls:#?}");
        assert_eq!(brief(&judge(&policy(PYTHON), &touched(calls))), expected, "{shown}");
    }
}

/// W21: of a whole file any earlier content may come back; of parts, each by its own inverse, the last one first.
#[test]
fn w21_edits_of_whole_files_and_of_several_parts() {
    let edits = |parts: &[(&str, &str)], whole: bool| {
        let part = |(before, after): &(&str, &str)| FileEdit {
            whole,
            ..edited("app/a.py", Nature::Code, before, after).edits.remove(0)
        };
        Call { edits: parts.iter().map(part).collect(), ..edit("app/a.py") }
    };
    let whole = |before: &str, after: &str| edits(&[(before, after)], true);
    let parts = |parts: &[(&str, &str)]| edits(parts, false);
    for (calls, expected) in [
        (vec![whole("1", "2"), whole("2", "3"), whole("3", "1")], "pass"),
        (vec![whole("1", "2"), whole("2", "3"), whole("3", "2")], "hold python-tests"),
        (vec![whole("1", "2"), ran("pytest"), whole("2", "3"), whole("3", "2")], "notify"),
        (vec![whole("1", "2"), parts(&[("2", "1")])], "hold python-tests"),
        (vec![parts(&[("1", "2")]), parts(&[("2", "3")]), parts(&[("3", "1")])], "hold python-tests"),
        (
            vec![parts(&[("1", "2")]), parts(&[("2", "3")]), parts(&[("3", "2")]), parts(&[("2", "1")])],
            "pass",
        ),
        (vec![parts(&[("1", "2"), ("a", "b")]), parts(&[("b", "a")])], "hold python-tests"),
        (vec![parts(&[("1", "2"), ("a", "b")]), parts(&[("b", "a")]), parts(&[("2", "1")])], "pass"),
        (vec![parts(&[("1", "2"), ("a", "b")]), parts(&[("b", "a"), ("2", "1")])], "pass"),
        (vec![edit("app/a.py"), parts(&[("1", "2")]), parts(&[("2", "1")])], "hold python-tests"),
    ] {
        let calls = [vec![read("app/a.py")], calls].concat();
        let shown: Vec<_> = calls.iter().map(|call| format!("{:?}", call.edits)).collect();
        assert_eq!(brief(&judge(&policy(PYTHON), &touched(calls))), expected, "{shown:#?}");
    }
}

/// The numbered steps of the hold of a turn; none if it does not hold.
fn steps(policy_text: &str, turn: &Inputs) -> Vec<String> {
    let message = judge(&policy(policy_text), turn).message.unwrap_or_default();
    let is_step = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    message.lines().filter(is_step).map(str::to_owned).collect()
}

/// A step for each package that is not verified; what failed is to be run again, and that is a step of its own only
/// beside others.
#[test]
fn the_steps_of_a_hold() {
    const API: &str = "packages/api/src/a.ts";
    const WEB: &str = "packages/web/src/a.ts";
    let red = || failed("cd packages/api && pnpm test", 1, "Tests  1 failed | 3 passed (4)");
    let turn = |calls: Vec<Call>, files: &[&str]| steps(NODE, &in_repository(two_packages(), calls, files));
    let api = "1. Run `pnpm test` in `packages/api` (node-tests)";
    let web = "2. Run `pnpm test` in `packages/web` (node-tests)";
    let again = "Test failures remain — re-run tests after fixes. Run `cd packages/api && pnpm test` again until it succeeds, \
                 or say why that failure is acceptable (node-tests)";
    assert_eq!(turn(vec![write(API)], &[API]), [api]);
    assert_eq!(turn(vec![write(API), write(WEB)], &[API, WEB]), [api, web]);
    assert_eq!(turn(vec![write(API), red()], &[API]), [format!("1. {again}")]);
    assert_eq!(turn(vec![write(API), write(WEB), red()], &[API, WEB]), [api, web, &format!("3. {again}")]);
    let mixed = repository(&[("tests/test_a.py", ""), ("go.mod", "module x"), ("a_test.go", "")]);
    let both = in_repository(mixed, vec![write("a.py"), write("main.go")], &["a.py", "main.go"]);
    assert_eq!(
        steps(r#"presets = ["python", "go"]"#, &both),
        ["1. Run `go test ./...` (go-tests)", "2. Run `pytest` (python-tests)"]
    );
}

/// A manifest that changed is installed as its lock file says, and each installation is named once.
#[test]
fn an_installation_is_named_as_lock_files_say() {
    let python = repository(&[
        ("pyproject.toml", "[project]\nname = 'x'"),
        ("uv.lock", ""),
        ("jobs/pyproject.toml", ""),
        ("old/pyproject.toml", ""),
        ("old/poetry.lock", ""),
    ]);
    for (files, expected) in [
        (&["pyproject.toml"][..], "Run `uv sync`"),
        (&["jobs/pyproject.toml", "pyproject.toml"], "Run `uv sync`"),
        (&["jobs/pyproject.toml", "old/pyproject.toml"], "Run `uv sync`, and `poetry install` in `old`"),
    ] {
        let calls = files.iter().flat_map(|file| [read(file), edit(file)]).collect();
        let verdict = judge(&policy(PYTHON), &in_repository(python.clone(), calls, files));
        let said: Vec<&str> = verdict.actions.iter().map(|action| action.say.as_str()).collect();
        assert_eq!(said, [expected], "{files:?}");
    }
}

//! What an interpreter was given has to be the code that changed, and a run covers what it was confined to: what each fault
//! looked like, as a small turn.

use gate::{Inputs, judge};
use programs::repository::Repository;
use transcript::Call;

use crate::real_sessions::{in_repository, repository};
use crate::turns::*;

const PYTHON: &str = r#"presets = ["python"]"#;
const RUN: &str = "notify +weaker-verification";
const HELD: &str = "hold python-tests";

fn python() -> Repository {
    repository(&[("pyproject.toml", "[project]\nname = 'shop'"), ("tests/test_a.py", "")])
}

#[track_caller]
fn said(policy_text: &str, repository: &Repository, files: &[&str], rows: &[(&str, &str)]) {
    for (command, expected) in rows {
        let mut calls: Vec<Call> = files.iter().map(|file| write(file)).collect();
        calls.push(ran(command));
        let turn = in_repository(repository.clone(), calls, files);
        assert_eq!(brief(&judge(&policy(policy_text), &turn)), *expected, "{command}");
    }
}

/// Code that reads a file or names it has not run it.
#[test]
fn code_on_the_command_line_has_run_what_it_loads() {
    said(
        PYTHON,
        &python(),
        &["shop/cart.py"],
        &[
            ("python -c \"print(open('shop/cart.py').read())\"", HELD),
            ("python -c \"print('cart.py')\"", HELD),
            ("python -c \"import os; print(os.path.getsize('shop/cart.py'))\"", HELD),
            ("python -c \"import re; print(re.compile('x').findall(open('cart.py').read()))\"", HELD),
            ("python -c \"from shop import tax\"", RUN),
            ("python -c \"import shop.cart as c; print(c.total())\"", RUN),
            ("python -c \"import cart\"", RUN),
            ("python -c \"import ast; ast.parse(open('shop/cart.py').read())\"", RUN),
            ("python -c \"compile(open('shop/cart.py').read(), 'cart', 'exec')\"", RUN),
            ("python -c \"__import__('shop.cart')\"", RUN),
            ("python -c \"import subprocess; subprocess.run(['python', 'shop/cart.py'])\"", RUN),
        ],
    );
    let node = repository(&[("package.json", r#"{"name": "shop", "scripts": {"test": "node --test"}}"#)]);
    said(
        r#"presets = ["node"]"#,
        &node,
        &["lib/cart.js"],
        &[
            ("node -e \"console.log(require('fs').readFileSync('lib/cart.js'))\"", "hold node-tests"),
            ("node -p \"'cart'\"", "hold node-tests"),
            ("node -p \"require('./lib/cart').total()\"", RUN),
            ("node --input-type=module -e \"import { total } from './lib/cart.js'\"", RUN),
        ],
    );
}

/// A module of Python's own library is nobody's change.
#[test]
fn a_module_of_the_standard_library_is_not_the_program_that_is_worked_on() {
    said(
        PYTHON,
        &python(),
        &["shop/cart.py"],
        &[
            ("echo '{}' | python -m json.tool", HELD),
            ("python -m json.tool nope.json 2>/dev/null; true", HELD),
            ("python -m this | head -1", HELD),
            ("python -X dev -m tokenize shop/cart.py", HELD),
            ("python -m shop.cart", RUN),
            ("python -m flask run", RUN),
            ("python -m cProfile shop/cart.py", RUN),
            ("python train.py -m random", RUN),
            ("python -W error -m json.tool a.json", HELD),
            // These import what they are given.
            ("python -m inspect shop.cart", RUN),
            ("python -m pydoc shop.cart", RUN),
        ],
    );
}

/// A program that is not there was not run, if nothing shows that it was.
#[test]
fn a_program_that_is_not_there_did_not_run() {
    let missing = Repository { missing: vec!["nope.py".to_owned(), "web/nope.js".to_owned()], ..python() };
    said(
        PYTHON,
        &missing,
        &["shop/cart.py"],
        &[
            ("ls; python nope.py 2>/dev/null || true", "hold python-tests +missing-action"),
            ("python nope.py; true", "hold python-tests +missing-action"),
            ("cd /repo/web && python ../nope.py; true", "hold python-tests +missing-action"),
            ("python there.py; true", RUN),
            ("cd elsewhere && python nope.py; true", RUN),
            // Its status says that it ran: something took it away.
            ("python nope.py", RUN),
            ("touch nope.py; python nope.py; rm nope.py", RUN),
            // In a container it lies elsewhere.
            ("docker compose exec -T web python nope.py | tail -5", RUN),
            ("docker compose exec -T web sh -c 'python nope.py | tail -5'", RUN),
            ("ddev exec python nope.py | tail -5", RUN),
        ],
    );
    // Its output shows that it was there.
    let django = Repository { missing: vec!["manage.py".to_owned()], ..python() };
    let tested = |command: &str, output: &str| {
        let calls = vec![write("shop/cart.py"), printed(command, output)];
        brief(&judge(&policy(PYTHON), &in_repository(django.clone(), calls, &["shop/cart.py"])))
    };
    const PASSED: &str = "Ran 42 tests in 1.204s\n\nOK";
    for launcher in ["docker compose exec -T web ", "cd backend 2> /dev/null; ", ""] {
        let command = format!("{launcher}python manage.py test 2>&1 | tail -5");
        assert_eq!(tested(&command, PASSED), "notify", "{command}");
    }
    for (other, output) in
        [("echo ok", "ok"), ("git log --oneline -1", "1d2c3b4 Pass it on"), ("printf '\\nok\\n'", "\nok")]
    {
        let found = tested(&format!("python manage.py check 2> /dev/null; {other}"), output);
        assert_eq!(found, "hold python-tests +missing-action", "{other}");
    }
    let checked = tested("python manage.py check | tail -1; echo done", "All checks passed\ndone");
    assert_eq!(checked, RUN);
}

/// A program that changed a file with the same means earlier is not the one that ran now.
#[test]
fn what_was_written_before_a_program_began_is_not_its_work() {
    let turn = |seconds: i64, second: &str| {
        let edit = "python -c \"open('shop/cart.py', 'a').write('x = 1')\"";
        let calls = vec![ran(edit), ran(second)];
        Inputs { repository: Some(python()), ..with_files(calls, vec![written("shop/cart.py", 1, seconds)]) }
    };
    for (seconds, second, expected) in [
        (-6, "python -c \"import shop.cart\"", RUN),
        (-6, "python -m shop.cart", RUN),
        (0, "python -c \"import shop.cart\"", "hold python-tests +missing-action"),
        (2, "python -c \"import shop.cart\"", "hold python-tests +missing-action"),
    ] {
        let verdict = judge(&policy(PYTHON), &turn(seconds, second));
        assert_eq!(brief(&verdict), expected, "{seconds} {second}");
    }
}

/// Tests elsewhere in a package say nothing of code that has tests of its own; of other code they may.
#[test]
fn tests_in_another_folder_are_not_those_of_the_change() {
    const GO: &str = r#"presets = ["go"]"#;
    let root = repository(&[("pyproject.toml", "[project]"), ("test_calc.py", ""), ("lib/test_m.py", "")]);
    said(
        PYTHON,
        &root,
        &["calc.py"],
        &[
            ("cd lib && pytest -q", "hold python-tests +missing-action"),
            ("cd lib && pytest", "hold python-tests +missing-action"),
            ("pytest -q lib", "hold python-tests +missing-action"),
            ("rtk pytest lib", "hold python-tests +missing-action"),
            ("doppler run -- pytest lib", "hold python-tests +missing-action"),
            ("docker compose exec -T web pytest lib", "notify"),
            ("pytest lib/test_m.py", "notify"),
            ("pytest test_calc.py", "notify"),
            ("pytest", "notify"),
        ],
    );
    said(PYTHON, &root, &["lib/m.py"], &[("pytest lib", "notify"), ("cd lib && pytest", "notify")]);
    said(PYTHON, &root, &["lib/m.py", "calc.py"], &[("pytest lib", "hold python-tests +missing-action")]);
    let go =
        repository(&[("go.mod", "module example.com/me/shop"), ("a/a_test.go", ""), ("b/b_test.go", "")]);
    let rows = [
        ("go test ./a", "hold go-tests +missing-action"),
        ("cd a && go test ./...", "hold go-tests +missing-action"),
        ("go test ./a ./b", "notify"),
        ("go test ./...", "notify"),
        ("go test ./e2e", "notify"),
        ("go test example.com/me/shop/b/...", "notify"),
        ("go test example.com/me/shop/b", "notify"),
        ("go test example.com/me/shop/...", "notify"),
        ("go test example.com/me/shop/a", "hold go-tests +missing-action"),
        ("go test fmt", "hold go-tests"),
        ("go test example.com/me/other", "hold go-tests"),
    ];
    said(GO, &go, &["b/b.go"], &rows);
    // Nobody tests `model` but those that use it.
    said(GO, &go, &["model/m.go"], &[("go test ./a", "notify")]);
    let mixed = repository(&[("pyproject.toml", "[project]"), ("js/a.test.js", ""), ("py/test_b.py", "")]);
    said(PYTHON, &mixed, &["py/b.py"], &[("node --test js", HELD)]);
}

/// The tests of one crate of a workspace, however it was chosen.
#[test]
fn crates_that_were_left_out_were_not_tested() {
    let workspace = repository(&[
        ("Cargo.toml", "[workspace]\nmembers = ['a', 'b']"),
        ("a/Cargo.toml", "[package]\nname = 'a'"),
        ("b/Cargo.toml", "[package]\nname = 'b'"),
    ]);
    let rows = [
        ("cargo test -q -pa", "hold rust-tests"),
        ("cargo test -q --workspace --exclude b", "hold rust-tests"),
        ("cargo test -q --workspace --exclude=b", "hold rust-tests"),
        ("cargo test -pb", "notify"),
        ("cargo test --workspace --exclude a", "notify"),
    ];
    said(r#"presets = ["rust"]"#, &workspace, &["b/src/lib.rs"], &rows);
}

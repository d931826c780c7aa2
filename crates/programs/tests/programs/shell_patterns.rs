//! Which commands count as which deed.

use programs::shell::{Intents, Pattern, PatternError};

fn matches(pattern: &str, command: &str) -> bool {
    Pattern::parse(pattern).unwrap().find(&Intents::read(command)).is_some()
}

#[test]
fn whole_arguments_in_order() {
    for (pattern, command) in [
        ("make restart", "make restart"),
        ("make restart", "make -j4 restart"),
        ("make restart", "make VERBOSE=1 clean restart"),
        ("make restart", "cd x && FOO=1 make restart"),
        ("make restart", "bash -lc 'make restart'"),
        ("make restart", "make -C daemon restart"),
        ("make test", "uv run make test"),
        ("pytest", "pytest tests/test_a.py::test_b -k 'x and y'"),
        ("pytest", "python3 -m pytest"),
        ("pytest", "uv run pytest"),
        ("pytest", "timeout 60 .venv/bin/pytest -q"),
        ("python -m pytest", "pytest -q"),
        ("python3 -m pytest", "uv run python -m pytest"),
        ("python -m unittest", "python3 -m unittest discover -s tests"),
        ("python manage.py test", "python3 manage.py test app"),
        ("cargo test", "cargo test"),
        ("cargo test", "cargo +nightly test --workspace"),
        ("cargo test", "cargo --locked test -p x"),
        ("cargo test", "cargo --manifest-path x/Cargo.toml test"),
        ("cargo test", "RUST_LOG=debug cargo test -- --nocapture"),
        ("cargo nextest run", "cargo nextest run -p x"),
        ("cargo nextest run", "cargo +stable nextest run"),
        ("npm test", "npm test"),
        ("npm test", "npm run test"),
        ("npm test", "npm t"),
        ("npm test", "npm run -s test"),
        ("npm test", "npm --prefix web test"),
        ("npm test", "npm test -- --watch=false"),
        ("npm run test", "npm test"),
        ("npm test:*", "npm run test:unit"),
        ("npm run test:*", "npm run test:unit"),
        ("pnpm test", "pnpm -r test"),
        ("pnpm test", "pnpm --filter web run test"),
        ("yarn test", "yarn workspace web test"),
        ("yarn test", "yarn --cwd web test"),
        ("vitest", "npx vitest run"),
        ("jest", "yarn jest --ci"),
        ("./gradlew test", "./gradlew test --info"),
        ("gradlew test", "../gradlew clean test"),
        ("go test", "go test ./..."),
        ("go test", "go -C sub test ./..."),
        ("pip install", "python -m pip install -e ."),
        ("pip install", "pip3 install -r requirements.txt"),
        ("pip install", "uv pip install -e ."),
        ("pkill -SIGUSR2", "pkill -SIGUSR2 -f -- '-m teleclaude.cli.telec$'"),
        ("kill -USR2", "kill -USR2 $(pgrep -f telec)"),
        ("curl */agent-restart", "curl -X POST http://localhost:8420/sessions/x/agent-restart"),
        ("instrukt-ai-logs", "instrukt-ai-logs teleclaude --since 2m"),
        ("telec init", "telec init"),
        ("scripts/test.sh", "bash scripts/test.sh"),
        ("./scripts/test.sh", "./scripts/test.sh --fast"),
        ("mvn verify", "mvn -q -pl x verify"),
        ("mvn -pl x verify", "mvn -q -pl x verify"),
        ("nox -s tests", "nox -s tests"),
        ("python tools/check.py", "python3 ./tools/check.py"),
        ("python ./tools/check.py", "python3 tools/check.py --fast"),
        ("./tools/check.py", "tools/check.py"),
        ("tools/check.py", "./tools/check.py"),
        ("cargo run -- check", "cargo run -q -- check"),
    ] {
        assert!(matches(pattern, command), "`{pattern}` should match `{command}`");
    }
}

#[test]
fn near_misses() {
    for (pattern, command) in [
        ("make restart", "make restart-db"),
        ("make restart", "make"),
        ("make restart", "makerestart"),
        ("make restart", "make -C restart all"),
        ("make restart", "make -f restart"),
        ("make restart", "echo make restart"),
        ("make restart", "remake restart"),
        ("pytest", "pip install pytest"),
        ("pytest", "cat pytest.ini"),
        ("pytest", "pytest-watch"),
        ("pytest", "python -m pytest_cov"),
        ("cargo test", "cargo run -- test"),
        ("cargo test", "cargo add test"),
        ("cargo test", "cargo build --test x"),
        ("cargo test", "cargo testall"),
        ("npm test", "npm install test"),
        ("npm test", "npm run build -- test"),
        ("npm test", "npm run test:unit"),
        ("npm test", "yarn test"),
        ("go test", "go run ./cmd test"),
        ("pip install", "pip uninstall x"),
        ("kill -USR2", "kill -9 1"),
        ("status make", "make status"),
        ("make restart status", "make status restart"),
        ("git push", "git commit -m push"),
        ("telec init", "telec sync"),
        ("curl */agent-restart", "curl http://localhost/status"),
        ("pytest", "bash -n pytest"),
        ("make test", "make $TARGET"),
        ("python tools/check.py", "python3 other/check.py"),
        ("python tools/check.py", "python3 ../tools/check.py"),
        ("pytest tests", "pytest -k tests"),
    ] {
        assert!(!matches(pattern, command), "`{pattern}` should not match `{command}`");
    }
}

/// E7: what runs no tests is no test run.
#[test]
fn dry_runs_do_nothing() {
    for (pattern, command) in [
        ("pytest", "pytest --collect-only"),
        ("pytest", "pytest --co -q"),
        ("pytest", "pytest --help"),
        ("pytest", "pytest --version"),
        ("pytest", "python -m pytest -h"),
        ("pytest", "pytest --fixtures"),
        ("cargo test", "cargo test --no-run"),
        ("cargo test", "cargo test -- --list"),
        ("cargo test", "cargo test --help"),
        ("cargo nextest run", "cargo nextest list"),
        ("make restart", "make -n restart"),
        ("make restart", "make --dry-run restart"),
        ("make restart", "make -nB restart"),
        ("go test", "go test -c ./pkg"),
        ("go test", "go test -run '^$' ./..."),
        ("go test", "go test -list . ./..."),
        ("jest", "npx jest --listTests"),
        ("vitest", "npx vitest list"),
        ("mvn verify", "mvn -DskipTests verify"),
        ("gradlew build", "./gradlew build -x test"),
        ("just test", "just --list test"),
        ("ctest", "ctest -N"),
        ("rspec", "bundle exec rspec --dry-run"),
        ("tox", "tox -l"),
    ] {
        assert!(!matches(pattern, command), "`{pattern}` should not match `{command}`");
    }
    // A pattern that asks for it gets it.
    assert!(matches("cargo test --no-run", "cargo test --no-run"));
    // Flags of these programs that only look like it.
    assert!(matches("pytest", "pytest -n 4 -v"));
    assert!(matches("make test", "make -k test"));
    assert!(matches("make test", "make --no-print-directory test"));
}

#[test]
fn patterns_are_simple_commands() {
    assert_eq!(Pattern::parse(""), Err(PatternError::Empty));
    assert_eq!(Pattern::parse("  "), Err(PatternError::Empty));
    for text in ["make a && make b", "pytest | tail", "bash -c pytest", "echo 'x'"] {
        assert_eq!(Pattern::parse(text), Err(PatternError::NotSimple(text.to_owned())), "{text}");
    }
    let pattern = Pattern::parse("uv run pytest").unwrap();
    assert_eq!(pattern.as_str(), "uv run pytest");
    let recorded = serde_json::to_string(&pattern).unwrap();
    assert_eq!(recorded, "\"uv run pytest\"");
    assert_eq!(serde_json::from_str::<Pattern>(&recorded).unwrap(), pattern);
}

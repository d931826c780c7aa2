//! What is said of single commands beside their deed: whether they look, ask, write, stand by, and what their output can
//! show. Each row names all that is true.

use programs::Deed;
use programs::shell::{Intents, SimpleCommand};

fn only(text: &str) -> SimpleCommand {
    match Intents::read(text).commands() {
        [command] => command.clone(),
        commands => panic!("{text}: {commands:?}"),
    }
}

#[test]
fn what_is_true_of_a_command() {
    let mut wrong = String::new();
    for (text, expected) in [
        ("cat a.py", "looks, writes nothing, stands by, shows texts"),
        ("cat", "looks, writes nothing, stands by"),
        ("cat a.py > b.py", "shows texts"),
        ("ls src", "looks, writes nothing, stands by"),
        ("grep -q x a.py", "looks, asks, writes nothing, stands by, shows texts"),
        ("pkill server", "looks, asks"),
        ("echo x", "looks, writes nothing, stands by"),
        ("cd src", "looks, writes nothing, stands by"),
        // A script of theirs may write.
        ("sed -n 1,5p a.py", "looks, writes nothing, stands by, shows texts"),
        ("sed 's/a/b/w c.py' a.py", "looks, stands by, shows texts"),
        ("awk '{ print > \"b.txt\" }' a.txt", "looks, stands by, shows texts"),
        ("git log --oneline", "looks, writes nothing, stands by"),
        ("git log", "looks, writes nothing, stands by, shows texts"),
        ("git add -A", "stands by"),
        ("git commit -m x", "stands by"),
        ("git push", "stands by"),
        ("cargo fmt", "stands by, prints summaries"),
        ("ruff check .", "stands by"),
        ("make lint", "prints summaries"),
        ("npm run lint", "prints summaries"),
        ("pytest", "prints summaries"),
        ("pytest --version", "looks, prints summaries"),
        ("cargo -V", "looks, prints summaries"),
        ("tool --help", "looks"),
        ("tool", ""),
        ("python a.py", "prints summaries"),
        ("python -c 'import a'", "inline, prints summaries"),
        ("python -", "inline, prints summaries"),
        ("python", "inline, prints summaries"),
        ("node -e 1", "inline, prints summaries"),
        ("ruby -e 1", "inline, prints summaries"),
    ] {
        let command = only(text);
        let facts = [
            ("looks", command.only_looks()),
            ("asks", command.asks()),
            ("writes nothing", command.surely_writes_nothing()),
            ("stands by", command.stands_by()),
            ("inline", command.is_inline_code()),
            ("prints summaries", command.may_print_summary()),
            ("shows texts", command.shows_texts()),
        ];
        let found: Vec<&str> = facts.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        let found = found.join(", ");
        if found != expected {
            wrong.push_str(&format!("\n  {text}: {found}"));
        }
    }
    assert_eq!(wrong, "");
}

/// Of a program that nobody knows, the first word is taken at its word.
#[test]
fn the_likely_deed_of_an_unknown_program() {
    for (text, expected) in [
        ("tool test", Deed::Tests),
        ("tool check", Deed::Tests),
        ("tool lint", Deed::Lints),
        ("tool build", Deed::Builds),
        ("tool fmt", Deed::Other),
        ("tool deploy", Deed::Other),
        ("tool", Deed::Other),
        ("tool \"$X\" test", Deed::Tests),
        ("echo test", Deed::Other),
    ] {
        assert_eq!(only(text).likely_deed(), expected, "{text}");
    }
}

#[test]
fn a_command_that_is_kept_from_its_deed() {
    for (text, does, done) in [
        ("pytest", true, Some(Deed::Tests)),
        ("pytest --collect-only", false, None),
        ("cargo test", true, Some(Deed::Tests)),
        ("cargo test --no-run", false, Some(Deed::Builds)),
        ("go test -run NONE ./...", false, Some(Deed::Builds)),
        ("go test -c ./...", false, Some(Deed::Builds)),
        ("go test -list . ./...", false, None),
        ("jest --listTests", false, None),
        ("make -n test", false, None),
        ("make -nB test", false, None),
        ("make -j4 test", true, Some(Deed::Tests)),
        ("make --dry-run test", false, None),
    ] {
        let command = only(text);
        assert_eq!((command.does(Deed::Tests), command.deed_done()), (does, done), "{text}");
    }
    for (text, done) in [
        ("mvn package", Some(Deed::Builds)),
        ("mvn -DskipTests package", Some(Deed::Builds)),
        ("./gradlew build -x test", Some(Deed::Builds)),
        ("cargo build --help", None),
        ("cargo clippy --help", None),
    ] {
        assert_eq!(only(text).deed_done(), done, "{text}");
    }
}

/// E9
#[test]
fn whether_a_later_command_does_as_much() {
    for (later, earlier, expected) in [
        ("pytest", "pytest a", true),
        ("pytest a", "pytest", false),
        ("pytest a", "pytest b", false),
        ("pytest a b", "pytest b", true),
        ("pytest a/", "pytest a/b.py", true),
        ("pytest a", "pytest a.py", false),
        ("pytest a.py", "pytest a.py::test_b", true),
        ("pytest ./a", "pytest a", true),
        ("pytest b.py", "pytest a/b.py", true),
        ("pytest .", "pytest a/b.py", true),
        ("pytest -k x", "pytest", false),
        ("pytest -k x", "pytest -k x", true),
        ("pytest -k y", "pytest -k x", false),
        ("pytest", "pytest -k x", true),
        ("pytest -k=x", "pytest -k x", true),
        ("pytest -n 4", "pytest", true),
        ("pytest --tb short a", "pytest a", true),
        ("pytest --tb=short a", "pytest a", true),
        ("pytest -x", "pytest", true),
        ("go test ./...", "go test ./a/b", true),
        ("go test ./a/...", "go test ./a/b", true),
        ("go test ./a/...", "go test ./b", false),
        ("go test -run '^TestA$' ./a", "go test -run TestA ./a", false),
        ("cargo test", "cargo test --lib", true),
        ("cargo test --lib", "cargo test", false),
        ("cargo test -p a", "cargo test", false),
        ("cargo test", "cargo test -p a", true),
        ("cargo +nightly test", "cargo test", true),
        ("cargo test", "cargo build", true),
        ("cargo test", "cargo check", true),
        ("cargo build", "cargo check", true),
        ("cargo check", "cargo build", false),
        ("cargo test --no-run", "cargo test", false),
        ("cargo fmt", "cargo test", false),
        ("cargo test --help", "cargo build", false),
        ("cargo nextest run", "cargo nextest run a", true),
        ("cargo nextest run a", "cargo nextest run", false),
        ("npm run test", "npm test", true),
        ("npm run lint", "npm test", false),
        ("git commit -m b", "git commit -m a", true),
        ("git push", "git commit -m a", false),
        ("make test", "make lint", false),
        ("mkdir a b", "mkdir b", true),
        ("mkdir a", "mkdir b", false),
        ("mkdir", "mkdir b", false),
        ("python -c 1", "python -c 2", true),
        ("tool a", "tool a", true),
        ("tool", "tool a", false),
        ("other a", "tool a", false),
    ] {
        assert_eq!(only(later).does_as_much_as(&only(earlier)), expected, "{later} after {earlier}");
    }
}

#[test]
fn whether_targets_are_named() {
    for (text, expected) in [
        ("pytest", false),
        ("pytest a", true),
        ("pytest -q", false),
        ("pytest -k a", true),
        ("vitest run", false),
        ("cargo test", false),
        ("cargo test name", true),
        ("cargo test --lib", true),
        ("python -c 'a b'", false),
    ] {
        assert_eq!(only(text).names_targets(), expected, "{text}");
    }
}

/// The words of the program itself, where a pipe hides its status.
#[test]
fn whether_the_output_says_that_it_is_done() {
    for (text, printed, expected) in [
        ("cargo check", "    Finished `dev` profile in 0.1s\n", true),
        ("cargo check", "It is said: Finished `dev`", false),
        ("cargo check", "error: could not compile `a`\n    Finished `dev` profile in 0.1s", false),
        ("cargo run", "    Finished `dev` profile in 0.1s\n", false),
        ("cargo test", "    Finished `test` profile in 0.1s\n", false),
        ("npm install", "added 12 packages in 1s", true),
        ("npm install", "added packages", false),
        ("npm install", "npm error code\nadded 12 packages in 1s", false),
        ("tool", "Finished", false),
    ] {
        assert_eq!(only(text).says_it_is_done(printed), expected, "{text}: {printed}");
    }
    for (text, printed, expected) in [
        ("mkdir a", "mkdir: cannot create directory 'a': File exists", true),
        ("mkdir a", "mkdir: cannot create directory 'a': Permission denied", false),
        ("pytest", "File exists", false),
        ("tool", "", false),
    ] {
        assert_eq!(only(text).was_done_before(printed), expected, "{text}: {printed}");
    }
}

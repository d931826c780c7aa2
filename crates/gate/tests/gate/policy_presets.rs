//! The presets, and how files override them.

use std::time::Duration;

use gate::policy::{
    Fresh, JudgedScope, NoGit, NotUnderstood, PRESETS, Policy, Proof, RuleLevel, SecondStop, Source, Telling,
    Trust,
};
use programs::Deed;
use programs::shell::Intents;

use crate::turns::{brief, edit, inputs, ran, read};

fn load(text: &str) -> Policy {
    Policy::load(&[Source { name: "checkstone.toml", text }]).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_preset_loads_alone_and_all_together() {
    for (name, _) in PRESETS {
        let policy = load(&format!("presets = [{name:?}]"));
        assert_eq!(policy.presets, [*name]);
        assert_eq!(policy.checks.count(), 0, "no preset runs anything: {name}");
    }
    let names: Vec<String> = PRESETS.iter().map(|(name, _)| format!("{name:?}")).collect();
    let policy = load(&format!("presets = [{}]", names.join(", ")));
    assert_eq!(policy.presets.len(), PRESETS.len());
}

#[test]
fn a_policy_without_a_word_asks_for_nothing() {
    let policy = load("");
    assert!(policy.gate.enabled && policy.actions.is_empty() && policy.categories.is_empty());
    assert_eq!(policy.gate.min_turn, Duration::ZERO);
    assert_eq!(policy.gate.scope, JudgedScope::Turn);
    assert_eq!(policy.gate.all_clear, Telling::Notify);
    assert_eq!(policy.gate.docs_only, Telling::Silent);
    assert_eq!(policy.gate.no_git, NoGit::Silent);
    assert_eq!(policy.gate.second_stop, SecondStop::Pass);
    assert_eq!(policy.gate.blast_radius, 3);
    assert!(!policy.gate.capture && !policy.gate.commit && !policy.gate.ask_again && policy.gate.waivers);
    assert_eq!(policy.gate.not_understood, NotUnderstood::Pass);
    assert_eq!(policy.gate.rules.red, RuleLevel::Hold);
    assert_eq!(policy.gate.rules.errors, RuleLevel::Notify);
    assert_eq!(policy.gate.rules.weaker, RuleLevel::Notify);
    assert_eq!(policy.gate.rules.hygiene, RuleLevel::Notify);
    assert_eq!(policy.gate.rules.drift, RuleLevel::Notify);
    assert_eq!(policy.plan.path, "todos/{slug}/implementation-plan.md");
    assert!(policy.other_code.is_empty());
}

/// Every table and key that people write.
#[test]
fn the_whole_shape() {
    let policy = load(
        r#"
presets = ["rust"]
prose = ["docs/**", "*.md"]

[gate]
enabled = true
min_turn = "0s"
scope = "worktree"
all_clear = "silent"
docs_only = "silent"
no_git = "silent"
second_stop = "hold-uncommitted"
capture = false
commit = false
blast_radius = 5
[gate.rules]
errors = "notify"
hygiene = "off"
drift = "hold"

[plan]
slug_from_branch = "work/{slug}"
path = "plans/{slug}.md"

[[category]]
name = "service code"
include = ["service/**/*.py"]
exclude = ["service/hooks/**"]
require = ["restart", "status", "tests"]

[action.restart]
order = 30
say = "Run `make restart`"
evidence = ["make restart"]
fresh = "after-change"

[action.status]
order = 31
say = "Run `make status`"
evidence = ["make status"]
after = "restart"

[action.tests]
say = "Run the tests"
evidence = ["pytest"]
fresh = "this-turn"

[[error]]
contains = "SyntaxError"
say = "Syntax errors remain — verify the code is valid"

[[check]]
when = ["**/*.py"]
run = "pytest tests/unit -x -q"
timeout = "1m30s"
"#,
    );
    let ids: Vec<_> = policy.actions.iter().map(|action| action.id.as_str()).collect();
    assert_eq!(ids, ["rust-build", "restart", "status", "tests", "rust-tests"]);
    assert_eq!(policy.action("status").unwrap().after.as_deref(), Some("restart"));
    assert_eq!(policy.action("tests").unwrap().fresh, Fresh::ThisTurn);
    assert_eq!(policy.action("restart").unwrap().fresh, Fresh::AfterChange);
    assert_eq!(policy.other_code, ["tests"], "code in no category needs the test action");
    assert_eq!(policy.gate.second_stop, SecondStop::HoldUncommitted);
    assert_eq!(policy.checks.with(Trust::Withheld), None);
    let checks = policy.checks.with(Trust::Given).unwrap();
    assert_eq!(checks[0].run, "pytest tests/unit -x -q");
    assert_eq!(checks[0].timeout, Duration::from_secs(90));
}

/// Later files override by name, key by key, and leave the rest alone.
#[test]
fn later_files_override_by_name() {
    let base = "[action.tests]\norder = 7\nsay = \"old\"\nevidence = [\"pytest\"]\n[[category]]\nname = \"a\"\ninclude = [\"a/**\"]\nrequire = [\"tests\"]\n[gate]\nmin_turn = \"30s\"\ncapture = true\n[[error]]\ncontains = \"x\"\nsay = \"old\"\n[[check]]\nwhen = [\"a\"]\nrun = \"make\"\n";
    let over = "[action.tests]\nsay = \"new\"\n[[category]]\nname = \"a\"\nexclude = [\"a/b\"]\n[[category]]\nname = \"b\"\ninclude = [\"b\"]\n[gate]\nmin_turn = \"2m\"\n[[error]]\ncontains = [\"x\"]\nsay = \"new\"\n[[check]]\nwhen = [\"b\"]\nrun = \"make\"\n";
    let policy =
        Policy::load(&[Source { name: "user", text: base }, Source { name: "repository", text: over }])
            .unwrap();
    let tests = policy.action("tests").unwrap();
    assert_eq!((tests.order, tests.say.as_str(), tests.evidence.len()), (7, "new", 1));
    assert_eq!(policy.categories.len(), 2);
    assert_eq!(policy.categories[0].include, ["a/**"]);
    assert_eq!(policy.categories[0].exclude, ["a/b"]);
    assert_eq!(policy.categories[0].require, ["tests"]);
    assert_eq!(policy.gate.min_turn, Duration::from_secs(120));
    assert!(policy.gate.capture);
    assert_eq!(policy.errors.len(), 1);
    assert_eq!(policy.errors[0].say, "new");
    assert_eq!(policy.checks.with(Trust::Given).unwrap()[0].when, ["b"]);

    let policy = load(
        "presets = [\"rust\"]\n[action.rust-tests]\nsay = \"Run `cargo xtask test`\"\n[[category]]\nname = \"Rust dependencies\"\nrequire = []\n",
    );
    assert_eq!(policy.action("rust-tests").unwrap().say, "Run `cargo xtask test`");
    assert_eq!(policy.action("rust-tests").unwrap().proof, Proof::Verification);
    assert!(
        policy
            .categories
            .iter()
            .find(|category| category.name == "Rust dependencies")
            .unwrap()
            .require
            .is_empty()
    );
}

/// What a preset names as the usual command is a test run by the table of programs too, unless it installs, or there is nothing to
/// test with.
#[test]
fn presets_and_the_table_of_programs_agree_on_tests() {
    let mut others = Vec::new();
    for (name, _) in PRESETS {
        for action in load(&format!("presets = [{name:?}]")).actions {
            let Some(usual) = action.usual else { continue };
            let intents = Intents::read(&usual);
            if !intents.commands().iter().all(|command| command.does(Deed::Tests)) {
                let deeds: Vec<Deed> = intents.commands().iter().map(|command| command.deed()).collect();
                others.push((action.id, deeds));
            }
        }
    }
    let expected =
        [("node-install", Deed::Installs), ("python-install", Deed::Installs), ("shell-tests", Deed::Lints)];
    assert_eq!(others, expected.map(|(id, deed)| (id.to_owned(), vec![deed])));
}

/// The verdict on an edit of the file and the command after it, by the preset.
fn after_an_edit(preset: &str, file: &str, command: &str) -> String {
    let policy = load(&format!("presets = [{preset:?}]"));
    brief(&gate::judge(&policy, &inputs(vec![read(file), edit(file), ran(command)], &[file])))
}

#[test]
fn evidence_that_people_really_run() {
    for (preset, file, command) in [
        ("rust", "src/a.rs", "cargo test --workspace"),
        ("rust", "src/a.rs", "cargo nextest run -p gate"),
        ("rust", "src/a.rs", "RUST_BACKTRACE=1 nice cargo +nightly test"),
        ("rust", "src/a.rs", "make test"),
        ("rust", "src/a.rs", "bazelisk test //..."),
        ("rust", "src/a.rs", "cargo build"),
        ("rust", "Cargo.toml", "cargo check"),
        ("rust", "Cargo.toml", "cargo clippy --all-targets -- -D warnings"),
        ("python", "a.py", "uv run pytest -q"),
        ("python", "a.py", "python3 -m unittest discover"),
        ("python", "a.py", "tox -e py312"),
        ("python", "a.py", "nox -s tests"),
        ("python", "a.py", "poetry run python manage.py test"),
        ("python", "a.py", "./manage.py test shop"),
        ("python", "a.py", "ruff check"),
        ("python", "a.py", "python a.py"),
        ("python", "pyproject.toml", "uv sync --all-extras"),
        ("python", "requirements.txt", "python -m pip install -r requirements.txt"),
        ("python", "pyproject.toml", "poetry install"),
        ("python", "pyproject.toml", "uv run pytest"),
        ("node", "src/a.ts", "npm test"),
        ("node", "src/a.ts", "npm run test:unit"),
        ("node", "src/a.ts", "pnpm --filter web test"),
        ("node", "src/a.ts", "yarn workspace web test"),
        ("node", "src/a.ts", "bun test"),
        ("node", "src/a.ts", "npx vitest run"),
        ("node", "src/a.ts", "npx jest --ci"),
        ("node", "src/a.ts", "node --test"),
        ("node", "src/a.ts", "npx nx run web:test"),
        ("node", "src/a.ts", "npm run build"),
        ("rust", "src/a.rs", "cargo test --no-run"),
        ("node", "src/a.ts", "npx tsc --noEmit"),
        ("node", "package.json", "npm ci"),
        ("node", "package.json", "pnpm install --frozen-lockfile"),
        ("go", "a.go", "go test ./..."),
        ("go", "a.go", "go vet ./..."),
        ("go", "go.mod", "go mod tidy"),
        ("make", "a.sh", "make check"),
        ("make", "a.sh", "make -j8 test-unit"),
        ("make", "a.sh", "make"),
    ] {
        assert_eq!(after_an_edit(preset, file, command), "notify", "{preset}: {command}");
    }
    for (preset, file, command, expected) in [
        ("rust", "src/a.rs", "cargo fmt", "hold rust-tests"),
        ("python", "a.py", "pip install pytest", "hold python-tests"),
        ("python", "pyproject.toml", "pip list", "notify +missing-action"),
        ("node", "src/a.ts", "npm install jest", "hold node-tests"),
        ("make", "a.sh", "make clean", "hold make-tests"),
    ] {
        assert_eq!(after_an_edit(preset, file, command), expected, "{preset}: {command}");
    }
}

/// Commands of one's own count beside what the preset says; with `proof = "evidence"` they are all that counts.
#[test]
fn commands_of_ones_own_count_too_or_alone() {
    let own = "presets = [\"python\"]\n[action.python-tests]\nevidence = [\"./go\"]";
    let judged = |policy: &Policy, command: &str| {
        brief(&gate::judge(policy, &inputs(vec![read("a.py"), edit("a.py"), ran(command)], &["a.py"])))
    };
    let policy = load(own);
    assert_eq!(policy.action("python-tests").unwrap().proof, Proof::Verification);
    assert_eq!([judged(&policy, "./go"), judged(&policy, "pytest")], ["notify", "notify"]);
    assert_eq!(judged(&policy, "ls"), "hold python-tests");
    let alone = load(&format!("{own}\nproof = \"evidence\""));
    assert_eq!([judged(&alone, "./go"), judged(&alone, "pytest")], ["notify", "hold python-tests"]);
}

fn proves(policy: &Policy, action: &str, command: &str) -> bool {
    let intents = Intents::read(command);
    policy.action(action).unwrap().evidence.iter().any(|pattern| pattern.find(&intents).is_some())
}

/// R4's evidence, R9's order, R12's thirty seconds.
#[test]
fn teleclaude_is_the_specification() {
    let policy = load("presets = [\"teleclaude\"]");
    assert_eq!(policy.gate.min_turn, Duration::from_secs(30));
    assert_eq!(policy.gate.scope, JudgedScope::Diff);
    assert_eq!(policy.gate.no_git, NoGit::Generic);
    assert_eq!(policy.gate.second_stop, SecondStop::Pass);
    assert_eq!(policy.gate.always, ["logs"]);
    assert!(policy.gate.capture && policy.gate.commit && policy.gate.ask_again && !policy.gate.waivers);
    let rules = policy.gate.rules;
    assert_eq!([rules.errors, rules.hygiene, rules.drift], [RuleLevel::Hold; 3]);
    assert_eq!(policy.other_code, ["tests"]);
    assert_eq!(policy.messages.all_clear, "All expected validations were observed. Commit if ready.");

    let order: Vec<_> = policy.actions.iter().map(|action| action.id.as_str()).collect();
    assert_eq!(
        order,
        [
            "setup",
            "install",
            "restart",
            "status",
            "reload-tui",
            "agent-restart",
            "logs",
            "changed-tests",
            "tests"
        ]
    );
    assert!(policy.actions.iter().all(|action| action.fresh == Fresh::ThisTurn));
    let status = policy.action("status").unwrap();
    assert_eq!(status.after.as_deref(), Some("restart"));
    let restart = policy.action("restart").unwrap();
    assert_eq!(
        format!("{} {}", restart.say, status.say_after.as_deref().unwrap()),
        "Run `make restart` then `make status`"
    );
    assert_eq!(
        policy.action("setup").unwrap().say,
        "Run `telec init` (setup changed: watchers, hook installers, or git filters)"
    );
    assert_eq!(
        policy.action("reload-tui").unwrap().say,
        "Run `pkill -SIGUSR2 -f -- \"-m teleclaude.cli.telec$\"`"
    );
    assert_eq!(policy.action("agent-restart").unwrap().say, "Run agent-restart to reload artifacts");
    assert_eq!(policy.action("install").unwrap().say, "Install updated dependencies: `pip install -e .`");
    assert_eq!(policy.action("changed-tests").unwrap().say, "Run targeted tests for changed test files");

    let require = |name: &str| {
        policy.categories.iter().find(|category| category.name == name).unwrap().require.join(" ")
    };
    assert_eq!(require("daemon code"), "restart status tests");
    assert_eq!(require("hook runtime code"), "tests");
    assert_eq!(require("TUI code"), "reload-tui tests");
    assert_eq!(require("telec setup (watchers/hooks/filters)"), "setup");
    assert_eq!(require("tests only"), "changed-tests");
    assert_eq!(require("agent artifacts"), "agent-restart");
    assert_eq!(require("config"), "restart status");
    assert_eq!(require("dependencies"), "install");
    assert!(policy.categories.iter().all(|category| category.alone == (category.name == "tests only")));

    for (action, command) in [
        ("restart", "make restart"),
        ("status", "make status"),
        ("reload-tui", "pkill -SIGUSR2 -f -- '-m teleclaude.cli.telec$'"),
        ("reload-tui", "kill -USR2 123"),
        ("agent-restart", "agent-restart"),
        ("agent-restart", "curl -X POST localhost:8420/sessions/abc/agent-restart"),
        ("setup", "telec init"),
        ("install", "pip install -e ."),
        ("tests", "pytest tests/unit"),
        ("tests", "make test"),
        ("logs", "instrukt-ai-logs teleclaude --since 2m"),
    ] {
        assert!(proves(&policy, action, command), "`{command}` should prove {action}");
    }
    let says: Vec<_> = policy.errors.iter().map(|error| error.say.as_str()).collect();
    assert_eq!(
        says,
        [
            "Python errors remain unresolved — verify they are fixed",
            "Syntax errors remain — verify the code is valid",
            "Import errors remain — check dependencies or module paths",
            "Test failures remain — re-run tests after fixes",
            "A command returned errors — verify the issue is resolved",
        ]
    );
    assert!(policy.errors[4].contains.is_empty() && policy.errors[4].ran.is_empty());
}

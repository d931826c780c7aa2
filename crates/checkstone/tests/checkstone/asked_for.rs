//! What `init` finds by looking: small repositories, the presets that are written for each, and what it says it will ask for.
//! And what it, `doctor` and `status` say if that is nothing.

use std::fmt::Write as _;

use sandbox::redacted;
use serde_json::Value;

use crate::init::Home;

const VITEST: &str = r#"{"name": "a", "scripts": {"test": "vitest run"}}"#;
const NO_TESTS: &str = r#"{"name": "a", "scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;

fn home_of(files: &[(&str, &str)]) -> Home {
    let home = Home::new();
    home.workplace.git(&["rm", "--quiet", "-r", "."]);
    for (file, text) in files {
        home.workplace.write(file, text);
    }
    home
}

/// The presets that `init` writes for a repository of these files, and what it says.
fn asked(files: &[(&str, &str)]) -> String {
    let home = home_of(files);
    let value = home.json(&["init", "--agent", "claude", "--json", "--yes"], "init.schema.json");
    let mut shown = format!("presets = {}\n", value["policy"]["presets"]);
    let notes: Vec<&str> =
        value["policy"]["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for note in &notes {
        let _ = writeln!(shown, "{note}");
    }
    // The file says the same, and is a policy.
    let written = std::fs::read_to_string(home.workplace.repo().join("checkstone.toml")).unwrap();
    let comments: Vec<&str> = written.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert_eq!(comments.get(2..2 + notes.len()).unwrap(), notes);
    home.succeeds(&["policy", "check"]);
    shown
}

/// W15, W28: that there is a Makefile does not mean that `make test` exists, or that it is about the code.
#[test]
fn a_makefile_asks_for_nothing_by_itself() {
    let makefile = ("Makefile", "deploy:\n\tscp -r . host:\n");
    insta::assert_snapshot!(asked(&[makefile, ("Package.swift", ""), ("Sources/App/App.swift", "")]), @r#"
    presets = ["swift"]
    I will ask for `swift build` after changes to Swift code, because it can be built and has no tests.
    "#);
    insta::assert_snapshot!(asked(&[makefile, ("index.html", ""), ("style.css", "")]), @"
    presets = []
    I will ask for nothing after changes to JavaScript and TypeScript code: I found no tests, type check, build or linter there.
    Nothing is asked for in this repository. To ask for something, add a category of your own to `checkstone.toml`.
    ");
    insta::assert_snapshot!(asked(&[makefile, ("pom.xml", ""), ("src/main/java/A.java", ""), ("src/test/java/ATest.java", "")]), @r#"
    presets = ["java"]
    I will ask for `mvn test` after changes to Java and Kotlin code, because there are tests.
    "#);
    let tested = ("Makefile", "test:\n\tbusted spec\n");
    insta::assert_snapshot!(asked(&[tested, ("src/a.lua", ""), ("src/b.lua", "")]), @r#"
    presets = ["make"]
    I will ask for `make test` after changes to code, because the Makefile has a target `test`.
    "#);
    insta::assert_snapshot!(asked(&[("Makefile", "test:\n\tcargo test\n"), ("Cargo.toml", ""), ("src/main.rs", ""), ("tools/x.lua", "")]), @r#"
    presets = ["rust"]
    I will ask for `make test` after changes to Rust code, because the Makefile has a target `test`.
    "#);
}

/// Scripts need nothing but a shell to be looked through; they alone are no reason to ask.
#[test]
fn scripts_beside_code_that_can_be_verified_are_asked_for() {
    let script = ("scripts/install.sh", "echo\n");
    insta::assert_snapshot!(asked(&[("go.mod", "module a\n"), ("main.go", "package main\n"), script]), @r#"
    presets = ["go","shell"]
    I will ask for `go build ./...` after changes to Go code, because it can be built and has no tests.
    I will ask for `bash -n` after changes to shell scripts, because a script that was never run may not even parse.
    "#);
    let script = ("bin/deploy", "#!/usr/bin/env bash\nset -e\n");
    insta::assert_snapshot!(asked(&[("go.mod", "module a\n"), ("main.go", "package main\n"), script, ("LICENSE", "#\n")]), @r#"
    presets = ["go","shell"]
    I will ask for `go build ./...` after changes to Go code, because it can be built and has no tests.
    I will ask for `bash -n` after changes to shell scripts, because a script that was never run may not even parse.
    "#);
}

/// What `init`, `policy show` and the gate name is the same, in the words of the repository: its package manager, its tests.
#[test]
fn every_command_is_named_in_the_words_of_the_repository() {
    let files = [
        ("package.json", "{\"name\": \"a\"}"),
        ("pnpm-lock.yaml", ""),
        ("packages/api/package.json", VITEST),
        ("packages/api/a.ts", "a\n"),
        ("packages/web/package.json", "{\"name\": \"web\", \"scripts\": {\"build\": \"vite build\"}}"),
        ("packages/web/a.ts", "a\n"),
        ("service/pyproject.toml", "[project]\nname = \"a\"\n"),
        ("service/uv.lock", ""),
        ("service/app.py", "a = 1\n"),
        ("service/tests/test_app.py", ""),
        ("tools/install.sh", "echo\n"),
        ("tools/tests/install.bats", ""),
        ("gradlew", "#!/bin/sh\n"),
    ];
    let home = home_of(&files);
    home.succeeds(&["init", "--agent", "claude", "--yes"]);
    home.workplace.git(&["add", "."]);
    home.workplace.git(&["commit", "--quiet", "-m", "all"]);
    for (file, text) in files {
        let changed =
            if file.ends_with(".json") { text.replace("\"a\"", "\"b\"") } else { format!("{text}b = 2\n") };
        home.workplace.write(file, &changed);
    }
    let written = std::fs::read_to_string(home.workplace.repo().join("checkstone.toml")).unwrap();
    let asked = written.lines().filter(|line| line.starts_with("# I "));
    let mut shown: String = asked.map(|line| format!("{line}\n")).collect();
    let policy = home.run(&["policy", "show"]).stdout;
    let actions = policy
        .lines()
        .filter(|line| line.starts_with("  ") && line.contains("-tests: ") | line.contains("-install: "));
    shown.extend(actions.map(|line| format!("policy show: {}\n", line.trim())));
    let value: Value = serde_json::from_str(&home.run(&["check", "--json"]).stdout).unwrap();
    for action in value["actions"].as_array().unwrap() {
        let _ =
            writeln!(shown, "check: {}: {}", action["id"].as_str().unwrap(), action["say"].as_str().unwrap());
    }
    insta::assert_snapshot!(shown, @"
    # I will ask for `uv run pytest` in `service` after changes to Python code there, because there are tests.
    # I will ask for `bats .` after changes to shell scripts, because there are tests.
    # I will ask for `pnpm test` in `packages/api` after changes to JavaScript and TypeScript code there, because `package.json` has a script `test`.
    # I will ask for `pnpm run build` in `packages/web` after changes to JavaScript and TypeScript code there, because `package.json` has a script `build`.
    policy show: node-install: Run `pnpm install`
    policy show: python-install: Run `uv sync` in `service`
    policy show: node-tests: Run the command of the package that changed: `pnpm test` in
    policy show: python-tests: Run `uv run pytest` in `service`
    policy show: shell-tests: Run `bats .`
    check: node-install: Run `pnpm install`
    check: python-install: Run `uv sync` in `service`
    check: node-tests: Run `pnpm test` in `packages/api`, and `pnpm run build` in `packages/web`
    check: python-tests: Run `uv run pytest` in `service`
    check: shell-tests: Run `bats .`
    ");
}

/// W17: nothing can be run in a repository, or in a package of it, that has no tests, type check, build or linter.
#[test]
fn a_package_without_tests_is_asked_for_what_it_has() {
    insta::assert_snapshot!(asked(&[("go.mod", "module a\n"), ("main.go", "package main\n")]), @r#"
    presets = ["go"]
    I will ask for `go build ./...` after changes to Go code, because it can be built and has no tests.
    "#);
    insta::assert_snapshot!(asked(&[("app.py", ""), ("requirements.txt", "flask\n")]), @"
    presets = []
    I will ask for nothing after changes to Python code: I found no tests, type check, build or linter there.
    Nothing is asked for in this repository. To ask for something, add a category of your own to `checkstone.toml`.
    ");
    insta::assert_snapshot!(asked(&[("package.json", NO_TESTS), ("index.js", "")]), @"
    presets = []
    I will ask for nothing after changes to JavaScript and TypeScript code: I found no tests, type check, build or linter there.
    Nothing is asked for in this repository. To ask for something, add a category of your own to `checkstone.toml`.
    ");
    insta::assert_snapshot!(asked(&[("api/package.json", VITEST), ("api/a.js", ""), ("web/package.json", NO_TESTS), ("web/b.js", "")]), @r#"
    presets = ["node"]
    I will ask for `npm test` in `api` after changes to JavaScript and TypeScript code there, because `package.json` has a script `test`.
    I will ask for nothing after changes to JavaScript and TypeScript code in `web`: I found no tests, type check, build or linter there.
    "#);
}

/// W18: in the words of the package manager that is used here.
#[test]
fn the_package_manager_is_the_one_of_the_lock_file() {
    for (lock, command) in [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("package-lock.json", "npm")] {
        let expected = format!(
            "presets = [\"node\"]\nI will ask for `{command} test` after changes to JavaScript and TypeScript code, because \
             `package.json` has a script `test`.\n"
        );
        assert_eq!(asked(&[(lock, ""), ("package.json", VITEST), ("src/a.ts", "")]), expected);
    }
}

/// W28: packages lie deeper than one folder; vendored ones are not the repository's own.
#[test]
fn packages_are_found_two_folders_down() {
    let files = [
        ("apps/x/go.mod", "module x\n"),
        ("apps/x/a.go", "package x\n"),
        ("apps/x/a_test.go", "package x\n"),
        ("node_modules/y/package.json", VITEST),
        ("node_modules/y/index.js", ""),
        ("apps/x/vendor/z/Cargo.toml", ""),
        ("apps/x/vendor/z/src/lib.rs", ""),
    ];
    insta::assert_snapshot!(asked(&files), @r#"
    presets = ["go"]
    I will ask for `go test ./...` in `apps/x` after changes to Go code there, because there are tests.
    "#);
}

/// W29: Python needs no manifest.
#[test]
fn python_without_a_manifest_is_python() {
    insta::assert_snapshot!(asked(&[("app.py", ""), ("test_app.py", "")]), @r#"
    presets = ["python"]
    I will ask for `pytest` after changes to Python code, because there are tests.
    "#);
}

/// A script in another language is no part of what the package's tests are about.
#[test]
fn code_is_verified_by_programs_of_its_language() {
    let rust = [("Cargo.toml", ""), ("src/main.rs", ""), ("scripts/release.py", ""), ("scripts/site.js", "")];
    insta::assert_snapshot!(asked(&rust), @r#"
    presets = ["rust"]
    I will ask for `cargo test` after changes to Rust code, because that is the usual way to test it.
    "#);
    let lint = "lint:\n\truff check scripts\n\tcargo clippy\n";
    let linted = [("Makefile", lint), ("Cargo.toml", ""), ("src/main.rs", ""), ("scripts/release.py", "")];
    insta::assert_snapshot!(asked(&linted), @r#"
    presets = ["python","rust"]
    I will ask for `make lint` after changes to Python code, because the Makefile has a target `lint`.
    I will ask for `cargo test` after changes to Rust code, because that is the usual way to test it.
    "#);
}

#[test]
fn languages_have_presets() {
    for (files, preset) in [
        (&["build.gradle.kts", "gradlew", "src/main/kotlin/A.kt", "src/test/kotlin/ATest.kt"][..], "java"),
        (&["App.sln", "App/App.csproj", "App/A.cs"], "dotnet"),
        (&["CMakeLists.txt", "src/a.cpp"], "c"),
        (&["Gemfile", "lib/a.rb", "spec/a_spec.rb"], "ruby"),
        (&["composer.json", "phpunit.xml", "src/A.php", "tests/ATest.php"], "php"),
        (&["Package.swift", "Sources/A.swift"], "swift"),
        (&["mix.exs", "lib/a.ex", "test/a_test.exs"], "elixir"),
        (&["pubspec.yaml", "lib/a.dart", "test/a_test.dart"], "dart"),
        (&["install.sh", "test/install.bats"], "shell"),
        (&["build.zig", "src/main.zig"], "make"),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
        let found = asked(&files);
        assert_eq!(found.lines().next(), Some(format!("presets = [\"{preset}\"]").as_str()), "{files:?}");
    }
}

/// Five lines at most, however large the repository is.
#[test]
fn a_monorepo_is_told_in_a_few_lines() {
    let mut files = vec![("pnpm-lock.yaml".to_owned(), "")];
    for package in ["api", "cli", "core", "web", "worker"] {
        files.push((format!("packages/{package}/package.json"), VITEST));
        files.push((format!("packages/{package}/src/index.ts"), ""));
    }
    for (folder, manifest, code) in [
        ("sync", "go.mod", "main.go"),
        ("engine", "Cargo.toml", "src/main.rs"),
        ("server", "mix.exs", "lib/a.ex"),
        ("phone", "pubspec.yaml", "lib/a.dart"),
        ("desk", "Package.swift", "Sources/a.swift"),
        ("notebooks", "requirements.txt", "a.py"),
    ] {
        files.push((format!("apps/{folder}/{manifest}"), ""));
        files.push((format!("apps/{folder}/{code}"), ""));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    insta::assert_snapshot!(asked(&files), @r#"
    presets = ["node","elixir","swift","dart","go","rust"]
    I will ask for `pnpm test` in `packages/api`, `packages/cli` and 3 other folders after changes to JavaScript and TypeScript code there, because `package.json` has a script `test`.
    I will ask for `mix compile` in `apps/server` after changes to Elixir code there, because it can be built and has no tests.
    I will ask for `swift build` in `apps/desk` after changes to Swift code there, because it can be built and has no tests.
    I will ask for 3 more commands in other packages.
    I will ask for nothing after changes to Python code in `apps/notebooks`: I found no tests, type check, build or linter there.
    "#);
}

#[test]
fn the_repositorys_instructions_come_first() {
    let files = [
        ("CLAUDE.md", "Before you finish, run `make verify`.\n"),
        ("Makefile", "verify:\n\tgo vet ./...\n\tgo test ./...\n"),
        ("go.mod", "module a\n"),
        ("a.go", "package a\n"),
        ("a_test.go", "package a\n"),
    ];
    insta::assert_snapshot!(asked(&files), @r#"
    presets = ["go"]
    I will ask for `make verify` after changes to Go code, because the repository's instructions name it.
    "#);
}

/// All three say so, instead of being green.
#[test]
fn that_nothing_is_asked_for_is_said_plainly() {
    let mut shown = String::new();
    for (files, policy) in [
        (&[("notes.md", "")][..], None),
        (&[("app.py", "")], None),
        (&[("app.py", "")], Some("presets = [\"python\"]\n")),
        (&[("Cargo.toml", ""), ("src/main.rs", "")], Some("presets = []\n")),
        (
            &[("go.mod", ""), ("main.go", "")],
            Some(
                "presets = [\"go\"]\n[action.go-tests]\nlevel = \"off\"\n[action.go-build]\nlevel = \"off\"\n",
            ),
        ),
    ] {
        let home = home_of(files);
        if let Some(policy) = policy {
            home.workplace.write("checkstone.toml", policy);
        }
        let told = home.told(&["init", "--agent", "claude", "--yes"]);
        let is_about_policy = |line: &&str| {
            line.starts_with("  →") || line.starts_with(['✓', '·']) && !line.starts_with("✓ Claude")
        };
        shown.extend(told.lines().filter(is_about_policy).map(|line| format!("init:   {line}\n")));
        for command in ["doctor", "status"] {
            let told = redacted(home.run(&[command]).to_string());
            let lines = told.lines().filter(|line| line.contains("policy") || line.contains("gate"));
            shown.extend(lines.map(|line| format!("{command}: {}\n", line.trim())));
        }
        shown.push('\n');
    }
    insta::assert_snapshot!(shown, @r#"
    init:   ✓ checkstone.toml: written; nothing is asked for in this repository
    init:     → Nothing is asked for in this repository: I found no code. To ask for something, add a category of your own to `checkstone.toml`.
    doctor: – policy     `checkstone.toml`: nothing is asked for in this repository: no category of the policy requires anything → add a category of your own to `checkstone.toml`
    status: gate        on, but nothing is asked for in this repository
    status: policy      checkstone.toml: nothing is asked for in this repository: no category of the policy requires anything (`checkstone doctor`)

    init:   ✓ checkstone.toml: written; nothing is asked for in this repository
    init:     → I will ask for nothing after changes to Python code: I found no tests, type check, build or linter there.
    init:     → Nothing is asked for in this repository. To ask for something, add a category of your own to `checkstone.toml`.
    doctor: – policy     `checkstone.toml`: nothing is asked for in this repository: no category of the policy requires anything → add a category of your own to `checkstone.toml`
    status: gate        on, but nothing is asked for in this repository
    status: policy      checkstone.toml: nothing is asked for in this repository: no category of the policy requires anything (`checkstone doctor`)

    init:   · checkstone.toml: `[folder]/repo/checkstone.toml` exists and is left unchanged
    init:     → nothing is asked for in this repository: I found no tests, type check, build or linter for its Python code; if there is a command that verifies it, name it in an action of your own in `checkstone.toml`
    doctor: – policy     `checkstone.toml`, preset python: nothing is asked for in this repository: I found no tests, type check, build or linter for its Python code → if there is a command that verifies it, name it in an action of your own in `checkstone.toml`
    status: gate        on, but nothing is asked for in this repository
    status: policy      checkstone.toml, preset python: nothing is asked for in this repository: I found no tests, type check, build or linter for its Python code (`checkstone doctor`)

    init:   · checkstone.toml: `[folder]/repo/checkstone.toml` exists and is left unchanged
    init:     → nothing is asked for in this repository: no category of the policy requires anything; `presets = ["rust"]` in `checkstone.toml` fits what is here
    doctor: – policy     `checkstone.toml`: nothing is asked for in this repository: no category of the policy requires anything → `presets = ["rust"]` in `checkstone.toml` fits what is here
    status: gate        on, but nothing is asked for in this repository
    status: policy      checkstone.toml: nothing is asked for in this repository: no category of the policy requires anything (`checkstone doctor`)

    init:   · checkstone.toml: `[folder]/repo/checkstone.toml` exists and is left unchanged
    init:     → nothing is asked for in this repository: every action that the policy requires is off; set `level` of `[action.go-tests]` to "hold" or "notify" in `checkstone.toml`
    doctor: – policy     `checkstone.toml`, preset go: nothing is asked for in this repository: every action that the policy requires is off → set `level` of `[action.go-tests]` to "hold" or "notify" in `checkstone.toml`
    status: gate        on, but nothing is asked for in this repository
    status: policy      checkstone.toml, preset go: nothing is asked for in this repository: every action that the policy requires is off (`checkstone doctor`)
    "#);
}

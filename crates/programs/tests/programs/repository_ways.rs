//! What packages can verify with, in the repository's own words. A package is written as `folder [languages]` with
//! `deed: command @folder` for each of its ways; `!` if the instructions name it.

use programs::repository::{Language, Repository, Way};

use crate::repository_runs::repository;

/// Checks the packages of a repository with these files.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let mut found = Vec::new();
    for package in repository(files).packages {
        let folder = if package.folder.is_empty() { "." } else { &package.folder };
        found.push(format!("{folder} {:?}", package.languages));
        for way in package.ways {
            let at = if way.folder == package.folder { String::new() } else { format!(" @/{}", way.folder) };
            let mark = if way.is_instructed { "!" } else { "" };
            found.push(format!("  {:?}{mark}: {}{at}", way.deed, way.command));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn w15_a_makefile_without_a_test_target_is_no_way_to_test() {
    check(
        &[
            ("Makefile", "run:\n\tswift run\nbuild:\n\tswift build\n"),
            ("Package.swift", "let package = Package(name: \"App\")"),
        ],
        &[". [Swift]", "  Builds: make build"],
    );
    check(&[("Makefile", "serve:\n\tpython -m http.server\n"), ("index.html", "")], &[". []"]);
}

#[test]
fn w17_a_package_without_tests_has_no_way_to_test() {
    check(
        &[("go.mod", "module x"), ("main.go", "")],
        &[". [Go]", "  Builds: go build ./...", "  Lints: go vet ./..."],
    );
    check(
        &[("go.mod", "module x"), ("a_test.go", "")],
        &[". [Go]", "  Tests: go test ./...", "  Builds: go build ./...", "  Lints: go vet ./..."],
    );
    check(&[("pyproject.toml", "[project]\nname = 'x'"), ("x.py", "")], &[". [Python]"]);
    check(
        &[(
            "package.json",
            r#"{"name": "x", "scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
        )],
        &[". [JavaScript]"],
    );
    check(&[("composer.json", r#"{"name": "a/b", "require-dev": {"phpunit/phpunit": "*"}}"#)], &[". [Php]"]);
}

#[test]
fn w18_ways_are_said_in_the_words_of_the_package_manager() {
    let manifest =
        r#"{"name": "x", "scripts": {"test": "vitest run", "typecheck": "tsc", "test:watch": "vitest"}}"#;
    for (lock, test, types) in [
        ("pnpm-lock.yaml", "pnpm test", "pnpm run typecheck"),
        ("yarn.lock", "yarn test", "yarn typecheck"),
        ("bun.lock", "bun run test", "bun run typecheck"),
        ("package-lock.json", "npm test", "npm run typecheck"),
    ] {
        let expected = [". [JavaScript]", &format!("  Tests: {test}"), &format!("  TypeChecks: {types}")];
        check(&[("package.json", manifest), (lock, "")], &expected);
    }
    check(
        &[
            ("package.json", r#"{"name": "root", "workspaces": ["packages/*"]}"#),
            ("pnpm-lock.yaml", ""),
            ("packages/api/package.json", r#"{"name": "api", "scripts": {"test": "jest"}}"#),
            ("packages/api/tsconfig.json", "{}"),
        ],
        &[
            ". [JavaScript]",
            "packages/api [JavaScript]",
            "  Tests: pnpm test",
            "  TypeChecks: pnpm exec tsc --noEmit",
        ],
    );
    check(
        &[("pyproject.toml", "[tool.ruff]\n"), ("uv.lock", ""), ("tests/test_a.py", "")],
        &[". [Python]", "  Tests: uv run pytest", "  Lints: uv run ruff check ."],
    );
}

#[test]
fn w29_python_without_any_manifest() {
    check(&[("tool.py", "")], &[". [Python]"]);
    check(&[("tool.py", ""), ("test_tool.py", "")], &[". [Python]", "  Tests: pytest"]);
    check(
        &[
            ("apps/x/go.mod", "module x"),
            ("Makefile", "test:\n\tcd apps/x && go test ./...\n"),
            ("apps/x/a_test.go", ""),
        ],
        &[
            ". []",
            "apps/x [Go]",
            "  Tests: go test ./...",
            "  Builds: go build ./...",
            "  Lints: go vet ./...",
        ],
    );
}

#[test]
fn w20_what_the_instructions_name_comes_first() {
    check(
        &[
            (
                "package.json",
                r#"{"name": "x", "scripts": {"test": "jest", "verify": "npm run lint && jest", "lint": "eslint ."}}"#,
            ),
            (
                "CLAUDE.md",
                "# Work\nBefore you finish, run `npm run verify`. See `src/lib.ts`.\n\n```bash\nnpm run lint   # quick\nnpx jest path/to/one.test.ts\n```\n",
            ),
        ],
        &[". [JavaScript]", "  Tests!: npm run verify", "  Lints!: npm run lint"],
    );
    // A task that is not there is none, and a program that is mentioned is no command.
    check(
        &[("go.mod", "module x"), ("AGENTS.md", "Use `gofmt`. Run `make check`, then `mise run test`.")],
        &[". [Go]", "  Builds: go build ./...", "  Lints: go vet ./..."],
    );
}

/// Python and shell without a manifest: at the root by any file of theirs, in other packages by tests.
#[test]
fn code_without_a_manifest_adds_its_language() {
    let web = ("web/package.json", r#"{"name": "web"}"#);
    check(&[web, ("web/tool.py", "")], &[". []", "web [JavaScript]"]);
    check(&[web, ("web/tests/test_a.py", "")], &[". []", "web [JavaScript, Python]", "  Tests: pytest"]);
    check(&[web, ("web/conftest.py", "")], &[". []", "web [JavaScript, Python]", "  Tests: pytest"]);
    check(&[web, ("web/a.bats", "")], &[". []", "web [JavaScript, Shell]", "  Tests: bats ."]);
    check(
        &[web, ("web/.shellcheckrc", ""), ("web/bin/a.sh", "")],
        &[". []", "web [JavaScript, Shell]", "  Lints: shellcheck *.sh"],
    );
    check(&[web, ("web/a.test.js", ""), ("a.sh", "")], &[". []", "web [JavaScript]"]);
    check(&[("a/b.py", "")], &[". [Python]"]);
}

#[test]
fn what_manifests_call_their_packages() {
    for (name, text, expected) in [
        ("package.json", r#"{"name": "@a/b", "scripts": {}}"#, "@a/b"),
        ("package.json", r#"{"scripts": {"test": "jest"}}"#, ""),
        ("package.json", r#"{"name": "a", "workspaces": ["b"]}"#, "a workspace"),
        ("composer.json", r#"{"name": "a/b"}"#, "a/b"),
        ("deno.json", r#"{"name": "@a/b", "tasks": {}}"#, "@a/b"),
        ("Cargo.toml", "[package]\nname = 'a'\n", "a"),
        ("Cargo.toml", "[workspace]\nmembers = []\n", " workspace"),
        ("Cargo.toml", "[workspace]\n[package]\nname = 'a'\n", "a"),
        ("pyproject.toml", "[project]\nname = 'a'\n", "a"),
        ("go.mod", "// a comment\nmodule example.com/a\n\ngo 1.22\n", "example.com/a"),
        ("pubspec.yaml", "name: a\nversion: 1.0.0\n", "a"),
        ("mix.exs", "def project do\n  [\n    app: :a,\n    version: \"1\"\n", "a"),
        ("Package.swift", "let package = Package(\n    name: \"A\",\n", "A"),
        ("App.csproj", "<Project/>", "App"),
        ("app.cabal", "", "app"),
        ("App.sln", "", ""),
        ("pom.xml", "", ""),
    ] {
        let package = repository(&[(name, text)]).packages.remove(0);
        let workspace = if package.is_workspace { " workspace" } else { "" };
        assert_eq!(format!("{}{workspace}", package.names.join(",")), expected, "{name}: {text}");
    }
    // A manifest that only sets a mode makes no package; the same without its text may.
    check(&[("web/package.json", r#"{"type": "module"}"#)], &[". []"]);
    check(&[("web/package.json", r#"{"scripts": {}}"#)], &[". []", "web [JavaScript]"]);
}

/// Commands in instructions: spans, blocks of shells, and nothing that is to be filled in, mentioned or only a part.
#[test]
fn w20_which_commands_instructions_name() {
    let named = |text: &str| {
        let files = [
            ("go.mod", "module x"),
            ("a_test.go", ""),
            ("AGENTS.md", text),
            ("Makefile", "check:\n\tgo test ./...\n"),
        ];
        let ways = repository(&files).packages.remove(0).ways;
        let instructed = ways.into_iter().filter(|way| way.is_instructed);
        instructed.map(|way| way.command).collect::<Vec<_>>().join(", ")
    };
    for (text, expected) in [
        ("Run `make check`.", "make check"),
        ("```\nmake check\n```", "make check"),
        ("~~~sh\n$ make check  # all\n~~~", "make check"),
        ("```python\nmake check\n```", ""),
        ("```python\nx\n```\n```bash\nmake check\n```", "make check"),
        ("Run make check.", ""),
        ("Run `make <target>` or `go test [name]`.", ""),
        ("Run `go test ./one`.", ""),
        ("Run `go test ./...`.", "go test ./..."),
        ("Run `go test -run TestA ./...`.", ""),
        ("Use `gotestsum`.", "gotestsum"),
        ("Use `gofmt`, `scripts/test.sh` and `golangci-lint`.", ""),
        ("Use `golangci-lint run`.", "golangci-lint run"),
        ("Run `cd sub && go vet ./...`.", "cd sub && go vet ./..."),
        ("Run `make nothing`.", ""),
        (
            "Run `make check`, then `go vet ./...` and `go build ./...`.",
            "make check, go build ./..., go vet ./...",
        ),
        (
            &format!("Run `make check {}`.", "A=1 ".repeat(37)),
            format!("make check {}", "A=1 ".repeat(37)).trim_end(),
        ),
        (&format!("Run `make check {}`.", "A=1 ".repeat(38)), ""),
        (&format!("{}`make check`", "`a`\n".repeat(199)), "make check"),
        (&format!("{}`make check`", "`a`\n".repeat(200)), ""),
    ] {
        assert_eq!(named(text), expected, "{text}");
    }
}

/// Of several tasks that test, the one with the plainest name is asked for.
#[test]
fn the_plainest_task_is_the_way() {
    let way = |scripts: &str| {
        let manifest = format!(r#"{{"name": "x", "scripts": {{{scripts}}}}}"#);
        let ways = repository(&[("package.json", manifest.as_str())]).packages.remove(0).ways;
        ways.into_iter().map(|way| way.command).collect::<Vec<_>>().join(", ")
    };
    for (scripts, expected) in [
        (r#""test:watch": "jest", "test:unit": "jest""#, "npm run test:unit"),
        (r#""test:unit": "jest", "test": "jest""#, "npm test"),
        (r#""test-e2e": "jest", "tests": "jest""#, "npm run tests"),
        (r#""e2e": "jest", "test-coverage": "jest""#, "npm run e2e"),
        (r#""lint": "eslint .", "lint:fix": "eslint --fix .""#, "npm run lint"),
        (r#""check": "tsc", "test": "jest""#, "npm test, npm run check"),
        (r#""start": "node a.js", "dev": "vite""#, ""),
    ] {
        assert_eq!(way(scripts), expected, "{scripts}");
    }
}

/// Lock files say with what dependencies are installed, and where.
#[test]
fn installations_are_said_by_lock_files() {
    let web = ("web/package.json", r#"{"name": "web"}"#);
    for (files, manifest, expected) in [
        (&[web, ("web/pnpm-lock.yaml", "")][..], "web/package.json", Some("`pnpm install` in `web`")),
        (&[web, ("yarn.lock", "")], "web/package.json", Some("`yarn install`")),
        (
            &[web, ("web/yarn.lock", ""), ("pnpm-lock.yaml", "")],
            "web/package.json",
            Some("`yarn install` in `web`"),
        ),
        (&[web], "web/package.json", None),
        (&[web, ("other/bun.lock", "")], "web/package.json", None),
        (&[("pyproject.toml", ""), ("uv.lock", "")], "pyproject.toml", Some("`uv sync`")),
        (&[("pyproject.toml", ""), ("poetry.lock", "")], "pyproject.toml", Some("`poetry install`")),
        (&[("Pipfile", "")], "Pipfile", Some("`pipenv install`")),
        (&[("pyproject.toml", ""), ("pnpm-lock.yaml", "")], "pyproject.toml", None),
        (&[web, ("web/pnpm-lock.yaml", "")], "web/a.py", None),
        (&[("Cargo.toml", ""), ("pnpm-lock.yaml", "")], "Cargo.toml", None),
    ] {
        let repository = repository(files);
        let package = repository.package_of(manifest).unwrap();
        let step = package.installation(manifest).map(Way::step);
        assert_eq!(step.as_deref(), expected, "{files:?}");
    }
}

/// A way is about files of its languages, and of languages that nobody knows.
#[test]
fn which_files_a_way_is_for() {
    let repository = repository(&[
        ("package.json", r#"{"name": "x", "scripts": {"test": "jest"}}"#),
        ("go.mod", "module x"),
        ("Makefile", "check:\n\t./all\n"),
    ]);
    let package = &repository.packages[0];
    let found: Vec<String> = package
        .ways
        .iter()
        .map(|way| {
            let files = ["a.ts", "a.go", "a.py", "a.odd", "odd"].into_iter().filter(|path| way.is_for(path));
            let languages = [Language::JavaScript, Language::Go, Language::Python];
            let verified = languages.into_iter().filter(|language| way.verifies(&[*language]));
            format!("{}: {:?} {:?}", way.command, files.collect::<Vec<_>>(), verified.collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        found,
        [
            r#"npm test: ["a.ts", "a.odd", "odd"] [JavaScript]"#,
            r#"make check: ["a.ts", "a.go", "a.py", "a.odd", "odd"] [JavaScript, Go, Python]"#,
            r#"go build ./...: ["a.go", "a.odd", "odd"] [Go]"#,
            r#"go vet ./...: ["a.go", "a.odd", "odd"] [Go]"#,
        ]
    );
    let strongest = |languages: &[Language]| package.strongest(languages).map(|way| way.command.as_str());
    assert_eq!(strongest(&[Language::Go]), Some("make check"));
    assert_eq!(strongest(&[Language::JavaScript]), Some("npm test"));
    assert_eq!(strongest(&[Language::Go, Language::JavaScript]), Some("npm test"));
    assert_eq!(strongest(&[]), Some("npm test"));
    assert_eq!(package.languages_of("a.ts"), [Language::JavaScript]);
    assert_eq!(package.languages_of("a.py"), []);
}

#[test]
fn which_files_say_something_by_their_names_and_texts() {
    for (path, expected) in [
        ("web/package.json", "manifest tasks text name"),
        ("Cargo.toml", "manifest text name"),
        ("App.csproj", "manifest text name"),
        ("requirements-dev.txt", "manifest text name"),
        ("Makefile", "tasks text name"),
        (".github/workflows/ci.yml", "tasks text name"),
        ("sub/.github/workflows/ci.yaml", "tasks text name"),
        ("mise-tasks/db/check", "tasks text name"),
        ("workflows/ci.yml", ""),
        ("docs/AGENTS.md", "text name"),
        ("README.md", ""),
        ("a.sh", "script text name"),
        ("a.bash", "script text name"),
        ("bin/check", "script text name"),
        ("tools/deep/check", "script text name"),
        ("bin/check.rb", ""),
        ("src/check", ""),
        ("pnpm-lock.yaml", "name"),
        ("uv.lock", "name"),
        ("vitest.config.ts", "name"),
        (".rubocop.yml", "name"),
        ("a.py", "name"),
        ("a_test.go", "test name"),
        ("tests/a.bats", "test name"),
        ("src/a.rs", ""),
        ("src/lib.ts", ""),
    ] {
        let facts = [
            ("manifest", Repository::is_manifest(path)),
            ("tasks", Repository::defines_tasks(path)),
            ("script", Repository::is_script(path)),
            ("test", Repository::is_test(path)),
            ("text", Repository::reads_text(path)),
            ("name", Repository::reads_name(path)),
        ];
        let found: Vec<&str> = facts.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        assert_eq!(found.join(" "), expected, "{path}");
    }
}

#[test]
fn tasks_stand_before_what_the_language_offers() {
    check(
        &[
            ("Cargo.toml", "[package]\nname = 'x'\n"),
            ("Makefile", "test:\n\tcargo nextest run\nlint:\n\tcargo clippy\n"),
        ],
        &[". [Rust]", "  Tests: make test", "  TypeChecks: cargo check", "  Lints: make lint"],
    );
}

#[test]
fn manifests_of_one_build_and_of_samples_are_no_packages_of_their_own() {
    check(
        &[
            ("CMakeLists.txt", "enable_testing()"),
            ("src/CMakeLists.txt", ""),
            ("settings.gradle", ""),
            ("tests/fixtures/app/package.json", r#"{"name": "sample"}"#),
            ("src/esm/package.json", r#"{"type": "module"}"#),
        ],
        &[". [C]", "  Tests: ctest --test-dir build", "  Builds: cmake --build build"],
    );
}

#[test]
fn every_language_offers_what_it_has() {
    for (files, expected) in [
        (
            &["pom.xml", "mvnw", "src/test/ATest.java"][..],
            &["Tests: ./mvnw test", "Builds: ./mvnw compile"][..],
        ),
        (
            &["build.gradle.kts", "gradlew", "src/test/ATest.kt"],
            &["Tests: ./gradlew test", "Builds: ./gradlew build"],
        ),
        (&["App.sln", "tests/AppTests.cs"], &["Tests: dotnet test", "Builds: dotnet build"]),
        (
            &["Gemfile", ".rubocop.yml", "spec/a_spec.rb"],
            &["Tests: bundle exec rspec", "Lints: bundle exec rubocop"],
        ),
        (&["composer.json", "phpunit.xml", "tests/ATest.php"], &["Tests: vendor/bin/phpunit"]),
        (&["App.xcodeproj"], &["Builds: xcodebuild build"]),
        (&["Package.swift", "Tests/ATests.swift"], &["Tests: swift test", "Builds: swift build"]),
        (&["mix.exs", "test/a_test.exs"], &["Tests: mix test", "Builds: mix compile"]),
        (&["pubspec.yaml", "test/a_test.dart"], &["Tests: dart test", "Lints: dart analyze"]),
        (&["dune-project", "test/test_a.ml"], &["Tests: dune test", "Builds: dune build"]),
        (&["x.cabal"], &["Builds: cabal build"]),
        (&["build.zig"], &["Builds: zig build"]),
        (&["deno.json", "a_test.ts"], &["Tests: deno test", "TypeChecks: deno check ."]),
        (&["meson.build"], &["Builds: meson compile -C build"]),
        (&["run.sh", "test/a.bats"], &["Tests: bats ."]),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "")).collect();
        let ways = repository(&files).packages.remove(0).ways;
        let found: Vec<String> = ways.iter().map(|way| format!("{:?}: {}", way.deed, way.command)).collect();
        assert_eq!(found, expected, "{files:?}");
    }
}

#[test]
fn what_ci_runs_counts_where_there_is_nothing_else() {
    let workflow = "jobs:\n  check:\n    steps:\n    - uses: actions/checkout@v4\n    - run: make -C hw test\n    - run: verilator --lint-only top.v\n    - name: x\n      run: npx playwright test\n";
    check(
        &[(".github/workflows/ci.yml", workflow), ("top.v", "")],
        &[". []", "  Tests: npx playwright test"],
    );
    check(
        &[(".github/workflows/ci.yml", workflow), ("Cargo.toml", "[package]\nname='x'")],
        &[". [Rust]", "  Tests: cargo test", "  TypeChecks: cargo check"],
    );
}

/// CI says nothing beside what the language offers; and a way says which task it runs.
#[test]
fn the_tasks_behind_ways() {
    let steps = "jobs:\n  a:\n    steps:\n    - run: go test ./...\n";
    check(
        &[(".github/workflows/ci.yml", steps), ("go.mod", "module x")],
        &[". [Go]", "  Builds: go build ./...", "  Lints: go vet ./..."],
    );
    for (files, expected) in [
        (&[("Makefile", "check:\n\tpytest\n")][..], Some("check")),
        (&[("package.json", r#"{"name": "x", "scripts": {"test": "jest"}}"#)], Some("test")),
        (
            &[(".github/workflows/ci.yml", "jobs:\n  a:\n    steps:\n    - run: npx playwright test\n")],
            Some("a"),
        ),
        (&[("Cargo.toml", "[package]\nname = 'x'\n")], None),
    ] {
        let repository = repository(files);
        let task = repository.task_of(&repository.packages[0].ways[0]);
        assert_eq!(task.map(|task| task.name.as_str()), expected, "{files:?}");
    }
}

/// What a repository tests with is said by its tests where nothing else says it.
#[test]
fn unittest_is_asked_for_where_tests_are_written_for_it() {
    const OWN: &str =
        "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n";
    let asked =
        |files: &[(&str, &str)], command: &str| check(files, &[". [Python]", &format!("  Tests: {command}")]);
    asked(&[("test_a.py", OWN)], "python -m unittest");
    asked(&[("tests/test_a.py", OWN)], "python -m unittest discover -s tests");
    asked(&[("tests/__init__.py", ""), ("tests/test_a.py", OWN)], "python -m unittest");
    asked(
        &[("tests/unit/__init__.py", ""), ("tests/unit/test_a.py", OWN)],
        "python -m unittest discover -s tests",
    );
    asked(&[("tests/a_test.py", OWN)], "python -m unittest discover -s tests -p '*_test.py'");
    asked(&[("uv.lock", ""), ("test_a.py", OWN)], "uv run python -m unittest");
    // Anything that is for pytest says more.
    asked(&[("test_a.py", OWN), ("conftest.py", "")], "pytest");
    asked(&[("test_a.py", OWN), ("pytest.ini", "")], "pytest");
    asked(&[("test_a.py", OWN), ("requirements-dev.txt", "pytest==8\n")], "pytest");
    asked(&[("test_a.py", OWN), ("tests/test_b.py", "import pytest\n")], "pytest");
    asked(
        &[("test_a.py", OWN), ("tests/test_b.py", "from a import b\n\n\ndef test_b():\n    b()\n")],
        "pytest",
    );
    asked(&[("test_a.py", "from unittest.mock import patch\n")], "pytest");
    asked(&[("test_a.py", "")], "pytest");
    check(
        &[("test_a.py", OWN), ("CLAUDE.md", "Test with `python -m unittest discover -s tests`.")],
        &[". [Python]", "  Tests!: python -m unittest discover -s tests"],
    );
}

/// Nobody is asked for a linter of settings where it cannot count for the code.
#[test]
fn a_linter_of_settings_is_no_way_to_verify_code() {
    let ci = ".github/workflows/ci.yml";
    let steps = "jobs:\n  l:\n    steps:\n      - run: yamllint .\n";
    check(&[(ci, steps), ("main.py", "")], &[". [Python]"]);
    check(&[(ci, steps), ("main.tf", "")], &[". []", "  Lints: yamllint ."]);
    check(
        &[("Makefile", "lint:\n\tyamllint .\n\truff check .\n"), ("main.py", "")],
        &[". [Python]", "  Lints: make lint"],
    );
}

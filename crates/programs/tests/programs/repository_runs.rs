//! What commands run in a repository that says what its own words mean, and which packages each run is about. A run is
//! written as `Deed program <targets> [packages]`; `hidden` if the success of the command does not prove it.

use programs::repository::{Covered, Repository, RepositoryFile, Run};
use programs::shell::{Attribution, Intents};

pub(crate) fn repository(files: &[(&str, &str)]) -> Repository {
    let file = |(path, text): &(&str, &str)| RepositoryFile {
        path: (*path).to_owned(),
        text: Some((*text).to_owned()),
    };
    Repository::of_files("/r", &files.iter().map(file).collect::<Vec<_>>())
}

fn render(run: &Run) -> String {
    let named = |folders: &[String]| {
        let named = folders.iter().map(|folder| if folder.is_empty() { "." } else { folder });
        named.collect::<Vec<_>>().join(",")
    };
    let covers = match &run.covers {
        Covered::Unknown => "?".to_owned(),
        Covered::Packages(folders) => named(folders),
        Covered::Files { paths, packages } => format!("{} of {}", paths.join(","), named(packages)),
        Covered::Below { folders, tested, packages } => {
            format!("{} not {} of {}", named(folders), named(tested), named(packages))
        }
    };
    let hidden = if run.attribution == Attribution::Decides { "" } else { " hidden" };
    let targets = run.targets.iter().map(|target| format!(" <{target}>")).collect::<String>();
    format!("{:?} {}{targets} [{covers}]{hidden}", run.deed, run.program)
}

/// Checks every row and reports all that differ.
#[track_caller]
pub(crate) fn check(repository: &Repository, table: &[(&str, &[&str])]) {
    let mut wrong = String::new();
    for (command, expected) in table {
        let intents = Intents::read(command);
        let runs = intents.commands().iter().flat_map(|command| repository.runs(command, "/r"));
        let found: Vec<String> = runs.map(|run| render(&run)).collect();
        if found != *expected {
            wrong.push_str(&format!("\n  {command}\n    expected {expected:?}\n    found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn w1_tasks_of_every_runner_are_followed_to_the_programs_in_them() {
    let repository = repository(&[
        (
            "package.json",
            r#"{"name": "app", "scripts": {"test:unit": "vitest run", "check": "tsc --noEmit && npm run test:unit", "odd": "node run.js", "test": "node run.js"}}"#,
        ),
        ("Makefile", "PYTEST ?= pytest\nverify: lint\n\t$(PYTEST) -q\n\t-mypy src\nlint:\n\t@ruff check .\n"),
        ("justfile", "ci: fmt\n    cargo test\nfmt:\n    cargo fmt --check\n"),
        (
            "Taskfile.yml",
            "tasks:\n  t:\n    deps: [l]\n    cmds:\n      - go test ./...\n  l: golangci-lint run\n",
        ),
        (
            "mise.toml",
            "[tasks]\nlint = 'eslint .'\n[tasks.\"test:all\"]\ndepends = ['lint']\nrun = ['jest', 'mocha']\n",
        ),
        ("mise-tasks/db/check", "#!/usr/bin/env bash\nsqlfluff lint\npytest tests/db\n"),
        (
            "pyproject.toml",
            "[tool.poe.tasks]\nt = 'pytest'\nall = ['t', 'mypy src']\n[tool.pdm.scripts]\nx = {cmd = 'pytest -x'}\n\
             [tool.hatch.envs.dev.scripts]\ncov = 'pytest --cov'\n[tool.pixi.tasks]\np = 'pytest'\n[tool.rye.scripts]\nr = 'ruff check'\n",
        ),
        (
            "tox.ini",
            "[testenv]\ncommands = pytest\n[testenv:style]\ncommands =\n    ruff check .\n    mypy src\n",
        ),
        ("noxfile.py", "@nox.session\ndef style(session):\n    session.run(\"ruff\", \"check\")\n"),
        ("composer.json", r#"{"scripts": {"verify": ["@lint", "phpunit"], "lint": "phpstan analyse"}}"#),
        (
            "Rakefile",
            "RSpec::Core::RakeTask.new(:spec)\ntask default: [:spec]\ntask :style do\n  sh 'rubocop'\nend\n",
        ),
        ("deno.json", r#"{"tasks": {"verify": "deno check . && deno test"}}"#),
        ("devbox.json", "{\n  // scripts\n  \"shell\": {\"scripts\": {\"verify\": [\"pytest\",],}}\n}"),
        ("Cargo.toml", "[package]\nname = 'app'\n"),
        (".cargo/config.toml", "[alias]\nxtask = 'run -p xtask --'\nlint = 'clippy --all'\n"),
        ("moon.yml", "tasks:\n  verify:\n    command: 'jest'\n"),
        ("scripts/run-all.sh", "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")/..\"\npytest -q\n"),
        ("bin/check", "#!/usr/bin/env bash\ncargo clippy\n"),
    ]);
    check(
        &repository,
        &[
            ("npm run test:unit", &["Tests vitest [.]"]),
            ("pnpm check", &["TypeChecks tsc [.]", "Tests vitest [.]"]),
            ("yarn test:unit src/a.test.ts", &["Tests vitest <src/a.test.ts> [.]"]),
            ("npm run test:unit -- -t name", &["Tests vitest <name> [.]"]),
            // The name says more than the body, unless it says nothing.
            ("npm test", &["Runs node <run.js> [.]", "Tests test [.]"]),
            ("npm run odd", &["Runs node <run.js> [.]"]),
            ("make verify", &["Lints ruff <.> [.]", "Tests pytest [.]", "TypeChecks mypy <src> [.] hidden"]),
            ("make -j4 lint", &["Lints ruff <.> [.]"]),
            ("just ci", &["Lints cargo [.]", "Tests cargo [.]"]),
            ("task t", &["Lints golangci-lint [.]", "Tests go <./...> [.]"]),
            ("mise run test:all", &["Lints eslint <.> [.]", "Tests jest [.]", "Tests mocha [.]"]),
            ("mise run db:check", &["Lints sqlfluff [.] hidden", "Tests pytest <tests/db> [.]"]),
            ("uv run poe all", &["Tests pytest [.]", "TypeChecks mypy <src> [.]"]),
            ("pdm run x", &["Tests pytest [.]"]),
            ("hatch run dev:cov", &["Tests pytest [.]"]),
            ("pixi run p", &["Tests pytest [.]"]),
            ("rye run r", &["Lints ruff [.]"]),
            ("tox -e style", &["Lints ruff <.> [.]", "TypeChecks mypy <src> [.]"]),
            ("tox", &["Tests tox [.]"]),
            ("nox -s style", &["Lints ruff [.]"]),
            ("composer run verify", &["Lints phpstan [.]", "Tests phpunit [.]"]),
            ("bundle exec rake", &["Tests rspec [.]"]),
            ("rake style", &["Lints rubocop [.]"]),
            ("deno task verify", &["TypeChecks deno <.> [.]", "Tests deno [.]"]),
            ("devbox run verify", &["Tests pytest [.]"]),
            ("cargo lint", &["Lints cargo [.]"]),
            ("cargo xtask ci", &["Runs cargo <-p xtask> []", "Tests xtask <ci> [.]"]),
            ("moon run :verify", &["Tests jest [.]"]),
            ("./scripts/run-all.sh", &["Tests pytest [.]"]),
            ("bash scripts/run-all.sh", &["Tests pytest [.]"]),
            ("cd scripts && ../bin/check", &["Lints cargo [.]"]),
            ("./scripts/run-tests.sh", &["Tests run-tests.sh [.]"]),
            ("./target/debug/app --serve", &["Runs app [.]"]),
        ],
    );
}

#[test]
fn w1_without_the_repositorys_words_the_usual_names_of_tasks_and_scripts_count() {
    check(
        &Repository::default(),
        &[
            ("make verify", &["Tests make [?]"]),
            ("mise run test:unit", &["Tests mise [?]"]),
            ("./scripts/run-tests.sh", &["Tests run-tests.sh [?]"]),
            ("scripts/build.sh", &["Builds build.sh [?]"]),
            ("./deploy.sh", &["Other deploy.sh [?]"]),
            ("./target/debug/app --serve", &["Other app [?]"]),
        ],
    );
}

#[test]
fn w1_launchers_are_whatever_stands_before_a_known_runner() {
    check(
        &Repository::default(),
        &[
            ("rtk go test ./...", &["Tests go <./...> [?]"]),
            ("rtk proxy go vet ./...", &["Lints go <./...> [?]"]),
            ("doppler run -- pytest", &["Tests pytest [?]"]),
            ("aws-vault exec dev -- make test", &["Tests make [?]"]),
            ("nix develop -c cargo test", &["Tests cargo [?]"]),
            ("docker compose exec web pytest -q", &["Tests pytest [?]"]),
            ("script -qc 'cargo test' log.txt", &["Tests cargo [?]"]),
            ("nvm exec 20 npm test", &["Tests npm [?]"]),
            ("acme run one two pytest", &["Tests pytest [?]"]),
            ("acme run one two three pytest", &["Other acme <one> <two> <three> <pytest> [?]"]),
            ("./node_modules/.bin/vitest run", &["Tests vitest [?]"]),
            ("python3 .venv/bin/pytest -q", &["Tests pytest [?]"]),
            ("ruby -Itest test/a_test.rb", &["Tests ruby <test/a_test.rb> [?]"]),
            // What only shows, searches, installs or describes starts nothing.
            ("echo pytest", &[]),
            ("grep -r \"go test\" .", &[]),
            ("which pytest", &[]),
            ("man make", &[]),
            ("git commit -m \"cargo test\"", &["Commits git <-m cargo test> [?]"]),
            ("kubectl get test", &[]),
            ("apk add make", &["Other apk <add> <make> [?]"]),
        ],
    );
}

#[test]
fn w28_shells_of_windows_are_shells() {
    check(
        &Repository::default(),
        &[
            ("powershell -NoProfile -Command \"cd web; npx vitest run\"", &["Tests vitest [?]"]),
            ("pwsh -c \".\\gradlew.bat test\"", &["Tests gradlew <test> [?]"]),
            ("powershell.exe -Command npm test", &["Tests npm [?]"]),
            ("cmd /c \"npm run build && npm test\"", &["Builds npm [?]", "Tests npm [?]"]),
            ("cmd.exe /C mvn -q verify", &["Tests mvn <verify> [?]"]),
        ],
    );
}

#[test]
fn w19_what_is_only_compiled_was_built_and_what_is_only_listed_did_nothing() {
    check(
        &Repository::default(),
        &[
            ("cargo test --no-run", &["Builds cargo <--no-run> [?]"]),
            ("go test -run '^$' ./...", &["Builds go <./...> <-run ^$> [?]"]),
            ("mvn -DskipTests package", &["Builds mvn <package> [?]"]),
            ("./gradlew build -x test", &["Builds gradlew <build> <test> [?]"]),
            ("pytest --collect-only", &[]),
            ("make -n test", &[]),
            ("tox -l", &[]),
        ],
    );
}

fn monorepo() -> Repository {
    repository(&[
        (
            "package.json",
            r#"{"name": "root", "workspaces": ["packages/*"], "scripts": {"test": "pnpm -r test", "test:web": "pnpm --filter web test", "lint": "eslint ."}}"#,
        ),
        (
            "packages/web/package.json",
            r#"{"name": "@acme/web", "scripts": {"test": "vitest run", "build": "vite build"}}"#,
        ),
        ("packages/api/package.json", r#"{"name": "@acme/api", "scripts": {"test": "jest"}}"#),
        ("Cargo.toml", "[workspace]\nmembers = ['crates/*']\n"),
        ("crates/one/Cargo.toml", "[package]\nname = 'one'\n"),
        ("crates/two/Cargo.toml", "[package]\nname = 'two'\n"),
        ("services/go.mod", "module example.com/services\n"),
        ("services/tools/go.mod", "module example.com/tools\n"),
        ("jobs/pyproject.toml", "[project]\nname = 'jobs'\n"),
    ])
}

#[test]
fn l5_a_run_is_about_the_packages_of_its_folder() {
    check(
        &monorepo(),
        &[
            ("cd packages/web && npm test", &["Tests vitest [packages/web]"]),
            ("cd packages/web/src && npx vitest run", &["Tests vitest [packages/web]"]),
            ("cd /r/packages/api && npx jest", &["Tests jest [packages/api]"]),
            ("cd /elsewhere && npx jest", &["Tests jest []"]),
            ("cd \"$DIR\" && npx jest", &["Tests jest [?]"]),
            ("npm --prefix packages/web test", &["Tests vitest [packages/web]"]),
            ("pnpm -C packages/api test", &["Tests jest [packages/api]"]),
            ("uv --directory jobs run pytest", &["Tests pytest [jobs]"]),
            ("pytest jobs/tests", &["Tests pytest <jobs/tests> [jobs]"]),
            ("pytest", &["Tests pytest [.,jobs]"]),
            ("cd services && go test ./...", &["Tests go <./...> [services]"]),
            ("go -C services/tools test ./...", &["Tests go <./...> [services/tools]"]),
            ("npx eslint .", &["Lints eslint <.> [.,packages/api,packages/web]"]),
        ],
    );
}

/// A run of tests that was given folders, or that ran in one, is about what lies there; tests themselves are about their package.
#[test]
fn l8_a_run_of_tests_is_about_the_folders_that_it_was_given() {
    let python = repository(&[
        ("pyproject.toml", "[project]\nname = 'app'\n"),
        ("test_calc.py", ""),
        ("lib/test_m.py", ""),
        ("core/tests/unit/test_c.py", ""),
        ("tests/unit/test_a.py", ""),
        ("jobs/pyproject.toml", "[project]\nname = 'jobs'\n"),
        ("Makefile", "t:\n\tpytest lib\n"),
        ("scripts/verify.sh", "cd lib && pytest\n"),
    ]);
    let lib = "Tests pytest <lib> [lib not .,core of .]";
    check(
        &python,
        &[
            ("pytest -q lib", &[lib]),
            ("pytest lib/", &["Tests pytest <lib/> [lib not .,core of .]"]),
            ("cd lib && pytest -q", &["Tests pytest [lib not .,core of .]"]),
            ("cd lib && pytest ..", &["Tests pytest <..> [.,jobs]"]),
            ("pytest lib core", &["Tests pytest <lib> <core> [lib,core not . of .]"]),
            ("pytest lib jobs", &["Tests pytest <lib> <jobs> [lib,jobs not .,core of .,jobs]"]),
            ("pytest jobs", &["Tests pytest <jobs> [jobs]"]),
            ("pytest jobs/tests", &["Tests pytest <jobs/tests> [jobs]"]),
            ("pytest -xvs -k name -n 4 lib", &["Tests pytest <lib> <-k name> [lib not .,core of .]"]),
            ("pytest .", &["Tests pytest <.> [.,jobs]"]),
            ("pytest", &["Tests pytest [.,jobs]"]),
            // Whoever chooses tests knows what they are about.
            ("pytest tests", &["Tests pytest <tests> [.,jobs]"]),
            ("pytest tests/unit", &["Tests pytest <tests/unit> [.,jobs]"]),
            ("cd tests/unit && pytest", &["Tests pytest [.,jobs]"]),
            ("pytest core/tests", &["Tests pytest <core/tests> [.,jobs]"]),
            ("pytest lib/test_m.py::test_a", &["Tests pytest <lib/test_m.py::test_a> [.]"]),
            ("pytest checks.py", &["Tests pytest <checks.py> [.]"]),
            // What may be the value of an option is no folder, and a task stands for its package.
            ("pytest --cov lib", &["Tests pytest <lib> [.,jobs]"]),
            ("pytest \"$DIR\"", &["Tests pytest <$DIR> [.,jobs]"]),
            ("pytest lib/*", &["Tests pytest <lib/*> [.]"]),
            ("make t", &["Tests pytest <lib> [.,jobs]"]),
            ("./scripts/verify.sh", &["Tests pytest [.]"]),
            // A container has folders of its own.
            ("cd lib && docker compose exec -T web pytest", &["Tests pytest [.]"]),
            ("docker run --rm -w /app/lib web sh -c 'pytest lib'", &["Tests pytest <lib> [.,jobs]"]),
            ("cd lib && ddev exec pytest", &["Tests pytest [.]"]),
            // What only starts a command does so where it stands.
            ("rtk pytest lib", &[lib]),
            ("doppler run -- pytest lib", &[lib]),
            ("cd lib && doppler run -- pytest", &["Tests pytest [lib not .,core of .]"]),
        ],
    );
    let go = repository(&[("go.mod", "module x\n"), ("a/a_test.go", ""), ("b/b_test.go", "")]);
    check(
        &go,
        &[
            ("go test ./a", &["Tests go <./a> [a not b of .]"]),
            ("go test -race ./a/...", &["Tests go <./a/...> [a not b of .]"]),
            ("go test -run 'TestF' ./a", &["Tests go <./a> <-run TestF> [a not b of .]"]),
            ("cd a && go test ./...", &["Tests go <./...> [a not b of .]"]),
            ("cd a && go test", &["Tests go [a not b of .]"]),
            ("go test ./a ./b", &["Tests go <./a> <./b> [a,b not  of .]"]),
            ("go test ./...", &["Tests go <./...> [.]"]),
            ("go test -coverprofile out ./...", &["Tests go <out> <./...> [.]"]),
            ("go test ./integration/...", &["Tests go <./integration/...> [.]"]),
            ("go test --unknown ./a", &["Tests go <./a> [.]"]),
            ("go test a/a_test.go", &["Tests go <a/a_test.go> [.]"]),
            // A package by its import path.
            ("go test x/b/...", &["Tests go <x/b/...> [b not a of .]"]),
            ("cd a && go test x/b", &["Tests go <x/b> [b not a of .]"]),
            ("go test x/a x/b", &["Tests go <x/a> <x/b> [a,b not  of .]"]),
            ("go test x/...", &["Tests go <x/...> [.]"]),
            ("go test x", &["Tests go <x> [.]"]),
            ("go test x/model", &["Tests go <x/model> [model not a,b of .]"]),
            ("go test x/integration/...", &["Tests go <x/integration/...> [.]"]),
            ("cd a && go test all", &["Tests go <all> [.]"]),
            // What the module is called may not be known.
            ("go test ./a example.com/me/x/b", &["Tests go <./a> <example.com/me/x/b> [a,b not  of .]"]),
            // Packages of others.
            ("go test fmt", &["Tests go <fmt> []"]),
            ("go test ./a fmt", &["Tests go <./a> <fmt> [a not b of .]"]),
            ("cd /elsewhere && go test x/b", &["Tests go <x/b> []"]),
            ("docker compose exec web go test fmt", &["Tests go <fmt> [.]"]),
        ],
    );
    let unnamed = repository(&[("go.mod", ""), ("a/a_test.go", ""), ("b/b_test.go", "")]);
    check(
        &unnamed,
        &[
            ("go test example.com/me/shop/...", &["Tests go <example.com/me/shop/...> [.]"]),
            ("go test example.com/me/shop/b", &["Tests go <example.com/me/shop/b> [b not a of .]"]),
        ],
    );
    let modules = repository(&[
        ("go.mod", "module example.com/me/shop // the shop\n"),
        ("a/a_test.go", ""),
        ("tools/go.mod", "module example.com/me/shop/tools\n"),
        ("tools/gen/gen_test.go", ""),
        ("tools/doc/doc_test.go", ""),
    ]);
    let gen_alone = "Tests go <example.com/me/shop/tools/gen> [tools/gen not a,tools/doc of tools]";
    check(
        &modules,
        &[
            ("cd tools && go test example.com/me/shop/tools/gen", &[gen_alone]),
            ("go test example.com/me/shop/...", &["Tests go <example.com/me/shop/...> [.]"]),
            ("go test example.com/me/...", &["Tests go <example.com/me/...> [.,tools]"]),
            ("go test example.com/me/shop/tools/...", &["Tests go <example.com/me/shop/tools/...> [tools]"]),
        ],
    );
    let mixed = repository(&[
        ("pyproject.toml", "[project]\nname = 'app'\n"),
        ("package.json", r#"{"name": "app"}"#),
        ("js/a.test.js", ""),
        ("py/test_a.py", ""),
    ]);
    check(&mixed, &[("node --test js", &["Tests node <--test js> [js not py of .]"])]);
}

/// The program that an interpreter is given, if it is known where it lies.
#[test]
fn a_program_lies_where_its_interpreter_looks_for_it() {
    let repository = monorepo();
    for (command, expected) in [
        ("python app.py", Some("app.py")),
        ("cd packages/api && node lib/check.js | tail", Some("packages/api/lib/check.js")),
        ("bun --cwd packages/api run check.ts | tail", Some("packages/api/check.ts")),
        ("cd \"$X\" && python app.py", None),
        ("docker compose exec -T web python app.py", None),
        ("docker compose exec -T web sh -c 'python app.py'", None),
        ("kubectl exec web -- python app.py", None),
        ("ddev exec python app.py", None),
        ("timeout 5 python app.py", Some("app.py")),
    ] {
        let intents = Intents::read(command);
        let mut files =
            intents.commands().iter().filter_map(|command| repository.program_file(command, "/r"));
        assert_eq!(files.next().as_deref(), expected, "{command}");
    }
}

#[test]
fn l5_the_package_of_a_path_is_the_nearest_above_it() {
    let repository = monorepo();
    for (path, expected) in [
        ("packages/web/src/a.ts", Some("packages/web")),
        ("packages/web", Some("packages/web")),
        ("/r/packages/web/", Some("packages/web")),
        ("packages/website/a.ts", Some("")),
        ("./packages/../jobs/a.py", Some("jobs")),
        ("services/tools/a.go", Some("services/tools")),
        ("services/toolset/a.go", Some("services")),
        ("a.md", Some("")),
        ("", Some("")),
        ("/r", Some("")),
        ("/rest/a.md", None),
        ("/elsewhere/a.md", None),
        ("../a.md", None),
    ] {
        let package = repository.package_of(path).map(|package| package.folder.as_str());
        assert_eq!(package, expected, "{path}");
    }
    assert_eq!(Repository::default().package_of("a.md"), None);
    assert_eq!(Repository { root: String::new(), ..repository }.package_of("/r/a.md"), None);
}

/// A program of the repository runs it, unless it was installed there or lies elsewhere.
#[test]
fn programs_by_their_paths() {
    check(
        &monorepo(),
        &[
            (
                "./app",
                &[
                    "Runs app [.,crates/one,crates/two,jobs,packages/api,packages/web,services,services/tools]",
                ],
            ),
            ("cd jobs && ./app --serve", &["Runs app [jobs]"]),
            ("cd jobs && ../services/app x.py", &["Runs app <x.py> [jobs]"]),
            ("cd jobs && ./node_modules/.bin/app", &["Other app [jobs]"]),
            ("cd jobs && ./vendor/app", &["Other app [jobs]"]),
            ("cd jobs && /usr/lib/app", &["Other app [jobs]"]),
            ("cd jobs && ../../app", &["Other app [jobs]"]),
            ("cd /elsewhere && ./app", &["Other app []"]),
            ("cd \"$X\" && ./app", &["Other app [?]"]),
            ("cd jobs && ./run_tests.sh", &["Tests run_tests.sh [jobs]"]),
            ("cd jobs && ./run_tests", &["Runs run_tests [jobs]"]),
            ("cd jobs && bin/lint", &["Lints lint [jobs]"]),
            ("cd jobs && ./deploy.sh", &["Runs deploy.sh [jobs]"]),
        ],
    );
}

#[test]
fn l5_options_name_folders() {
    check(
        &monorepo(),
        &[
            ("npm --prefix=packages/web test", &["Tests vitest [packages/web]"]),
            ("cd packages && npm --prefix web test", &["Tests vitest [packages/web]"]),
            ("cd crates && cargo test --manifest-path one/Cargo.toml", &["Tests cargo [crates/one]"]),
            ("cargo test --manifest-path ../Cargo.toml", &["Tests cargo []"]),
            ("cd \"$X\" && cargo test --manifest-path one/Cargo.toml", &["Tests cargo [?]"]),
            ("cargo -C crates/two test", &["Tests cargo [crates/two]"]),
            ("cargo -Ccrates/two test", &["Tests cargo [crates/two]"]),
            ("npm test --prefix packages/web", &["Tests vitest [packages/web]"]),
            ("npm -C packages/web test", &["Tests vitest [packages/web]"]),
            ("pnpm --dir packages/api test", &["Tests jest [packages/api]"]),
            ("yarn --cwd packages/api test", &["Tests jest [packages/api]"]),
            ("bun --cwd packages/api run test", &["Tests jest [packages/api]"]),
        ],
    );
}

#[test]
fn l5_a_run_is_about_the_packages_of_its_flags() {
    check(
        &monorepo(),
        &[
            ("cargo test -p one", &["Tests cargo <-p one> [crates/one]"]),
            ("cargo test -pone", &["Tests cargo <-p one> [crates/one]"]),
            ("cargo test --workspace --exclude one", &["Tests cargo <--exclude one> [.,crates/two]"]),
            ("cargo test --package=two", &["Tests cargo <--package two> [crates/two]"]),
            ("cargo test --manifest-path crates/one/Cargo.toml", &["Tests cargo [crates/one]"]),
            ("npm test -w web", &["Tests vitest [packages/web]"]),
            ("pnpm --filter @acme/api test", &["Tests jest [packages/api]"]),
            ("pnpm --filter './packages/web' exec vitest run", &["Tests vitest [packages/web]"]),
            ("yarn workspace @acme/web test", &["Tests vitest [packages/web]"]),
            ("pnpm run test:web", &["Tests vitest [packages/web]"]),
            ("pnpm --filter other test", &["Tests pnpm <--filter other> []"]),
        ],
    );
}

#[test]
fn l5_a_run_at_the_root_is_about_all_whose_tests_it_runs() {
    check(
        &monorepo(),
        &[
            ("cargo test", &["Tests cargo [.,crates/one,crates/two]"]),
            ("cd crates/one && cargo test", &["Tests cargo [crates/one]"]),
            ("cd crates/one && cargo test --workspace", &["Tests cargo [.,crates/one,crates/two]"]),
            ("pnpm test", &["Tests jest [packages/api]", "Tests vitest [packages/web]"]),
            ("turbo run test", &["Tests jest [packages/api]", "Tests vitest [packages/web]"]),
            ("turbo run build --filter=web", &["Builds vite [packages/web]"]),
            ("cd packages/web && pnpm -w lint", &["Lints eslint <.> [.,packages/api,packages/web]"]),
        ],
    );
}

#[test]
fn l5_one_package_alone_is_the_one_at_the_root() {
    let repository = repository(&[("package.json", r#"{"name": "app", "scripts": {"test": "vitest run"}}"#)]);
    check(
        &repository,
        &[
            ("turbo run test", &["Tests vitest [.]"]),
            ("pnpm -r test", &["Tests vitest [.]"]),
            ("pnpm --filter '!app' test", &["Tests pnpm <--filter !app> []"]),
            ("pnpm --filter '!other' test", &["Tests vitest [.]"]),
            ("pnpm --filter '...app^...' test", &["Tests vitest [.]"]),
            ("pnpm --filter 'a*' test", &["Tests vitest [.]"]),
            ("npm test --workspaces", &["Tests vitest [.]"]),
        ],
    );
}

#[test]
fn tasks_that_call_each_other_end() {
    let repository = repository(&[
        ("Makefile", "a: b\n\t$(MAKE) c\nb: a\n\tpytest\nc:\n\tmake a\n"),
        ("package.json", r#"{"name": "x", "scripts": {"test": "npm run test"}}"#),
    ]);
    check(&repository, &[("make a", &["Tests pytest [.]"]), ("npm test", &[])]);
}

/// Of a body that is not understood the name alone is known.
#[test]
fn a_task_that_is_not_understood_is_taken_by_its_name() {
    let repository = repository(&[(
        "package.json",
        r#"{"name": "x", "scripts": {"test": "echo 'unterminated", "lint": "echo nothing", "other": "echo 'x"}}"#,
    )]);
    check(&repository, &[("npm test", &["Tests test [.]"]), ("npm run lint", &[]), ("npm run other", &[])]);
}

/// Eight within each other, any number one after the other, and 64 runs in all.
#[test]
fn tasks_are_followed_only_so_deep() {
    let chain = |count: usize| {
        let calls = (1..count).map(|at| format!("t{at}:\n\t$(MAKE) t{}\n", at + 1)).collect::<String>();
        let needs = (1..count).map(|at| format!("n{at}: n{}\n", at + 1)).collect::<String>();
        repository(&[("Makefile", &format!("{calls}t{count}:\n\tpytest\n{needs}n{count}:\n\tpytest\n"))])
    };
    check(&chain(8), &[("make t1", &["Tests pytest [.]"]), ("make n1", &["Tests pytest [.]"])]);
    check(&chain(9), &[("make t1", &[]), ("make n1", &[]), ("make t2", &["Tests pytest [.]"])]);
    let script = |at: usize| (format!("scripts/s{at}.sh"), format!("./scripts/s{}.sh\n", at + 1));
    let scripts: Vec<(String, String)> =
        (1..8).map(script).chain([("scripts/s8.sh".to_owned(), "pytest\n".to_owned())]).collect();
    let scripts: Vec<(&str, &str)> =
        scripts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    check(&repository(&scripts), &[("./scripts/s1.sh", &["Tests pytest [.]"])]);
    let names: Vec<String> = (1..=20).map(|at| format!("a{at}")).collect();
    let targets = format!("all: {0}\n{0}:\n\tpytest $@\n", names.join(" "));
    let many = format!("many:\n{}", "\tpytest\n".repeat(70));
    let repository = repository(&[("Makefile", &format!("{targets}{many}"))]);
    let count = |command: &str| {
        let intents = Intents::read(command);
        repository.runs(&intents.commands()[0], "/r").len()
    };
    assert_eq!((count("make all"), count("make many")), (20, 64));
}

#[test]
fn w22_a_commit_may_run_its_hooks() {
    let repository = repository(&[
        ("lefthook.yml", "pre-commit:\n  commands:\n    test:\n      run: go test ./...\n"),
        (".husky/pre-commit", "npx tsc\n"),
        (".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - id: mypy\n"),
    ]);
    check(
        &repository,
        &[
            (
                "git commit -m x",
                &[
                    "Tests go <./...> [.] hidden",
                    "TypeChecks tsc [.] hidden",
                    "TypeChecks mypy [.] hidden",
                    "Commits git <-m x> [.]",
                ],
            ),
            ("git commit --no-verify -m x", &["Commits git <-m x> [.]"]),
        ],
    );
}

#[test]
fn only_what_the_commands_of_a_turn_lead_to_is_kept() {
    let mut repository = repository(&[
        ("Makefile", "a: b\n\t./scripts/x.sh\nb:\n\tpytest\nc:\n\tpytest\n"),
        ("scripts/x.sh", "cargo test\n"),
        ("scripts/y.sh", "cargo test\n"),
    ]);
    let intents = Intents::read("make a");
    let before: Vec<Run> =
        intents.commands().iter().flat_map(|command| repository.runs(command, "/r")).collect();
    repository.keep_used(intents.commands(), "/r");
    let names: Vec<&str> = repository.tasks.iter().map(|task| task.name.as_str()).collect();
    let scripts: Vec<&str> = repository.scripts.iter().map(|script| script.path.as_str()).collect();
    let after: Vec<Run> =
        intents.commands().iter().flat_map(|command| repository.runs(command, "/r")).collect();
    assert_eq!((names, scripts, before), (vec!["a", "b"], vec!["scripts/x.sh"], after));
}

/// What strangers type: the settings of a type checker, a module of one build, a target of make, a list of scripts.
#[test]
fn w1_what_chooses_a_place_or_nothing_is_told_apart() {
    let node = repository(&[
        (
            "package.json",
            r#"{"name": "root", "workspaces": ["packages/*"], "scripts": {"types": "tsc --build ./tsconfig.json"}}"#,
        ),
        ("packages/web/package.json", r#"{"name": "web", "scripts": {"test": "vitest"}}"#),
        ("packages/api/package.json", r#"{"name": "api", "scripts": {"test": "jest"}}"#),
    ]);
    let all = "TypeChecks tsc <tsconfig.json> [.,packages/api,packages/web]";
    check(
        &node,
        &[
            ("npx tsc -b tsconfig.json", &[all]),
            ("npm run types", &["TypeChecks tsc <./tsconfig.json> [.,packages/api,packages/web]"]),
            (
                "npx tsc -p tsconfig.json --noEmit",
                &["TypeChecks tsc <-p tsconfig.json> [.,packages/api,packages/web]"],
            ),
            (
                "npx tsc -p packages/web/tsconfig.json",
                &["TypeChecks tsc <-p packages/web/tsconfig.json> [packages/web]"],
            ),
            ("npx tsc --project packages/web", &["TypeChecks tsc <--project packages/web> [packages/web]"]),
            ("npx tsc -b packages/web", &["TypeChecks tsc <packages/web> [packages/web]"]),
            // A list of what there is.
            ("npm run", &[]),
            (
                "pnpm --filter '...[HEAD]' test",
                &["Tests pnpm <--filter ...[HEAD]> [.,packages/api,packages/web]"],
            ),
            ("pnpm --filter web,api test", &["Tests jest [packages/api]", "Tests vitest [packages/web]"]),
        ],
    );
    let java = repository(&[("pom.xml", "<project/>"), ("core/pom.xml", "<project/>")]);
    check(
        &java,
        &[
            ("./mvnw -pl core test", &["Tests mvnw <test> <-pl core> [.]"]),
            ("mvn verify -DskipTests", &["Builds mvn <verify> [.]"]),
        ],
    );
    let c = repository(&[
        ("configure", ""),
        ("Makefile", "default: all\n.DEFAULT:\n\tcd src && $(MAKE) $@\n"),
        ("src/server.c", ""),
    ]);
    check(
        &c,
        &[
            ("make -j4", &["Builds default [.]"]),
            ("make server", &["Builds make [.]"]),
            ("make distclean", &["Other make [.]"]),
        ],
    );
}

/// Code on standard input and a program of the repository's own have run; what is asked of it is no option of the starter.
#[test]
fn w20_having_run_the_program_is_a_run() {
    let python = repository(&[("pyproject.toml", "[project]\nname = 'My_App'\n"), ("tests/test_a.py", "")]);
    check(
        &python,
        &[
            ("uv run python - <<'PY'\nimport my_app\nPY", &["Runs python [.]"]),
            ("python -m my_app --check", &["Runs python <-m my_app> [.]"]),
            ("my-app --serve", &["Runs my-app [.]"]),
            ("other --check", &["Other other [.]"]),
        ],
    );
    let rust = repository(&[("Cargo.toml", "[package]\nname = 'tool'\n")]);
    check(
        &rust,
        &[
            ("cargo run -- --list", &["Runs cargo [.]"]),
            ("cargo test -- --list", &[]),
            ("mix run -e 'IO.puts 1'", &["Runs mix <-e IO.puts 1> [.]"]),
        ],
    );
}

/// A check that is given files looks at these, and not at the package around them.
#[test]
fn a_check_of_files_is_about_these_files() {
    let repository = repository(&[
        ("pyproject.toml", "[project]\nname = 'app'\n"),
        ("Makefile", "syntax:\n\tpython -m py_compile app/a.py\n"),
        ("web/package.json", r#"{"name": "web", "scripts": {"lint": "eslint src/a.ts"}}"#),
        (".github/workflows/ci.yml", "jobs:\n  c:\n    steps:\n      - run: shellcheck install.sh\n"),
        (".shellcheckrc", ""),
        ("tools/package.json", r#"{"name": "tools"}"#),
    ]);
    check(
        &repository,
        &[
            ("python -m py_compile app/a.py", &["TypeChecks py_compile <app/a.py> [app/a.py of .]"]),
            (
                "cd app && uv run mypy --python-version 3.12 a.py",
                &["TypeChecks mypy <3.12> <a.py> [app/a.py of .]"],
            ),
            (
                "cd web && npx eslint src/a.ts ../tools/b.ts",
                &["Lints eslint <src/a.ts> <../tools/b.ts> [web/src/a.ts,tools/b.ts of web,tools]"],
            ),
            ("ruff check app/a.py", &["Lints ruff <app/a.py> [app/a.py of .]"]),
            (
                "npx tsc --noEmit --target es2022 web/a.ts",
                &["TypeChecks tsc <es2022> <web/a.ts> [web/a.ts of web]"],
            ),
            ("gcc -Wall -I include -c a.c -o a.o", &["Builds gcc <include> <a.o> [a.c of .]"]),
            ("shellcheck scripts/*.sh", &["Lints shellcheck <scripts/*.sh> [scripts/*.sh of .]"]),
            ("npx eslint -c web/x.js 'web/**/*.ts'", &["Lints eslint <web/**/*.ts> [web/**.ts of web]"]),
            ("bash -n a.sh b.sh", &["Lints bash <b.sh> [a.sh of .]"]),
            ("node --check web/a.js", &["Lints node <web/a.js> [web/a.js of web]"]),
            ("ruby -wc a.rb", &["Lints ruby <a.rb> [a.rb of .]"]),
            ("perl -c a.pl", &["Lints perl [a.pl of .]"]),
            ("python -m py_compile /tmp/x.py", &["TypeChecks py_compile </tmp/x.py> [ of ]"]),
            ("python -m py_compile /r/app/a.py", &["TypeChecks py_compile </r/app/a.py> [app/a.py of .]"]),
            // What follows imports, takes a folder or cannot be read is about the package.
            ("esbuild web/a.ts --bundle", &["Builds esbuild <web/a.ts> [web]"]),
            ("mypy app", &["TypeChecks mypy <app> [.]"]),
            ("mypy", &["TypeChecks mypy [.]"]),
            ("cd web && eslint --config a.config.js", &["Lints eslint [web]"]),
            ("eslint web/src web/a.ts", &["Lints eslint <web/src> <web/a.ts> [web]"]),
            (
                "for f in *.py; do python -m py_compile \"$f\"; done",
                &["TypeChecks py_compile <$f> [.,tools,web]"],
            ),
            ("pytest tests/test_a.py", &["Tests pytest <tests/test_a.py> [.]"]),
            ("ruby app.rb -c settings.yml", &["Runs ruby <app.rb> [.]"]),
            // A task stands for its package, whatever it names.
            ("make syntax", &["TypeChecks py_compile <app/a.py> [.]"]),
            ("cd web && npm run lint", &["Lints eslint <src/a.ts> [web]"]),
        ],
    );
}

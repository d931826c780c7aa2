//! The less usual spellings of task files: each is followed to the programs that it runs, as its runner would.

use crate::repository_runs::{check, repository};

#[test]
fn makefiles_assign_append_and_keep() {
    let repository = repository(&[(
        "Makefile",
        "# NAME = ignored: by make\n\
         TOOL = mypy\nTOOL ?= pytest\nUNSET ?= pytest\n\
         export WHERE = src\noverride AND := lib\nWHERE += tools\n\
         ONE = $(TWO)\nTWO = ${THREE}\nTHREE = tests\n\
         LEFT = $(RIGHT)\nRIGHT = $(LEFT)\n\
         .PHONY: first\n%.o: %.c\n\tpytest\n\
         first: ## what `make` runs\n\t# pytest is not run here\n\t@+$(TOOL) $(WHERE) $(AND)\n\
         unset:\n\t$(UNSET)\n\
         nested:\n\tpytest $(ONE)\n\
         loop:\n\tpytest $(LEFT) a\n\
         unknown:\n\t$(CARGO) test $(NOBODY) $$HOME\n\
         long:\n\tpytest \\\n\t  a \\\n\t  b\n\
         ignored:\n\t-@pytest\n\tmypy a\n\
         one two: ; pytest $@\n\
         three: one|two\n\
         many: one two\n\
         twice:\n\tpytest a\ntwice: one\n\
         MY-TOOL_2 := ruff check\nA B = mypy\n== = mypy\n\
         dashed:\n\t$(MY-TOOL_2) $(A B)\n\
         a.o b.o: x=1\na.o:\n\tpytest object\n\
         double::\n\tpytest double\n",
    )]);
    check(
        &repository,
        &[
            ("make", &["TypeChecks mypy <src> <tools> <lib> [.]"]),
            ("make first", &["TypeChecks mypy <src> <tools> <lib> [.]"]),
            ("make unset", &["Tests pytest [.]"]),
            ("make nested", &["Tests pytest <tests> [.]"]),
            ("make loop", &["Tests pytest <a> [.]"]),
            ("make unknown", &["Tests cargo <$HOME> [.]"]),
            ("make long", &["Tests pytest <a> <b> [.]"]),
            ("make ignored", &["Tests pytest [.] hidden", "TypeChecks mypy <a> [.]"]),
            ("make one", &["Tests pytest <one> [.]"]),
            ("make many", &["Tests pytest <one> [.]", "Tests pytest <two> [.]"]),
            ("make twice", &["Tests pytest <one> [.]", "Tests pytest <a> [.]"]),
            ("make dashed", &["Lints ruff [.]"]),
            ("make a.o", &["Tests pytest <object> [.]"]),
            ("make double", &["Tests pytest <double> [.]"]),
            ("make first unset", &["TypeChecks mypy <src> <tools> <lib> [.]", "Tests pytest [.]"]),
            ("make V=1 unset", &["Tests pytest [.]"]),
        ],
    );
}

#[test]
fn justfiles_have_aliases_variables_and_scripts() {
    let repository = repository(&[(
        "justfile",
        "set dotenv-load\nexport where := 'src'\nalias c := check\n\n\
         # the first is the default\n[private]\n@check target=\"x\": (style \"a\") && after\n    mypy {{where}} {{ where }}\n\
         style what:\n    ruff check {{what}}\n\
         after:\n    -pytest # all\n    # nothing\n\
         script:\n    #!/usr/bin/env bash\n    if true; then\n      pytest a\n    fi\n\n\
         [group: 'x']\n@quiet *args='': \n    @pytest {{args}}\n\n    [ -f a ]\n\n# end: no recipe\nno recipe\n",
    )]);
    check(
        &repository,
        &[
            (
                "just",
                &["Lints ruff <{{what}}> [.]", "Tests pytest [.] hidden", "TypeChecks mypy <src> <src> [.]"],
            ),
            (
                "just c",
                &["Lints ruff <{{what}}> [.]", "Tests pytest [.] hidden", "TypeChecks mypy <src> <src> [.]"],
            ),
            ("just script", &["Tests pytest <a> [.] hidden"]),
            ("just quiet", &["Tests pytest <{{args}}> [.]"]),
        ],
    );
}

#[test]
fn taskfiles_are_read_as_yaml_is() {
    let repository = repository(&[(
        "Taskfile.yml",
        "---\n# of all\nversion: \"3\"\n\ntasks: # here\n\
         \x20 'quoted name': 'pytest ''a b'''\n\
         \x20 \"escaped\": \"pytest \\\"a b\\\" # no comment\"\n\
         \x20 plain: pytest a # a comment\n\
         \x20 hash: pytest a#b\n\
         \x20 block:\n    cmds:\n      - |\n        pytest a\n        \n        mypy b\n      - >\n        ruff\n        check\n    desc: x\n\
         \x20 flush:\n    cmds:\n    - pytest a\n    -\n      cmd: mypy b\n    - cmd: ruff check\n      silent: true\n\
         \x20 needing:\n    deps: [ plain, \"hash\", ]\n    cmds: []\n\
         \x20 needed:\n    deps:\n      - plain\n      - task: hash\n    cmd: mypy b\n\
         \x20 odd:\n      cmds:\n        - pytest a\n        stray\n          - mypy b\n\
         other:\n  lost: pytest\n",
    )]);
    check(
        &repository,
        &[
            ("task 'quoted name'", &["Tests pytest <a b> [.]"]),
            ("task escaped", &["Tests pytest <a b> [.]"]),
            ("task plain", &["Tests pytest <a> [.]"]),
            ("task hash", &["Tests pytest <a#b> [.]"]),
            ("task block", &["Tests pytest <a> [.]", "TypeChecks mypy <b> [.]", "Lints ruff [.]"]),
            ("task flush", &["Tests pytest <a> [.]", "TypeChecks mypy <b> [.]", "Lints ruff [.]"]),
            ("task needing", &["Tests pytest <a> [.]", "Tests pytest <a#b> [.]"]),
            ("task needed", &["Tests pytest <a> [.]", "Tests pytest <a#b> [.]", "TypeChecks mypy <b> [.]"]),
            ("task odd", &["Tests pytest <a> [.]"]),
            ("task lost", &["Other task [.]"]),
        ],
    );
}

#[test]
fn tasks_in_toml_and_json_have_many_shapes() {
    let repository = repository(&[
        (
            "mise.toml",
            "[tasks.a]\nrun = 'pytest a'\n[tasks.b]\nrun = ['pytest b', 'mypy b']\ndepends = 'a'\n\
             [tasks.c]\ndepends_on = ['a', 'b']\n[tasks.d]\nrun = 'pytest d'\ndir = '{{cwd}}'\n",
        ),
        ("mise-tasks/e.sh", "#!/bin/sh\n#MISE depends=[\"a\", \"d\"]\nmypy e\n"),
        (
            "pyproject.toml",
            "[tool.poe.tasks]\none = 'pytest a'\ntwo.sequence = ['one', 'mypy b']\nthree.shell = 'ruff check'\nthree.deps = ['one']\n\
             four = ['one', 'three']\n[tool.pdm.scripts]\nall.composite = ['first', 'mypy b']\nfirst = 'pytest a'\n\
             [tool.tox.env.style]\ncommands = [['ruff', 'check'], ['mypy', 'src']]\n",
        ),
        (
            "composer.json",
            r#"{"scripts": {"a": "@php vendor/bin/phpunit", "b": ["@a", "@composer run c"], "c": "phpstan analyse"}}"#,
        ),
        (
            "deno.json",
            "{\n  // comment\n  \"tasks\": {\"a\": {\"command\": \"deno test\", \"dependencies\": [\"b\"]}, \"b\": \"deno lint\",},\n}",
        ),
        ("package.json", r#"{"name": "x", "scripts": {"a": "jest a", "b": 3}}"#),
    ]);
    check(
        &repository,
        &[
            ("mise run a", &["Tests pytest <a> [.]"]),
            ("mise run b", &["Tests pytest <a> [.]", "Tests pytest <b> [.]", "TypeChecks mypy <b> [.]"]),
            ("mise run c", &["Tests pytest <a> [.]", "Tests pytest <b> [.]", "TypeChecks mypy <b> [.]"]),
            ("mise run d", &["Tests pytest <d> [.]"]),
            ("mise run e", &["Tests pytest <a> [.]", "Tests pytest <d> [.]", "TypeChecks mypy <e> [.]"]),
            ("poe two", &["Tests pytest <a> [.]", "TypeChecks mypy <b> [.]"]),
            ("poe three", &["Tests pytest <a> [.]", "Lints ruff [.]"]),
            ("poe four", &["Tests pytest <a> [.]", "Lints ruff [.]"]),
            ("pdm run all", &["Tests pytest <a> [.]", "TypeChecks mypy <b> [.]"]),
            ("tox -e style", &["Lints ruff [.]", "TypeChecks mypy <src> [.]"]),
            ("composer run a", &["Tests phpunit [.]"]),
            ("composer run b", &["Tests phpunit [.]", "Lints phpstan [.]"]),
            ("deno task a", &["Lints deno [.]", "Tests deno [.]"]),
            ("npm run a", &["Tests jest <a> [.]"]),
        ],
    );
}

#[test]
fn rakefiles_have_needs_commands_and_tasks_of_libraries() {
    let repository = repository(&[(
        "Rakefile",
        "require 'rake/testtask'\n\
         task :style_all do\n  sh 'rubocop'\n  sh(\"rspec spec/a_spec.rb\")\nend\n\
         task check: [:style_all, :spec]\n\
         task :all => %w[check types]\n\
         task 'types' do |t|\n  sh \"mypy src\"\nend\n\
         task(:release)\n\
         RSpec::Core::RakeTask.new(:spec)\n\
         RuboCop::RakeTask.new\n\
         Rake::TestTask.new do |t|\n  t.libs << 'test'\nend\n\
         Rake::TestTask.new(:slow_ones) { |t| t.pattern = 'slow' }\n",
    )]);
    let style: &[&str] = &["Lints rubocop [.]", "Tests rspec <spec/a_spec.rb> [.]"];
    check(
        &repository,
        &[
            ("rake style_all", style),
            ("rake check", &[style, &["Tests rspec [.]"]].concat()),
            ("rake all", &[style, &["Tests rspec [.]", "TypeChecks mypy <src> [.]"]].concat()),
            ("rake types", &["TypeChecks mypy <src> [.]"]),
            ("rake spec", &["Tests rspec [.]"]),
            ("rake rubocop", &["Lints rubocop [.]"]),
            ("rake test", &["Tests ruby <all_test.rb> [.]"]),
            ("rake slow_ones", &["Tests ruby <all_test.rb> [.]"]),
        ],
    );
}

#[test]
fn environments_of_tox_and_sessions_of_nox() {
    let repository = repository(&[
        (
            "tox.ini",
            "[tox]\nenvlist = py\n[testenv]\ncommands = pytest\n[testenv:lint]\ndeps =\n    pytest\ncommands =\n\
             \x20   - ruff check {posargs}\n    # pytest\n\tmypy src\nsetenv =\n    A = pytest\n\
             [testenv:docs]\ncommands= pytest docs\n[other]\ncommands = pytest\n",
        ),
        (
            "noxfile.py",
            "import nox\n\ndef helper(session):\n    session.run('pytest')\n\n@nox.session(name=\"style\", python='3.12')\n\
             def checks(session):\n    session.install('ruff')\n    session.run('ruff', 'check')\n    session.run(\n\
             \x20       \"mypy\",\n        \"src\",\n    )\n\n@session\ndef unit(session):\n    session.run('pytest', '-q')\n",
        ),
        (
            "pyproject.toml",
            "[tool.tox]\nlegacy_tox_ini = \"\"\"\n[testenv:types]\ncommands = mypy old\n\"\"\"\n",
        ),
    ]);
    let lint: &[&str] = &["Lints ruff <_posargs_> [.]", "TypeChecks mypy <src> [.]"];
    check(
        &repository,
        &[
            ("tox -e lint", lint),
            ("tox -e docs", &["Tests pytest <docs> [.]"]),
            ("tox -e lint,docs", &[lint, &["Tests pytest <docs> [.]"]].concat()),
            ("tox -e=docs", &["Tests pytest <docs> [.]"]),
            ("nox -s style", &["Lints ruff [.]", "TypeChecks mypy <src> [.]"]),
            ("nox -s unit", &["Tests pytest [.]"]),
            ("nox -s checks", &["Other nox <checks> [.]"]),
            ("tox -e types", &["TypeChecks mypy <old> [.]"]),
        ],
    );
}

#[test]
fn what_hooks_of_a_commit_run() {
    let repository = repository(&[
        (
            "lefthook.yml",
            "pre-push:\n  commands:\n    a:\n      run: pytest push\npre-commit:\n  jobs:\n    - name: x\n      run: pytest job\n    - name: y\n  commands:\n    one:\n      run: ruff check\n",
        ),
        (
            ".pre-commit-config.yaml",
            "repos:\n- repo: a\n  hooks:\n  - id: ruff-format\n  - id: mirrors-mypy\n- repo: local\n  hooks:\n  - id: odd\n    entry: pytest entry\n  - name: none\n",
        ),
        (".githooks/pre-commit", "#!/bin/sh\npytest hook\n"),
    ]);
    check(
        &repository,
        &[(
            "git commit -m x",
            &[
                "Lints ruff [.] hidden",
                "Tests pytest <job> [.] hidden",
                "Formats ruff [.] hidden",
                "TypeChecks mypy [.] hidden",
                "Tests pytest <entry> [.] hidden",
                "Tests pytest <hook> [.] hidden",
                "Commits git <-m x> [.]",
            ],
        )],
    );
}

#[test]
fn tasks_in_folders_of_their_own() {
    let repository = repository(&[
        ("package.json", r#"{"name": "root", "workspaces": ["*"]}"#),
        ("web/package.json", r#"{"name": "web"}"#),
        (
            "Taskfile.yml",
            "tasks:\n  in:\n    dir: web\n    cmds: [npx jest]\n  open:\n    dir: '{{.DIR}}'\n    cmd: npx jest\n  other:\n    cmds:\n      - task: in\n      - desc: x\n",
        ),
        (
            "mise.toml",
            "[tasks.in]\nrun = 'npx jest'\ndir = 'web'\n[tasks.cwd]\nrun = 'npx jest'\ncwd = 'web'\n",
        ),
        (
            "web/project.json",
            r#"{"targets": {"unit": {"command": "jest"}, "e2e": {"options": {"command": "cypress run"}}, "test": {"executor": "@nx/jest:jest"}, "lint": {}}}"#,
        ),
        (
            "web/moon.yml",
            "tasks:\n  unit:\n    command: jest\n    args: [a, b]\n  all:\n    script: 'jest && tsc'\n    command: mocha\n",
        ),
        ("devbox.json", r#"{"shell": {"scripts": {"one": "pytest a", "two": ["pytest a", "mypy b"]}}}"#),
        ("Cargo.toml", "[workspace]\n"),
        (".cargo/config.toml", "[alias]\nt = ['test', '--workspace']\n"),
    ]);
    check(
        &repository,
        &[
            ("task in", &["Tests jest [web]"]),
            ("task open", &["Tests jest [.,web]"]),
            ("task other", &["Tests jest [web]"]),
            ("mise run in", &["Tests jest [web]"]),
            ("mise run cwd", &["Tests jest [web]"]),
            ("nx run web:unit", &["Tests jest [web]"]),
            ("nx e2e web", &["Tests cypress [web]"]),
            ("nx test web", &["Runs jest:jest [web]", "Tests test [web]"]),
            ("nx run web:lint", &["Other executor [web]", "Lints lint [web]"]),
            ("moon run web:unit", &["Tests jest <a> <b> [web]"]),
            ("moon run web:all", &["Tests jest [web]", "TypeChecks tsc [web]"]),
            ("devbox run one", &["Tests pytest <a> [.]"]),
            ("devbox run two", &["Tests pytest <a> [.]", "TypeChecks mypy <b> [.]"]),
            ("cargo t", &["Tests cargo [.]"]),
        ],
    );
}

/// A task that is cut is cut at a line, and what comes after that is not known.
#[test]
fn a_long_task_is_cut_at_a_line() {
    let body = |lines: usize, last: &str| format!("#!/bin/sh\n{}{last}\n", "echo 0123\n".repeat(lines));
    let (fits, cut) = (body(398, "pytest"), body(399, "pytest"));
    let repository = repository(&[
        ("mise-tasks/fits", fits.as_str()),
        ("mise-tasks/cut", cut.as_str()),
        ("mise-tasks/one-line", &format!("pytest {}", "a".repeat(4000))),
    ]);
    let bodies: Vec<(&str, usize)> =
        repository.tasks.iter().map(|task| (task.name.as_str(), task.body.len())).collect();
    assert_eq!(bodies, [("fits", fits.len()), ("cut", 3999), ("one-line", 0)]);
}

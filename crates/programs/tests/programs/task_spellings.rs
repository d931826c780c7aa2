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
         twice:\n\tpytest a\ntwice: one\n",
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
         script:\n    #!/usr/bin/env bash\n    if true; then\n      pytest a\n    fi\n",
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

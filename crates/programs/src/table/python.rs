//! Python: its runners, checkers, formatters, installers and environments.

use outputs::Runner::*;

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::Launches::{self, Rest};
use super::{Done, Launch, Program, TaskRunner, after};

const UV_RUN: &str = "--with --python -p --extra --group --only-group --no-group --env-file --with-requirements \
    --with-editable --index --index-url --from -w --color --config-file --cache-dir --no-extra -C --package";
const INSTALLED: Done = Done {
    deeds: &[Installs],
    well: &["Successfully installed", "Requirement already satisfied"],
    badly: "ERROR",
};

programs! {
    "python" => Runs {
        launches: Launches::Module, valued: "-W -X", facts: &[Interprets],
        uses: &[("manage.py/test setup.py/test", Tests)],
    }
    "manage.py" => Runs { uses: &[("test", Tests)], prints: &[Unittest] }

    "pytest" => Tests {
        valued: "-k -m -c -p -o --rootdir --ignore -n -r -W --tb --maxfail --durations --cov-report --deselect --timeout",
        facts: &[TakesAll, StaysBelow, EndsWithSummary], prints: &[Pytest],
        idle: "--collect-only --co --collectonly --fixtures --fixtures-per-test --markers --setup-plan --setup-only \
               --cache-show -h -V",
    }
    "unittest" => Tests { idle: "-h", prints: &[Unittest], facts: &[EndsWithSummary] }
    "nosetests" | "nose2" | "green" | "trial" | "stestr" => Tests { prints: &[Unittest] }
    "ward" | "doctest" => Tests {}
    "tox" => Tests {
        tasks: &[TaskRunner::Tox], task_options: "-e -f",
        prints: &[Pytest, Unittest],
        facts: &[TakesAll],
        idle: "-l --listenvs -a --listenvs-all --notest -n -h list l",
    }
    "nox" => Tests { tasks: &[TaskRunner::Nox], task_options: "-s -e --session --sessions -k -t --tags", prints: &[Pytest, Unittest], facts: &[TakesAll], idle: "-l --list --list-sessions -h" }

    "mypy" => TypeChecks {
        valued: "--python-version --platform --config-file --cache-dir --python-executable", facts: &[TakesAll, ChecksFiles],
    }
    "pyright" | "basedpyright" | "pyre" | "pytype" | "ty" | "py_compile" | "compileall" => TypeChecks {
        valued: "--pythonversion --pythonpath --python-version --project", facts: &[ChecksFiles],
    }
    "pyrefly" => TypeChecks { grammar: Subcommand }
    "behave" | "robot" => Tests {}
    "mkdocs" => Other { grammar: Subcommand, uses: &[("build", Builds), ("serve", Runs)] }
    "sphinx-build" => Builds {}
    "maturin" => Other { grammar: Subcommand, uses: &[("build develop", Builds)] }
    "flake8" | "pylint" | "pyflakes" | "bandit" | "pycodestyle" => Lints {}
    "ruff" => Lints {
        grammar: Subcommand, valued: "--config", facts: &[TakesAll],
        uses: &[
            ("format/--check format/--diff", Lints),
            ("format", Formats),
            ("--fix --fix-only", Fixes),
        ],
    }
    "black" => Formats { uses: &[("--check --diff", Lints)], facts: &[TakesAll] }
    "isort" => Fixes { uses: &[("--check --diff --check-only -c", Lints)] }
    "yapf" => Lints { uses: &[("-i --in-place", Formats)] }
    "autopep8" => Lints { uses: &[("-i --in-place", Fixes)] }

    "pip" => Other {
        grammar: Subcommand, valued: "--python --proxy --log --cache-dir", facts: &[AnyWords], done: INSTALLED,
        uses: &[("install", Installs), ("list show freeze check", Looks)],
    }
    "pip-sync" => Installs {}
    "uv" => Other {
        grammar: Subcommand, folder: "--directory --project", package: "--package",
        uses: &[("sync add remove lock", Installs), ("build", Builds)],
        launches: Rest(&[
            after("tool/run", UV_RUN), after("run", UV_RUN), Launch { is_program: true, ..after("pip", "") },
        ]),
    }
    "uvx" => Other { launches: Rest(&[after("", UV_RUN)]), folder: "--directory --project" }
    "pipx" => Other { launches: Rest(&[after("run", "--spec --python")]), uses: &[("install", Installs)] }
    "poetry" => Other {
        grammar: Subcommand, folder: "-C -P", launches: Rest(&[after("run", "")]),
        uses: &[("install add remove lock update sync", Installs), ("build", Builds)],
    }
    "pipenv" => Other { grammar: Subcommand, launches: Rest(&[after("run", "")]), uses: &[("install sync lock", Installs)] }
    "pdm" => Other {
        grammar: Scripts, tasks: &[TaskRunner::Pdm], task_words: "run", folder: "-p --project", launches: Rest(&[after("run", "")]),
        uses: &[("install sync add remove lock update", Installs), ("build", Builds)],
    }
    "rye" => Other { grammar: Scripts, tasks: &[TaskRunner::Rye], task_words: "run", launches: Rest(&[after("run", "")]), uses: &[("sync add lock", Installs), ("test", Tests)] }
    "hatch" => Other {
        grammar: Scripts, tasks: &[TaskRunner::Hatch], task_words: "run", valued: "-e --env", folder: "-p --project", launches: Rest(&[after("run", "")]),
        prints: &[Pytest],
        uses: &[("test", Tests), ("env", Installs), ("build", Builds), ("fmt/--check", Lints), ("fmt", Fixes)],
    }
    "pixi" => Other {
        grammar: Scripts, tasks: &[TaskRunner::Pixi], task_words: "run", valued: "-e --environment", launches: Rest(&[after("run", "")]), uses: &[("install add", Installs)],
    }
    "conda" | "mamba" => Other {
        grammar: Subcommand, valued: "-n --name -p --prefix", folder: "--cwd", launches: Rest(&[after("run", "")]),
        uses: &[("install env", Installs)],
    }
}

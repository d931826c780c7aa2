//! Which file is what (C6).

use gate::policy::{Class, Policy, Source};

fn policy(text: &str) -> Policy {
    Policy::load(&[Source { name: "checkstone.toml", text }]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The names of the categories, or `prose`, `code`, `file`.
fn class(policy: &Policy, path: &str) -> String {
    match policy.classify(path) {
        Class::Categories(indices) => indices
            .iter()
            .map(|index| policy.categories[*index].name.as_str())
            .collect::<Vec<_>>()
            .join(" + "),
        Class::Prose => "prose".to_owned(),
        Class::OtherCode => "code".to_owned(),
        Class::OtherFile => "file".to_owned(),
    }
}

#[track_caller]
fn check(text: &str, table: &[(&str, &str)]) {
    let policy = policy(text);
    for (path, expected) in table {
        assert_eq!(class(&policy, path), *expected, "{path}");
    }
}

/// C6: `**` is any number of folders, none too; `*` stays in its folder; a dot is a character.
#[test]
fn globs() {
    check(
        r#"
        prose = ["docs/**", "*.txt", "**/X.md"]
        [[category]]
        name = "package"
        include = ["pkg/**/*.py"]
        exclude = ["pkg/hooks/**"]
        [[category]]
        name = "dependencies"
        include = ["requirements*.txt", "pyproject.toml"]
        [[category]]
        name = "setup"
        include = [".pre-commit-config.yaml", ".husky/pre-commit", "./tools/*.sh"]
        [[category]]
        name = "guide"
        include = ["docs/guide/*.md"]
        "#,
        &[
            ("pkg/x.py", "package"),
            ("pkg/a/b/x.py", "package"),
            ("pkg/x.pyc", "file"),
            ("other/pkg/x.py", "code"),
            ("pkg/hooks/x.py", "code"),
            ("pkg/hooks.py", "package"),
            ("X.md", "prose"),
            ("a/b/X.md", "prose"),
            ("a/b/Y.md", "file"),
            ("notes.txt", "prose"),
            ("a/notes.txt", "file"),
            ("requirements.txt", "dependencies"),
            ("requirements-dev.txt", "dependencies"),
            ("sub/requirements.txt", "file"),
            (".pre-commit-config.yaml", "setup"),
            ("pre-commit-config.yaml", "file"),
            (".husky/pre-commit", "setup"),
            ("tools/a.sh", "setup"),
            ("tools/sub/a.sh", "code"),
            ("docs/guide/a.md", "guide"),
            ("docs/guide/a/b.md", "prose"),
            ("docs/.hidden", "prose"),
            ("docs", "file"),
            ("./pkg/x.py", "package"),
            ("Makefile", "code"),
            ("src/ünï code.rs", "code"),
            ("new\nline.py", "code"),
            ("logo.png", "file"),
            ("data.json", "file"),
            (".py", "file"),
            ("", "file"),
        ],
    );
}

#[test]
fn prose_by_default() {
    check(
        "",
        &[
            ("README.md", "prose"),
            ("docs/a.py", "prose"),
            ("a/b/c.rst", "prose"),
            ("LICENSE-MIT", "prose"),
            (".gitignore", "prose"),
            ("src/main.rs", "code"),
            ("Cargo.lock", "file"),
        ],
    );
}

/// R2, row by row.
#[test]
fn teleclaude_categories() {
    check(
        "presets = [\"teleclaude\"]",
        &[
            ("teleclaude/core/agent_coordinator.py", "daemon code"),
            ("teleclaude/daemon.py", "daemon code"),
            ("teleclaude/hooks/receiver.py", "hook runtime code"),
            ("teleclaude/hooks/data.json", "hook runtime code"),
            ("teleclaude/cli/tui/app.py", "TUI code"),
            ("teleclaude/cli/telec.py", "daemon code"),
            ("teleclaude/project_setup/hooks.py", "daemon code + telec setup (watchers/hooks/filters)"),
            ("templates/ai.instrukt.teleclaude.docs-watch.plist", "telec setup (watchers/hooks/filters)"),
            ("templates/teleclaude-docs-watch.service", "telec setup (watchers/hooks/filters)"),
            ("templates/teleclaude-docs-watch.path", "telec setup (watchers/hooks/filters)"),
            (".pre-commit-config.yaml", "telec setup (watchers/hooks/filters)"),
            (".gitattributes", "telec setup (watchers/hooks/filters)"),
            (".husky/pre-commit", "telec setup (watchers/hooks/filters)"),
            ("tests/unit/test_x.py", "tests only"),
            ("tests/conftest.py", "tests only"),
            ("agents/skills/x.md", "agent artifacts"),
            (".agents/x", "agent artifacts"),
            ("AGENTS.master.md", "agent artifacts"),
            ("docs/AGENTS.master.md", "agent artifacts"),
            ("config.yml", "config"),
            ("sub/config.yml", "file"),
            ("pyproject.toml", "dependencies"),
            ("requirements.txt", "dependencies"),
            ("requirements-dev.txt", "dependencies"),
            ("docs/project/design.md", "prose"),
            ("todos/x/implementation-plan.md", "prose"),
            ("ideas/y.txt", "prose"),
            ("README.md", "prose"),
            ("scripts/deploy.py", "code"),
        ],
    );
}

#[test]
fn language_presets() {
    check(
        "presets = [\"rust\", \"python\", \"node\", \"go\", \"make\"]",
        &[
            ("src/lib.rs", "Rust code"),
            ("crates/a/tests/x.rs", "Rust code"),
            ("target/debug/build/x.rs", "code"),
            ("Cargo.toml", "Rust dependencies"),
            ("crates/a/Cargo.toml", "Rust dependencies"),
            ("Cargo.lock", "file"),
            ("app/main.py", "Python code"),
            ("pyproject.toml", "Python dependencies"),
            ("requirements.txt", "Python dependencies"),
            ("uv.lock", "file"),
            ("src/app.tsx", "JavaScript and TypeScript code"),
            ("src/page.astro", "JavaScript and TypeScript code"),
            ("src/page.scss", "JavaScript and TypeScript code"),
            // L10
            ("vite.config.ts", "code"),
            ("src/routes.config.ts", "JavaScript and TypeScript code that is called a configuration"),
            ("report.html", "code"),
            ("public/index.html", "code"),
            ("package.json", "Node dependencies"),
            ("web/pnpm-lock.yaml", "file"),
            ("cmd/main.go", "Go code"),
            ("vendor/x/y.go", "code"),
            ("go.mod", "Go modules"),
            ("src/x.c", "code"),
            ("README.md", "prose"),
            ("docs/conf.py", "prose"),
            ("CHANGELOG.md", "prose"),
            (".github/workflows/ci.yml", "file"),
        ],
    );
    check("presets = [\"docs\"]", &[("src/x.py", "prose"), ("README.md", "prose"), (".hidden/x", "prose")]);
}

/// `{,x}` is nothing, or `x`.
#[test]
fn an_alternative_may_be_empty() {
    check(
        "[[category]]\nname = \"app\"\ninclude = [\"app.py{,x}\", \"lib{/**,}/*.cfg\"]\n",
        &[
            ("app.py", "app"),
            ("app.pyx", "app"),
            ("app.pyi", "code"),
            ("lib/a.cfg", "app"),
            ("lib/b/a.cfg", "app"),
        ],
    );
}

/// A glob that can match no file is warned about, with what to write in its place; those of presets are not.
#[test]
fn globs_that_match_no_file() {
    let text = r#"
presets = ["rust", "node"]
prose = ["docs", "./guide/", "README.md"]
[[category]]
name = "a"
include = ["src", "src/**", "a//b.py", "./a.py", "Makefile", "lib/./x.py"]
exclude = ["src/gen/."]
[[check]]
when = ["tests/"]
run = "true"
[autosave]
allow_secrets_in = ["fixtures"]
"#;
    let folders = ["docs", "src", "fixtures"];
    let warnings = policy(text).warnings(|path| folders.contains(&path));
    let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "checkstone.toml:3:10: the glob `docs` matches no file; write `docs/**`",
            "checkstone.toml:3:18: the glob `./guide/` matches no file; write `guide/**`",
            "checkstone.toml:6:12: the glob `src` matches no file; write `src/**`",
            "checkstone.toml:6:29: the glob `a//b.py` matches no file; write `a/b.py`",
            "checkstone.toml:6:62: the glob `lib/./x.py` matches no file; write `lib/x.py`",
            "checkstone.toml:7:12: the glob `src/gen/.` matches no file; write `src/gen/**`",
            "checkstone.toml:9:9: the glob `tests/` matches no file; write `tests/**`",
            "checkstone.toml:12:21: the glob `fixtures` matches no file; write `fixtures/**`",
        ]
    );
}

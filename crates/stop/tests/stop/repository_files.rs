//! Which files of a checkout are read to learn its own words, and which never.

use std::os::unix::fs::symlink;
use std::path::Path;

use programs::shell::Intents;
use stop::repository_files::{around, of_checkout, of_ci, ran};
use tempfile::TempDir;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, text).unwrap();
}

fn checkout() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    for (path, text) in [
        ("package.json", "{}"),
        ("CLAUDE.md", "Run `npm test`."),
        ("Makefile", "test:\n\t./scripts/test.sh\n"),
        ("scripts/test.sh", "npm test\n"),
        ("scripts/other.sh", "npm test\n"),
        (".github/workflows/ci.yml", "jobs:\n"),
        (".husky/pre-commit", "npm test\n"),
        (".idea/package.json", "{}"),
        (".gitignore", "/generated/\n*.log\n"),
        ("generated/package.json", "{}"),
        ("node_modules/x/package.json", "{}"),
        ("environment/pyvenv.cfg", ""),
        ("environment/setup.py", ""),
        ("services/api/go.mod", "module api"),
        ("services/api/main.go", ""),
        ("services/api/internal/deep/a_test.go", ""),
        ("services/api/internal/deep/b_test.go", ""),
        ("services/web/package.json", "{}"),
        ("notes.txt", ""),
    ] {
        write(root, path, text);
    }
    symlink("/etc", root.join("outside")).unwrap();
    symlink("/etc/passwd", root.join("AGENTS.md")).unwrap();
    folder
}

/// Paths in order; `+` if the text was read.
fn found(files: Vec<programs::repository::RepositoryFile>) -> Vec<String> {
    let mut found: Vec<String> = files
        .into_iter()
        .map(|file| format!("{}{}", file.path, if file.text.is_some() { " +" } else { "" }))
        .collect();
    found.sort();
    found
}

#[test]
fn a_whole_checkout_is_read_without_vendored_ignored_and_linked_files() {
    let folder = checkout();
    assert_eq!(
        found(of_checkout(folder.path())),
        [
            ".github/workflows/ci.yml +",
            ".husky/pre-commit +",
            "CLAUDE.md +",
            "Makefile +",
            "package.json +",
            "scripts/other.sh +",
            "scripts/test.sh +",
            "services/api/go.mod +",
            "services/api/internal/deep/a_test.go",
            "services/api/internal/deep/b_test.go",
            "services/web/package.json +",
        ]
    );
}

#[test]
fn at_a_stop_only_what_is_above_the_changed_files_is_read_and_the_scripts_that_tasks_name() {
    let folder = checkout();
    assert_eq!(
        found(around(folder.path(), ["services/api/main.go"])),
        [
            ".husky/pre-commit +",
            "CLAUDE.md +",
            "Makefile +",
            "package.json +",
            "scripts/test.sh +",
            "services/api/go.mod +",
            "services/api/internal/deep/a_test.go",
            "services/api/internal/deep/b_test.go",
        ]
    );
    let of_script = found(around(folder.path(), ["scripts/other.sh", "generated/x.js"]));
    assert_eq!(
        of_script,
        [
            ".husky/pre-commit +",
            "CLAUDE.md +",
            "Makefile +",
            "package.json +",
            "scripts/other.sh +",
            "scripts/test.sh +",
            "services/api/go.mod",
            "services/api/internal/deep/a_test.go",
            "services/api/internal/deep/b_test.go",
            "services/web/package.json",
        ]
    );
}

/// Nothing outside of the checkout is read, however a link leads there.
#[test]
fn no_folder_is_reached_through_a_link() {
    let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let root = folder.path();
    write(elsewhere.path(), "package.json", "{}");
    write(elsewhere.path(), "inner/go.mod", "module a");
    write(elsewhere.path(), "scripts/test.sh", "npm test\n");
    symlink(elsewhere.path(), root.join("pkg")).unwrap();
    write(root, "Makefile", "test:\n\tpkg/scripts/test.sh\n");
    let changed = ["pkg/a.js", "pkg/inner/main.go", "pkg/scripts/test.sh"];
    assert_eq!(found(around(root, changed)), ["Makefile +"]);
    assert_eq!(found(of_checkout(root)), ["Makefile +"]);
}

/// `/lib` is the folder at the root, `a/b` is all that lies below it, and `made` is a folder anywhere.
#[test]
fn ignored_folders_are_compared_part_by_part() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    write(root, ".gitignore", "/lib\na/b/\nmade\n");
    let packages = ["lib", "src/lib", "a/b", "a/b/c", "a/bc", "x/made", "x/a/b"];
    for package in packages {
        write(root, &format!("{package}/package.json"), "{}");
    }
    let expected =
        ["a/bc/package.json +", "src/lib/package.json +", "x/a/b/package.json +"].map(str::to_owned);
    assert_eq!(found(of_checkout(root)), expected);
    let changed = packages.map(|package| format!("{package}/a.js"));
    assert_eq!(found(around(root, changed.iter().map(String::as_str))), expected);
}

/// A script that a command started and the folder that it ran in are looked at as what changed is; CI where nothing else is.
#[test]
fn at_a_stop_what_commands_ran_is_read_too() {
    let folder = checkout();
    let root = folder.path();
    let intents = Intents::read(
        "(cd services/web && npm test); ./scripts/other.sh; cd services/api && ls; cd /elsewhere && ./x.sh",
    );
    let ran = ran(root, &root.to_string_lossy(), intents.commands());
    assert_eq!(ran.into_iter().collect::<Vec<_>>(), ["scripts/other.sh", "services/web/"]);
    assert_eq!(found(of_ci(root)), [".github/workflows/ci.yml +"]);
}

/// A few tests say for which runner they are written, and only where nothing else does.
#[test]
fn the_first_tests_of_python_are_read_unless_something_names_pytest() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    write(root, "setup.py", "");
    for name in ["a", "b", "c", "d", "e"] {
        write(root, &format!("tests/test_{name}.py"), "import unittest\n");
    }
    let tests = |read: usize| {
        let mark = |place: usize| if place < read { " +" } else { "" };
        let names = ["a", "b", "c", "d", "e"].iter().enumerate();
        names.map(|(place, name)| format!("tests/test_{name}.py{}", mark(place))).collect::<Vec<_>>()
    };
    let expected = |read| [vec!["setup.py +".to_owned()], tests(read)].concat();
    assert_eq!(found(around(root, ["a.py"])), expected(4));
    assert_eq!(found(of_checkout(root)), expected(4));
    write(root, "setup.py", "setup(extras_require={'test': ['pytest']})\n");
    assert_eq!(found(around(root, ["a.py"])), expected(0));
    assert_eq!(found(of_checkout(root)), expected(0));
}

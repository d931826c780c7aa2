//! Programs by name.

use std::os::unix::fs::PermissionsExt as _;

use files::find_program;

/// A repository may hold a `git` of its own, and `PATH=./node_modules/.bin:…` must not lead there.
#[test]
fn only_absolute_folders_are_looked_in() {
    let directory = tempfile::tempdir().unwrap();
    for (folder, mode) in [("first", 0o644), ("second", 0o755), ("third", 0o755)] {
        let program = directory.path().join(folder).join("git");
        fs_err::create_dir(directory.path().join(folder)).unwrap();
        fs_err::write(&program, "").unwrap();
        fs_err::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let at = |folder: &str| directory.path().join(folder).display().to_string();
    let find = |name: &str, path: &str| find_program(name.as_ref(), path.as_ref());
    let here = pathless(directory.path());
    let path = format!(":.:{here}/third:{}:{}:{}", at("first"), at("second"), at("third"));
    assert_eq!(find("git", &path), Some(directory.path().join("second/git")));
    assert_eq!(find("git", &format!("{here}/third::.")), None);
    assert_eq!(find("missing", &path), None);
    for name in ["", ".", "..", "second/git", "/bin/sh"] {
        assert_eq!(find(name, &format!("{}:{}", at(""), at("second"))), None, "{name}");
    }
}

/// A relative way from the current folder to this one.
fn pathless(path: &std::path::Path) -> String {
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    format!("{}{}", "../".repeat(depth), path.strip_prefix("/").unwrap().display())
}

//! Regular files, and what may be in their place.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use files::regular_file::{append, append_to_new, open, read};
use files::{FileError, Links};

/// A folder with everything that is not a regular file in it, and one file of five bytes.
fn place() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs_err::write(at("file"), "12345").unwrap();
    fs_err::create_dir(at("folder")).unwrap();
    sandbox::make_pipe(at("pipe"));
    std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    symlink("file", at("link")).unwrap();
    symlink("pipe", at("link-to-pipe")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    directory
}

fn said<T>(result: Result<T, FileError>, directory: &Path) -> String {
    match result {
        Ok(_) => "opened".to_owned(),
        Err(error) => text::error_chain(&error).replace(&format!("{}/", directory.display()), ""),
    }
}

#[test]
fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
    let directory = place();
    let open = |name: &str, links| said(open(&directory.path().join(name), links), directory.path());
    for (name, followed, refused) in [
        ("file", "opened", "opened"),
        ("link", "opened", "`link` is a symbolic link"),
        ("folder", "`folder` is not a regular file", "`folder` is not a regular file"),
        ("pipe", "`pipe` is not a regular file", "`pipe` is not a regular file"),
        ("socket", "`socket` is not a regular file", "`socket` is not a regular file"),
        ("link-to-pipe", "`link-to-pipe` is not a regular file", "`link-to-pipe` is a symbolic link"),
        ("dangling", "`dangling` is not there", "`dangling` is a symbolic link"),
        ("missing", "`missing` is not there", "`missing` is not there"),
        ("file/below", "`file` is not a folder", "`file` is not a folder"),
        ("/dev/zero", "`/dev/zero` is not a regular file", "`/dev/zero` is not a regular file"),
    ] {
        assert_eq!(
            (open(name, Links::Follow).as_str(), open(name, Links::Refuse).as_str()),
            (followed, refused)
        );
    }
}

#[test]
fn a_file_is_read_up_to_its_limit() {
    let directory = place();
    let path = directory.path().join("file");
    assert_eq!(read(&path, Links::Refuse, 5).unwrap(), b"12345");
    assert_eq!(said(read(&path, Links::Refuse, 4), directory.path()), "`file` is larger than 4 bytes");
    // Its size is said to be zero, and it has content all the same.
    assert!(!read(Path::new("/proc/self/stat"), Links::Refuse, 1 << 20).unwrap().is_empty());
}

#[test]
fn only_a_regular_file_is_appended_to() {
    let directory = place();
    let at = |name: &str| directory.path().join(name);
    for name in ["file", "new"] {
        append(&at(name), 0o600).unwrap().write_all(b"6").unwrap();
    }
    assert_eq!(fs_err::read_to_string(at("file")).unwrap(), "123456");
    assert_eq!(at("new").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for (name, expected) in [
        ("link", "`link` is a symbolic link"),
        ("dangling", "`dangling` is a symbolic link"),
        ("folder", "`folder` is not a regular file"),
        ("pipe", "`pipe` is not a regular file"),
    ] {
        assert_eq!(said(append(&at(name), 0o600), directory.path()), expected);
    }
    assert!(!at("nowhere").exists());
    append_to_new(&at("newer"), 0o600).unwrap();
    for name in ["newer", "link", "dangling"] {
        let error = append_to_new(&at(name), 0o600).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{name}: {error:?}");
    }
}

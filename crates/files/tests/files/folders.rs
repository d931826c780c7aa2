//! Folders that no link leads out of.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use files::{FileError, Folder, TemporaryFile, sync_directory};

#[test]
fn no_link_and_no_slash_leads_elsewhere() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs_err::create_dir(at("inner")).unwrap();
    fs_err::write(at("inner/file"), "x").unwrap();
    symlink("inner", at("link")).unwrap();
    symlink("inner/file", at("link-to-file")).unwrap();
    let folder = Folder::open(directory.path()).unwrap();
    assert!(matches!(folder.folder("link"), Err(FileError::SymbolicLink { .. })));
    assert!(matches!(folder.folder("link-to-file"), Err(FileError::SymbolicLink { .. })));
    assert!(matches!(folder.file("link-to-file"), Err(FileError::SymbolicLink { .. })));
    assert!(matches!(folder.file("inner"), Err(FileError::NotAFile { .. })));
    for name in ["link/file", "inner/file", "..", ".", "../x"] {
        assert_eq!(folder.file(name).unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{name}");
        assert_eq!(folder.folder(name).unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{name}");
        assert_eq!(
            folder.new_file(name, 0o600).unwrap_err().kind(),
            std::io::ErrorKind::InvalidInput,
            "{name}"
        );
    }
    assert!(folder.file_in("link", "file").is_none());
    assert!(folder.folder("inner").unwrap().file("file").is_ok());
    sync_directory(directory.path()).unwrap();
}

/// Also names that are no text go.
#[test]
fn a_folder_is_removed_with_all_that_is_in_it_and_links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs_err::create_dir_all(at("gone/below")).unwrap();
    fs_err::write(at("kept"), "x").unwrap();
    symlink("../kept", at("gone/link")).unwrap();
    symlink("../..", at("gone/below/up")).unwrap();
    fs_err::write(at("gone").join(OsStr::from_bytes(b"\xff")), "x").unwrap();
    let folder = Folder::open(directory.path()).unwrap();
    folder.remove_all("gone").unwrap();
    folder.remove_all("gone").unwrap();
    let names: Vec<String> = folder.entries().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["kept"]);
}

#[test]
fn a_temporary_file_is_placed_or_gone() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path()).unwrap();
    let content = || fs_err::read_to_string(directory.path().join("file")).unwrap();
    let new = |content: &str| {
        let temporary = TemporaryFile::new(&folder, "file", 0o600).unwrap();
        temporary.file().write_all(content.as_bytes()).unwrap();
        temporary
    };
    drop(new("given up"));
    new("one").place(&folder, "file").unwrap();
    let refused = new("two").place(&folder, "file").unwrap_err();
    assert_eq!((refused.kind(), content().as_str()), (std::io::ErrorKind::AlreadyExists, "one"));
    new("three").replace(&folder, "file").unwrap();
    assert_eq!(content(), "three");
    assert_eq!(folder.entries().unwrap().len(), 1);
}

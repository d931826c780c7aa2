//! Atomic files.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use files::atomic_file::{Replaced, replace_if_unchanged, write, write_in};
use files::{FileError, Folder};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs_err::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

#[test]
fn a_new_file_has_the_given_mode_and_an_old_one_keeps_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("settings.json");
    write(&path, b"one", 0o600).unwrap();
    assert_eq!((fs_err::read(&path).unwrap().as_slice(), mode(&path)), (b"one".as_slice(), 0o600));
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o664)).unwrap();
    write(&path, b"two", 0o600).unwrap();
    assert_eq!((fs_err::read(&path).unwrap().as_slice(), mode(&path)), (b"two".as_slice(), 0o664));
    assert_eq!(names(directory.path()), ["settings.json"]);
}

#[test]
fn an_owner_is_kept_by_root() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs_err::write(&path, "one").unwrap();
    // Only root can set this up; for everyone else the owner is the same anyway.
    let _ = std::os::unix::fs::chown(&path, Some(65534), Some(65534));
    let owner = path.metadata().unwrap().uid();
    write(&path, b"two", 0o600).unwrap();
    assert_eq!(path.metadata().unwrap().uid(), owner);
}

/// Neither followed nor replaced.
#[test]
fn a_symbolic_link_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (directory.path().join("target"), directory.path().join("link"));
    fs_err::write(&target, "one").unwrap();
    symlink(&target, &link).unwrap();
    let dangling = directory.path().join("dangling");
    symlink("nowhere", &dangling).unwrap();
    for link in [&link, &dangling] {
        assert!(matches!(write(link, b"two", 0o600), Err(FileError::SymbolicLink { .. })));
        assert!(link.is_symlink());
    }
    assert_eq!(fs_err::read(&target).unwrap(), b"one");
    assert_eq!(names(directory.path()), ["dangling", "link", "target"]);
}

#[test]
fn a_link_among_the_parents_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    fs_err::create_dir(directory.path().join("real")).unwrap();
    symlink("real", directory.path().join("alias")).unwrap();
    write(&directory.path().join("alias/file"), b"one", 0o600).unwrap();
    assert_eq!(fs_err::read(directory.path().join("real/file")).unwrap(), b"one");
}

#[test]
fn what_is_no_file_is_refused_and_nothing_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("place");
    fs_err::create_dir(&path).unwrap();
    assert!(matches!(write(&path, b"", 0o600), Err(FileError::NotAFile { .. })));
    assert!(matches!(
        write(&directory.path().join("missing/file"), b"", 0o600),
        Err(FileError::NotFound { .. })
    ));
    assert!(matches!(write(Path::new("/"), b"", 0o600), Err(FileError::NotAFile { .. })));
    assert!(matches!(write(Path::new(""), b"", 0o600), Err(FileError::NotAFile { .. })));
    assert_eq!(names(directory.path()), ["place"]);
}

#[test]
fn other_names_of_a_file_keep_the_old_content() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("file"), directory.path().join("other"));
    fs_err::write(&path, "one").unwrap();
    fs_err::hard_link(&path, &other).unwrap();
    write(&path, b"two", 0o600).unwrap();
    assert_eq!(
        (fs_err::read(&path).unwrap(), fs_err::read(&other).unwrap()),
        (b"two".to_vec(), b"one".to_vec())
    );
}

#[test]
fn a_file_is_replaced_only_where_it_is_as_expected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let replace =
        |expected: Option<&[u8]>, bytes: &[u8]| replace_if_unchanged(&path, expected, bytes, 0o600).unwrap();
    assert_eq!(replace(Some(b"one"), b"x"), Replaced::Changed, "it is not there");
    assert_eq!(replace(None, b"one"), Replaced::Yes);
    assert_eq!(replace(None, b"x"), Replaced::Changed, "it is there now");
    assert_eq!(replace(Some(b"other"), b"x"), Replaced::Changed);
    assert_eq!(replace(Some(b"one"), b"two"), Replaced::Yes);
    assert_eq!(fs_err::read(&path).unwrap(), b"two");
    assert_eq!(names(directory.path()), ["file"]);
}

/// The temporary name is a file name too.
#[test]
fn a_name_may_be_as_long_as_names_get() {
    let directory = tempfile::tempdir().unwrap();
    let name = "n".repeat(255);
    write(&directory.path().join(&name), b"one", 0o600).unwrap();
    assert_eq!(names(directory.path()), [name]);
}

/// Through an open folder no link leads elsewhere, also where the folder's own path is one meanwhile.
#[test]
fn a_file_is_replaced_in_the_folder_that_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (path, moved) = (directory.path().join("folder"), directory.path().join("moved"));
    fs_err::create_dir(&path).unwrap();
    let folder = Folder::open(&path).unwrap();
    fs_err::rename(&path, &moved).unwrap();
    symlink("/", &path).unwrap();
    write_in(&folder, "file".as_ref(), b"one", 0o600).unwrap();
    assert_eq!(fs_err::read(moved.join("file")).unwrap(), b"one");
}

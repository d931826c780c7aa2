//! Folders that no link leads out of.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

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

fn set_mode(path: &Path, mode: u32) {
    fs_err::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs_err::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// As somebody does who wants another's file opened by whoever removes the folder.
#[test]
fn a_link_that_takes_the_place_of_a_folder_meanwhile_opens_nothing_else() {
    const TIMES: usize = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs_err::create_dir(at("folder")).unwrap();
    fs_err::write(at("secret"), "x").unwrap();
    set_mode(&at("secret"), 0o600);
    symlink("secret", at("link")).unwrap();
    let folder = Folder::open(directory.path()).unwrap();
    let exchange = || {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(folder.as_file(), "folder", folder.as_file(), "link", flags).unwrap();
    };
    std::thread::scope(|scope| {
        let exchanging = scope.spawn(|| {
            for _ in 0..TIMES {
                set_mode(&at("folder"), 0o077);
                exchange();
                exchange();
            }
        });
        while !exchanging.is_finished() {
            let _ = folder.let_owner_write("folder");
        }
    });
    assert_eq!(mode(&at("secret")), 0o600);
}

/// Root may everywhere; on Linux it can do without, in one thread.
#[cfg(target_os = "linux")]
fn obey_permissions() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None).unwrap();
    sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_capabilities(None, sets).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn folders_that_are_closed_to_their_owner_are_opened_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs_err::create_dir_all(at("closed/inner")).unwrap();
    fs_err::write(at("closed/inner/file"), "x").unwrap();
    fs_err::write(at("file"), "x").unwrap();
    set_mode(&at("file"), 0o400);
    symlink("file", at("link")).unwrap();
    set_mode(&at("closed/inner"), 0o555);
    set_mode(&at("closed"), 0o007);
    let folder = Folder::open(directory.path()).unwrap();
    obey_permissions();
    assert!(folder.folder("closed").is_err());
    for name in ["closed", "file", "link", "nothing"] {
        folder.let_owner_write(name).unwrap();
    }
    assert_eq!((mode(&at("closed")), mode(&at("file"))), (0o707, 0o400));
    set_mode(&at("closed"), 0);
    folder.remove_own("closed").unwrap();
    let names: Vec<String> = folder.entries().unwrap().into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"closed".to_owned()), "{names:?}");
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

//! The demo checks itself; here it is played where nothing of the caller's is in reach.

use crate::program::checkstone;
use sandbox::RunToEnd as _;

/// Every scene is played, and nothing but the scratch folder is written to.
#[test]
fn the_demo_plays_all_four_boundaries() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("played");
    let home = place.path().join("home");
    fs_err::create_dir(&home).unwrap();
    let output = checkstone(&["demo", "--folder", folder.to_str().unwrap()])
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &home)
        .answer();
    let (stdout, stderr) = (output.stdout, output.stderr);
    assert_eq!(output.code, Some(0), "{stdout}{stderr}");
    assert_eq!(stdout.matches('✓').count(), 9, "{stdout}");
    assert_eq!(stderr, "");
    assert_eq!(fs_err::read_dir(&home).unwrap().count(), 0);
    let beside: Vec<_> =
        fs_err::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
}

/// Nothing of somebody else's is played in.
#[test]
fn a_folder_that_is_there_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let output = checkstone(&["demo", "--folder", place.path().to_str().unwrap()]).answer();
    let refused = format!(
        "exit code: 4\n--- stdout\n--- stderr\nerror: `{}` already exists\nhint: name a folder that does not exist yet\n",
        place.path().display()
    );
    assert_eq!(output.to_string(), refused);
    assert_eq!(fs_err::read_dir(place.path()).unwrap().count(), 0);
}

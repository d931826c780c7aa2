//! SIGKILL at any instant leaves the old file or the new one.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use crate::worker::{Dice, count, spawn};
use sandbox::waiting::at_moment;

/// Starts the job, kills it a moment after it has said `dots` dots, and returns how many it said in all.
fn kill_after(job: &[&str], dots: u64, moment: Duration) -> u64 {
    let mut child = spawn(job);
    let mut output = child.stderr.take().unwrap();
    let mut seen = vec![0; dots as usize];
    output.read_exact(&mut seen).unwrap();
    at_moment(moment, || child.kill()).unwrap();
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    child.wait().unwrap();
    assert!(seen.iter().chain(&rest).all(|byte| *byte == b'.'), "{}", String::from_utf8_lossy(&rest));
    dots + rest.len() as u64
}

/// H14 for plain files: a reader finds one of the contents, whole.
#[test]
fn a_killed_writer_leaves_the_old_file_or_the_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("manifest.json");
    fs_err::write(&path, [b'z'; 100_000]).unwrap();
    let mut dice = Dice(6);
    for _ in 0..count("CHECKSTONE_SOAK_KILLS", 25) {
        let (dots, moment) = (dice.below(20), Duration::from_micros(dice.below(2000)));
        kill_after(&["files_until_killed", path.to_str().unwrap()], dots, moment);
        let content = fs_err::read(&path).unwrap();
        assert_eq!(content.len(), 100_000);
        assert!(content.iter().all(|byte| *byte == content[0]), "two contents mixed");
        for entry in fs_err::read_dir(directory.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let leftover = Path::new(&name).extension().is_some_and(|extension| extension == "tmp");
            assert!(name == "manifest.json" || (name.starts_with(".manifest.json.") && leftover), "{name}");
        }
    }
}

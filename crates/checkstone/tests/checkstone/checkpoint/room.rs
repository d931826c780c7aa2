//! How much room checkpoints take.

use sandbox::RunToEnd as _;

use super::disk::new_disk;
use super::project::Project;
use crate::program;

/// A second copy would not fit on the disk.
#[test]
fn a_checkpoint_takes_no_room_where_files_can_be_cloned() {
    let Some(disk) = new_disk("mkfs.xfs", &["-q", "-f"], 320) else { return };
    let project = Project::at(&disk.place());
    let plan = r#"title = "churn"
[[stage]]
stageId = "S01_make_table"
goal = "A file that is larger than half of the disk"
command = "head -c 160M /dev/urandom > $CHECKSTONE_ARTIFACT_DIR/table.bin"
outputs = { table = "table.bin" }
"#;
    project.write("plan.toml", plan);
    let state = tempfile::tempdir().unwrap();
    let succeed = |arguments: &[&str]| {
        let mut command = program::checkstone(arguments);
        command.current_dir(project.path("")).env("CHECKSTONE_STATE_DIR", state.path());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        let answer = command.answer();
        assert!(answer.succeeded(), "{answer}");
    };
    succeed(&["run", "--id", "r1"]);
    // It holds the content for itself: what is overwritten comes back, and nothing is run again.
    let table = project.path("reports/churn/r1/S01_make_table/table.bin");
    let content = std::fs::read(&table).unwrap();
    std::fs::write(&table, "overwritten").unwrap();
    succeed(&["resume", "r1"]);
    assert!(std::fs::read(&table).unwrap() == content, "another content");
    let attempts = std::fs::read_dir(project.path("reports/churn/r1/.attempts/S01_make_table")).unwrap();
    assert_eq!(attempts.count(), 1);
}

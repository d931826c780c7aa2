//! Who may read what is restored.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use checkpoint::layout::Layout;
use run::engine::{self, PlanText, Settings};
use run::plan::Plan;
use run::state::RunState;

const PLAN: &str = "title = \"t\"\n[[stage]]\nstageId = \"S01_do_work\"\ngoal = \"Do the work of this stage\"\n\
    command = 'mkdir once && cd $CHECKSTONE_ARTIFACT_DIR && for file in a b c; do echo same > $file; done; chmod 600 a; chmod 644 b; chmod 755 c'\n";

#[test]
fn outputs_of_the_same_content_come_back_each_with_its_own_permissions() {
    let root = tempfile::tempdir().unwrap();
    let plan = || {
        let plan = Plan::read("plan.toml", PLAN, root.path()).unwrap();
        PlanText { plan, text: PLAN.to_owned(), file: None }
    };
    let [first, second] = ["r1", "r2"].map(|run| Layout::new(root.path(), "t", run).unwrap());
    let settings = |earlier: &[&Layout]| Settings {
        earlier_runs: Some(earlier.iter().map(|layout| (*layout).clone()).collect()),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        ..Settings::default()
    };
    let published = |layout: &Layout| layout.published("S01_do_work").unwrap();
    let modes = |folder: &Path| {
        ["a", "b", "c"].map(|file| {
            let mode = fs_err::metadata(folder.join(file)).unwrap().permissions().mode();
            format!("{:o}", mode & 0o777)
        })
    };
    let run = engine::run(root.path(), plan(), "r1", &settings(&[]), &mut |_| {});
    let expected = (RunState::Completed, ["600", "644", "755"].map(str::to_owned));
    assert_eq!((run.unwrap(), modes(&published(&first))), expected);

    fs_err::remove_dir_all(published(&first)).unwrap();
    let run = engine::resume(&first, plan(), &settings(&[]), &mut |_| {});
    assert_eq!((run.unwrap(), modes(&published(&first))), expected);

    fs_err::remove_dir_all(published(&first)).unwrap();
    let run = engine::run(root.path(), plan(), "r2", &settings(&[&first]), &mut |_| {});
    assert_eq!((run.unwrap(), modes(&published(&second))), expected);
}

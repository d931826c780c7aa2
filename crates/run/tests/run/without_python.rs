//! A build without the feature `python`: plans with Python stages are refused before anything starts.

use run::engine::{self, PlanText, Settings};
use run::plan::Plan;

#[test]
fn a_plan_with_python_stages_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let text = "title = \"study\"\n[[stage]]\nstageId = \"S01_load_data\"\nkind = \"python\"\n\
                goal = \"Load the data of the study\"\ncommand = \"x = 1\"\n";
    let plan = Plan::read("plan.toml", text, folder.path()).unwrap();
    let plan = PlanText { plan, text: text.to_owned(), file: None };
    let error = engine::run(folder.path(), plan, "r1", &Settings::default(), &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`S01_load_data` is a Python stage, and this build of checkstone cannot run Python stages"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

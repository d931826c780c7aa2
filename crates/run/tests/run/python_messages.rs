//! What Python stages tell people where something is not as it should be: once, with names, and with what to do.

use checkpoint::SaveRequest;
use checkpoint::manifest::TrustLevel;
use jiff::Timestamp;
use run::state::RunState;
use sandbox::redacted;

use crate::python::make_environment;
use crate::python_runs::{Project, TITLE, stage, text};

fn first() -> String {
    stage("S01_load_data", "import math\nvalue = 41\nseen = {1, 2}", "")
}

fn second(code: &str) -> String {
    stage("S02_use_data", code, "dependencies = [\"S01_load_data\"]")
}

/// A run whose second stage failed.
fn failed() -> Project {
    let mut project = Project::new();
    let state = project.run(&format!("{TITLE}{}{}", first(), second("1 / 0")));
    assert_eq!(state, RunState::Failed, "{:?}", project.events);
    project
}

#[test]
fn a_notebook_that_is_none_is_told_once_and_left_alone() {
    let mut project = failed();
    let path = project.layout().notebook();
    std::fs::write(&path, "{\"cells\": [").unwrap();
    let state = project.resume(&format!("{TITLE}{}{}", first(), second("print(value)")));
    assert_eq!(state, RunState::Completed, "{:?}", project.events);
    let told = project.warnings();
    assert_eq!(told.len(), 1, "{told:?}");
    insta::assert_snapshot!(redacted(told[0]), @"`[folder]/notebooks/houses.ipynb` is not a notebook (EOF while parsing a list at line 1 column 11), and nothing is written to it: move it away, or fix it");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "{\"cells\": [");
}

/// R13
#[test]
fn what_changed_in_the_environment_is_one_warning() {
    let mut project = failed();
    let other = project.root().join("other");
    make_environment(&other);
    let site = std::fs::read_dir(other.join("lib")).unwrap().next().unwrap().unwrap().path();
    let package = site.join("site-packages/extra-1.0.dist-info");
    std::fs::create_dir(&package).unwrap();
    std::fs::write(package.join("METADATA"), "Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n").unwrap();
    let before = std::mem::replace(&mut project.virtual_env, other.clone());
    let state = project.resume(&format!("{TITLE}{}{}", first(), second("print(value)")));
    assert_eq!(state, RunState::Completed, "{:?}", project.events);
    let expected = format!(
        "the environment has changed since the checkpoint `{}`: the interpreter was `{}/bin/python` and is `{}/bin/python` now; `extra` 1.0 is new",
        project.saved()[1].checkpoint_id,
        before.display(),
        other.display()
    );
    assert_eq!(project.warnings(), [expected]);
}

/// R9: what is not loaded is named as the person knows it.
#[test]
fn what_an_imported_checkpoint_does_not_give_back_is_named() {
    let mut project = failed();
    let layout = project.layout();
    let saved = project.saved().remove(0);
    let request = SaveRequest {
        artifacts: saved.artifacts.iter().map(|known| project.root().join(&known.relative_path)).collect(),
        trust: TrustLevel::Imported,
        ..SaveRequest::new("S01_load_data", Timestamp::try_from(sandbox::now()).unwrap())
    };
    let imported = checkpoint::save(&layout, &request).unwrap().sealed.manifest.checkpoint_id;
    let working = format!("{TITLE}{}{}", first(), second("print(value, 'seen' in globals())"));
    assert_eq!(project.resume(&working), RunState::Completed, "{:?}", project.events);
    let expected = format!(
        "not loaded, since the checkpoint `{imported}` is not this machine's own and loading can run code: the variable `seen`, `import math`; \
         if you trust it, `checkstone resume run-001 --trust` loads all of it"
    );
    assert!(project.warnings().contains(&expected.as_str()), "{:?}", project.warnings());
    assert!(project.notebook().iter().any(|cell| text(cell) == "41 False\n"));
}

#[test]
fn the_end_of_a_kernel_is_told_in_words() {
    let ends = [
        (
            "import os\nos.kill(os.getpid(), 9)",
            "the kernel was killed (SIGKILL), as the system does when memory runs out",
            "",
        ),
        (
            "import ctypes\nctypes.string_at(0)",
            "the kernel crashed in native code (signal 11); its output says where",
            "Fatal Python error: Segmentation fault",
        ),
        ("import os\nos._exit(3)", "the kernel ended with exit code 3", ""),
    ];
    for (code, reason, printed) in ends {
        let mut project = Project::new();
        assert_eq!(project.run(&format!("{TITLE}{}", stage("S01_load_data", code, ""))), RunState::Failed);
        assert_eq!(project.reason("S01_load_data"), Some(reason));
        let log = project.layout().attempt_output("S01_load_data", 1).unwrap();
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.starts_with(printed), "{log}");
        // The last cell is that of the emergency checkpoint.
        let [.., cell, _] = &project.notebook()[..] else { panic!("there are fewer than two cells") };
        assert!(text(cell).starts_with(printed));
    }
}

//! Old runs removed: what goes, what stays, and that a kill in the middle loses nothing.

#[cfg(target_os = "linux")]
use std::{path::PathBuf, process::Command};

use sandbox::{RunToEnd as _, finish, without_durations};
use serde_json::Value;

use super::{Project, plan, stage};

fn study(text: &str) -> String {
    plan(&[
        stage(
            "S01_load_data",
            "command = 'echo data > $CHECKSTONE_ARTIFACT_DIR/data'\noutputs = { data = \"data\" }",
        ),
        stage(
            "S02_fit_model",
            &format!(
                "command = 'echo {text} > $CHECKSTONE_ARTIFACT_DIR/model'\ninputs = \"S01_load_data/data\""
            ),
        ),
    ])
}

/// Four runs, of which the second and the last failed.
fn project() -> Project {
    let project = Project::new("");
    for (id, text) in [("r1", "one"), ("r2", "two; exit 1"), ("r3", "three"), ("r4", "four; exit 1")] {
        project.workplace.write("plan.toml", &study(text));
        project.output(&["run", "--id", id]);
    }
    project
}

fn runs(project: &Project) -> Vec<String> {
    let listed = project.workplace.json(&["run", "--list", "--json"], "run-list.schema.json");
    listed["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect()
}

fn removed(output: &Value) -> Vec<&str> {
    output["removed"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap()).collect()
}

#[test]
fn old_runs_go_and_the_newest_and_the_last_result_stay() {
    let project = project();
    let refused = project.output(&["run", "--prune", "--keep", "1"]);
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            Some(4),
            "error: nothing was removed: not a terminal\n\
             hint: pass `--yes`; `--dry-run` shows what would be removed\n"
        )
    );
    let schema = "run-prune.schema.json";
    let dry = project.workplace.json(&["run", "--prune", "--keep", "1", "--dry-run", "--json"], schema);
    // The newest failed, so that the newest that is complete stays too.
    assert_eq!((removed(&dry), &dry["kept"]), (vec!["r2", "r1"], &Value::from(2)));
    assert_eq!(runs(&project), ["r4", "r3", "r2", "r1"]);
    let pruned = project.workplace.json(&["run", "--prune", "--keep", "1", "--yes", "--json"], schema);
    assert_eq!(removed(&pruned), ["r2", "r1"]);
    // What only they held in the store is freed as well.
    assert!(pruned["freedBytes"].as_u64() > dry["freedBytes"].as_u64(), "{dry} {pruned}");
    assert_eq!(runs(&project), ["r4", "r3"]);
    for gone in ["reports/study/r1", "reports/study/r2", "reports/study/checkpoints/r1"] {
        assert!(!project.path(gone).exists(), "{gone}");
    }
    assert_eq!(project.read("reports/study/r3/S02_fit_model/model"), "three\n");
    let again = project.output(&["run", "--prune", "--keep", "1", "--yes"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "✓ 0 runs removed, 2 kept; 0 B freed\n"));
    // What was taken over from a run that is gone is here, and comes back from the store.
    std::fs::remove_dir_all(project.path("reports/study/r3/S01_load_data")).unwrap();
    project.workplace.write("plan.toml", &study("three"));
    assert_eq!(project.output(&["resume", "r3"]).code, Some(0));
    assert_eq!(project.read("reports/study/r3/S01_load_data/data"), "data\n");
    let young = project.output(&["run", "--prune", "--older-than", "1", "--dry-run"]);
    assert_eq!(young.stdout, "0 runs would be removed, 2 kept; at least 0 B would be freed\n");
}

#[test]
fn a_run_that_is_running_stays() {
    let waits = "command = 'touch begun; until test -e go; do sleep 0.02; done'";
    let project = Project::new(&plan(&[stage("S01_wait_long", waits)]));
    let child = project.start(&[]);
    project.wait_for("begun");
    let pruned = project.output(&["run", "--prune", "--keep", "0", "--yes"]);
    assert_eq!((pruned.code, pruned.stdout.as_str()), (Some(0), "✓ 0 runs removed, 1 kept; 0 B freed\n"));
    project.workplace.write("go", "");
    assert_eq!(finish(child).code, Some(0));
    assert_eq!(project.run_state(), "COMPLETED");
}

/// As a kill leaves it between the two steps: the record is there, so that the run is, and the next one finishes the work.
#[test]
fn what_a_killed_one_left_is_finished_by_the_next() {
    let project = project();
    std::fs::rename(
        project.path("reports/study/r1"),
        project.path("reports/study/checkpoints/.store/.tmp/pruned-1"),
    )
    .unwrap();
    assert_eq!(runs(&project), ["r4", "r3", "r2", "r1"]);
    let pruned = project.output(&["run", "--prune", "--keep", "3", "--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert_eq!(runs(&project), ["r4", "r3", "r2"]);
    let left = std::fs::read_dir(project.path("reports/study/checkpoints/.store/.tmp")).unwrap().count();
    assert_eq!((left, project.path("reports/study/checkpoints/r1").exists()), (0, false));
    let told = without_durations(project.output(&["run", "--dry-run"]).stdout);
    insta::assert_snapshot!(told, @"
    S01_load_data  made by run `r4`
    S02_fit_model  would run: command changed
    1 of 2 stages would run
    ");
}

/// Ten runs of a large result take the room of one, and none of them needs another.
#[test]
fn a_result_that_is_only_referred_to_is_taken_over_without_a_copy() {
    let large = "command = 'seq 100000 > $CHECKSTONE_ARTIFACT_DIR/large'\nstore = \"reference\"";
    let of_number = |number: u32| {
        plan(&[
            stage("S01_make_large", large),
            stage("S02_say_number", &format!("command = 'echo {number}'")),
        ])
    };
    let project = Project::new("");
    for number in 1..=3 {
        project.workplace.write("plan.toml", &of_number(number));
        assert_eq!(project.output(&["run", "--id", &format!("r{number}")]).code, Some(0));
    }
    let links = |run: &str| {
        let path = project.path(&format!("reports/study/{run}/S01_make_large/large"));
        std::os::unix::fs::MetadataExt::nlink(&std::fs::metadata(path).unwrap())
    };
    assert_eq!((links("r1"), links("r3")), (3, 3));
    assert_eq!(project.output(&["run", "--prune", "--keep", "1", "--yes"]).code, Some(0));
    assert_eq!(links("r3"), 1);
    let told = project.output(&["run"]).stdout;
    assert_eq!(told, "nothing to run: everything is as run r3 made it; `--fresh` runs it all again\n");
    // Whoever writes into it changes what is no longer anybody's result, and it is made again.
    std::fs::write(project.path("reports/study/r3/S01_make_large/large"), "forged").unwrap();
    assert_eq!(project.output(&["run", "--id", "r4"]).code, Some(0));
    assert_eq!(project.read("reports/study/r4/S01_make_large/large").lines().count(), 100_000);
}

/// A record that somebody forged takes nothing along that is not a run's.
#[test]
fn what_is_not_a_runs_stays() {
    let project = project();
    project.output(&["report", "r3"]);
    let report = project.read("reports/study/README.md");
    let forged = project.path("reports/study/checkpoints/README.md");
    std::fs::create_dir(&forged).unwrap();
    std::fs::write(forged.join("events.jsonl"), "").unwrap();
    std::os::unix::fs::symlink("../../src", project.path("reports/study/linked")).unwrap();
    std::fs::create_dir(project.path("reports/study/checkpoints/linked")).unwrap();
    std::fs::write(project.path("reports/study/checkpoints/linked/events.jsonl"), "").unwrap();
    // Whatever is hidden is no run, whatever is in it.
    let hidden = ["reports/study/.begun", "reports/study/checkpoints/.begun"].map(|path| project.path(path));
    for folder in &hidden {
        std::fs::create_dir(folder).unwrap();
        std::fs::copy(project.path("reports/study/checkpoints/r1/events.jsonl"), folder.join("events.jsonl"))
            .unwrap();
    }
    let pruned = project.output(&["run", "--prune", "--keep", "0", "--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert_eq!(runs(&project), ["r3"]);
    assert_eq!(project.read("reports/study/README.md"), report);
    assert!(hidden.iter().all(|folder| folder.join("events.jsonl").exists()));
    assert_eq!(project.read("src/lib.rs"), "pub fn one() -> u32 { 1 }\n");
}

#[test]
fn a_person_at_a_terminal_is_shown_what_goes_and_asked() {
    let project = project();
    let answered = |answer: &str| {
        let (person, terminal) = crate::trust::terminal();
        rustix::io::write(&person, answer.as_bytes()).unwrap();
        let mut command = project.checkstone(&["run", "--prune", "--keep", "3"]);
        command.stdin(std::process::Stdio::from(terminal)).answer()
    };
    let refused = answered("n\n");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert_eq!(runs(&project), ["r4", "r3", "r2", "r1"]);
    let asked: Vec<&str> = refused.stderr.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(asked, ["r1", "Remove 1 run, results included? [y/N] "]);
    assert_eq!(answered("y\n").code, Some(0));
    assert_eq!(runs(&project), ["r4", "r3", "r2"]);
}

/// A folder with read-only folders in it, which only root removes as it is: made writable when the test ends, however it does.
#[cfg(target_os = "linux")]
struct Closed(PathBuf);

#[cfg(target_os = "linux")]
impl Drop for Closed {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.0).status();
    }
}

/// What stages made read-only, and what they closed altogether: a run goes with all of it.
#[cfg(target_os = "linux")]
#[test]
fn read_only_folders_go_too() {
    let project = Project::new(&plan(&[
        stage(
            "S01_make_data",
            "command = 'cd $CHECKSTONE_ARTIFACT_DIR; mkdir d; echo a > d/a; chmod 555 d'\noutputs = [\"d/a\"]",
        ),
        stage(
            "S02_close_folder",
            "command = 'cd $CHECKSTONE_ARTIFACT_DIR; mkdir -p e/f; echo a > e/f/a; chmod 000 e/f; chmod 555 e . ..; false'",
        ),
    ]));
    let _closed = Closed(project.path("reports"));
    for id in ["r1", "r2", "r3"] {
        let done = project.workplace.as_a_user(&["run", "--fresh", "--id", id]).answer();
        assert_eq!(done.code, Some(1), "{done:?}");
    }
    let pruned = project.workplace.as_a_user(&["run", "--prune", "--keep", "1", "--yes"]).answer();
    assert_eq!((pruned.code, pruned.stderr.as_str()), (Some(0), ""), "{pruned:?}");
    assert_eq!(runs(&project), ["r3"]);
    let left = std::fs::read_dir(project.path("reports/study/checkpoints/.store/.tmp")).unwrap().count();
    assert_eq!((left, project.path("reports/study/r1").exists()), (0, false));
    // And what is damaged in a read-only folder is brought back, which stays read-only.
    let damaged = project.path("reports/study/r3/S01_make_data/d/a");
    std::fs::write(&damaged, "damaged\n").unwrap();
    let resumed = project.workplace.as_a_user(&["resume", "r3"]).answer();
    assert!(
        resumed.stderr.contains("S01_make_data  unchanged, not run again, 1 artifact restored"),
        "{resumed:?}"
    );
    assert_eq!(project.read("reports/study/r3/S01_make_data/d/a"), "a\n");
    let mode = std::fs::metadata(damaged.parent().unwrap()).unwrap().permissions();
    assert!(mode.readonly());
}

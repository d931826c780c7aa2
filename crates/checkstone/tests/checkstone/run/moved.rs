//! Projects that were moved or copied, and runs that came from somebody else.

use sandbox::{Answer, RunToEnd as _};

use super::{Project, plan, stage};

fn study() -> Project {
    let project = Project::new(&plan(&[
        stage(
            "S01_load_data",
            "command = 'cat $CHECKSTONE_INPUT_RAW > $CHECKSTONE_ARTIFACT_DIR/table; echo ran >> ran'\n\
             inputs = \"raw.csv\"\noutputs = { table = \"table\" }",
        ),
        stage(
            "S02_count_rows",
            "command = ['sh', 'count.sh']\ninputs = \"S01_load_data/table\"\noutputs = { rows = \"rows\" }",
        ),
    ]));
    project.workplace.write("raw.csv", "1\n2\n");
    project.workplace.write(
        "count.sh",
        "wc -l < $CHECKSTONE_INPUT_TABLE > $CHECKSTONE_ARTIFACT_DIR/rows; echo ran >> ran\n",
    );
    assert_eq!(project.run().code, Some(0));
    project
}

/// What somebody is answered who works in this folder of the sandbox.
fn output_in(project: &Project, folder: &str, arguments: &[&str]) -> Answer {
    project.checkstone(arguments).current_dir(project.workplace.path(folder)).answer()
}

#[test]
fn a_project_that_was_moved_or_copied_runs_nothing_again() {
    let project = study();
    let (repo, moved, copied) =
        (project.workplace.repo(), project.workplace.path("moved"), project.workplace.path("copied"));
    std::fs::rename(&repo, &moved).unwrap();
    let copying = std::process::Command::new("cp").arg("-r").args([&moved, &copied]).answer();
    assert_eq!(copying.code, Some(0));
    for folder in ["moved", "copied"] {
        let told = output_in(&project, folder, &["run", "--dry-run"]);
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
        insta::allow_duplicates! {
            insta::assert_snapshot!(told.stdout, @"
            S01_load_data   made by run `r1`
            S02_count_rows  made by run `r1`
            0 of 2 stages would run
            ");
        }
        let nothing = output_in(&project, folder, &["run"]);
        assert_eq!(
            (nothing.code, nothing.stdout.as_str(), nothing.stderr.as_str()),
            (Some(0), "nothing to run: everything is as run r1 made it; `--fresh` runs it all again\n", "")
        );
    }
    // What changes is run, and the rest is taken over.
    std::fs::write(copied.join("count.sh"), "echo 2 > $CHECKSTONE_ARTIFACT_DIR/rows; echo ran >> ran\n")
        .unwrap();
    let done = output_in(&project, "copied", &["run", "--id", "r2"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(std::fs::read_to_string(copied.join("ran")).unwrap(), "ran\n".repeat(3));
    // It goes on without being named, as it would have where it was.
    let plan = std::fs::read_to_string(moved.join("plan.toml")).unwrap();
    std::fs::write(moved.join("plan.toml"), plan.replace("sh', 'count.sh", "sh', 'count.sh', 'again"))
        .unwrap();
    let resumed = output_in(&project, "moved", &["resume"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(std::fs::read_to_string(moved.join("ran")).unwrap(), "ran\n".repeat(3));
}

/// Somebody else's record says what it likes, also under the name of a run that this user had.
#[test]
fn what_came_from_somebody_else_is_not_used_and_that_is_told() {
    let project = study();
    let (repo, strangers) = (project.workplace.repo(), project.workplace.path("strangers"));
    let copying = std::process::Command::new("cp").arg("-r").args([&repo, &strangers]).answer();
    assert_eq!(copying.code, Some(0));
    let events = strangers.join("reports/study/checkpoints/r1/events.jsonl");
    let record = std::fs::read_to_string(&events).unwrap();
    let (first, rest) = record.split_once('\n').unwrap();
    let at = first.split("\"at\":\"").nth(1).unwrap().split('"').next().unwrap();
    let forged = first.replace(at, "2026-01-01T00:00:00Z");
    assert_ne!(forged, first);
    std::fs::write(&events, format!("{forged}\n{rest}")).unwrap();
    let told = output_in(&project, "strangers", &["run", "--dry-run"]);
    insta::assert_snapshot!(told.stdout, @"
    S01_load_data   would run: run `r1` made it, but was not started here
    S02_count_rows  would run: run `r1` made it, but was not started here
    2 of 2 stages would run
    ");
    let done = output_in(&project, "strangers", &["run", "--id", "r2"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let warned: Vec<&str> = done.stderr.lines().take(2).collect();
    assert_eq!(
        warned,
        [
            "warning: run `r1` was not started here, so nothing of it is reused",
            "hint: check its plan and its artifacts; `checkstone resume r1` makes it yours",
        ]
    );
    assert_eq!(std::fs::read_to_string(strangers.join("ran")).unwrap(), "ran\n".repeat(4));
}

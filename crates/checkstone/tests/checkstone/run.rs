//! Runs as people start them: plans of real programs, what becomes of them, and what a reader of the events sees.

mod aborts;
mod bad_plans;
#[cfg(target_os = "linux")]
mod cluster;
#[cfg(all(feature = "s3", target_os = "linux"))]
mod cluster_exchange;
#[cfg(target_os = "linux")]
mod cluster_kills;
mod costs;
#[cfg(target_os = "linux")]
mod faults;
mod hostile;
mod incremental;
#[cfg(target_os = "linux")]
mod kills;
#[cfg(target_os = "linux")]
mod lease;
mod modules;
mod moved;
mod needs;
mod notifications;
mod origin;
mod page;
mod parameters;
mod pruned;
#[cfg(feature = "python")]
mod python;
#[cfg(target_os = "linux")]
mod random;
mod reported;
mod resources;
mod resumes;
#[cfg(feature = "python")]
mod study;
mod told;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use sandbox::{Answer, RunToEnd as _, wait_for_file, without_durations};
use serde_json::Value;

use crate::workplace::Workplace;

pub(crate) struct Project {
    pub(crate) workplace: Workplace,
}

impl Project {
    pub(crate) fn new(plan: &str) -> Self {
        let project = Self { workplace: Workplace::new(None) };
        project.workplace.write("plan.toml", plan);
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.workplace.repo().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn checkstone(&self, arguments: &[&str]) -> Command {
        let mut command = self.workplace.checkstone(arguments);
        // So wide that nothing is cut off, whatever the folder is called.
        command.env("COLUMNS", "400");
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Answer {
        self.checkstone(arguments).answer()
    }

    /// Runs the plan as `r1`.
    pub(crate) fn run(&self) -> Answer {
        self.output(&["run", "plan.toml", "--id", "r1"])
    }

    pub(crate) fn resume(&self) -> Answer {
        self.output(&["resume", "r1"])
    }

    /// Starts the plan as `r1`, and returns while it runs.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.checkstone(&[&["run", "plan.toml", "--id", "r1"], arguments].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// All events of `r1`, each checked against the schema.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.read("reports/study/checkpoints/r1/events.jsonl");
        valid_events(&text)
    }

    /// The last state that each stage got, in the order of first appearance.
    pub(crate) fn states(&self) -> Vec<(String, String)> {
        let mut states: Vec<(String, String)> = Vec::new();
        for event in self.events().iter().filter(|event| event["event"] == "stage-state") {
            let (id, to) = (text(&event["stageId"]), text(&event["to"]));
            match states.iter_mut().find(|(known, _)| *known == id) {
                Some((_, state)) => *state = to,
                None => states.push((id, to)),
            }
        }
        states
    }

    pub(crate) fn state(&self, stage: &str) -> String {
        self.states()
            .into_iter()
            .find(|(id, _)| id == stage)
            .map_or_else(|| "PENDING".to_owned(), |(_, state)| state)
    }

    pub(crate) fn run_state(&self) -> String {
        let events = self.events();
        text(&events.iter().rfind(|event| event["event"] == "run-state").unwrap()["to"])
    }

    /// How often the stage was started.
    pub(crate) fn attempts(&self, stage: &str) -> usize {
        let is_start = |event: &&Value| event["to"] == "RUNNING" && event["stageId"] == stage;
        self.events().iter().filter(is_start).count()
    }

    /// Waits until the file is there.
    #[track_caller]
    pub(crate) fn wait_for(&self, path: &str) {
        wait_for_file(&self.path(path));
    }

    /// Every published file of `r1` with its content.
    pub(crate) fn published(&self) -> Vec<(String, Vec<u8>)> {
        self.published_by("r1")
    }

    pub(crate) fn published_by(&self, run: &str) -> Vec<(String, Vec<u8>)> {
        let root = self.path(&format!("reports/study/{run}"));
        let mut found = Vec::new();
        collect(&root, &root, &mut found);
        found.sort();
        found
    }

    /// Checkpoints of `r1`, the newest first.
    pub(crate) fn checkpoints(&self) -> Vec<Value> {
        let listed = self.workplace.json(&["checkpoint", "list", "--json"], "checkpoint-list.schema.json");
        listed["checkpoints"].as_array().unwrap().clone()
    }
}

fn collect(root: &std::path::Path, folder: &std::path::Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if name.starts_with(".attempts") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
}

pub(crate) fn valid_events(text: &str) -> Vec<Value> {
    let schema = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/run-event.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    text.lines()
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            let problems: Vec<String> =
                validator.iter_errors(&event).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{problems:?} in {event:#}");
            event
        })
        .collect()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// A stage with a goal that nobody reads.
pub(crate) fn stage(id: &str, more: &str) -> String {
    format!("[[stage]]\nstageId = \"{id}\"\ngoal = \"Something that a test needs\"\n{more}\n")
}

pub(crate) fn plan(stages: &[String]) -> String {
    format!("title = \"study\"\n{}", stages.concat())
}

#[test]
fn the_plan_that_is_written_runs() {
    let project = Project::new("");
    let written = project.output(&["run", "--new", "pipeline", "mine.toml"]);
    assert!(written.succeeded(), "{written:?}");
    // Never over something that is there.
    assert_eq!(project.output(&["run", "--new", "pipeline", "mine.toml"]).code, Some(4));
    assert_eq!(project.output(&["run", "--new", "nothing", "other.toml"]).code, Some(2));
    let checked = project.output(&["run", "mine.toml", "--check"]);
    assert_eq!(checked.stdout, "`mine.toml` is valid: 4 stages\n");
    let done = project.output(&["run", "mine.toml", "--jobs", "4", "--id", "r1"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_load_data       COMPLETED
    S02_explore_table   COMPLETED
    S03_compute_model   COMPLETED
    S04_evaluate_model  COMPLETED
    run r1 COMPLETED: 4 of 4 stages completed; the artifacts are in `reports/repo/r1`; `checkstone report r1` writes the report
    ");
    assert_eq!(project.read("reports/repo/r1/S04_evaluate_model/report.txt").lines().count(), 4);
}

/// Spec 5's stage contract: what a stage is given.
#[test]
fn a_stage_knows_its_run_its_folder_and_its_inputs() {
    let project = Project::new(&plan(&[
        stage(
            "S01_load_data",
            "command = 'echo 1 > $CHECKSTONE_ARTIFACT_DIR/one.txt'\noutputs = { one = \"one.txt\" }",
        ),
        stage(
            "S02_show_all",
            "command = ['sh', '-c', 'env > \"$CHECKSTONE_ARTIFACT_DIR/env\"; pwd > \"$CHECKSTONE_ARTIFACT_DIR/pwd\"; cat $CHECKSTONE_INPUT_ONE $CHECKSTONE_INPUT_RAW > $CHECKSTONE_ARTIFACT_DIR/cat']\n\
             inputs = { one = \"S01_load_data/one.txt\", raw = \"src/lib.rs\" }\nenvironment = { MINE = \"yes\", HOME = \"/elsewhere\" }\ndirectory = \"src\"",
        ),
    ]));
    let mut command = project.checkstone(&["run", "plan.toml", "--id", "r1"]);
    command.env("CHECKSTONE_INPUT_STRANGER", "from outside").env("FROM_CALLER", "kept");
    let done = command.answer();
    assert_eq!(done.code, Some(0), "{done:?}");
    let environment = project.read("reports/study/r1/S02_show_all/env");
    let run = project.path("reports/study/r1");
    for line in [
        "CHECKSTONE_RUN_ID=r1".to_owned(),
        "CHECKSTONE_STAGE_ID=S02_show_all".to_owned(),
        format!("CHECKSTONE_ARTIFACT_DIR={}/.attempts/S02_show_all/1/artifacts", run.display()),
        format!("CHECKSTONE_INPUT_ONE={}/S01_load_data/one.txt", run.display()),
        format!("CHECKSTONE_INPUT_RAW={}", project.path("src/lib.rs").display()),
        "MINE=yes".to_owned(),
        "HOME=/elsewhere".to_owned(),
        "FROM_CALLER=kept".to_owned(),
    ] {
        assert!(environment.lines().any(|known| known == line), "{line} in {environment}");
    }
    let strangers = environment.lines().filter(|line| line.starts_with("CHECKSTONE_INPUT_STRANGER"));
    assert_eq!(strangers.count(), 0, "{environment}");
    assert_eq!(
        project.read("reports/study/r1/S02_show_all/pwd").trim(),
        project.path("src").to_str().unwrap()
    );
    assert_eq!(project.read("reports/study/r1/S02_show_all/cat"), "1\npub fn one() -> u32 { 1 }\n");
}

/// R10: a failed stage is shown as failed; its exit status decides, whatever it says; what needs it is blocked, and what
/// does not is run.
#[test]
fn the_exit_status_decides_and_not_the_markers() {
    let project = Project::new(&plan(&[
        stage(
            "S01_claim_success",
            "command = 'echo \"[STAGE:end:id=S01_claim_success:status=success]\"; exit 3'",
        ),
        stage("S02_claim_failure", "command = 'echo \"[STAGE:end:id=S02_claim_failure:status=failed]\"'"),
        stage("S03_wait_behind", "command = 'true'\ndependencies = [\"S01_claim_success\"]"),
        stage("S04_kill_itself", "command = 'kill -SEGV $$'"),
    ]));
    let done = project.run();
    assert_eq!(done.code, Some(1));
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_claim_success  FAILED        exit status 3
    S02_claim_failure  COMPLETED
    S03_wait_behind    BLOCKED       `S01_claim_success` did not complete
    S04_kill_itself    FAILED        killed by signal 11
    run r1 FAILED: 1 of 4 stages completed; `checkstone resume r1` continues it
    ");
    assert_eq!(project.run_state(), "FAILED");
}

#[test]
fn what_is_not_there_or_not_verified_is_not_accepted() {
    let project = Project::new(&plan(&[
        stage(
            "S01_forget_output",
            "command = 'echo > $CHECKSTONE_ARTIFACT_DIR/other'\noutputs = { a = \"a.txt\" }",
        ),
        stage(
            "S02_fail_verification",
            "command = 'echo bad > $CHECKSTONE_ARTIFACT_DIR/a.txt'\nverify = 'grep good $CHECKSTONE_ARTIFACT_DIR/a.txt || ! echo nothing good'",
        ),
        stage(
            "S03_link_out",
            "command = 'ln -s /etc/passwd $CHECKSTONE_ARTIFACT_DIR/a.txt'\noutputs = { a = \"a.txt\" }",
        ),
        stage("S05_make_folder", "command = 'mkdir $CHECKSTONE_ARTIFACT_DIR/a'\noutputs = { a = \"a\" }"),
        stage(
            "S04_pass_verification",
            "command = 'echo good > $CHECKSTONE_ARTIFACT_DIR/a.txt'\nverify = 'grep -q good $CHECKSTONE_ARTIFACT_DIR/a.txt'",
        ),
    ]));
    let done = project.run();
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_forget_output      FAILED        it did not write its output `a.txt` into `$CHECKSTONE_ARTIFACT_DIR`
    S02_fail_verification  FAILED        `verify`: exit status 1
    S03_link_out           FAILED        plan.toml:16:17: the artifact `[folder]/repo/reports/study/r1/.attempts/S03_link_out/1/artifacts/a.txt` is a symbolic link; write a file in its place
    S05_make_folder        FAILED        its output `a` is a folder without files
    S04_pass_verification  COMPLETED
    run r1 FAILED: 1 of 5 stages completed; `checkstone resume r1` continues it
    ");
    // What it printed is where the cause is.
    let log = "reports/study/r1/.attempts/S02_fail_verification/1/verify.log";
    insta::assert_snapshot!(without_durations(&done.stderr), @"
    run r1 of study
    S01_forget_output  running, at most [duration]
    S01_forget_output  checkpoint ckpt-emergency-000001-[id] (interrupted), 2 artifacts
    S01_forget_output  failed: it did not write its output `a.txt` into `$CHECKSTONE_ARTIFACT_DIR` (see `reports/study/r1/.attempts/S01_forget_output/1/output.log`)
    S02_fail_verification  running, at most [duration]
    S02_fail_verification  checkpoint ckpt-emergency-000002-[id] (interrupted), 3 artifacts
    S02_fail_verification  failed: `verify`: exit status 1; it printed: nothing good (see `reports/study/r1/.attempts/S02_fail_verification/1/verify.log`)
    S03_link_out  running, at most [duration]
    S03_link_out  checkpoint ckpt-emergency-000003-[id] (interrupted), 1 artifact
    S03_link_out  failed: plan.toml:16:17: the artifact `[folder]/repo/reports/study/r1/.attempts/S03_link_out/1/artifacts/a.txt` is a symbolic link; write a file in its place (see `reports/study/r1/.attempts/S03_link_out/1/output.log`)
    S05_make_folder  running, at most [duration]
    S05_make_folder  checkpoint ckpt-emergency-000004-[id] (interrupted), 1 artifact
    S05_make_folder  failed: its output `a` is a folder without files (see `reports/study/r1/.attempts/S05_make_folder/1/output.log`)
    S04_pass_verification  running, at most [duration]
    S04_pass_verification  checkpoint ckpt-000005-[id], 1 artifact
    S04_pass_verification  completed in [duration], 1 artifact
    ");
    assert_eq!(project.read(log), "nothing good\n");
    assert_eq!(project.published(), [("S04_pass_verification/a.txt".to_owned(), b"good\n".to_vec())]);
    assert_eq!(project.output(&["report", "r1"]).code, Some(0));
    let page = project.read("reports/study/r1/report.html");
    assert!(page.contains("attempt 1, <code>verify</code></summary><pre>nothing good\n"), "{page}");
}

#[test]
fn a_stage_is_tried_again_as_often_as_its_plan_says() {
    let flaky = "command = 'echo x >> $TRIES; test $(wc -l < $TRIES) -ge 3'\nretries = 2";
    let project = Project::new(&plan(&[stage("S01_try_hard", flaky)]));
    let mut command = project.checkstone(&["run", "plan.toml", "--id", "r1"]);
    let done = command.env("TRIES", project.path("tries")).answer();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(project.attempts("S01_try_hard"), 3);
    // Each attempt has a folder of its own.
    for number in 1..=3 {
        assert!(
            project.path(&format!("reports/study/r1/.attempts/S01_try_hard/{number}/output.log")).exists()
        );
    }
}

#[test]
fn independent_stages_run_at_once_as_far_as_is_allowed() {
    // Each waits for the other: one after the other they would never end.
    let meet = |own: &str, other: &str| {
        format!(
            "command = 'touch $MEETING/{own}; until test -e $MEETING/{other}; do sleep 0.01; done'\nmaxDurationSec = 600"
        )
    };
    let project = Project::new(&plan(&[
        stage("S01_meet_two", &meet("one", "two")),
        stage("S02_meet_one", &meet("two", "one")),
    ]));
    std::fs::create_dir(project.path("meeting")).unwrap();
    let mut command = project.checkstone(&["run", "plan.toml", "--id", "r1", "--jobs", "2"]);
    let done = command.env("MEETING", project.path("meeting")).answer();
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn mistakes_in_a_plan_are_told_before_anything_runs() {
    let project = Project::new("title = \"study\"\n[[stage]]\nstageId = \"S1\"\ncomand = \"true\"\n");
    let done = project.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        done.stderr,
        "error: the plan cannot be run:\n\
         \x20 plan.toml:2:1: `[[stage]]` has no `goal`\n\
         \x20 plan.toml:2:1: `[[stage]]` has no `command`\n\
         \x20 plan.toml:3:11: `S1` is not a stage id; write it like `S01_load_data`: number, verb, noun\n\
         \x20 plan.toml:4:1: unknown key `comand`; did you mean `command`?\n"
    );
    assert!(!project.path("reports").exists());
}

/// A kill before the first event was whole: the run never began, and can be begun under the same name.
#[test]
fn a_run_that_never_began_is_in_nobodys_way() {
    for torn in ["", "{\"sequence\":1,\"at\":\"2026-1"] {
        let project = Project::new(&plan(&[stage("S01_do_nothing", "command = 'true'")]));
        project.workplace.write("reports/study/checkpoints/r1/events.jsonl", torn);
        assert_eq!(project.resume().code, Some(5));
        assert_eq!(project.run().code, Some(0), "{torn:?}");
        // And one that did is not begun twice.
        assert_eq!(project.run().code, Some(4));
    }
}

/// R15, and links in the way: nothing is written through them.
#[test]
fn reports_that_lead_elsewhere_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    let project = Project::new(&plan(&[stage("S01_do_nothing", "command = 'true'")]));
    std::os::unix::fs::symlink(outside.path(), project.path("reports")).unwrap();
    let done = project.run();
    assert_eq!(done.code, Some(5));
    insta::assert_snapshot!(without_durations(&done.stderr), @"error: `[folder]/repo/reports` is a symbolic link; nothing is published through it");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// The first of them, before the others are looked at: `cargo xtask bench run` measures it.
#[test]
fn ten_thousand_stages_begin_at_once() {
    let mut text = "title = \"study\"\n".to_owned();
    for number in 0..10_000 {
        let id = format!("S{number:05}_do_work");
        let after = if number == 0 {
            String::new()
        } else {
            format!("dependencies = [\"S{:05}_do_work\"]", number - 1)
        };
        text.push_str(&stage(&id, &format!("command = [\"sleep\", \"100\"]\n{after}")));
    }
    let project = Project::new(&text);
    let mut command = project.checkstone(&["run", "plan.toml", "--id", "r1"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    project.wait_for("reports/study/r1/.attempts/S00000_do_work/1/output.log");
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Whether a word is in any file below a folder.
#[cfg(all(feature = "s3", target_os = "linux"))]
fn has_word(folder: &std::path::Path, word: &str) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.file_type().unwrap().is_dir() {
        true => has_word(&entry.path(), word),
        false => String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(word),
    })
}

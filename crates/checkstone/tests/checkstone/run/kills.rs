//! SIGKILL at random instants, of the supervisor, of a stage, or of both: the run goes on, loses nothing, and ends with the
//! same artifacts, bit for bit.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{wait_for, waiting::at_moment, waiting::span_of};

use super::{Project, plan, stage};

/// A pipeline of real programs with something to lose at every instant.
fn pipeline() -> String {
    plan(&[
        stage(
            "S01_make_table",
            "command = 'seq 1 20000 | tee $CHECKSTONE_ARTIFACT_DIR/table.txt | tail -n 1'\noutputs = { table = \"table.txt\" }\nretries = 20",
        ),
        stage(
            "S02_split_table",
            "command = '''split -n l/4 $CHECKSTONE_INPUT_TABLE $CHECKSTONE_ARTIFACT_DIR/part- && echo \"[CHECKPOINT:saved:id=x]\" && sleep 0.05'''\ninputs = { table = \"S01_make_table/table.txt\" }\noutputs = { first = \"part-aa\" }\nretries = 20",
        ),
        stage(
            "S03_sort_backwards",
            "command = 'sort -rn $CHECKSTONE_INPUT_TABLE > $CHECKSTONE_ARTIFACT_DIR/sorted.txt; sleep 0.05'\ninputs = { table = \"S01_make_table/table.txt\" }\noutputs = { sorted = \"sorted.txt\" }\nretries = 20",
        ),
        stage(
            "S04_compress_all",
            "command = 'gzip -n < $CHECKSTONE_INPUT_SORTED > $CHECKSTONE_ARTIFACT_DIR/all.gz && cksum $CHECKSTONE_INPUT_FIRST | cut -d \" \" -f 1,2 > $CHECKSTONE_ARTIFACT_DIR/sum.txt'\ninputs = { sorted = \"S03_sort_backwards/sorted.txt\", first = \"S02_split_table/part-aa\" }\noutputs = { all = \"all.gz\", sum = \"sum.txt\" }\nverify = 'gzip -t $CHECKSTONE_ARTIFACT_DIR/all.gz'\nretries = 20",
        ),
    ])
}

/// Pseudo-random, and the same every time.
pub(super) struct Random(u64);

impl Random {
    /// Seeds that follow each other give sequences that have nothing in common (the finish of SplitMix64).
    pub(super) fn of_seed(seed: u64) -> Self {
        let mixed =
            (seed ^ (seed >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(mixed ^ (mixed >> 31))
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The processes of a running stage that its supervisor noted, if there is one just now: the one that keeps the tree
/// together, and the stage's own.
fn noted_processes(project: &Project) -> Option<(Pid, Option<Pid>)> {
    let attempts = std::fs::read_dir(project.path("reports/study/r1/.attempts")).ok()?;
    let stages = attempts.filter_map(|entry| std::fs::read_dir(entry.ok()?.path()).ok());
    let mut records = stages.flatten().filter_map(|entry| Some(entry.ok()?.path().join("supervisor.json")));
    let record = records.find_map(|path| std::fs::read_to_string(path).ok())?;
    let value: serde_json::Value = serde_json::from_str(&record).ok()?;
    let shim = i32::try_from(value["shim"]["pid"].as_i64()?).ok()?;
    let children = std::fs::read_to_string(format!("/proc/{shim}/task/{shim}/children")).unwrap_or_default();
    let own = children.split_whitespace().next().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    Some((Pid::from_raw(shim)?, own))
}

/// Processes with this run's folder in their environment.
pub(super) fn alive(project: &Project) -> Vec<String> {
    let needle = format!("CHECKSTONE_ARTIFACT_DIR={}", project.path("reports").display());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|process| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(needle.as_bytes()))
        })
        .map(|process| process.file_name().into_string().unwrap())
        .collect()
}

/// Success criteria 2 and 5. The count comes from the environment in the long campaign.
#[test]
fn a_kill_at_any_instant_loses_nothing() {
    let kills: u64 = std::env::var("CHECKSTONE_SOAK_KILLS").map_or(15, |count| count.parse().unwrap());
    let undisturbed = Project::new(&pipeline());
    let whole = span_of(|| assert_eq!(undisturbed.run().code, Some(0)));
    let whole = u64::try_from(whole.as_millis()).unwrap();
    let expected = undisturbed.published();
    assert!(expected.len() >= 8, "{expected:?}");

    let mut random = Random::of_seed(kills);
    let mut killed = 0;
    while killed < kills {
        let project = Project::new(&pipeline());
        let mut arguments = vec!["run", "plan.toml", "--id", "r1", "--jobs", "2"];
        // Three kills in a run, each at an instant of its own, then it is left alone.
        for _ in 0..3 {
            let mut command = project.checkstone(&arguments);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let moment = Duration::from_millis(random.below(whole + whole / 4));
            let noted = at_moment(moment, || noted_processes(&project));
            // It may have ended by itself just now.
            let kill = |process: Pid| {
                let _ = kill_process(process, Signal::KILL);
            };
            match (random.below(4), noted) {
                // The stage alone.
                (0, Some((_, Some(own)))) => kill(own),
                // What keeps it together, which is another way of losing the stage.
                (1, Some((shim, _))) => kill(shim),
                (2, Some((shim, own))) => {
                    child.kill().unwrap();
                    kill(shim);
                    own.into_iter().for_each(kill);
                }
                _ => child.kill().unwrap(),
            }
            child.wait().unwrap();
            killed += 1;
            // Without one whole event the run never began.
            let record = project.path("reports/study/checkpoints/r1/events.jsonl");
            if std::fs::read_to_string(record).is_ok_and(|text| text.contains('\n')) {
                arguments = vec!["resume", "r1", "--jobs", "2"];
                // It is known to have begun here, however early it was killed.
                assert_ne!(project.output(&["resume", "--dry-run"]).code, Some(4), "refused");
            }
        }
        let last = project.output(&arguments);
        assert_eq!(
            last.code,
            Some(0),
            "{last:?}\n{}",
            project.read("reports/study/checkpoints/r1/events.jsonl")
        );
        assert!(alive(&project).is_empty());
        assert_eq!(project.published(), expected);
        // Every attempt that was begun has ended before the next one of its stage began.
        let mut live = std::collections::HashSet::new();
        for event in project.events().iter().filter(|event| event["event"] == "stage-state") {
            let stage = event["stageId"].as_str().unwrap().to_owned();
            if event["to"] == "RUNNING" {
                assert!(live.insert(stage), "two attempts at once");
            } else if event["to"] != "INTERRUPTING" {
                live.remove(&stage);
            }
        }
        // A checkpoint that is listed is valid or says why it is not; the newest saved one is valid.
        let newest = project.checkpoints()[0]["checkpointId"].as_str().unwrap().to_owned();
        let valid = project.output(&["checkpoint", "validate", &newest, "--title", "study", "--run", "r1"]);
        assert!(valid.succeeded(), "{valid:?}");
    }
}

/// If the supervisor itself is killed, the stage dies with it within a second, or the next resume ends it first.
#[test]
fn a_lost_supervisor_leaves_nobody_behind() {
    let project = Project::new(&plan(&[stage(
        "S01_sleep_long",
        "command = 'touch one; (setsid sleep 1000 &) ; exec sleep 1000'",
    )]));
    let mut child = project.start(&[]);
    project.wait_for("one");
    assert!(!alive(&project).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the end of all that the stage has started", || alive(&project).is_empty());
    let status = project.workplace.json(&["status", "--json"], "status.schema.json");
    assert_eq!(status["resumable"][0]["status"], "INTERRUPTED");
    let listed = project.workplace.json(&["run", "--list", "--json"], "run-list.schema.json");
    assert_eq!(listed["runs"][0]["state"], "INTERRUPTED");
    project.workplace.write("plan.toml", &plan(&[stage("S01_sleep_long", "command = 'true'")]));
    assert_eq!(project.resume().code, Some(0));
}

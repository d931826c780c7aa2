//! Runs on a node of a real Slurm that does not see the project's folder: a third one, in a mount namespace of its own, whose `/tmp`
//! is another one and small. Everything goes by the bucket of a real S3 service.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use sandbox::{RunToEnd as _, finish, wait_for, wait_for_file};
use serde_json::Value;

use self::temporary_credentials::assume_short_role;
use super::cluster::{CONTROLLER, on_slurm, reasons};
use super::{Project, plan, stage};

#[path = "../../stores/temporary_credentials.rs"]
mod temporary_credentials;

/// What is needed to reach the bucket.
pub(super) fn bucket() -> Option<Vec<(String, String)>> {
    const PREFIX: &str = "CHECKSTONE_TEST_";
    let is_bucket = |name: &str| name.starts_with("AWS_") || name == "CHECKSTONE_STORE";
    let found: Vec<(String, String)> = std::env::vars()
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?.to_owned(), value)))
        .filter(|(name, _)| is_bucket(name))
        .collect();
    (!found.is_empty()).then_some(found)
}

/// A folder that all nodes see, for words between a test and its stages.
struct SeenByAll(PathBuf);

impl SeenByAll {
    fn new() -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("seen-{}", files::random_id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn say(&self, word: &str) {
        std::fs::write(self.0.join(word), "").unwrap();
    }

    fn shown(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for SeenByAll {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Apart {
    slurm: PathBuf,
    bucket: Vec<(String, String)>,
}

impl Apart {
    /// None where there is no such node: only root can start it.
    fn find() -> Option<Self> {
        let slurm = std::env::var_os("CHECKSTONE_TEST_SLURM").map(PathBuf::from)?;
        let has_node = std::fs::read_to_string(&slurm).unwrap().contains("PartitionName=apart");
        Some(Self { slurm, bucket: bucket()? }).filter(|_| has_node)
    }

    fn command(&self, project: &Project, arguments: &[&str]) -> Command {
        let mut command = on_slurm(project, &self.slurm, arguments);
        command.envs(self.bucket.clone());
        command
    }

    /// What is on its way in the bucket for runs of a project.
    fn exchanged(&self, project: &Project) -> Vec<String> {
        let store = &self.bucket.iter().find(|(name, _)| name == "CHECKSTONE_STORE").unwrap().1;
        let access = bucket::BucketAccess { address: store.parse().unwrap(), options: self.bucket.clone() };
        let root = project.path("").canonicalize().unwrap();
        let digest = checkpoint::hash::of_bytes(root.as_os_str().as_encoded_bytes());
        let scope = format!("{}-{}", root.file_name().unwrap().to_str().unwrap(), &digest[..12]);
        let bucket = bucket::ContentBucket::open(&access, &[&scope, ".exchange", "study"]).unwrap();
        bucket.objects("").unwrap().into_iter().map(|object| object.name).collect()
    }

    fn wait_for_end_of(&self, job: &str) {
        let is_over = || {
            let mut squeue = Command::new("squeue");
            squeue.env("SLURM_CONF", &self.slurm).args([
                "--noheader",
                "--states=all",
                "--format=%T",
                "--jobs",
                job,
            ]);
            squeue.answer().stdout == "COMPLETED\n"
        };
        wait_for("the end of the job", is_over);
    }

    fn run(&self, project: &Project) -> Command {
        self.command(project, &["run", "plan.toml", "--id", "r1", "--on", "slurm"])
    }
}

fn apart(stages: &[String], more: &str) -> String {
    let head = format!("[cluster]\npartition = \"apart\"\nexchange = \"bucket\"\n{more}\n[[stage]]");
    plan(stages).replacen("[[stage]]", &head, 1)
}

/// A script with a module, a program, a file, a folder with an empty one in it, an array, and what gathers it.
fn study(project: &Project) {
    let write = |name: &str, text: &str| {
        let path = project.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("data/words.txt", "one\ntwo\nthree\n");
    write("data/more/deep.txt", "deep\n");
    std::fs::create_dir_all(project.path("data/empty")).unwrap();
    write("code/helper.py", "from inner import WORD\ndef word(): return WORD\n");
    write("code/inner.py", "WORD = 'inner'\n");
    write(
        "code/count.py",
        "import sys, helper\nprint(helper.word(), len(open(sys.argv[1]).read().split()))\n",
    );
    write("code/shout", "#!/bin/sh\ntr a-z A-Z\n");
    sandbox::make_executable(&project.path("code/shout"));
}

fn stages_of_study() -> Vec<String> {
    let parts: Vec<u32> = (1..=22).collect();
    vec![
        stage(
            "S01_count_words",
            "command = 'python3 code/count.py $CHECKSTONE_INPUT_WORDS | code/shout > $CHECKSTONE_ARTIFACT_DIR/count.txt; echo \"[METRIC:words:value=3]\"'\ninputs = { words = \"data/words.txt\" }\noutputs = { count = \"count.txt\" }",
        ),
        stage(
            "S02_list_data",
            "command = 'cd $CHECKSTONE_INPUT_DATA && find . | sort > $CHECKSTONE_ARTIFACT_DIR/list.txt'\ninputs = { data = \"data\" }",
        ),
        stage(
            "S03_take_part",
            &format!(
                "forEach = {{ part = {parts:?} }}\ncommand = 'echo {{params.part}} $(cat $CHECKSTONE_INPUT_COUNT) > $CHECKSTONE_ARTIFACT_DIR/part.txt'\ninputs = {{ count = \"S01_count_words/count.txt\" }}\noutputs = {{ part = \"part.txt\" }}"
            ),
        ),
        stage(
            "S04_join_parts",
            "command = 'xargs cat < $CHECKSTONE_INPUT_PARTS > $CHECKSTONE_ARTIFACT_DIR/all.txt'\ninputs = { parts = \"S03_take_part/*/part\" }\noutputs = { all = \"all.txt\" }\nverify = 'test $(wc -l < $CHECKSTONE_ARTIFACT_DIR/all.txt) = 22'",
        ),
    ]
}

#[test]
fn a_node_that_does_not_see_the_project_makes_the_same_files() {
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let here = Project::new(&plan(&stages_of_study()));
    let there = Project::new(&apart(&stages_of_study(), ""));
    // It must not be a node that sees it after all.
    let unseen = there.path("").display().to_string();
    let look = stage("S05_look_around", &format!("command = 'test ! -e {unseen}'"));
    std::fs::write(there.path("plan.toml"), apart(&[stages_of_study(), vec![look]].concat(), "")).unwrap();
    study(&here);
    study(&there);
    let local = here.run();
    assert_eq!(local.code, Some(0), "{local:?}");
    let done = cluster.run(&there).answer();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(there.published(), here.published());
    let starts = there.events().into_iter().filter(|event| event["to"] == "RUNNING").count();
    assert_eq!(starts, 26, "each stage once");
    // What was only on its way is gone, and a local engine finds nothing to do.
    let again = there.output(&["resume", "r1", "--on", "local", "--dry-run", "--json"]);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    let would: Vec<&Value> =
        again["stages"].as_array().unwrap().iter().map(|stage| &stage["would"]).collect();
    assert!(would.iter().all(|would| *would == "reuse"), "{again}");
    let secret = &cluster.bucket.iter().find(|(name, _)| name == "AWS_SECRET_ACCESS_KEY").unwrap().1;
    assert!(!super::has_word(&there.path(""), secret));
}

#[test]
fn a_new_engine_adopts_a_node_that_it_reaches_by_the_bucket() {
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seen = SeenByAll::new();
    let wait = format!(
        "command = 'touch {0}/began; until test -e {0}/go; do sleep 0.05; done; echo done > $CHECKSTONE_ARTIFACT_DIR/out'",
        seen.shown()
    );
    let project = Project::new(&apart(&[stage("S01_wait_long", &wait)], ""));
    let mut engine = cluster.run(&project).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_file(&seen.0.join("began"));
    engine.kill().unwrap();
    engine.wait().unwrap();
    seen.say("go");
    let resumed = cluster.command(&project, &["resume", "r1"]).answer();
    assert_eq!((resumed.code, project.attempts("S01_wait_long")), (Some(0), 1), "{resumed:?}");
    assert_eq!(project.published(), [("S01_wait_long/out".to_owned(), b"done\n".to_vec())]);
    // Aborted, it ends on its node.
    std::fs::remove_file(seen.0.join("go")).unwrap();
    std::fs::remove_file(seen.0.join("began")).unwrap();
    let engine = cluster
        .command(&project, &["resume", "r1", "--again", "S01_wait_long"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_file(&seen.0.join("began"));
    assert_eq!(cluster.command(&project, &["abort", "r1"]).answer().stdout, "run r1 ABORTED\n");
    assert_eq!(finish(engine).code, Some(130));
}

/// What it had when it said so is where the next attempt goes on from.
#[test]
fn a_stage_goes_on_from_what_it_saved_on_a_node_that_is_gone() {
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seen = SeenByAll::new();
    let work = format!(
        "command = 'if test -n \"$CHECKSTONE_RESUME_DIR\"; then cat $CHECKSTONE_RESUME_DIR/half > $CHECKSTONE_ARTIFACT_DIR/all; exit; fi; echo first > $CHECKSTONE_ARTIFACT_DIR/half; echo \"[CHECKPOINT:saved:half]\"; until test -e {0}/fail; do sleep 0.05; done; exit 7'\nmidStageCheckpoints = true",
        seen.shown()
    );
    let project = Project::new(&apart(&[stage("S01_go_on", &work)], ""));
    let engine = cluster.run(&project).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_saved = || {
        let record = project.path("reports/study/checkpoints/r1/events.jsonl");
        let record = std::fs::read_to_string(record).unwrap_or_default();
        record.lines().any(|line| line.contains(r#""event":"checkpoint""#))
    };
    wait_for("a checkpoint half-way", is_saved);
    seen.say("fail");
    assert_eq!(finish(engine).code, Some(1));
    assert_eq!(reasons(&project, "FAILED"), ["exit status 7"]);
    let resumed = cluster.command(&project, &["resume", "r1"]).answer();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(project.published(), [("S01_go_on/all".to_owned(), b"first\n".to_vec())]);
}

#[test]
fn a_node_whose_disk_is_full_says_so() {
    let Some(cluster) = Apart::find() else { return };
    // Its disk is that of all stages there.
    let _alone = CONTROLLER.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seen = SeenByAll::new();
    let fill = format!(
        "command = 'test -e {}/freed || head -c 100M /dev/zero > $CHECKSTONE_ARTIFACT_DIR/large'",
        seen.shown()
    );
    let project = Project::new(&apart(&[stage("S01_fill_disk", &fill)], ""));
    assert_eq!(cluster.run(&project).answer().code, Some(1));
    let told = reasons(&project, "FAILED").pop().unwrap();
    let advice =
        "the disk of `/tmp` on `node3` is full: free some room there, or set `TMPDIR` to a larger one";
    assert_eq!(told.split_once("; ").map(|(_, advice)| advice), Some(advice), "{told}");
    seen.say("freed");
    let resumed = cluster.command(&project, &["resume", "r1"]).answer();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

/// The engine may use the bucket, and the node may not.
#[test]
fn a_node_without_the_right_credentials_is_told_of_as_such() {
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let stages = [stage("S01_do_work", "command = 'true'")];
    let wrong = "sbatch = [\"--export=ALL,AWS_SECRET_ACCESS_KEY=wrong\"]";
    let project = Project::new(&apart(&stages, wrong));
    assert_eq!(cluster.run(&project).answer().code, Some(1));
    assert_eq!(
        reasons(&project, "FAILED"),
        [
            "its job began on a node that cannot start checkstone, or cannot use the bucket with the credentials it has; \
          `/tmp/checkstone-slurm-JOB.log` on that node says which"
        ]
    );
    std::fs::write(project.path("plan.toml"), apart(&stages, "")).unwrap();
    let resumed = cluster.command(&project, &["resume", "r1"]).answer();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

/// Those of the engine alone: it says so and ends, and the next one finds what the node did meanwhile.
#[test]
fn an_engine_whose_credentials_expire_leaves_its_nodes_at_work() {
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seen = SeenByAll::new();
    let work = format!(
        "command = 'touch {0}/began; until test -e {0}/go; do sleep 0.05; done; echo done > $CHECKSTONE_ARTIFACT_DIR/out'",
        seen.shown()
    );
    let of = |name: &str| &cluster.bucket.iter().find(|(known, _)| known == name).unwrap().1;
    let own = format!(
        "sbatch = [\"--export=ALL,AWS_SESSION_TOKEN=,AWS_ACCESS_KEY_ID={},AWS_SECRET_ACCESS_KEY={}\"]",
        of("AWS_ACCESS_KEY_ID"),
        of("AWS_SECRET_ACCESS_KEY")
    );
    let project = Project::new(&apart(&[stage("S01_wait_long", &work)], &own));
    let temporary = assume_short_role(&cluster.bucket);
    let ended = cluster.run(&project).envs(temporary.clone()).answer();
    assert_eq!(
        (ended.code, ended.stderr.lines().skip_while(|line| !line.starts_with("error:")).collect::<Vec<_>>()),
        (
            Some(6),
            vec![
                "error: the nodes cannot be reached any more: `s3://checkstone/runs` does not accept the session token of the \
                 credentials, which has probably expired: renew the credentials, then resume the run",
                "hint: `checkstone resume r1` adopts the jobs, which continue",
            ]
        ),
        "{ended:?}"
    );
    wait_for_file(&seen.0.join("began"));
    seen.say("go");
    let resumed = cluster.command(&project, &["resume", "r1"]).answer();
    assert_eq!((resumed.code, project.attempts("S01_wait_long")), (Some(0), 1), "{resumed:?}");
    assert_eq!(project.published(), [("S01_wait_long/out".to_owned(), b"done\n".to_vec())]);
}

#[test]
fn without_a_bucket_there_is_no_exchange() {
    let project = Project::new(&apart(&[stage("S01_do_work", "command = 'true'")], ""));
    let refused = project.output(&["run", "plan.toml", "--id", "r1", "--on", "slurm"]);
    assert_eq!(
        refused.stderr,
        "error: `exchange = \"bucket\"` needs a bucket, and none is set\n\
         hint: set `store = \"s3://BUCKET/PREFIX\"` in `[storage]` of your configuration, or CHECKSTONE_STORE\n"
    );
}

/// As with a folder that both see; and when nothing follows any more, its job ends.
#[cfg(feature = "python")]
#[test]
fn the_stages_of_a_python_session_share_a_job_that_is_reached_by_the_bucket() {
    use super::cluster::{made_by_python, one_claim_of_both, python_plan};
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let more = "[cluster]\npartition = \"apart\"\nexchange = \"bucket\"\n";
    let (here, there) = (Project::new(&python_plan("")), Project::new(&python_plan(more)));
    let environment = super::python::environment();
    let answer = |mut command: Command| command.env("VIRTUAL_ENV", &environment).answer();
    let local = answer(here.checkstone(&["run", "plan.toml", "--id", "r1"]));
    assert_eq!(local.code, Some(0), "{local:?}");
    let done = answer(cluster.run(&there));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(made_by_python(&there), made_by_python(&here));
    let claim = one_claim_of_both(&there);
    cluster.wait_for_end_of(claim["job"].as_str().unwrap());
    assert_eq!(cluster.exchanged(&there), Vec::<String>::new());
}

/// Nobody resumes it: what was on its way goes with the run, and not before.
#[test]
fn what_a_run_left_in_the_bucket_goes_when_it_is_pruned() {
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seen = SeenByAll::new();
    let work = format!(
        "command = 'touch {0}/began; until test -e {0}/go; do sleep 0.05; done; exit 7'\ninputs = {{ words = \"words.txt\" }}",
        seen.shown()
    );
    let project = Project::new(&apart(&[stage("S01_wait_long", &work)], ""));
    std::fs::write(project.path("words.txt"), "one two").unwrap();
    let mut engine = cluster.run(&project).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_file(&seen.0.join("began"));
    engine.kill().unwrap();
    engine.wait().unwrap();
    let prune = || cluster.command(&project, &["run", "--prune", "--keep", "0", "--yes"]).answer();
    let kept = prune();
    assert_eq!(kept.stdout, "✓ 0 runs removed, 1 kept; 0 B freed\n", "{kept:?}");
    assert_ne!(cluster.exchanged(&project), Vec::<String>::new());
    seen.say("go");
    // Its job ends, and is found again by what it left there.
    let resumed = cluster.command(&project, &["resume", "r1"]).answer();
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    assert_eq!(reasons(&project, "FAILED"), ["exit status 7"]);
    assert_ne!(cluster.exchanged(&project), Vec::<String>::new());
    let pruned = prune();
    assert_eq!((pruned.code, project.path("reports/study/checkpoints/r1").exists()), (Some(0), false));
    assert_eq!(cluster.exchanged(&project), Vec::<String>::new());
}

/// The usual way, on a node that does not see the folder.
#[test]
fn a_folder_that_a_node_does_not_see_is_told_of_as_such() {
    let Some(cluster) = Apart::find() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let stages = [stage("S01_do_work", "command = 'true'")];
    let folder = apart(&stages, "").replacen("exchange = \"bucket\"\n", "", 1);
    let project = Project::new(&folder);
    assert_eq!(cluster.run(&project).answer().code, Some(1));
    let attempt = project.path("reports/study/r1/.attempts/S01_do_work/1").canonicalize().unwrap();
    assert_eq!(
        reasons(&project, "FAILED"),
        [format!(
            "its job began on a node that does not see `{}`, or cannot start checkstone; both must be on a file system that \
             this machine and all nodes share (`slurm.log` in that folder may say more)",
            attempt.display()
        )]
    );
    std::fs::write(project.path("plan.toml"), apart(&stages, "")).unwrap();
    let resumed = cluster.command(&project, &["resume", "r1"]).answer();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

/// Words for `sbatch` by which a job sees a clock that is two hours ahead.
fn other_clock() -> Option<String> {
    let libraries = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    let library = libraries.map(|folder| PathBuf::from(folder).join("faketime/libfaketime.so.1"));
    let library = library.into_iter().find(|path| path.exists())?;
    Some(format!(
        "[cluster]\nsbatch = [\"--export=ALL,LD_PRELOAD={},FAKETIME=+2h,DONT_FAKE_MONOTONIC=1,FAKETIME_DONT_FAKE_MONOTONIC=1\"]\n",
        library.display()
    ))
}

#[test]
fn doctor_says_how_far_the_clock_of_a_node_is_from_ours() {
    let Some(slurm) = std::env::var_os("CHECKSTONE_TEST_SLURM").map(PathBuf::from) else { return };
    let Some(other) = other_clock() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let project = Project::new(&plan(&[stage("S01_do_work", "command = 'true'")]));
    let clock = |configuration: &str| {
        let folder = project.workplace.path("home").join(".config/checkstone");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), configuration).unwrap();
        let told = on_slurm(&project, &slurm, &["doctor", "--cluster", "--json"]).answer();
        let told: Value = serde_json::from_str(&told.stdout).unwrap();
        let findings = told["findings"].as_array().unwrap().clone();
        let of = |check: &str| findings.iter().find(|finding| finding["check"] == check).cloned().unwrap();
        assert_eq!(of("slurm")["state"], "good", "{told:#}");
        of("clock")
    };
    let (usual, ahead) = (clock(""), clock(&other));
    assert_eq!((&usual["state"], &ahead["state"]), (&Value::from("good"), &Value::from("note")));
    let ahead = ahead["text"].as_str().unwrap();
    let seconds = ahead.split_once(" is +").and_then(|(_, rest)| rest.split_once(" s ")).unwrap().0;
    let seconds: f64 = seconds.parse().unwrap();
    assert!(seconds > 7000.0 && seconds < 7300.0, "{ahead}");
}

/// Clocks of nodes are their own: two hours ahead, a stage is run and heard of as anywhere.
#[test]
fn a_node_with_another_clock_is_not_taken_for_lost() {
    let Some(slurm) = std::env::var_os("CHECKSTONE_TEST_SLURM").map(PathBuf::from) else { return };
    let Some(head) = other_clock() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let work = "command = 'date +%s > $CHECKSTONE_ARTIFACT_DIR/time; touch began; until test -e go; do sleep 0.05; done'\noutputs = { time = \"time\" }";
    let head = format!("{head}[[stage]]");
    let project = Project::new(&plan(&[stage("S01_tell_time", work)]).replacen("[[stage]]", &head, 1));
    let words = ["run", "plan.toml", "--id", "r1", "--on", "slurm"];
    let engine =
        on_slurm(&project, &slurm, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    project.wait_for("began");
    let beat = project.path("reports/study/r1/.attempts/S01_tell_time/1/beat");
    wait_for("a second beat", || std::fs::read_to_string(&beat).is_ok_and(|beat| beat != "1"));
    std::fs::write(project.path("go"), "").unwrap();
    let done = finish(engine);
    assert_eq!((done.code, project.attempts("S01_tell_time")), (Some(0), 1), "{done:?}");
    let there: u64 = project.read("reports/study/r1/S01_tell_time/time").trim().parse().unwrap();
    let here = sandbox::waiting::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(there > here + 6000, "the clock of the node was another one: {there}, {here}");
}

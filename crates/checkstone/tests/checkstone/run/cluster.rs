//! Runs on a real Slurm: two nodes on this machine, which `cargo xtask cluster up slurm` starts and `cargo xtask test` starts
//! for these tests. Without it they are left out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock};

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{RunToEnd as _, finish, wait_for, wait_for_some};
use serde_json::Value;

use super::{Project, plan, stage, text};

/// Nobody else uses a controller that is away.
pub(super) static CONTROLLER: RwLock<()> = RwLock::new(());

/// Where the cluster is described; none where there is none.
fn slurm() -> Option<PathBuf> {
    let found = std::env::var_os("CHECKSTONE_TEST_SLURM").map(PathBuf::from);
    if found.is_none() {
        println!("no Slurm here: left out");
    }
    found
}

/// A program on the cluster, in the environment of a project.
pub(super) fn on_slurm(project: &Project, slurm: &Path, arguments: &[&str]) -> Command {
    let mut command = project.checkstone(arguments);
    command.env("SLURM_CONF", slurm).env("PATH", std::env::var_os("PATH").unwrap());
    command
}

fn run_words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "plan.toml", "--id", "r1", "--on", "slurm"], more].concat()
}

/// The jobs of a run that Slurm remembers: stage or array, and state.
fn jobs(slurm: &Path, project: &Project) -> Vec<(String, String)> {
    let mut squeue = Command::new("squeue");
    squeue.env("SLURM_CONF", slurm).args(["--noheader", "--states=all", "--format=%k|%T|%Z"]);
    let root = project.path("").canonicalize().unwrap();
    let listed = squeue.answer().stdout;
    let own = listed.lines().filter_map(|line| {
        let parts: Vec<&str> = line.split('|').collect();
        let of = parts.first()?.split(' ').nth(2)?;
        (PathBuf::from(parts.get(2)?) == root).then(|| (of.to_owned(), parts[1].to_owned()))
    });
    own.collect()
}

pub(super) fn reasons(project: &Project, to: &str) -> Vec<String> {
    let events =
        project.events().into_iter().filter(|event| event["to"] == to && event["event"] == "stage-state");
    events.map(|event| text(&event["reason"])).collect()
}

/// Waits for `go`, and then writes one file.
fn waiting(id: &str) -> String {
    stage(
        id,
        "command = 'touch began; until test -e go; do sleep 0.05; done; echo done > $CHECKSTONE_ARTIFACT_DIR/out'\noutputs = { out = \"out\" }",
    )
}

/// A fan-out that is one array, what gathers it, and stages between which nothing but files passes.
fn study() -> String {
    let parts: Vec<u32> = (1..=25).collect();
    let each = format!("forEach = {{ part = {parts:?} }}\n");
    let take = "command = 'tail -n {params.part} $CHECKSTONE_INPUT_TABLE | cksum > $CHECKSTONE_ARTIFACT_DIR/sum.txt'\ninputs = { table = \"S01_make_table/table.txt\" }\noutputs = { sum = \"sum.txt\" }";
    plan(&[
        stage(
            "S01_make_table",
            "command = 'seq 1 2000 > $CHECKSTONE_ARTIFACT_DIR/table.txt; echo \"[METRIC:rows:value=2000]\"'\noutputs = { table = \"table.txt\" }",
        ),
        stage("S02_take_part", &(each + take)),
        stage(
            "S03_join_parts",
            "command = 'xargs cat < $CHECKSTONE_INPUT_SUMS > $CHECKSTONE_ARTIFACT_DIR/all.txt'\ninputs = { sums = \"S02_take_part/*/sum\" }\noutputs = { all = \"all.txt\" }\nverify = 'test $(wc -l < $CHECKSTONE_ARTIFACT_DIR/all.txt) = 25'\nresources = { cpus = 1, memory = \"100M\" }",
        ),
    ])
}

#[test]
fn the_same_plan_makes_the_same_files_on_a_cluster() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let (here, there) = (Project::new(&study()), Project::new(&study()));
    let local = here.run();
    assert_eq!(local.code, Some(0), "{local:?}");
    let done = on_slurm(&there, &slurm, &run_words(&[])).answer();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(there.published(), here.published());
    let starts = there.events().into_iter().filter(|event| event["to"] == "RUNNING").count();
    assert_eq!(starts, 27, "each stage once");
    let mut submitted: Vec<String> = jobs(&slurm, &there).into_iter().map(|(of, _)| of).collect();
    submitted.dedup();
    submitted.sort();
    assert_eq!(submitted, ["S01_make_table", "S02_take_part", "S03_join_parts"], "one array, two jobs");
    // A local run goes on with what a cluster made, and the other way round.
    assert_eq!(there.output(&["resume", "r1", "--on", "local"]).code, Some(0));
    assert_eq!(on_slurm(&here, &slurm, &["resume", "r1", "--on", "slurm"]).answer().code, Some(0));
    assert_eq!(jobs(&slurm, &here), []);
}

#[test]
fn a_new_engine_adopts_what_the_killed_one_left_on_the_cluster() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new(&plan(&[waiting("S01_wait_long")]));
    let mut engine = on_slurm(&project, &slurm, &run_words(&[]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    project.wait_for("began");
    engine.kill().unwrap();
    engine.wait().unwrap();
    std::fs::write(project.path("go"), "").unwrap();
    // Without `--on`: it goes on where it was.
    let resumed = on_slurm(&project, &slurm, &["resume", "r1"]).answer();
    assert_eq!((resumed.code, project.attempts("S01_wait_long")), (Some(0), 1), "{resumed:?}");
    assert_eq!(project.published(), [("S01_wait_long/out".to_owned(), b"done\n".to_vec())]);
    assert_eq!(jobs(&slurm, &project).len(), 1);
}

/// Which Python stage was the last to complete when a stage of another kind began is no part of its work.
#[cfg(feature = "python")]
#[test]
fn a_stage_beside_a_python_session_is_adopted_like_any_other() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let cell = "kind = \"python\"\ncommand = 'value = 1'";
    let begin = "command = 'until test -e loaded; do sleep 0.05; done'";
    let project = Project::new(&plan(&[
        waiting("S01_wait_long") + "dependencies = [\"S02_begin_work\"]\n",
        stage("S02_begin_work", begin),
        stage("S03_load_data", cell),
    ]));
    let command = |words: &[&str]| {
        let mut command = on_slurm(&project, &slurm, words);
        command.env("VIRTUAL_ENV", super::python::environment());
        command
    };
    let mut engine = command(&run_words(&[])).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    project.wait_for("reports/study/r1/S03_load_data");
    let is_completed =
        || project.read("reports/study/checkpoints/r1/events.jsonl").contains(r#""to":"COMPLETED""#);
    wait_for("the Python stage", is_completed);
    std::fs::write(project.path("loaded"), "").unwrap();
    project.wait_for("began");
    engine.kill().unwrap();
    engine.wait().unwrap();
    std::fs::write(project.path("go"), "").unwrap();
    let resumed = command(&["resume", "r1"]).answer();
    assert_eq!((resumed.code, project.attempts("S01_wait_long")), (Some(0), 1), "{resumed:?}");
}

/// Nobody has the run in hand, and it is not over: its job is still there.
#[test]
fn a_run_whose_job_lives_is_not_pruned() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new(&plan(&[waiting("S01_wait_long")]));
    let mut engine = on_slurm(&project, &slurm, &run_words(&[]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    project.wait_for("began");
    engine.kill().unwrap();
    engine.wait().unwrap();
    let prune = ["run", "--prune", "--keep", "0", "--yes"];
    let pruned = on_slurm(&project, &slurm, &prune).answer();
    assert_eq!(
        (pruned.stdout.as_str(), pruned.stderr.as_str()),
        (
            "✓ 0 runs removed, 1 kept; 0 B freed\n",
            "warning: run `r1` of study stays: it still has 1 stage running on the cluster\n\
             hint: `checkstone resume r1` continues it; `checkstone abort r1` ends it\n"
        )
    );
    std::fs::write(project.path("go"), "").unwrap();
    assert_eq!(on_slurm(&project, &slurm, &["resume", "r1"]).answer().code, Some(0));
    assert_eq!(project.attempts("S01_wait_long"), 1);
}

#[test]
fn an_aborted_run_leaves_no_job_behind() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new(&plan(&[waiting("S01_wait_long")]));
    let engine = on_slurm(&project, &slurm, &run_words(&[]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    project.wait_for("began");
    assert_eq!(on_slurm(&project, &slurm, &["abort", "r1"]).answer().stdout, "run r1 ABORTED\n");
    assert_eq!(finish(engine).code, Some(130));
    assert_eq!(project.state("S01_wait_long"), "RESUMABLE");
    wait_for("the job to be over", || jobs(&slurm, &project).iter().all(|(_, state)| state != "RUNNING"));
    // Also where nobody has the run in hand any more.
    std::fs::remove_file(project.path("began")).unwrap();
    let mut engine = on_slurm(&project, &slurm, &["resume", "r1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    project.wait_for("began");
    engine.kill().unwrap();
    engine.wait().unwrap();
    assert_eq!(on_slurm(&project, &slurm, &["abort", "r1"]).answer().stdout, "run r1 ABORTED\n");
    let alive = |(_, state): &(String, String)| state == "RUNNING" || state == "PENDING";
    assert_eq!(jobs(&slurm, &project).into_iter().filter(alive).collect::<Vec<_>>(), []);
}

#[test]
fn a_job_that_somebody_cancelled_can_be_resumed() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new(&plan(&[waiting("S01_wait_long")]));
    let engine = on_slurm(&project, &slurm, &run_words(&[]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    project.wait_for("began");
    let claim = project.read("reports/study/r1/.attempts/S01_wait_long/1/claim.json");
    let claim: Value = serde_json::from_str(&claim).unwrap();
    Command::new("scancel").env("SLURM_CONF", &slurm).arg(text(&claim["job"])).answer();
    assert_eq!(finish(engine).code, Some(1));
    assert_eq!(
        reasons(&project, "FAILED"),
        ["its job was ended from outside: by `scancel`, a limit or preemption"]
    );
    std::fs::write(project.path("go"), "").unwrap();
    let resumed = on_slurm(&project, &slurm, &["resume", "r1"]).answer();
    assert_eq!((resumed.code, project.attempts("S01_wait_long")), (Some(0), 2), "{resumed:?}");
}

/// The controller goes while a job runs, and is there again before the next one is submitted.
#[test]
fn a_controller_that_is_down_for_a_while_costs_nobody_a_stage() {
    let Some(slurm) = slurm() else { return };
    let _alone = CONTROLLER.write().unwrap_or_else(PoisonError::into_inner);
    let second = stage("S02_go_on", "command = 'true'\ndependencies = [\"S01_wait_long\"]");
    let project = Project::new(&plan(&[waiting("S01_wait_long"), second]));
    let engine = on_slurm(&project, &slurm, &run_words(&[]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    project.wait_for("began");
    let pid_file = slurm.parent().unwrap().with_file_name("run").join("slurmctld.pid");
    let pid: i32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    // Not killed: it would forget its last jobs, and give their numbers to other tests'. The long campaign kills it.
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    wait_for("the controller to be gone", || !Path::new(&format!("/proc/{pid}")).exists());
    std::fs::write(project.path("go"), "").unwrap();
    // The outcome of the first stage needs no controller, and the second one's job waits for it.
    wait_for("the second stage to begin", || project.attempts("S02_go_on") == 1);
    let mut again = Command::new("/usr/sbin/slurmctld");
    assert_eq!(again.env("SLURM_CONF", &slurm).arg("-f").arg(&slurm).answer().code, Some(0));
    let done = finish(engine);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!((project.attempts("S01_wait_long"), project.attempts("S02_go_on")), (1, 1));
}

/// What a second job with the same token finds is a claim.
#[test]
fn an_attempt_is_carried_out_once_whatever_is_started_twice() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new(&plan(&[waiting("S01_wait_long")]));
    let engine = on_slurm(&project, &slurm, &run_words(&[]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    project.wait_for("began");
    let folder = "reports/study/r1/.attempts/S01_wait_long/1";
    let job = project.path(&format!("{folder}/job.json"));
    let file: Value = serde_json::from_str(&std::fs::read_to_string(&job).unwrap()).unwrap();
    let shown = project.path(folder).canonicalize().unwrap().display().to_string();
    let exec = |token: &str| {
        project.output(&["stage-exec", job.canonicalize().unwrap().to_str().unwrap(), "--token", token])
    };
    assert_eq!(
        exec(&text(&file["token"])).stderr,
        format!("error: another process is running the attempt in `{shown}`; nothing is run\n")
    );
    assert_eq!(
        exec("0123456789abcdef").stderr,
        format!(
            "error: the attempt in `{shown}` was abandoned, or belongs to another token; nothing is run\n"
        )
    );
    std::fs::write(project.path("go"), "").unwrap();
    assert_eq!(finish(engine).code, Some(0));
}

#[test]
fn without_slurm_or_with_a_wrong_partition_it_says_what_to_do() {
    let project = Project::new(&plan(&[stage("S01_do_work", "command = 'true'")]));
    let mut without = project.checkstone(&run_words(&[]));
    assert_eq!(
        without.env("PATH", "/nonexistent").answer().stderr,
        "error: there is no `sbatch` on the `PATH`, so nothing can be submitted to Slurm from here\n\
         hint: run it on a machine of the cluster, such as its login node; `module load slurm` may be needed\n\
         hint: `--on local` runs the stages here\n"
    );
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let head = "[cluster]\npartition = \"nowhere\"\n[[stage]]";
    let project =
        Project::new(&plan(&[stage("S01_do_work", "command = 'true'")]).replacen("[[stage]]", head, 1));
    assert_eq!(on_slurm(&project, &slurm, &run_words(&[])).answer().code, Some(1));
    assert_eq!(
        reasons(&project, "FAILED"),
        ["Slurm refused its job: Batch job submission failed: Invalid partition name specified"]
    );
    wait_for_some("nothing of it in the queue", || jobs(&slurm, &project).is_empty().then_some(()));
}

/// Only in the long campaigns: it takes the minute after which it is told.
#[test]
fn a_job_that_waits_is_told_of_after_a_minute_with_slurm_s_reason() {
    let Some(slurm) = slurm() else { return };
    if std::env::var_os("CHECKSTONE_SOAK_CLUSTER_NOTES").is_none() {
        return;
    }
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let head = "[cluster]\nsbatch = [\"--begin=now+1hour\"]\n[[stage]]";
    let waits = plan(&[stage("S01_do_work", "command = 'true'")]);
    let project = Project::new(&waits.replacen("[[stage]]", head, 1));
    let engine = on_slurm(&project, &slurm, &run_words(&[]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = wait_for_some("the warning", || {
        let record = project.path("reports/study/checkpoints/r1/events.jsonl");
        let record = std::fs::read_to_string(record).unwrap_or_default();
        let events = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.filter(|event| event["event"] == "warning").map(|event| text(&event["text"])).next()
    });
    let number = told.split(' ').nth(2).unwrap();
    assert_eq!(
        told.replace(number, "N"),
        "its job N has been waiting for 60 s; Slurm's reason is `BeginTime` (`scontrol show job N` shows more)"
    );
    assert_eq!(on_slurm(&project, &slurm, &["abort", "r1"]).answer().stdout, "run r1 ABORTED\n");
    assert_eq!(finish(engine).code, Some(130));
    std::fs::write(project.path("plan.toml"), waits).unwrap();
    let resumed = on_slurm(&project, &slurm, &["resume", "r1"]).answer();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

/// As on a node whose file system is slow. Only in the long campaigns: it takes the minute that a job has to begin.
#[test]
fn a_job_that_begins_late_is_given_more_time_and_does_not_fail_its_stage() {
    let Some(slurm) = slurm() else { return };
    if std::env::var_os("CHECKSTONE_SOAK_CLUSTER_NOTES").is_none() {
        return;
    }
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new(&plan(&[stage("S01_do_work", "command = 'true'")]));
    // What it submits waits on the node until the test says so.
    let sbatch = project.path("bin/sbatch");
    let wait = format!("until test -e {}; do sleep 0.05; done", project.path("go").display());
    let script = format!("#!/bin/sh\nsed '2i {wait}' | /usr/bin/sbatch \"$@\"\n");
    std::fs::create_dir_all(project.path("bin")).unwrap();
    std::fs::write(&sbatch, script).unwrap();
    sandbox::make_executable(&sbatch);
    let path = format!("{}:{}", project.path("bin").display(), std::env::var("PATH").unwrap());
    let engine = on_slurm(&project, &slurm, &run_words(&[]))
        .env("PATH", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    project.wait_for("reports/study/r1/.attempts/S01_do_work/2");
    std::fs::write(project.path("go"), "").unwrap();
    let done = finish(engine);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(
        reasons(&project, "INTERRUPTED"),
        ["its node did not begin within 60 s, although Slurm runs its job"]
    );
}

/// Two Python stages with another one between them. The second needs the variables of the first, and one that no checkpoint can
/// hold; `more` is for the cluster.
#[cfg(feature = "python")]
pub(super) fn python_plan(more: &str) -> String {
    let cell = |id: &str, code: &str| {
        format!(
            "[[stage]]\nstageId = \"{id}\"\nkind = \"python\"\ngoal = \"Do what the test wants\"\ncommand = '''\n{code}\n'''\n"
        )
    };
    let save =
        "import os, json\nopen(os.environ['CHECKSTONE_ARTIFACT_DIR'] + '/out.json', 'w').write(json.dumps(";
    let text = [
        format!("title = \"study\"\n{more}[python]\nseed = 7\n"),
        cell(
            "S01_load_data",
            &format!(
                "import random\nvalues = [random.random() for _ in range(5)]\nprint(len(values))\n{save}values))\nunsaved = (value for value in values)"
            ),
        ) + "outputs = { made = \"out.json\" }\n",
        stage(
            "S02_look_on",
            "command = 'cp $CHECKSTONE_INPUT_MADE $CHECKSTONE_ARTIFACT_DIR/out.json'\ninputs = { made = \"S01_load_data/out.json\" }",
        ),
        cell("S03_use_data", &format!("total = [sum(values), sum(unsaved)]\n{save}total))"))
            + "dependencies = [\"S02_look_on\"]\n",
    ];
    text.concat()
}

/// The environment of a job is given with it: a secret that only a later stage has cannot reach the node of its session.
#[cfg(feature = "python")]
#[test]
fn a_python_stage_with_a_secret_of_its_own_gets_a_job_of_its_own() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let secret = format!("sk-{}", files::random_id().repeat(3));
    let write = "kind = \"python\"\ncommand = '''\nimport os\nvalue += len(os.environ[\"SERVICE_API_KEY\"])\nopen(os.environ[\"CHECKSTONE_ARTIFACT_DIR\"] + \"/out\", \"w\").write(str(value))\n'''\n";
    let project = Project::new(&plan(&[
        stage("S01_load_data", "kind = \"python\"\ncommand = 'value = 1'"),
        stage("S02_use_secret", &format!("{write}environment = {{ SERVICE_API_KEY = \"{secret}\" }}")),
    ]));
    let mut run = on_slurm(&project, &slurm, &run_words(&[]));
    let done = run.env("VIRTUAL_ENV", super::python::environment()).answer();
    assert_eq!((done.code, project.attempts("S02_use_secret")), (Some(0), 1), "{done:?}");
    assert_eq!(project.read("reports/study/r1/S02_use_secret/out"), (secret.len() + 1).to_string());
    assert!(!super::has_word(&project.path("reports"), &secret));
}

/// Which process of which job had both Python stages.
#[cfg(feature = "python")]
pub(super) fn one_claim_of_both(project: &Project) -> Value {
    let claim = |id: &str| -> Value {
        let claim = project.read(&format!("reports/study/r1/.attempts/{id}/1/claim.json"));
        serde_json::from_str(&claim).unwrap()
    };
    let (first, second) = (claim("S01_load_data"), claim("S03_use_data"));
    assert_eq!(first, second);
    assert_ne!(claim("S02_look_on")["job"], first["job"]);
    first
}

/// The files that both write.
#[cfg(feature = "python")]
pub(super) fn made_by_python(project: &Project) -> Vec<(String, Vec<u8>)> {
    let mut published = project.published();
    published.retain(|(name, _)| name.ends_with("out.json"));
    published
}

/// The Python stages are one job with one kernel, and leave what they leave on one machine.
#[cfg(feature = "python")]
#[test]
fn the_stages_of_a_python_session_share_a_job() {
    let Some(slurm) = slurm() else { return };
    let _shared = CONTROLLER.read().unwrap_or_else(PoisonError::into_inner);
    let environment = super::python::environment();
    let (here, there) = (Project::new(&python_plan("")), Project::new(&python_plan("")));
    let answer = |mut command: Command| command.env("VIRTUAL_ENV", &environment).answer();
    let local = answer(here.checkstone(&["run", "plan.toml", "--id", "r1"]));
    assert_eq!(local.code, Some(0), "{local:?}");
    let done = answer(on_slurm(&there, &slurm, &run_words(&[])));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(made_by_python(&there), made_by_python(&here));
    assert_eq!(jobs(&slurm, &there).len(), 2);
    one_claim_of_both(&there);
    let cells = |project: &Project| -> Vec<Value> {
        let notebook: Value = serde_json::from_str(&project.read("notebooks/study.ipynb")).unwrap();
        notebook["cells"].as_array().unwrap().iter().map(|cell| cell["source"].clone()).collect()
    };
    assert_eq!(cells(&there).len(), cells(&here).len());
}

//! SIGKILL at random instants of whoever has a part in a run on a cluster: the engine, the controller, the nodes and the helpers of
//! their jobs, the database that has the record, and the bucket. Nobody sees to it but what an administrator's service manager does:
//! starting again what is gone. Every stage is accepted once, the files are those of an undisturbed run, and what was recorded stays.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{RunToEnd as _, waiting::at_moment};
use serde::{Deserialize, Serialize};

use super::cluster::on_slurm;
use super::kills::Random;
use super::{Project, plan, stage};

const STAGES: usize = 100;
const KILLS_IN_RUN: u32 = 24;
const KINDS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Engine,
    Controller,
    Node(u64),
    JobHelper,
    Database,
    Bucket,
}

/// What was done so far; kept in a file, so that a campaign goes on where it stopped.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CampaignNotes {
    runs: u64,
    /// Those whose nodes were reached by the bucket alone.
    runs_by_bucket: u64,
    /// Engine, controller, nodes, helpers of jobs, database, bucket.
    kills: [u32; KINDS],
    accepted_stages: u64,
    attempts: u64,
}

struct Campaign {
    conf: PathBuf,
    random: Random,
    /// By which the servers are reached, from `cargo xtask`.
    variables: Vec<(String, String)>,
}

impl Campaign {
    fn folder(&self) -> &Path {
        self.conf.parent().and_then(Path::parent).unwrap()
    }

    fn daemon(&self, program: &str, words: &[&str]) {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", &self.conf).arg("-f").arg(&self.conf).args(words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    }

    /// A controller that forgot a job drains the node that still has it; a person would look, and take it back.
    fn undrain(&self) {
        let mut command = Command::new("scontrol");
        command.env("SLURM_CONF", &self.conf).args(["update", "nodename=node[1-2]", "state=resume"]).answer();
    }

    fn pid_of(&self, file: &str) -> Option<Pid> {
        let text = std::fs::read_to_string(self.folder().join("run").join(file)).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    }

    /// The processes that Slurm has beside its jobs: they are in the folder of its logs.
    fn job_helpers(&self) -> Vec<Pid> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let is_helper = |path: &Path| {
            let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
            name.trim() == "slurmstepd"
                && path.join("cwd").read_link().is_ok_and(|cwd| cwd.starts_with(self.folder()))
        };
        let helpers = processes.filter(|entry| is_helper(&entry.path()));
        helpers.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// Kills a server, and starts it again.
    fn crash(&self, part: &str, pause: Duration) -> bool {
        let deed = |deed: &str| {
            let mut command = Command::new(std::env::var_os("CHECKSTONE_TEST_CLUSTER").unwrap());
            command.args(["cluster", deed, part]).answer()
        };
        let killed = deed("kill");
        let mut started = at_moment(pause, || deed("up"));
        // A database that recovers on a busy machine may take longer than `up` waits for.
        for _ in 0..3 {
            if started.code != Some(0) {
                started = deed("up");
            }
        }
        assert_eq!(started.code, Some(0), "{started:?}");
        killed.code == Some(0)
    }

    /// False if there was nobody.
    fn kill(&mut self, victim: Victim, engine: &mut Child) -> bool {
        let pause = Duration::from_millis(self.random.below(4000));
        let kill = |pid: Option<Pid>| pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        match victim {
            Victim::Engine => {
                let is_alive = engine.try_wait().unwrap().is_none();
                let killed = engine.kill().is_ok();
                engine.wait().unwrap();
                is_alive && killed
            }
            Victim::Controller => {
                let killed = kill(self.pid_of("slurmctld.pid"));
                at_moment(pause, || self.daemon("/usr/sbin/slurmctld", &[]));
                killed
            }
            Victim::Node(number) => {
                let name = format!("node{number}");
                let killed = kill(self.pid_of(&format!("slurmd.{name}.pid")));
                at_moment(pause, || self.daemon("/usr/sbin/slurmd", &["-N", &name]));
                killed
            }
            Victim::JobHelper => {
                let helpers = self.job_helpers();
                let place = self.random.below(helpers.len().max(1) as u64) as usize;
                kill(helpers.get(place).copied())
            }
            Victim::Database => self.crash("postgresql", pause),
            Victim::Bucket => self.crash("seaweedfs", pause),
        }
    }
}

/// Eight chains, of which the last is a Python session; where nodes are reached by the bucket, what is passed on goes that way too.
fn chains(is_by_bucket: bool) -> String {
    let stages: Vec<String> = (1..=STAGES)
        .map(|number| {
            let before = number.checked_sub(8).filter(|before| *before > 0);
            let after = before.map_or(String::new(), |before| {
                format!("inputs = {{ before = \"S{before:03}_do_work/out\" }}\n")
            });
            let read = before.map_or("", |_| "cat $CHECKSTONE_INPUT_BEFORE > /dev/null; ");
            let write = format!("echo {number} > $CHECKSTONE_ARTIFACT_DIR/out");
            let work = match number % 8 {
                0 if cfg!(feature = "python") => {
                    format!("kind = \"python\"\ncommand = '''\n{}'''", cell(number))
                }
                _ => format!("command = '{read}sleep 0.{}; {write}'", number % 10),
            };
            let id = format!("S{number:03}_do_work");
            stage(&id, &format!("{after}{work}\noutputs = {{ out = \"out\" }}"))
        })
        .collect();
    let exchange = if is_by_bucket { "bucket" } else { "folder" };
    plan(&stages).replacen("[[stage]]", &format!("[cluster]\nexchange = \"{exchange}\"\n[[stage]]"), 1)
}

/// Writes how many of them there were before it: what is in the session counts them.
fn cell(number: usize) -> String {
    let first = if number == 8 { "cells = 0\n" } else { "" };
    format!(
        "import os\n{first}cells += 1\nopen(os.environ['CHECKSTONE_ARTIFACT_DIR'] + '/out', 'w').write(f'{{cells * 8}}\\n')\n"
    )
}

/// So many kills of each kind, `KILLS_IN_RUN` in each run, all kinds in every run; only in the long campaigns.
#[test]
fn whoever_is_killed_every_stage_is_accepted_once() {
    let wanted: u32 =
        std::env::var("CHECKSTONE_SOAK_CLUSTER_KILLS").map_or(0, |count| count.parse().unwrap());
    let Some(conf) = std::env::var_os("CHECKSTONE_TEST_SLURM").map(PathBuf::from) else { return };
    let Some(file) = std::env::var_os("CHECKSTONE_SOAK_CLUSTER_NOTES").map(PathBuf::from) else { return };
    let _alone = super::cluster::CONTROLLER.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let noted = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut notes: CampaignNotes = noted.unwrap_or_default();
    let variables = std::env::vars()
        .filter_map(|(name, value)| Some((name.strip_prefix("CHECKSTONE_TEST_")?.to_owned(), value)))
        .filter(|(name, _)| name.starts_with("AWS_") || name.starts_with("CHECKSTONE_"));
    let random = Random::of_seed(19 + notes.runs);
    let mut campaign = Campaign { conf, random, variables: variables.collect() };
    while notes.kills.iter().any(|kills| *kills < wanted) {
        run_once(&mut campaign, &mut notes);
        std::fs::write(&file, serde_json::to_vec_pretty(&notes).unwrap()).unwrap();
        println!("so far: {notes:?}");
    }
    println!("in all: {notes:?}");
}

fn run_once(campaign: &mut Campaign, notes: &mut CampaignNotes) {
    let is_by_bucket = notes.runs % 2 == 1;
    let project = Project::new(&chains(is_by_bucket));
    let conf = campaign.conf.clone();
    let variables = campaign.variables.clone();
    let start = |words: &[&str]| {
        let mut command = on_slurm(&project, &conf, words);
        let log =
            std::fs::File::options().create(true).append(true).open(project.path("engine.log")).unwrap();
        #[cfg(feature = "python")]
        command.env("VIRTUAL_ENV", super::python::environment());
        command.envs(variables.clone()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    };
    let begin = ["run", "plan.toml", "--id", "r1", "--on", "slurm"];
    let mut engine = start(&begin);
    let mut left = KILLS_IN_RUN;
    loop {
        if engine.try_wait().unwrap().is_some_and(|status| status.success()) {
            break;
        }
        let pause = Duration::from_millis(200 + campaign.random.below(3000));
        if left > 0 {
            // The kind that had the fewest kills so far is next.
            let kind = (0..KINDS).min_by_key(|kind| notes.kills[*kind]).unwrap();
            let node = 1 + campaign.random.below(2);
            let victim = [
                Victim::Engine,
                Victim::Controller,
                Victim::Node(node),
                Victim::JobHelper,
                Victim::Database,
                Victim::Bucket,
            ][kind];
            if at_moment(pause, || campaign.kill(victim, &mut engine)) {
                notes.kills[kind] += 1;
                left -= 1;
            }
        } else {
            at_moment(pause, || ());
        }
        campaign.undrain();
        if engine.try_wait().unwrap().is_some_and(|status| !status.success()) {
            let has_record = project.path("reports/study/checkpoints/r1/events.jsonl").exists();
            engine = start(if has_record { &["resume", "r1", "--on", "slurm"] } else { &begin });
        }
    }
    let log = || std::fs::read_to_string(project.path("engine.log")).unwrap_or_default();
    let events = project.events();
    let count = |id: &str, to: &str| {
        events.iter().filter(|event| event["stageId"] == *id && event["to"] == to).count()
    };
    let ids: Vec<String> = (1..=STAGES).map(|number| format!("S{number:03}_do_work")).collect();
    let accepted: Vec<usize> = ids.iter().map(|id| count(id, "COMPLETED")).collect();
    assert_eq!(accepted, [1; STAGES], "{}", log());
    let made = |number: usize| (format!("S{number:03}_do_work/out"), format!("{number}\n").into_bytes());
    let mut published = project.published();
    published.retain(|(name, _)| name.ends_with("/out"));
    assert_eq!(published, (1..=STAGES).map(made).collect::<Vec<_>>(), "{}", log());
    notes.runs += 1;
    notes.runs_by_bucket += u64::from(is_by_bucket);
    notes.accepted_stages += STAGES as u64;
    notes.attempts += ids.iter().map(|id| count(id, "RUNNING") as u64).sum::<u64>();
}

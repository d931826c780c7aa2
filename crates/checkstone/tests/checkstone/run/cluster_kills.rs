//! SIGKILL at random instants of whoever has a part in a run on a cluster: the engine, the controller, the nodes and the helpers of
//! their jobs. Nobody sees to it but what an administrator's service manager does: starting again what is gone. Every
//! stage is accepted once, and the files are those of an undisturbed run.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{RunToEnd as _, waiting::at_moment};

use super::cluster::on_slurm;
use super::kills::Random;
use super::{Project, plan, stage};

const STAGES: usize = 20;
const KILLS_IN_RUN: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Engine,
    Controller,
    Node(u64),
    JobHelper,
}

struct Campaign {
    conf: PathBuf,
    random: Random,
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

    /// False if there was nobody.
    fn kill(&mut self, victim: Victim, engine: &mut Child) -> bool {
        let pause = Duration::from_millis(self.random.below(4000));
        let kill = |pid: Option<Pid>| pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        match victim {
            Victim::Engine => {
                let killed = engine.kill().is_ok();
                engine.wait().unwrap();
                killed
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
        }
    }
}

fn chains() -> String {
    let stages: Vec<String> = (1..=STAGES)
        .map(|number| {
            let after = match number.checked_sub(4) {
                Some(before) if before > 0 => format!("dependencies = [\"S{before:02}_do_work\"]\n"),
                _ => String::new(),
            };
            stage(
                &format!("S{number:02}_do_work"),
                &format!(
                    "{after}command = 'sleep 0.{}; echo {number} > $CHECKSTONE_ARTIFACT_DIR/out'",
                    number % 10
                ),
            )
        })
        .collect();
    plan(&stages)
}

/// So many kills of all kinds, `KILLS_IN_RUN` in each run; only in the long campaigns.
#[test]
fn whoever_is_killed_every_stage_is_accepted_once() {
    let Some(conf) = std::env::var_os("CHECKSTONE_TEST_SLURM").map(PathBuf::from) else { return };
    let wanted: u32 =
        std::env::var("CHECKSTONE_SOAK_CLUSTER_KILLS").map_or(0, |count| count.parse().unwrap());
    let mut campaign = Campaign { conf: conf.clone(), random: Random::of_seed(19) };
    let mut counts = [0_u32; 4];
    while counts.iter().sum::<u32>() < wanted {
        let project = Project::new(&chains());
        let start = |words: &[&str]| {
            let mut command = on_slurm(&project, &conf, words);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut engine = start(&["run", "plan.toml", "--id", "r1", "--on", "slurm"]);
        let mut left = KILLS_IN_RUN;
        loop {
            if engine.try_wait().unwrap().is_some_and(|status| status.success()) {
                break;
            }
            let pause = Duration::from_millis(200 + campaign.random.below(3000));
            if left > 0 {
                // The kind that had the fewest kills so far is next.
                let kind = (0..4).min_by_key(|kind| counts[*kind]).unwrap();
                let node = 1 + campaign.random.below(2);
                let victim =
                    [Victim::Engine, Victim::Controller, Victim::Node(node), Victim::JobHelper][kind];
                if at_moment(pause, || campaign.kill(victim, &mut engine)) {
                    counts[kind] += 1;
                    left -= 1;
                }
            } else {
                at_moment(pause, || ());
            }
            campaign.undrain();
            if engine.try_wait().unwrap().is_some_and(|status| !status.success()) {
                let has_record = project.path("reports/study/checkpoints/r1/events.jsonl").exists();
                let begin = ["run", "plan.toml", "--id", "r1", "--on", "slurm"];
                engine = start(if has_record { &["resume", "r1", "--on", "slurm"] } else { &begin });
            }
        }
        let accepted: Vec<usize> = (1..=STAGES)
            .map(|number| {
                let id = format!("S{number:02}_do_work");
                project
                    .events()
                    .iter()
                    .filter(|event| event["stageId"] == *id && event["to"] == "COMPLETED")
                    .count()
            })
            .collect();
        assert_eq!(accepted, [1; STAGES]);
        let made = |number: usize| (format!("S{number:02}_do_work/out"), format!("{number}\n").into_bytes());
        assert_eq!(project.published(), (1..=STAGES).map(made).collect::<Vec<_>>());
        println!("kills so far: engine, controller, nodes, helpers of jobs: {counts:?}");
    }
}

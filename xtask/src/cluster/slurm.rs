//! Slurm, as Debian has it: a controller and two nodes on this one machine, each with a port of its own, and a munge of its own. No
//! systemd, no accounting, no control groups.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{kill_all, ports, processes_with, wait_until};
use crate::needs;
use crate::process;
use crate::root;

/// Those of the usual partition.
const NODES: u16 = 2;
/// One more, in a partition of its own, that does not see what the others see: its `/tmp` is another one, and small. Only as root.
const APART: &str = "node3";
const SIZE_OF_SCRATCH: &str = "64m";

/// What is started, and the Debian package that has it.
const PROGRAMS: [(&str, &str); 4] = [
    ("/usr/sbin/munged", "munge"),
    ("/usr/sbin/slurmctld", "slurmctld"),
    ("/usr/sbin/slurmd", "slurmd"),
    ("/usr/bin/sbatch", "slurm-client"),
];

pub(super) fn up(folder: &Path) -> Result<Vec<(String, String)>, String> {
    for (program, package) in PROGRAMS {
        if !needs::get(program, package) {
            return Err(format!("`{program}` is missing: install {package}"));
        }
    }
    let conf = folder.join("etc/slurm.conf");
    if !is_up(&conf) {
        start(folder, &conf)?;
    }
    Ok(vec![("SLURM_CONF".to_owned(), conf.display().to_string())])
}

/// The jobs are ended with their nodes.
pub(super) fn down(folder: &Path) -> Result<(), String> {
    let conf = folder.join("etc/slurm.conf");
    if is_up(&conf) {
        let user = process::output(Command::new("id").arg("-u"))?;
        let mut cancel = slurm("scancel", &conf);
        let _ = process::output(cancel.arg(format!("--user={}", user.trim())));
    }
    kill(folder)
}

/// Also those that look after the jobs on the nodes: no word of theirs names the folder, but they are in it.
pub(super) fn kill(folder: &Path) -> Result<(), String> {
    let mut pids = processes_with(folder);
    let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    let is_in = |path: PathBuf| path.join("cwd").read_link().is_ok_and(|inner| inner.starts_with(folder));
    let inside = processes.filter(|entry| is_in(entry.path()));
    pids.extend(inside.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()));
    pids.retain(|pid| *pid != std::process::id());
    kill_all(&pids)
}

fn slurm(program: &str, conf: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("SLURM_CONF", conf);
    command
}

/// Both nodes can be given jobs.
fn is_up(conf: &Path) -> bool {
    if !conf.exists() {
        return false;
    }
    let mut ask = slurm("timeout", conf);
    ask.args(["2", "sinfo", "--noheader", "--states=idle,alloc,mix", "--format=%D"]).stderr(Stdio::null());
    let answer = process::output(&mut ask).unwrap_or_default();
    answer.lines().filter_map(|line| line.trim().parse::<u16>().ok()).sum::<u16>() == all_nodes()
}

fn all_nodes() -> u16 {
    NODES + u16::from(needs::is_root())
}

fn start(folder: &Path, conf: &Path) -> Result<(), String> {
    kill(folder)?;
    let failed = |error: std::io::Error| error.to_string();
    let inner = |name: &str| folder.join(name);
    // The jobs were ended with their nodes. Remembered, their numbers would be given again, and a node that knows a number
    // already is given nothing more.
    for name in ["controller", "node1", "node2", APART] {
        let _ = fs_err::remove_dir_all(inner(name));
    }
    for name in ["etc", "run", "log", "controller", "munge", "node1", "node2", APART] {
        fs_err::create_dir_all(inner(name)).map_err(failed)?;
    }
    for left in ["run/munge.sock", "run/munge.sock.lock"] {
        let _ = fs_err::remove_file(inner(left));
    }
    munge(folder)?;
    let first = ports(&inner("port"), NODES + 2, 0)?;
    fs_err::write(conf, configuration(folder, first)?).map_err(failed)?;
    process::run(slurm("/usr/sbin/slurmctld", conf).arg("-f").arg(conf))?;
    for node in 1..=NODES {
        process::run(
            slurm("/usr/sbin/slurmd", conf).arg("-f").arg(conf).args(["-N", &format!("node{node}")]),
        )?;
    }
    if needs::is_root() {
        start_apart(conf)?;
    }
    wait_until("all nodes are there", || is_up(conf))
}

/// Started again by tests, too, in the same words.
fn start_apart(conf: &Path) -> Result<(), String> {
    let mount = format!("mount -t tmpfs -o size={SIZE_OF_SCRATCH},mode=1777 tmpfs /tmp");
    // The program and the configuration are on the node, also if this checkout is below the folder that it does not see.
    let mount = match root().starts_with("/tmp") {
        true => format!(
            "mount --bind \"$1\" /mnt && {mount} && mkdir -p \"$1\" && mount --bind /mnt \"$1\" && umount /mnt"
        ),
        false => mount,
    };
    let script = format!("{mount} && cd / && exec /usr/sbin/slurmd -f \"$0\" -N {APART}");
    let mut command = slurm("unshare", conf);
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]).arg(conf).arg(root());
    process::run(&mut command).map(drop)
}

/// With a key and a socket of its own. It refuses a folder that others may write to, unless it is forced.
fn munge(folder: &Path) -> Result<(), String> {
    let inner = |name: &str| folder.join(name);
    let key = inner("munge/key");
    if !key.exists() {
        let mut bytes = vec![0; 1024];
        std::io::Read::read_exact(
            &mut fs_err::File::open("/dev/urandom").map_err(|error| error.to_string())?,
            &mut bytes,
        )
        .and_then(|()| fs_err::write(&key, &bytes))
        .map_err(|error| error.to_string())?;
    }
    process::run(Command::new("chmod").arg("700").arg(inner("munge")))?;
    process::run(Command::new("chmod").arg("400").arg(&key))?;
    let option = |name: &str, path: PathBuf| format!("--{name}={}", path.display());
    process::run(Command::new("/usr/sbin/munged").arg("--force").args([
        option("key-file", key),
        option("socket", inner("run/munge.sock")),
        option("pid-file", inner("run/munged.pid")),
        option("log-file", inner("log/munged.log")),
        option("seed-file", inner("munge/seed")),
    ]))?;
    wait_until("munge listens", || inner("run/munge.sock").exists())
}

fn configuration(folder: &Path, first_port: u16) -> Result<String, String> {
    let host = process::output(Command::new("hostname").arg("-s"))?;
    let user = process::output(Command::new("id").arg("-un"))?;
    let (host, user, folder) = (host.trim(), user.trim(), folder.display());
    let apart = match needs::is_root() {
        true => format!("PartitionName=apart Nodes={APART} MaxTime=INFINITE State=UP\n"),
        false => String::new(),
    };
    let nodes: String = (1..=all_nodes())
        .map(|node| {
            let port = first_port + node;
            format!(
                "NodeName=node{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=1000 State=UNKNOWN\n"
            )
        })
        .collect();
    Ok(format!(
        "ClusterName=checkstone
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock
CredType=cred/munge
SlurmctldPort={first_port}
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/%n
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=3
MinJobAge=600
SlurmctldTimeout=30
SlurmdTimeout=10
MailProg=/bin/true
{nodes}PartitionName=main Nodes=node[1-{NODES}] Default=YES MaxTime=INFINITE State=UP
{apart}"
    ))
}

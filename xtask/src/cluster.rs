//! The servers that runs beyond one machine use, started on this one by hand or by the tests: state in `target/cluster`, ports of
//! their own, no service manager. Started again after a crash they go on with what they have.

mod postgresql;
mod seaweedfs;
mod slurm;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Subcommand;

use crate::process;
use crate::root;
use crate::steps::Done;

#[derive(Subcommand)]
pub(crate) enum ClusterCommand {
    /// Start the servers, and print the variables by which they are reached
    Up { parts: Vec<String> },
    /// Stop the servers; what they hold stays in `target/cluster`
    Down { parts: Vec<String> },
    /// Say which of them run
    Status,
    /// Kill a server as a crash would
    #[command(hide = true)]
    Kill { parts: Vec<String> },
}

/// The variables by which a server is reached, with their values.
type Variables = Vec<(String, String)>;

/// One server: how it is started, stopped and killed, with its own folder.
struct ClusterPart {
    name: &'static str,
    /// Does nothing if it runs; answers the variables by which it is reached.
    up: fn(&Path) -> Result<Variables, String>,
    down: fn(&Path) -> Result<(), String>,
    kill: fn(&Path) -> Result<(), String>,
}

const PARTS: &[ClusterPart] = &[
    ClusterPart { name: "postgresql", up: postgresql::up, down: postgresql::down, kill: postgresql::kill },
    ClusterPart { name: "seaweedfs", up: seaweedfs::up, down: seaweedfs::down, kill: seaweedfs::kill },
    ClusterPart { name: "slurm", up: slurm::up, down: slurm::down, kill: slurm::kill },
];

/// So far apart are the first ports of two parts.
const PORTS_OF_A_PART: u16 = 10;

/// A server that has not answered within this time does not: where it waits for a busy disk, a minute can be too short.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn run(command: ClusterCommand) -> Result<(), String> {
    match command {
        ClusterCommand::Up { parts } => {
            for (name, value) in up(&parts)? {
                println!("export {name}={value}");
            }
            Ok(())
        }
        ClusterCommand::Down { parts } => chosen(&parts)?.try_for_each(|part| (part.down)(&folder(part))),
        ClusterCommand::Status => {
            for part in PARTS {
                match processes_with(&folder(part)).len() {
                    0 => println!("{}: down", part.name),
                    processes => println!("{}: up, {processes} processes", part.name),
                }
            }
            Ok(())
        }
        ClusterCommand::Kill { parts } => chosen(&parts)?.try_for_each(|part| (part.kill)(&folder(part))),
    }
}

pub(crate) fn up(parts: &[String]) -> Result<Variables, String> {
    let mut variables = Vec::new();
    for part in chosen(parts)? {
        let folder = folder(part);
        fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
        variables.extend((part.up)(&folder).map_err(|why| format!("{}: {why}", part.name))?);
    }
    Ok(variables)
}

/// All where none is named.
fn chosen(names: &[String]) -> Result<impl Iterator<Item = &'static ClusterPart>, String> {
    if let Some(name) = names.iter().find(|name| !PARTS.iter().any(|part| part.name == **name)) {
        let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        return Err(format!("there is no part `{name}`; there are {}", known.join(", ")));
    }
    let names = names.to_vec();
    Ok(PARTS.iter().filter(move |part| names.is_empty() || names.iter().any(|name| name == part.name)))
}

fn folder(part: &ClusterPart) -> PathBuf {
    root().join("target/cluster").join(part.name)
}

/// The tests of stores, with the servers that they need; those are stopped afterwards.
pub(crate) fn test_stores(variables: &[(&str, String)]) -> Result<Done, String> {
    let used = ["postgresql".to_owned(), "seaweedfs".to_owned()];
    let ended = up(&used).and_then(|found| {
        let mut test = process::test_target("stores");
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        test.env("CHECKSTONE_TEST_CLUSTER", program);
        test.envs(found).envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        process::run(&mut test)
    });
    let stopped = run(ClusterCommand::Down { parts: used.to_vec() });
    ended.and_then(|done| stopped.map(|()| done))
}

/// The tests of runs on a cluster, with a Slurm and a bucket of their own; the long campaign also has a database. They are stopped
/// afterwards.
pub(crate) fn test_slurm(
    more: &[&str],
    tests: &[&str],
    variables: &[(&str, String)],
) -> Result<Done, String> {
    let used: Vec<String> =
        ["slurm", "seaweedfs"].iter().chain(more).map(|part| (*part).to_owned()).collect();
    let ended = up(&used).and_then(|found| {
        let mut test = process::test_target("checkstone");
        test.args(["--", "--nocapture"]).args(tests);
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        test.env("CHECKSTONE_TEST_CLUSTER", program);
        // Under names of their own: the other tests must not use them.
        test.envs(found.into_iter().map(|(name, value)| match name.as_str() {
            "SLURM_CONF" => ("CHECKSTONE_TEST_SLURM".to_owned(), value),
            _ => (format!("CHECKSTONE_TEST_{name}"), value),
        }));
        test.envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        process::run(&mut test)
    });
    let stopped = run(ClusterCommand::Down { parts: used });
    ended.and_then(|done| stopped.map(|()| done))
}

/// Where the started Slurm is described.
pub(crate) fn slurm_up() -> Result<String, String> {
    let found = up(&["slurm".to_owned()])?;
    found.into_iter().next().map(|(_, conf)| conf).ok_or_else(|| "there is no Slurm".to_owned())
}

pub(crate) fn slurm_down() -> Result<(), String> {
    run(ClusterCommand::Down { parts: vec!["slurm".to_owned()] })
}

/// A number of ports in a row that nobody uses, chosen once and kept in a file; `also` further ones above each.
fn ports(file: &Path, count: u16, also: u16) -> Result<u16, String> {
    if let Some(port) = kept_port(file) {
        return Ok(port);
    }
    // Free for the moment, and taken again when that part is started.
    let of_others: Vec<u16> = PARTS.iter().filter_map(|part| kept_port(&folder(part).join("port"))).collect();
    let is_usable = |first: &u16| !of_others.contains(first) && are_free(*first, count, also);
    // Below those that the system gives to clients. Checkouts beside each other look from different places on.
    let from = 15_000 + u16::try_from(std::process::id() % 500).unwrap_or(0) * PORTS_OF_A_PART;
    let mut firsts = (from..22_000).step_by(usize::from(PORTS_OF_A_PART));
    let first = firsts.find(is_usable).ok_or("there are no free ports")?;
    fs_err::write(file, first.to_string()).map_err(|error| error.to_string())?;
    Ok(first)
}

fn kept_port(file: &Path) -> Option<u16> {
    fs_err::read_to_string(file).ok()?.trim().parse().ok()
}

/// Whether nobody uses so many ports in a row, nor those `also` above each.
fn are_free(first: u16, count: u16, also: u16) -> bool {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    (first..first + count).all(|port| is_free(port) && (also == 0 || is_free(port + also)))
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return Err(format!("waited {} s in vain until {what}", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The processes that have this path among their words: a server's children too.
fn processes_with(path: &Path) -> Vec<u32> {
    let listed = process::output(Command::new("ps").args(["-eo", "pid=,args="])).unwrap_or_default();
    let wanted = path.to_string_lossy();
    let of_server = listed.lines().filter(|line| line.contains(wanted.as_ref()));
    let pids = of_server.filter_map(|line| line.trim_start().split(' ').next()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id()).collect()
}

fn kill_all(pids: &[u32]) -> Result<(), String> {
    if pids.is_empty() {
        return Ok(());
    }
    let mut kill = Command::new("kill");
    kill.arg("-KILL").args(pids.iter().map(u32::to_string));
    // Some end by themselves once the first is gone.
    let _ = process::output(&mut kill);
    // As long as there is anything of it, PostgreSQL takes it for one that runs.
    wait_until("it is gone", || pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}/stat")).exists()))
}

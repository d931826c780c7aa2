//! PostgreSQL, as Debian has it, on this machine alone. It refuses to run as root, and is then run as `nobody`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{kill_all, ports, processes_with, wait_until};
use crate::needs;
use crate::process;

const USER: &str = "nobody";

pub(super) fn up(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let programs = programs()?;
    let data = folder.join("data");
    let port = ports(&folder.join("port"), 1, 0)?;
    if needs::is_root() {
        process::output(Command::new("chown").arg("-R").arg(USER).arg(folder))?;
    }
    if !data.join("PG_VERSION").exists() {
        let mut make = server(&programs.join("initdb"));
        make.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8"]);
        process::output(&mut make)?;
    }
    let options = format!(
        "-p {port} -c unix_socket_directories= -c listen_addresses=127.0.0.1 -c shared_buffers=64MB -c max_connections=80 \
         -c recovery_init_sync_method=syncfs"
    );
    // What a killed one had shared goes with the last of its children, a moment later.
    wait_until("PostgreSQL has started", || {
        let mut start = server(&programs.join("pg_ctl"));
        start.arg("-D").arg(&data).args(["-w", "-l"]).arg(folder.join("log")).args(["-o", &options, "start"]);
        is_running(&programs, &data) || process::output(&mut start).is_ok()
    })?;
    Ok(vec![("CHECKSTONE_DATABASE".to_owned(), format!("postgres://postgres@127.0.0.1:{port}/postgres"))])
}

pub(super) fn down(folder: &Path) -> Result<(), String> {
    let data = folder.join("data");
    if !data.exists() {
        return Ok(());
    }
    let programs = programs()?;
    if is_running(&programs, &data) {
        let mut stop = server(&programs.join("pg_ctl"));
        process::output(stop.arg("-D").arg(&data).args(["-m", "fast", "-w", "stop"]))?;
    }
    Ok(())
}

/// The first of its processes, so that the others see it die.
pub(super) fn kill(folder: &Path) -> Result<(), String> {
    kill_all(&processes_with(&folder.join("data")))
}

fn is_running(programs: &Path, data: &Path) -> bool {
    let mut status = server(&programs.join("pg_ctl"));
    process::output(status.arg("-D").arg(data).arg("status")).is_ok()
}

fn server(program: &Path) -> Command {
    if !needs::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={USER}")).arg("--regid=nogroup").arg("--clear-groups").arg(program);
    command
}

/// Where its programs are: Debian keeps those of a server apart.
fn programs() -> Result<PathBuf, String> {
    let found = || {
        let versions = fs_err::read_dir("/usr/lib/postgresql").ok()?;
        let folders = versions.flatten().map(|version| version.path().join("bin"));
        folders.filter(|folder| folder.join("initdb").exists()).max()
    };
    found()
        .or_else(|| (needs::is_root() && needs::install("postgresql")).then(found).flatten())
        .ok_or_else(|| "there is no PostgreSQL server; install the package `postgresql`".to_owned())
}

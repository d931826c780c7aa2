//! A snapshot of very many files of which none has changed, against `git status`: it may cost one look at the tree,
//! and not a second one.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::hook::{bare_git, measure};
use super::{milliseconds, percentile};
use crate::process;
use crate::release;
use crate::root;
use crate::steps::Done;

const LIMIT: f64 = 2.0;
const FILES_IN_FOLDER: usize = 500;

/// Inodes and bytes that a file takes, with room to spare; checked before anything is written.
const INODES: u64 = 2;
const BYTES: u64 = 6 * 1024;

pub(crate) fn run(files: usize, rounds: usize) -> Result<Done, String> {
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let path = folder.join(format!("unchanged-{files}"));
    if !path.join(".git").is_dir() {
        if let Some(lacking) = lacking(&folder, files as u64)? {
            return Ok(Done::Skipped(lacking));
        }
        make(&path, files)?;
    }
    println!("building…");
    let program = release::build()?;
    let state = tempfile::tempdir_in(&folder).map_err(|error| error.to_string())?;
    let ours = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(&path);
        command.env("CHECKSTONE_STATE_DIR", state.path()).env("XDG_CONFIG_HOME", state.path());
        command
    };
    let (mut looks, mut snapshots) = (Vec::new(), Vec::new());
    // The first of each warms the machine's memory of the tree.
    for round in 0..=rounds {
        let look =
            measure(bare_git().args(changes::status::STATUS_ARGUMENTS.split(' ')).current_dir(&path))?.time;
        let snapshot = measure(&mut ours(&["snapshot", "create"]))?.time;
        if round > 0 {
            looks.push(look);
            snapshots.push(snapshot);
        }
    }
    process::output(&mut ours(&["snapshot", "prune", "--keep", "0"]))?;
    report(files, &looks, &snapshots)
}

fn report(files: usize, looks: &[Duration], snapshots: &[Duration]) -> Result<Done, String> {
    let ratio =
        |percent| percentile(snapshots, percent).as_secs_f64() / percentile(looks, percent).as_secs_f64();
    println!(
        "\n| files | changed | git status p10 | p50 | snapshot p10 | p50 | snapshot ÷ status (p10) | (p50) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    println!(
        "| {files} | 0 | {:.0} ms | {:.0} ms | {:.0} ms | {:.0} ms | {:.2} × | {:.2} × |",
        milliseconds(percentile(looks, 10)),
        milliseconds(percentile(looks, 50)),
        milliseconds(percentile(snapshots, 10)),
        milliseconds(percentile(snapshots, 50)),
        ratio(10),
        ratio(50),
    );
    println!("\nLimit: {LIMIT} ×, in {} rounds, each of one and then the other.", looks.len());
    let found = ratio(50);
    if found <= LIMIT { Ok(Done::Passed) } else { Err(format!("{found:.2} × is over {LIMIT} ×")) }
}

/// What the disk does not have, in words.
fn lacking(folder: &Path, files: u64) -> Result<Option<String>, String> {
    let free = rustix::fs::statvfs(folder).map_err(|error| error.to_string())?;
    let bytes = free.f_bavail.saturating_mul(free.f_frsize);
    let needed = files.saturating_mul(BYTES);
    if bytes < needed {
        return Ok(Some(format!("{} MB of disk are needed, {} are free", needed >> 20, bytes >> 20)));
    }
    // Some file systems have no fixed number of inodes, and say zero.
    let few = free.f_files > 0 && free.f_favail < files.saturating_mul(INODES);
    Ok(few.then(|| format!("{} free inodes are too few for {files} files", free.f_favail)))
}

/// Written by git itself, which is several times as fast as adding the files one by one.
fn make(path: &Path, files: usize) -> Result<(), String> {
    println!("making a repository of {files} files…");
    let making: PathBuf = path.with_extension("making");
    let failed = |error: std::io::Error| error.to_string();
    let _ = fs_err::remove_dir_all(&making);
    fs_err::create_dir_all(&making).map_err(failed)?;
    process::output(Command::new("git").args(["init", "-q", "-b", "main"]).current_dir(&making))?;
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet", "--depth=0"]).current_dir(&making).stdin(Stdio::piped());
    let mut child = import.spawn().map_err(failed)?;
    if let Some(pipe) = child.stdin.take() {
        let mut input = BufWriter::with_capacity(1 << 20, pipe);
        let written =
            write!(input, "commit refs/heads/main\ncommitter n <e@x> 0 +0000\ndata 0\n").and_then(|()| {
                for number in 0..files {
                    let folder = number / FILES_IN_FOLDER;
                    let content = format!("// file {number}\npub fn f{number}() {{}}\n");
                    let name = format!("src/area{}/part{folder}/file{number}.rs", folder / 50);
                    write!(input, "M 100644 inline {name}\ndata {}\n{content}\n", content.len())?;
                }
                input.flush()
            });
        written.map_err(failed)?;
    }
    if !child.wait().map_err(failed)?.success() {
        return Err("git fast-import failed".to_owned());
    }
    process::output(Command::new("git").args(["reset", "--hard", "-q"]).current_dir(&making))?;
    // Files as young as the index are read again at every look; once it is written anew they are not.
    process::output(Command::new("git").args(["update-index", "--refresh", "-q"]).current_dir(&making))?;
    fs_err::rename(&making, path).map_err(failed)
}

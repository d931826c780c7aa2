//! A snapshot against the one look at the tree that it cannot do without, `git status`, and the first snapshot against
//! what other tools do: `git add --all` and `git commit` in a repository beside the user's.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::hook::{bare_git, change, measure, repository};
use super::row::Row;
use super::{milliseconds, percentile};
use crate::process;
use crate::release;
use crate::root;

pub(crate) fn run(rounds: usize, files: usize) -> Result<Vec<Row>, String> {
    println!("building…");
    let program = release::build()?;
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let repository = repository(&folder, files)?;
    let state = tempfile::tempdir_in(&folder).map_err(|error| error.to_string())?;
    let snapshot = || {
        let mut command = Command::new(&program);
        command.args(["snapshot", "create"]).current_dir(&repository);
        command.env("CHECKSTONE_STATE_DIR", state.path()).env("XDG_CONFIG_HOME", state.path());
        command
    };
    let status = || {
        let mut git = bare_git();
        git.args(changes::status::STATUS_ARGUMENTS.split(' ')).current_dir(&repository);
        git
    };
    let mut first = None;
    let (mut looks, mut snapshots) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        change(&repository, round)?;
        looks.push(measure(&mut status())?.time);
        let took = measure(&mut snapshot())?.time;
        first = first.or(Some(took));
        snapshots.push(took);
    }
    let first = first.unwrap_or_default();
    let shadow = shadow(state.path(), &repository)?;
    let prune = ["snapshot", "prune", "--keep", "0"];
    process::output(Command::new(&program).args(prune).current_dir(&repository))?;
    report(files, &looks, &snapshots);
    println!(
        "\nThe first snapshot: {:.0} ms, in a shadow repository {:.0} ms: {:.1} × as fast (limit 5 ×).",
        milliseconds(first),
        milliseconds(shadow),
        shadow.as_secs_f64() / first.as_secs_f64()
    );
    let (ours, look) = (percentile(&snapshots, 10), percentile(&looks, 10));
    Ok(vec![
        Row::times(format!("snapshot of {files} files"), ours, "`git status`", look, 1.3),
        Row::times(format!("first snapshot of {files} files"), first, "a shadow repository", shadow, 0.2),
    ])
}

fn report(files: usize, looks: &[Duration], snapshots: &[Duration]) {
    println!(
        "\n| files | changed | git status p10 | snapshot p10 | p50 | p95 | snapshot ÷ status (p10) | (p50) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let ratio =
        |percent| percentile(snapshots, percent).as_secs_f64() / percentile(looks, percent).as_secs_f64();
    println!(
        "| {files} | 10 | {:.1} ms | {:.1} ms | {:.1} ms | {:.1} ms | {:.2} × | {:.2} × |",
        milliseconds(percentile(looks, 10)),
        milliseconds(percentile(snapshots, 10)),
        milliseconds(percentile(snapshots, 50)),
        milliseconds(percentile(snapshots, 95)),
        ratio(10),
        ratio(50),
    );
    println!("\nLimit: 1.3 × on 50,000 files.");
}

/// The time of a first snapshot in a repository of its own.
fn shadow(folder: &Path, repository: &Path) -> Result<Duration, String> {
    let git_dir = folder.join("shadow");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(&git_dir).arg("--work-tree").arg(repository);
        command.args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "gc.auto=0"]).args(arguments);
        command.current_dir(repository);
        process::output(&mut command)
    };
    let began = Instant::now();
    git(&["init", "--quiet"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message=first"])?;
    Ok(began.elapsed())
}

//! Whether stages can be run on the Slurm cluster that this machine belongs to: a small job goes there and back by the project's
//! folder, and says what the clock of its node shows.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use files::{BoundedChild, Bounds, ChildError};
use run::plan::Plan;
use settings::Problems;
use text::{error_chain, shell_word};

use super::finding::{Finding, Surroundings};
use crate::environment;
use crate::error::CommandError;
use crate::own_program::OwnProgram;

/// A cluster that has something free answers within seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Nobody compares clocks, but people do who read logs.
const CLOSE: f64 = 5.0;

pub(crate) fn findings(root: &Path) -> Vec<Finding> {
    let path = environment::read("PATH").unwrap_or_default();
    let Some(sbatch) = files::find_program(OsStr::new("sbatch"), &path) else {
        let text = "there is no `sbatch` on the `PATH`; stages run on this machine";
        return vec![Finding::note(Surroundings::Cluster, "slurm", text)];
    };
    match sent_there_and_back(&sbatch, root) {
        Ok(found) => found,
        Err(error) => vec![Finding::problem(Surroundings::Cluster, "slurm", error_chain(&error))],
    }
}

/// Why nothing could be learnt of the cluster.
#[derive(Debug, thiserror::Error)]
enum SlurmError {
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The last line that Slurm printed.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    UserFile(io::Error),
    #[error("{0}")]
    UserSettings(Problems),
    #[error("`{}`", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    OwnProgram(#[from] CommandError),
    #[error("{version}: the node's answer could not be read")]
    NodeAnswer { version: String },
}

fn answer(command: &mut Command, input: &str) -> Result<String, SlurmError> {
    let ended = BoundedChild::run(command, input.as_bytes(), Bounds::within(PATIENCE))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(SlurmError::Failed(said.lines().last().unwrap_or("it failed without a message").to_owned()))
}

/// What `[cluster]` of the user's own configuration says: many clusters take nothing without an account.
fn words_of_user() -> Result<Vec<String>, SlurmError> {
    let file = environment::configuration_file().filter(|file| file.exists());
    let text = file.as_deref().map(fs_err::read_to_string).transpose().map_err(SlurmError::UserFile)?;
    let cluster = Plan::default().cluster("config.toml", &text.unwrap_or_default());
    let cluster = cluster.map_err(SlurmError::UserSettings)?;
    let named = [("partition", cluster.partition), ("account", cluster.account), ("qos", cluster.qos)];
    let named = named.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
    Ok(named.chain(cluster.sbatch).collect())
}

fn sent_there_and_back(sbatch: &Path, root: &Path) -> Result<Vec<Finding>, SlurmError> {
    let version = answer(Command::new(sbatch).arg("--version"), "")?;
    let place = tempfile::Builder::new().prefix(".checkstone-doctor-").tempdir_in(root);
    let place = place.map_err(|source| SlurmError::Folder { folder: root.to_owned(), source })?;
    let told = place.path().join("told");
    let program = OwnProgram::find()?.path;
    let script = format!(
        "#!/bin/sh\n{} version > /dev/null && started=yes || started=no\n\
         echo \"$SLURMD_NODENAME $started $(date +%s.%N)\" > {}\n",
        shell_word(&program),
        shell_word(&told.to_string_lossy())
    );
    let mut submit = Command::new(sbatch);
    let name = format!("checkstone-doctor-{}", files::random_id());
    submit.args(["--parsable", "--wait", "--time=1", "--output=/dev/null", "--job-name", &name]);
    submit.args(words_of_user()?);
    let began = SystemTime::now();
    if let Err(error) = answer(submit.arg("--chdir=/tmp"), &script) {
        // Nobody waits for it any more.
        let _ = answer(Command::new(sbatch.with_file_name("scancel")).args(["--name", &name]), "");
        let text = format!("{version}: a small job did not come back: {}", error_chain(&error));
        let advice =
            "try again when the cluster has something free; `sinfo` and `squeue` show what it is doing";
        return Ok(vec![Finding::problem(Surroundings::Cluster, "slurm", text).advice(advice)]);
    }
    let ended = SystemTime::now();
    let Ok(text) = fs_err::read_to_string(&told) else {
        let text = format!("{version}: a job ran on a node that does not see `{}`", root.display());
        let advice = "move the project to a file system that the nodes share, or set `exchange = \"bucket\"` in `[cluster]`";
        return Ok(vec![Finding::problem(Surroundings::Cluster, "slurm", text).advice(advice)]);
    };
    let [node, started, time] = text.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(SlurmError::NodeAnswer { version });
    };
    let seconds = ended.duration_since(began).unwrap_or_default().as_secs_f64();
    let mut findings = vec![match started {
        "yes" => {
            let text = format!("{version}: a small job ran on `{node}` and was back after {seconds:.1} s");
            Finding::good(Surroundings::Cluster, "slurm", text)
        }
        _ => Finding::problem(Surroundings::Cluster, "slurm", format!("`{node}` cannot start `{program}`"))
            .advice("install checkstone where the nodes find it under the same path"),
    }];
    findings.extend(time.parse().ok().map(|time| of_clock(node, time, began, ended)));
    Ok(findings)
}

/// The job ran in between, so that only what lies outside is a difference.
fn of_clock(node: &str, time: f64, began: SystemTime, ended: SystemTime) -> Finding {
    let seconds =
        |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let (began, ended) = (seconds(began), seconds(ended));
    let apart = if time < began { time - began } else { (time - ended).max(0.0) };
    if apart.abs() < CLOSE {
        let within = (ended - began).max(apart.abs());
        let text = format!("that of `{node}` is within {within:.1} s of this machine's");
        return Finding::good(Surroundings::Cluster, "clock", text);
    }
    let text = format!(
        "that of `{node}` is {apart:+.1} s from this machine's; runs do not depend on it, but times in logs differ"
    );
    Finding::note(Surroundings::Cluster, "clock", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_another_one_only_if_it_is_outside_of_when_the_job_ran() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let told = |time: f64| of_clock("node1", time, at(100), at(103)).text;
        assert_eq!(told(101.0), "that of `node1` is within 3.0 s of this machine's");
        assert_eq!(
            told(7303.0),
            "that of `node1` is +7200.0 s from this machine's; runs do not depend on it, but times in logs differ"
        );
        assert_eq!(
            told(40.0),
            "that of `node1` is -60.0 s from this machine's; runs do not depend on it, but times in logs differ"
        );
    }
}

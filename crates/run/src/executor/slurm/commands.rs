//! The three programs of Slurm that are called: `sbatch`, `squeue` and `scancel`. None of them is waited for longer than it
//! takes a controller that is there to answer, and they are called a few times a second at most, whatever there is to ask.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use files::{BoundedChild, Bounds};
use text::error_chain;

use super::SlurmNews;
use super::submission::Submission;

/// While the controller is down, calls return after nine seconds by themselves.
const LONGEST_CALL: Duration = Duration::from_secs(15);
/// Five calls a second.
const BETWEEN_CALLS: Duration = Duration::from_millis(200);

/// What Slurm's programs say when nobody knows whether the controller has heard of it.
const UNANSWERED: [&str; 8] = [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
    "temporarily",
    "Zero Bytes were transmitted",
    "Unexpected message received",
    "Communication connection failure",
    "backup controller",
];

#[derive(Debug, thiserror::Error)]
#[error("there is no `{name}` on the `PATH`, so nothing can be submitted to Slurm from here")]
pub struct NoSlurmError {
    pub name: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct SlurmCommands {
    sbatch: PathBuf,
    squeue: PathBuf,
    scancel: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// Why a call did not do what it was for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallFailure {
    /// Perhaps it was done all the same.
    #[error("{0}")]
    Unanswered(String),
    #[error("{0}")]
    Refused(String),
}

/// One job as `squeue` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedJob {
    /// `17`, or `17_3` for one of an array.
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) reason: String,
    pub(crate) comment: String,
}

impl ListedJob {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(4, '|').map(|part| part.trim().to_owned());
        let (id, state, reason) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { id, state, reason, comment: parts.next()? })
    }

    /// Nothing of it runs any more, and nothing will.
    pub(crate) fn is_over(&self) -> bool {
        const OVER: [&str; 9] = [
            "COMPLETED",
            "FAILED",
            "CANCELLED",
            "TIMEOUT",
            "NODE_FAIL",
            "PREEMPTED",
            "OUT_OF_MEMORY",
            "BOOT_FAIL",
            "DEADLINE",
        ];
        OVER.contains(&self.state.as_str())
    }
}

pub(super) enum SlurmCall {
    Submit(Submission),
    Look,
    Cancel(Vec<String>),
}

impl SlurmCommands {
    pub(crate) fn find(environment: &[(OsString, OsString)]) -> Result<Self, NoSlurmError> {
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
        let find = |name: &'static str| {
            files::find_program(OsStr::new(name), path.unwrap_or_default()).ok_or(NoSlurmError { name })
        };
        Ok(Self {
            sbatch: find("sbatch")?,
            squeue: find("squeue")?,
            scancel: find("scancel")?,
            environment: environment.to_vec(),
        })
    }

    fn call(&self, command: &mut Command, input: &str) -> Result<String, CallFailure> {
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        let ended = BoundedChild::run(command, input.as_bytes(), Bounds::within(LONGEST_CALL))
            .map_err(|error| CallFailure::Unanswered(error_chain(&error)))?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        // The last line says it, after the name of the program.
        let last =
            said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed without a message");
        let last = last.rsplit_once("error: ").map_or(last, |(_, message)| message).trim().to_owned();
        match UNANSWERED.iter().any(|sign| said.contains(sign)) {
            true => Err(CallFailure::Unanswered(last)),
            false => Err(CallFailure::Refused(last)),
        }
    }

    /// The job's id.
    fn submit(&self, submission: &Submission) -> Result<String, CallFailure> {
        let mut command = Command::new(&self.sbatch);
        command.arg("--parsable").args(&submission.words);
        let script = submission.script.as_str();
        let mut with_secrets = self.clone();
        with_secrets
            .environment
            .retain(|(name, _)| !submission.secrets.iter().any(|(secret, _)| secret == name));
        with_secrets.environment.extend(submission.secrets.iter().cloned());
        let printed = with_secrets.call(&mut command, script)?;
        // With several clusters, its name follows.
        let id = printed.trim().split(';').next().unwrap_or_default();
        match id.is_empty() {
            true => Err(CallFailure::Unanswered("it did not report which job it created".to_owned())),
            false => Ok(id.to_owned()),
        }
    }

    /// All jobs of this user that the controller remembers.
    pub(crate) fn look(&self) -> Result<Vec<ListedJob>, CallFailure> {
        let mut command = Command::new(&self.squeue);
        command.args(["--me", "--noheader", "--array", "--states=all", "--format=%i|%T|%r|%k"]);
        Ok(self.call(&mut command, "")?.lines().filter_map(ListedJob::parse).collect())
    }

    pub(crate) fn cancel(&self, jobs: &[String]) -> Result<(), CallFailure> {
        self.call(Command::new(&self.scancel).args(jobs), "").map(drop)
    }

    /// Makes one call after the other for as long as somebody wants one.
    pub(super) fn serve(&self, calls: &Receiver<SlurmCall>, news: &Sender<SlurmNews>) {
        let mut last: Option<Instant> = None;
        while let Ok(call) = calls.recv() {
            let early = last.and_then(|last| BETWEEN_CALLS.checked_sub(last.elapsed()));
            early.into_iter().for_each(std::thread::sleep);
            last = Some(Instant::now());
            let answer = match call {
                SlurmCall::Submit(submission) => {
                    let result = self.submit(&submission);
                    SlurmNews::Submitted(submission.stages, result)
                }
                SlurmCall::Look => SlurmNews::Listed(self.look().ok()),
                SlurmCall::Cancel(jobs) => {
                    // One that has ended meanwhile is no mistake; the next look tells.
                    let _ = self.cancel(&jobs);
                    continue;
                }
            };
            if news.send(answer).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_squeue_is_four_parts() {
        let line = "17_3|PENDING|Resources|checkstone r1 S01_do_work 1 abc";
        let listed = ListedJob::parse(line).unwrap();
        assert_eq!((listed.id.as_str(), listed.is_over()), ("17_3", false));
        assert_eq!(listed.comment, "checkstone r1 S01_do_work 1 abc");
        assert!(ListedJob::parse("4|CANCELLED|None|(null)").unwrap().is_over());
        assert_eq!(ListedJob::parse("slurm_load_jobs error"), None);
    }
}

//! `checkstone stage-exec`: carries out one attempt of a stage on the machine that a cluster gave it. Not for people.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use run::job_file::JobReference;
use run::stage_execution::{self, ComputeNode};

use crate::environment;
use crate::error::{CommandError, ErrorKind};

/// Carry out an attempt of a stage that was submitted to a cluster; not for people
#[derive(Debug, clap::Args)]
pub(crate) struct StageExecArguments {
    /// The job file in the attempt's folder
    #[arg(required_unless_present = "list", requires = "token")]
    job: Option<PathBuf>,
    /// What the attempt is known by
    #[arg(long)]
    token: Option<String>,
    /// The jobs of an array
    #[arg(long, conflicts_with = "job", requires = "index")]
    list: Option<PathBuf>,
    /// Which of them
    #[arg(long)]
    index: Option<usize>,
}

pub(crate) fn run(arguments: &StageExecArguments) -> Result<ExitCode, CommandError> {
    let failed = |error: &dyn std::error::Error| CommandError::of(ErrorKind::Failed, error);
    let reference = match (&arguments.job, &arguments.token, &arguments.list, arguments.index) {
        (Some(job), Some(token), ..) => Some(JobReference { job_file: job.clone(), token: token.clone() }),
        (_, _, Some(list), Some(index)) => {
            JobReference::of_list(list, index).map_err(|error| failed(&error))?
        }
        _ => None,
    };
    let reference = reference.ok_or_else(|| CommandError::usage("there is no such job"))?;
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&interrupt)).map_err(|error| {
            CommandError::failed(format!("cannot listen for the end of the job: {error}"))
        })?;
    }
    let node = ComputeNode {
        environment: environment::all(),
        job: environment::slurm_job(),
        host: environment::node_name(),
        interrupt,
    };
    stage_execution::execute(&reference, &node).map_err(|error| failed(&error))?;
    Ok(ExitCode::SUCCESS)
}

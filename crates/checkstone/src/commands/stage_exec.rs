//! `checkstone stage-exec`: carries out one attempt of a stage on the machine that a cluster gave it. Not for people.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use run::job_file::JobReference;
use run::stage_execution::{self, ComputeNode};

use crate::environment;
use crate::error::{CommandError, ErrorKind};

/// Run an attempt of a stage that was submitted to a cluster; internal
#[derive(Debug, clap::Args)]
pub(crate) struct StageExecArguments {
    /// The job file in the attempt's folder
    #[arg(required_unless_present_any = ["list", "bucket"], requires = "token")]
    job: Option<PathBuf>,
    /// The token of the attempt
    #[arg(long)]
    token: Option<String>,
    /// The jobs of an array
    #[arg(long, conflicts_with_all = ["job", "bucket"], requires = "index")]
    list: Option<PathBuf>,
    /// Which of them
    #[arg(long)]
    index: Option<usize>,
    #[command(flatten)]
    exchange: Option<ExchangeArguments>,
}

/// Where the job is, if not in a folder that this machine sees.
#[derive(Debug, clap::Args)]
#[group(requires_all = ["bucket", "scope", "title", "run"])]
struct ExchangeArguments {
    /// The bucket that the job is in
    #[arg(long, required = false, conflicts_with = "job")]
    bucket: String,
    /// The project's part of it
    #[arg(long, required = false)]
    scope: String,
    /// The title of the run
    #[arg(long, required = false)]
    title: String,
    /// The run
    #[arg(long, required = false)]
    run: String,
    /// What the array of the job is known by
    #[arg(long, requires = "index")]
    array: Option<String>,
}

pub(crate) fn run(arguments: &StageExecArguments) -> Result<ExitCode, CommandError> {
    let failed = |error: &(dyn std::error::Error + 'static)| CommandError::of(ErrorKind::Failed, error);
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
    if let Some(exchange) = &arguments.exchange {
        exchange.execute(arguments, &node)?;
        return Ok(ExitCode::SUCCESS);
    }
    let reference = match (&arguments.job, &arguments.token, &arguments.list, arguments.index) {
        (Some(job), Some(token), ..) => Some(JobReference { job_file: job.clone(), token: token.clone() }),
        (_, _, Some(list), Some(index)) => {
            JobReference::of_list(list, index).map_err(|error| failed(&error))?
        }
        _ => None,
    };
    let reference = reference.ok_or_else(no_job)?;
    stage_execution::execute(&reference, &node).map_err(|error| failed(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn no_job() -> CommandError {
    CommandError::usage("there is no such job")
}

impl ExchangeArguments {
    #[cfg(feature = "s3")]
    fn execute(&self, arguments: &StageExecArguments, node: &ComputeNode) -> Result<(), CommandError> {
        use run::exchange::Exchange as _;
        let failed = |error: &(dyn std::error::Error + 'static)| CommandError::of(ErrorKind::Failed, error);
        let store = crate::bucket_exchange::BucketExchange::of_words(&self.bucket, &self.scope)
            .map_err(|error| failed(&error))?
            .of_run(&self.title, &self.run)
            .map_err(|error| failed(error.as_ref()))?;
        let contents = crate::bucket_store::BucketStore::of_scope(&self.bucket, &self.scope)
            .map_err(|error| failed(&error))?;
        checkpoint::use_remote_store(Arc::new(contents));
        let listed = match (&self.array, arguments.index) {
            (Some(array), Some(index)) => JobReference::of_exchanged_list(store.as_ref(), array, index)
                .map_err(|error| failed(&error))?
                .map(|reference| reference.token),
            _ => None,
        };
        let token = arguments.token.clone().or(listed).ok_or_else(no_job)?;
        let temporary = environment::node_scratch();
        stage_execution::execute_from_exchange(&store, &token, node, &temporary)
            .map_err(|error| failed(&error))?;
        // Only what went wrong before anything could be exchanged is in it.
        let _ = fs_err::remove_file(environment::node_log());
        Ok(())
    }

    #[cfg(not(feature = "s3"))]
    fn execute(&self, _arguments: &StageExecArguments, _node: &ComputeNode) -> Result<(), CommandError> {
        Err(CommandError::environment("this build of checkstone cannot use a bucket")
            .hint("install one that can: `cargo install --locked --path crates/checkstone --features s3`"))
    }
}

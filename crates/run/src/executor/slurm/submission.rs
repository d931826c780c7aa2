//! What `sbatch` is told: the resources of a stage in Slurm's words, a time as the outer fence, and a comment by which a job is
//! found again whose submission nobody answered. Many equal instances are one job array.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::atomic_file;
use text::shell_word;

use super::SlurmSettings;
use crate::attempt::Job;
use crate::exchange::{self, CarryError, EngineRelay, ExchangeStore, array_name};
use crate::job_file::{JOB, JobFile, JobReference};
use crate::plan::{Kind, Stage};

/// More equal instances than this are one array.
const FEWEST_OF_ARRAY: usize = 20;
/// Slurm allows one more, unless its administrator says otherwise.
const MOST_OF_ARRAY: usize = 1000;

/// Reading inputs and hashing outputs take their time as well.
const FENCE: Duration = Duration::from_secs(300);

/// The output of a job on a node that does not see the project's folder. `stage-exec` removes it when all went well.
pub const NODE_LOG: &str = "/tmp/checkstone-slurm-%j.log";

/// One call of `sbatch`.
#[derive(Debug)]
pub(super) struct Submission {
    /// The places of its stages, in the order of the array; one if it is none.
    pub(super) stages: Vec<usize>,
    pub(super) words: Vec<OsString>,
    pub(super) script: String,
    pub(super) secrets: Vec<(OsString, OsString)>,
}

/// One job that is to be submitted.
pub(super) struct UnsentJob<'a> {
    pub(super) place: usize,
    pub(super) job: &'a Job,
    pub(super) reference: JobReference,
    pub(super) secrets: Vec<(OsString, OsString)>,
}

impl UnsentJob<'_> {
    /// What makes instances equal, as far as Slurm is concerned.
    fn kin(&self) -> Option<(&str, Vec<OsString>)> {
        let stage = self.job.stage()?;
        let is_single = stage.kind == Kind::Python || !self.secrets.is_empty();
        (!is_single).then(|| (stage.template.as_str(), resources(self.job)))
    }
}

/// How jobs are submitted: those of one kind together, if there are many of them.
pub(super) fn grouped(mut unsent: Vec<UnsentJob<'_>>) -> Vec<Vec<UnsentJob<'_>>> {
    let mut groups: Vec<Vec<UnsentJob<'_>>> = Vec::new();
    while !unsent.is_empty() {
        let first = unsent.remove(0);
        let is_kin = |other: &UnsentJob<'_>| first.kin().is_some() && other.kin() == first.kin();
        let (mut kin, others): (Vec<_>, Vec<_>) = unsent.into_iter().partition(is_kin);
        unsent = others;
        kin.insert(0, first);
        if kin.len() <= FEWEST_OF_ARRAY {
            groups.extend(kin.into_iter().map(|one| vec![one]));
            continue;
        }
        while !kin.is_empty() {
            let rest = kin.split_off(kin.len().min(MOST_OF_ARRAY));
            groups.push(std::mem::replace(&mut kin, rest));
        }
    }
    groups
}

/// The comment of a job, of which the token is the last word.
pub(super) fn comment(run: &str, of: &str, token: &str) -> String {
    format!("checkstone {run} {of} {token}")
}

impl Submission {
    /// `token` is the group's: that of its one job, or of the array.
    pub(super) fn of(
        group: &[UnsentJob<'_>],
        token: &str,
        settings: &SlurmSettings,
        store: Option<&dyn ExchangeStore>,
        folder: &Path,
    ) -> io::Result<Option<Self>> {
        let Some((first, stage)) = group.first().and_then(|first| Some((first, first.job.stage()?))) else {
            return Ok(None);
        };
        let layout = &first.job.layout;
        let mut program = format!("{} stage-exec", shell_word(&settings.program.to_string_lossy()));
        for word in settings.exchange.iter().flat_map(|exchange| exchange.words()) {
            program = format!("{program} {}", shell_word(&word));
        }
        if store.is_some() {
            let (title, run) = (shell_word(layout.title()), shell_word(layout.run()));
            program = format!("{program} --title {title} --run {run}");
        }
        let mut words = resources(first.job);
        let mut word = |name: &str, value: &str| words.push(format!("--{name}={value}").into());
        let (log, of, script) = if group.len() == 1 {
            let JobReference { job_file, token } = &first.reference;
            let log = job_file.with_file_name("slurm.log");
            let job_file = shell_word(&job_file.to_string_lossy());
            let script = match store {
                Some(_) => format!("{program} --token {token}"),
                None => format!("{program} {job_file} --token {token}"),
            };
            (log, format!("{} {}", stage.id, first.job.attempt), script)
        } else {
            let list = folder.join(format!("array-{token}.json"));
            let references: Vec<&JobReference> = group.iter().map(|one| &one.reference).collect();
            let references = serde_json::to_vec(&references)?;
            atomic_file::write(&list, &references, 0o644)?;
            word("array", &format!("0-{}", group.len() - 1));
            let shown = shell_word(&list.to_string_lossy());
            let index = "--index \"$SLURM_ARRAY_TASK_ID\"";
            let script = match store {
                Some(store) => {
                    store.put(&array_name(token), &references).map_err(io::Error::other)?;
                    format!("{program} --array {token} {index}")
                }
                None => format!("{program} --list {shown} {index}"),
            };
            (folder.join(format!("array-{token}-%a.log")), stage.template.clone(), script)
        };
        word("job-name", &stage.id);
        word("comment", &comment(layout.run(), &of, token));
        match store {
            // What goes wrong there before anything can be exchanged stands in a file of the node's own.
            Some(_) => {
                word("chdir", "/tmp");
                word("output", NODE_LOG);
            }
            None => {
                word("chdir", &layout.root().to_string_lossy());
                word("output", &log.to_string_lossy());
            }
        }
        let cluster = &settings.cluster;
        let named = [("partition", &cluster.partition), ("account", &cluster.account), ("qos", &cluster.qos)];
        for (name, value) in named {
            value.iter().for_each(|value| word(name, value));
        }
        words.push("--no-requeue".into());
        words.extend(cluster.sbatch.iter().map(OsString::from));
        Ok(Some(Self {
            stages: group.iter().map(|one| one.place).collect(),
            words,
            script: format!("#!/bin/sh\nexec {script}\n"),
            secrets: first.secrets.clone(),
        }))
    }
}

/// Puts what a stage needs of its project, and then its job.
pub(super) fn put_package(job: &Job, mut file: JobFile, relay: &EngineRelay) -> Result<(), CarryError> {
    let store = relay.store.as_ref();
    file.carried = Some(exchange::pack(job, store, &relay.put)?);
    let bytes = serde_json::to_vec(&file)
        .map_err(|error| CarryError::Read { path: JOB.to_owned(), source: error.into() })?;
    let put = store.put(&exchange::object_name(&file.token, JOB), &bytes);
    put.map_err(|source| CarryError::Store { store: store.name(), source })
}

/// What the stage asks for. A Python session is one job, and has to be enough for all of its stages.
fn resources(job: &Job) -> Vec<OsString> {
    let Some(stage) = job.stage() else { return Vec::new() };
    let stages: Vec<&Stage> = match stage.kind {
        Kind::Command => vec![stage],
        Kind::Python => job.plan.stages.iter().filter(|stage| stage.kind == Kind::Python).collect(),
    };
    let most = |name: &str| stages.iter().map(|stage| stage.resources.amount(name)).max().unwrap_or(0);
    let time = stages.iter().map(|stage| stage.max_duration + stage.grace.interrupt + stage.grace.terminate);
    let minutes = (time.sum::<Duration>() + FENCE).as_secs().div_ceil(60);
    let mut words = vec![format!("--time={minutes}")];
    let (cpus, memory, gpus) = (most("cpus"), most("memory"), most("gpus"));
    words.extend((cpus > 0).then(|| format!("--cpus-per-task={cpus}")));
    words.extend((memory > 0).then(|| format!("--mem={}M", memory.div_ceil(1 << 20))));
    words.extend((gpus > 0).then(|| format!("--gres=gpu:{gpus}")));
    words.into_iter().map(OsString::from).collect()
}

/// Where arrays have their lists.
pub(super) fn list_folder(job: &Job) -> PathBuf {
    job.layout.run_directory().join(".attempts").join(".arrays")
}

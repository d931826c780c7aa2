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
use crate::job_file::JobReference;
use crate::plan::{Kind, Stage};

/// More equal instances than this are one array.
const FEWEST_OF_ARRAY: usize = 20;
/// Slurm allows one more, unless its administrator says otherwise.
const MOST_OF_ARRAY: usize = 1000;

/// Reading inputs and hashing outputs take their time as well.
const FENCE: Duration = Duration::from_secs(300);

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
        folder: &Path,
    ) -> io::Result<Option<Self>> {
        let Some((first, stage)) = group.first().and_then(|first| Some((first, first.job.stage()?))) else {
            return Ok(None);
        };
        let layout = &first.job.layout;
        let program = shell_word(&settings.program.to_string_lossy());
        let mut words = resources(first.job);
        let mut word = |name: &str, value: &str| words.push(format!("--{name}={value}").into());
        let (log, of, script) = if group.len() == 1 {
            let JobReference { job_file, token } = &first.reference;
            let log = job_file.with_file_name("slurm.log");
            let job_file = shell_word(&job_file.to_string_lossy());
            let script = format!("{program} stage-exec {job_file} --token {token}");
            (log, format!("{} {}", stage.id, first.job.attempt), script)
        } else {
            let list = folder.join(format!("array-{token}.json"));
            let references: Vec<&JobReference> = group.iter().map(|one| &one.reference).collect();
            atomic_file::write(&list, &serde_json::to_vec(&references)?, 0o644)?;
            word("array", &format!("0-{}", group.len() - 1));
            let shown = shell_word(&list.to_string_lossy());
            let script = format!("{program} stage-exec --list {shown} --index \"$SLURM_ARRAY_TASK_ID\"");
            (folder.join(format!("array-{token}-%a.log")), stage.template.clone(), script)
        };
        word("job-name", &stage.id);
        word("comment", &comment(layout.run(), &of, token));
        word("chdir", &layout.root().to_string_lossy());
        word("output", &log.to_string_lossy());
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

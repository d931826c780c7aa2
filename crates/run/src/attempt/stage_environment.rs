//! The environment variables of an attempt: what the caller has, what the plan sets, and what is ours.

use std::ffi::OsString;
use std::path::Path;

use checkpoint::manifest::Artifact;
use text::error_chain;

use super::{FINGERPRINT, Job, RunningAttempt, Unaccepted, failed};
use crate::input_content::{self, InputContent};
use crate::planted_fault::{Oversight, overlooks};
use crate::secret_values::WITHHELD;
use crate::{fingerprint, stage_checkpoint};

impl RunningAttempt<'_> {
    /// What the caller has, then what the plan sets, then what is ours.
    pub(super) fn environment(
        &self,
        artifacts: &Path,
        fingerprint: &str,
    ) -> Result<Vec<(OsString, OsString)>, Unaccepted> {
        const OURS: [&str; 5] = [
            "CHECKSTONE_RUN_ID",
            "CHECKSTONE_STAGE_ID",
            "CHECKSTONE_ARTIFACT_DIR",
            "CHECKSTONE_RESUME_DIR",
            "CHECKSTONE_INPUTS",
        ];
        let Self { job, stage, .. } = *self;
        let is_ours = |name: &OsString| {
            let name = name.to_string_lossy();
            OURS.contains(&name.as_ref()) || name.starts_with("CHECKSTONE_INPUT_")
        };
        let is_set = |name: &OsString| stage.environment.iter().any(|(set, _)| name == set.as_str());
        let mut all: Vec<(OsString, OsString)> =
            job.environment.iter().filter(|(name, _)| !is_ours(name) && !is_set(name)).cloned().collect();
        for (name, value) in &stage.environment {
            let inherited = || job.environment.iter().find(|(known, _)| known == name.as_str());
            let value = match value.as_str() {
                WITHHELD => inherited().map(|(_, value)| value.clone()).ok_or_else(|| {
                    failed(format!(
                        "the recorded plan does not have the value of `{name}`, a secret: set `{name}` in the environment"
                    ))
                })?,
                value => value.into(),
            };
            all.push((name.into(), value));
        }
        all.push(("CHECKSTONE_RUN_ID".into(), job.layout.run().into()));
        all.push(("CHECKSTONE_STAGE_ID".into(), (&stage.id).into()));
        all.push(("CHECKSTONE_ARTIFACT_DIR".into(), artifacts.into()));
        let folder = artifacts.parent().unwrap_or(artifacts);
        let mut inputs = Vec::new();
        for input in &stage.inputs {
            let content = InputContent::of(&job.plan, &job.layout, &input.source)?;
            all.push((input.variable().into(), content.value(input, folder)?.into()));
            inputs.push((input, content));
        }
        if let Some(described) = input_content::described(&inputs) {
            let path = folder.join("inputs.json");
            fs_err::write(&path, described)?;
            all.push(("CHECKSTONE_INPUTS".into(), path.into()));
        }
        let folder = artifacts.with_file_name("resume");
        let to_resume: Vec<Artifact> =
            job.to_resume.iter().filter(|artifact| is_of_same(job, artifact, fingerprint)).cloned().collect();
        if !to_resume.is_empty() {
            let prefix = format!("{}/", job.layout.relative(&folder));
            match stage_checkpoint::bring_back(&job.layout, &to_resume, &prefix) {
                Ok(()) => all.push(("CHECKSTONE_RESUME_DIR".into(), folder.into())),
                Err(error) => self.warn(format!(
                    "it starts over, because what it had saved cannot be restored: {}",
                    error_chain(&error)
                )),
            }
        } else if !job.to_resume.is_empty() {
            self.warn(
                "it starts over, because its command or its inputs have changed since it saved something",
            );
        }
        Ok(all)
    }
}

/// Whether the attempt that saved it ran the same command on the same inputs.
fn is_of_same(job: &Job, artifact: &Artifact, fingerprint: &str) -> bool {
    let Some((run, attempt)) = artifact.relative_path.split_once("/.attempts/") else { return false };
    let parts: Vec<&str> = attempt.splitn(3, '/').collect();
    let [stage, number, _] = parts.as_slice() else { return false };
    let folder = job.layout.root().join(run).join(".attempts").join(stage).join(number);
    let noted = fingerprint::open_regular(&folder.join(FINGERPRINT)).and_then(std::io::read_to_string);
    noted.is_ok_and(|noted| noted == fingerprint || overlooks(Oversight::SavedHalfWay))
}

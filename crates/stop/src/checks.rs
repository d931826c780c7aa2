//! Runs the policy's own checks at the stop: off unless the user trusted the file that names them. Each in a process
//! group of its own, which ends with it, and with a time limit; of its output only the end is kept.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use files::{BoundedChild, Bounds};
use gate::policy::{Check, Policy, Trust};
use gate::{Changes, CheckOutcome, CheckResult};

use crate::policy_files::PolicyTexts;
use crate::trust;

/// Of a check's output so much is shown.
const OUTPUT: u64 = 800;

/// What became of the checks for what changed.
#[derive(Debug, Default)]
pub(crate) struct RanChecks {
    pub(crate) results: Vec<CheckResult>,
    /// How many the repository's file asks for in vain: it is not trusted.
    pub(crate) ignored: usize,
}

/// Runs the checks for what changed: all of the policy's where the repository's file is trusted, else those of the
/// user's own configuration.
pub(crate) fn run_allowed(
    texts: &PolicyTexts,
    policy: &Policy,
    trust: impl FnOnce() -> journal::Trust,
    changes: &Changes,
    root: &Path,
) -> RanChecks {
    let (Changes::Known(set), true) = (changes, policy.checks.count() > 0) else {
        return RanChecks::default();
    };
    let changed: Vec<String> = set.files.iter().map(|file| file.path.to_string()).collect();
    let wanted = policy.checks_for(Trust::Given, &changed);
    if wanted.is_empty() {
        return RanChecks::default();
    }
    let users = match trust() {
        journal::Trust::Trusted => None,
        _ => Some(trust::policy_of_user(texts)),
    };
    let allowed = match &users {
        None => wanted.clone(),
        Some(users) => {
            users.as_ref().map(|users| users.checks_for(Trust::Given, &changed)).unwrap_or_default()
        }
    };
    let ignored = wanted.iter().filter(|check| !allowed.contains(check)).count();
    RanChecks { results: allowed.into_iter().map(|check| run(check, root)).collect(), ignored }
}

fn run(check: &Check, root: &Path) -> CheckResult {
    let began = Instant::now();
    let result = |outcome, output| {
        // Nothing is what earlier records say where nobody looked.
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        CheckResult { run: check.run.clone(), outcome, output, milliseconds }
    };
    let Ok(mut output) = tempfile::tempfile() else { return result(CheckOutcome::NotStarted, String::new()) };
    let Some(child) = start(check, root, &output) else {
        return result(CheckOutcome::NotStarted, String::new());
    };
    let outcome = match child.finish() {
        Ok(ended) if ended.status.success() => CheckOutcome::Passed,
        Ok(_) => CheckOutcome::Failed,
        Err(_) => CheckOutcome::TimedOut,
    };
    result(outcome, end_of(&mut output))
}

fn start(check: &Check, root: &Path, output: &File) -> Option<BoundedChild> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &check.run]).current_dir(root).stdin(Stdio::null());
    command.stdout(output.try_clone().ok()?).stderr(output.try_clone().ok()?);
    BoundedChild::start(&mut command, Bounds::within(check.timeout)).ok()
}

fn end_of(output: &mut File) -> String {
    let length = output.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    let mut bytes = Vec::new();
    let _ = output.seek(SeekFrom::Start(length.saturating_sub(OUTPUT)));
    let _ = output.take(OUTPUT).read_to_end(&mut bytes);
    let end = String::from_utf8_lossy(&bytes);
    // What is missing may have been the summary of tests.
    if length > OUTPUT { format!("…{}", end.trim_end()) } else { end.trim().to_owned() }
}

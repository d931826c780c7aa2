//! Runs the policy's own checks at the stop: off unless the user trusted the file that names them. Each in a process
//! group of its own, with a time limit; of its output only the end is kept.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gate::policy::Check;
use gate::{CheckOutcome, CheckResult};
use journal::{Journal, Trust};
use sha2::{Digest as _, Sha256};

use crate::policy_files::PolicyTexts;

/// Of a check's output so much is shown.
const OUTPUT: u64 = 800;

const POLL: Duration = Duration::from_millis(10);

/// Whether the user said `checkstone trust` to the repository's file as it is now. Without such a file everything
/// comes from the user.
pub(crate) fn trust(texts: &PolicyTexts, journal: &mut Journal) -> gate::policy::Trust {
    let (Some(path), Some(own)) = (&texts.own_file, texts.texts.last()) else {
        return gate::policy::Trust::Given;
    };
    // Of what was read, not of what lies there now: nobody may change the file in between.
    let hash = content_hash(own.text.as_bytes());
    match journal.read(|reader| reader.trust(path, &hash)) {
        Ok(Trust::Trusted) => gate::policy::Trust::Given,
        _ => gate::policy::Trust::Withheld,
    }
}

/// What trust is given to: the bytes of the file.
pub(crate) fn content_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn run(check: &Check, root: &Path) -> CheckResult {
    let result = |outcome, output| CheckResult { run: check.run.clone(), outcome, output };
    let Ok(mut output) = tempfile::tempfile() else { return result(CheckOutcome::NotStarted, String::new()) };
    let Some(mut child) = start(check, root, &output) else {
        return result(CheckOutcome::NotStarted, String::new());
    };
    let outcome = wait(&mut child, check.timeout);
    result(outcome, end_of(&mut output))
}

fn start(check: &Check, root: &Path, output: &File) -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &check.run]).current_dir(root).stdin(Stdio::null()).process_group(0);
    command.stdout(output.try_clone().ok()?).stderr(output.try_clone().ok()?);
    command.spawn().ok()
}

fn wait(child: &mut Child, limit: Duration) -> CheckOutcome {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return CheckOutcome::Passed,
            Ok(Some(_)) => return CheckOutcome::Failed,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) | Err(_) => {
                end(child);
                return CheckOutcome::TimedOut;
            }
        }
    }
}

/// Ends the whole group: a test runner has children.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

fn end_of(output: &mut File) -> String {
    let length = output.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    let mut bytes = Vec::new();
    let _ = output.seek(SeekFrom::Start(length.saturating_sub(OUTPUT)));
    let _ = output.take(OUTPUT).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

//! Child processes of the tests, and what they do: a job that another test names in the environment.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use files::{Lock, atomic_file};

const JOB: &str = "FILES_TEST_JOB";

#[test]
#[ignore = "run by other tests, as a process of its own"]
fn job() {
    let Some(job) = variable(JOB) else { return };
    let arguments: Vec<&str> = job.split('\n').collect();
    match arguments[..] {
        ["files_until_killed", path] => files_until_killed(Path::new(path)),
        ["hold_lock", path] => {
            let _lock = Lock::acquire(Path::new(path), Duration::ZERO).unwrap();
            say("locked\n");
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        _ => panic!("unknown job {arguments:?}"),
    }
}

fn say(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

/// One dot for every file written, until the process is killed.
fn files_until_killed(path: &Path) {
    for round in 0_u64.. {
        let content = [b'a' + (round % 26) as u8; 100_000];
        atomic_file::write(path, &content, 0o600).unwrap();
        say(".");
    }
}

/// A child process that runs a job. It says how far it is on its standard error; closing its standard input
/// is the starting signal for those that wait for one.
pub(crate) fn spawn(job: &[&str]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "worker::job", "--nocapture", "--test-threads=1"])
        .env(JOB, job.join("\n"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What the child has still to say, after it ended well.
pub(crate) fn finish(mut child: Child) -> String {
    drop(child.stdin.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {said}");
    said
}

/// A number for soak runs from the environment, else the small one.
pub(crate) fn count(name: &str, otherwise: u64) -> u64 {
    variable(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "tests get their counts and jobs through the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}
